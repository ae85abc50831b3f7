"""Finding violated rank-1 cuts for fractional groups: all with up to three row types, then larger ones from these.

Rows with weights 1/2 on three rows are those of Jepsen et al. (2008). Larger ones are climbed to: for a denominator d a
set grows by one row type at a time, with the weight that suits it best, and after each step row types are exchanged,
or change their weights, while that helps. For two to five row types this comes to the families of Pecin et al. (2017),
which it finds without a list of them; sets of up to nine row types close a little more of the gap than five. Any
set and weights are valid (`kanon_milp.bounds.rank_one_cuts`), so nothing here has to be exact.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.system.jit import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Row: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int]
"""Row types in rising order, their weights, the denominator."""

DENOMINATORS = (2, 3, 4, 5)
WIDEST = 9  # row types
LEAST_VIOLATION = 0.03
NEARLY = -0.15  # triples violated by this are seeds of larger sets
SEEDS = 400
TOUCHING = 6  # new rows of a round that a row type is part of, at most


def separate(groups: Groups, share: Floats, counts: Ints, most: int, known: RankOneCuts) -> RankOneCuts:
    """Up to `most` violated rows that are not known, the most violated ones for their width, spread over the row types.

    share: float64 (C,), how often each group is used. counts: int64 (t,), rows of each row type.
    """
    used = share > 1e-7
    few, weight = groups.subset(used), share[used]
    begins, of_type, copies_of_type = few.by_type(len(counts))
    sets, violations = _smallest(
        few.indptr, few.types, few.copies, weight, begins, of_type, copies_of_type, counts, NEARLY
    )
    order = np.argsort(-violations, kind="stable")
    violated = order[violations[order] > LEAST_VIOLATION]
    found = _rows(sets[violated], (sets[violated] >= 0).astype(np.int64), violations[violated], 2)
    triples = order[sets[order, 2] >= 0][:SEEDS]
    for denominator in DENOMINATORS:
        grown = _climb(
            few.indptr, few.types, few.copies, weight, begins, of_type, copies_of_type, counts, sets[triples],
            denominator, WIDEST, LEAST_VIOLATION,
        )  # fmt: skip
        found += _rows(*grown, denominator)
    return _choose(found, most, len(counts), known)


def _rows(sets: Ints, weights: Ints, violations: Floats, denominator: int) -> list[tuple[float, Row]]:
    """Rows in lowest terms with their scores. sets: row types, -1 for none."""
    found = []
    for each, by, violation in zip(sets.tolist(), weights.tolist(), violations.tolist(), strict=True):
        pairs = sorted((i, p) for i, p in zip(each, by, strict=True) if i >= 0)
        shared = math.gcd(denominator, *(p for _, p in pairs))
        row = tuple(i for i, _ in pairs), tuple(p // shared for _, p in pairs), denominator // shared
        # a wide row is a part of more groups and says less about each
        found.append((violation / math.sqrt(len(pairs)), row))
    return found


def _choose(found: list[tuple[float, Row]], most: int, types: int, known: RankOneCuts) -> RankOneCuts:
    """Those of the highest scores, none twice, and no row type in too many."""
    found.sort(key=lambda each: (-each[0], each[1]))
    seen: set[Row] = {(tuple(i), tuple(p), d) for i, p, d in known.each()}
    touched = np.zeros(types, dtype=np.int64)
    rows: list[Row] = []
    for _, row in found:
        chosen = list(row[0])
        if row in seen or (touched[chosen] >= TOUCHING).any():
            continue
        seen.add(row)
        touched[chosen] += 1
        rows.append(row)
        if len(rows) == most:
            break
    return RankOneCuts.of(rows)


@compiled
def _links(
    indptr: Ints, types: Ints, copies: Ints, share: Floats, begins: Ints, of_type: Ints, copies_of_type: Ints
) -> tuple[Ints, Ints, Floats]:
    """Per row type the others of which groups hold an odd number where they hold an odd number of it, and their share:
    (begins, row type, share) as CSR."""
    count = len(begins) - 1
    together, near = np.zeros(count), np.empty(count, np.int64)
    starts = np.zeros(count + 1, np.int64)
    others, strength = np.empty(1024, np.int64), np.empty(1024)
    for i in range(count):
        close = 0
        for at in range(begins[i], begins[i + 1]):
            if copies_of_type[at] % 2 == 0:
                continue
            c = of_type[at]
            for e in range(indptr[c], indptr[c + 1]):
                j = types[e]
                if j != i and copies[e] % 2 == 1:
                    if together[j] == 0:
                        near[close] = j
                        close += 1
                    together[j] += share[c]
        end = starts[i] + close
        while end > len(others):
            others, strength = np.concatenate((others, others)), np.concatenate((strength, strength))
        for x in range(close):
            others[starts[i] + x], strength[starts[i] + x] = near[x], together[near[x]]
            together[near[x]] = 0
        starts[i + 1] = end
    return starts, others[: starts[count]], strength[: starts[count]]


@compiled
def _smallest(
    indptr: Ints,
    types: Ints,
    copies: Ints,
    share: Floats,
    begins: Ints,
    of_type: Ints,
    copies_of_type: Ints,
    counts: Ints,
    least: float,
) -> tuple[Ints, Floats]:
    """Sets of one to three row types (-1 for none) and by how much Σ ⌊Σ a_i / 2⌋ θ is above its right side, if above
    `least`.

    ⌊(a+b)/2⌋ = ⌊a/2⌋ + ⌊b/2⌋ + 1 where both are odd: the row types of a triple are linked where a group holds odd
    numbers of both. With fewer than two links a triple says no more than its parts do.
    """
    alone = np.zeros(len(counts))
    for c in range(len(share)):
        for e in range(indptr[c], indptr[c + 1]):
            alone[types[e]] += share[c] * (copies[e] // 2)
    starts, others, strength = _links(indptr, types, copies, share, begins, of_type, copies_of_type)
    found, violation = np.empty((1024, 3), np.int64), np.empty(1024)
    end = 0
    # links of the first and of the second row type; share of the groups with odd numbers of all three, by the third
    first, second, every = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros(len(counts))
    for i in range(len(counts)):
        if alone[i] - counts[i] // 2 > least and counts[i] > 1:
            found, violation, end = _kept(found, violation, end, i, -1, -1, alone[i] - counts[i] // 2)
        for x in range(starts[i], starts[i + 1]):
            first[others[x]] = strength[x]
        for x in range(starts[i], starts[i + 1]):
            j = others[x]
            if j < i:
                continue
            pair = alone[i] + alone[j] + strength[x]
            over = pair - (counts[i] + counts[j]) // 2
            if over > least and counts[i] + counts[j] > 2:
                found, violation, end = _kept(found, violation, end, i, j, -1, over)
            _thirds(i, j, indptr, types, copies, share, begins, of_type, every, 1.0)
            for y in range(starts[j], starts[j + 1]):
                second[others[y]] = strength[y]
            # with a link to i, once, from the first of these; else with one to j
            for y in range(starts[i], starts[i + 1]):
                r = others[y]
                if r > j:
                    over = pair + alone[r] + strength[y] + second[r] - 2 * every[r]
                    over -= (counts[i] + counts[j] + counts[r]) // 2
                    if over > least:
                        found, violation, end = _kept(found, violation, end, i, j, r, over)
            for y in range(starts[j], starts[j + 1]):
                r = others[y]
                if r > i and first[r] == 0:
                    over = pair + alone[r] + strength[y] - 2 * every[r] - (counts[i] + counts[j] + counts[r]) // 2
                    if over > least:
                        found, violation, end = _kept(found, violation, end, i, j, r, over)
                second[r] = 0
            _thirds(i, j, indptr, types, copies, share, begins, of_type, every, 0.0)
        for x in range(starts[i], starts[i + 1]):
            first[others[x]] = 0
    return found[:end].copy(), violation[:end].copy()


@compiled
def _kept(found: Ints, violation: Floats, end: int, i: int, j: int, r: int, over: float) -> tuple[Ints, Floats, int]:
    """Append one set; the arrays grow."""
    if end == len(violation):
        found, violation = np.concatenate((found, found)), np.concatenate((violation, violation))
    found[end, 0], found[end, 1], found[end, 2], violation[end] = i, j, r, over
    return found, violation, end + 1


@compiled
def _thirds(
    i: int,
    j: int,
    indptr: Ints,
    types: Ints,
    copies: Ints,
    share: Floats,
    begins: Ints,
    of_type: Ints,
    every: Floats,
    factor: float,
) -> None:
    """Share of the groups with odd numbers of i, j and a third row type, into `every`; factor 0 clears it."""
    for at in range(begins[i], begins[i + 1]):
        c = of_type[at]
        odd = 0
        for e in range(indptr[c], indptr[c + 1]):
            if (types[e] == i or types[e] == j) and copies[e] % 2 == 1:
                odd += 1
        if odd == 2:
            for e in range(indptr[c], indptr[c + 1]):
                if copies[e] % 2 == 1:
                    every[types[e]] = factor * (every[types[e]] + share[c])


@compiled
def _put(
    i: int, weight: int, d: int, share: Floats, begins: Ints, of_type: Ints, copies_of_type: Ints, total: Ints
) -> float:
    """Add so many times row type i to the sums of all groups; by how much Σ ⌊sum / d⌋ θ rises."""
    rise = 0.0
    for at in range(begins[i], begins[i + 1]):
        c = of_type[at]
        before = total[c]
        total[c] = before + weight * copies_of_type[at]
        rise += share[c] * (total[c] // d - before // d)
    return rise


@compiled
def _best_addition(
    chosen: Ints,
    without: int,
    d: int,
    indptr: Ints,
    types: Ints,
    copies: Ints,
    share: Floats,
    begins: Ints,
    of_type: Ints,
    counts: Ints,
    total: Ints,
    right: int,
    inside: NDArray[np.bool_],
    alone: Floats,
    gain: Floats,
    last: Ints,
    near: Ints,
    stamp: int,
) -> tuple[float, int, int]:
    """The row type that is best to add to the chosen ones, except that at place `without`, with its weight.

    Returns (violation less what Σ ⌊sum / d⌋ θ is now, row type, weight); the row type is -1 where there is none that
    shares a group with them. last: int64 (C,), the last `stamp` with which a group was seen; gain: zeros (t, d); near:
    room for all row types.
    """
    top, which, by = -np.inf, -1, 0
    close = 0
    for x in range(len(chosen)):
        if x == without:
            continue
        for at in range(begins[chosen[x]], begins[chosen[x] + 1]):
            c = of_type[at]
            if last[c] == stamp:
                continue
            last[c] = stamp
            for e in range(indptr[c], indptr[c + 1]):
                i = types[e]
                if inside[i]:
                    continue
                if gain[i, 0] == 0:
                    gain[i, 0] = 1
                    near[close] = i
                    close += 1
                for p in range(1, d):
                    more = (total[c] + p * copies[e]) // d - total[c] // d - p * copies[e] // d
                    if more > 0:
                        gain[i, p] += share[c] * more
    for x in range(close):
        i = near[x]
        for p in range(1, d):
            value = gain[i, p] + alone[i, p] - (right + p * counts[i]) // d
            if value > top:
                top, which, by = value, i, p
        gain[i, :] = 0
    return top, which, by


@compiled
def _climb(
    indptr: Ints,
    types: Ints,
    copies: Ints,
    share: Floats,
    begins: Ints,
    of_type: Ints,
    copies_of_type: Ints,
    counts: Ints,
    seeds: Ints,
    d: int,
    widest: int,
    least: float,
) -> tuple[Ints, Ints, Floats]:
    """From each seed, with weights 1/d, up to `widest` row types; what is violated by more than `least` at any width.

    Returns (row types, -1 for none; weights; violations).
    """
    found, weights, violation = np.empty((1024, widest), np.int64), np.empty((1024, widest), np.int64), np.empty(1024)
    end, stamp = 0, 0
    total, last, near = np.zeros(len(share), np.int64), np.zeros(len(share), np.int64), np.empty(len(counts), np.int64)
    inside, gain, alone = np.zeros(len(counts), np.bool_), np.zeros((len(counts), d)), np.zeros((len(counts), d))
    for i in range(len(counts)):
        for at in range(begins[i], begins[i + 1]):
            for p in range(1, d):
                alone[i, p] += share[of_type[at]] * (p * copies_of_type[at] // d)
    chosen, weight = np.empty(widest, np.int64), np.empty(widest, np.int64)
    for s in range(len(seeds)):
        size, left, right = 0, 0.0, 0
        for i in seeds[s]:
            chosen[size], weight[size] = i, 1
            inside[i] = True
            left += _put(i, 1, d, share, begins, of_type, copies_of_type, total)
            right += counts[i]
            size += 1
        place, same = 0, 0  # same: exchanges in a row that did not help
        while True:
            value = left - right // d
            grows = same == size
            if grows:
                if value > least:
                    if end == len(violation):
                        found = np.concatenate((found, np.empty_like(found)))
                        weights = np.concatenate((weights, np.empty_like(weights)))
                        violation = np.concatenate((violation, np.empty_like(violation)))
                    found[end], weights[end], violation[end] = -1, 0, value
                    found[end, :size], weights[end, :size] = chosen[:size], weight[:size]
                    end += 1
                if size == widest:
                    break
                place = size
            else:
                place = place % size
                i, p = chosen[place], weight[place]
                inside[i] = False
                left += _put(i, -p, d, share, begins, of_type, copies_of_type, total)
                right -= p * counts[i]
            stamp += 1
            top, which, by = _best_addition(
                chosen[:size], place, d, indptr, types, copies, share, begins, of_type, counts, total, right, inside,
                alone, gain, last, near, stamp,
            )  # fmt: skip
            if grows:
                if which < 0:
                    break
                size += 1
                same = 1
            elif left + top > value + 1e-9:
                same = 1
            else:
                which, by = i, p
                same += 1
            chosen[place], weight[place] = which, by
            inside[which] = True
            left += _put(which, by, d, share, begins, of_type, copies_of_type, total)
            right += by * counts[which]
            place += 1
        for x in range(size):
            inside[chosen[x]] = False
            _put(chosen[x], -weight[x], d, share, begins, of_type, copies_of_type, total)
    return found[:end].copy(), weights[:end].copy(), violation[:end].copy()
