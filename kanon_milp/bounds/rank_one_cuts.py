"""Rank-1 cuts: what rounding one combination of the assignment constraints says about groups.

Write a solution as groups, each the rows a = (a_i) that one candidate receives, a_i of row type i. Every row is in one
group: Σ_groups a_i = n_i. For integer weights p_i ≥ 0 on a few row types R and an integer denominator d ≥ 1:

    Σ_groups ⌊Σ_{i∈R} p_i a_i / d⌋ ≤ ⌊Σ_{i∈R} p_i n_i / d⌋

Proof. Add p_i/d times the assignment constraints; the left side only falls when each group's coefficient is rounded
down, and is an integer then, so the right side may be rounded down as well (Chvatal 1973; of rank 1, since nothing but
the assignment constraints is combined). It holds whatever else is required, and whether or not groups are split or
merged. With three row types of one row each, p = 1 and d = 2 these are the subset-row cuts of Jepsen, Petersen,
Spoorendonk and Pisinger (2008): of the groups that hold two or three of three rows there is at most one. The families
of four and five rows are those of Pecin, Pessoa, Poggi, Uchoa and Santos (2017).

Violated cuts are found for fractional groups: all with up to three row types, then larger ones from these. Cuts with
weights 1/2 on three rows are those of Jepsen et al. (2008). Larger ones are found by local search: for a denominator d
a set grows by one row type at a time, with the weight that suits it best, and after each step row types are exchanged,
or change their weights, while that helps. For two to five row types this comes to the families of Pecin et al. (2017),
which it finds without a list of them; sets of up to nine row types close a little more of the gap than five. Any set
and weights are valid so nothing there has to be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.parameters import SeparationParameters
from kanon_milp.errors import InputError
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.jit import compiled, compiled_part
from kanon_milp.system.kernels import doubled, doubled_rows

Scalar = TypeVar("Scalar", np.float64, np.int64)


class CutsByType(NamedTuple):
    """Rank-1 cuts as compiled code reads them: per row type i, at the places e in begins[i]:begins[i+1], the cut
    cut_of[e] that it is part of and its weight weight_of[e] there; denominators by cut. All int64."""

    begins: Ints
    cut_of: Ints
    weight_of: Ints
    denominators: Ints


class PricedCuts(NamedTuple, Generic[Scalar]):
    """The same with the multiplier ν ≥ 0 of each cut."""

    begins: Ints
    cut_of: Ints
    weight_of: Ints
    denominators: Ints
    multipliers: NDArray[Scalar]


@dataclass(frozen=True, eq=False)
class RankOneCuts:
    """Cut r is about the row types in list r of `types` (int32), ascending, with the weights p in the same order
    (int64, positive), and the denominator d (int64, positive)."""

    types: Ragged[np.int32]
    weights: Ints
    denominators: Ints

    def __post_init__(self) -> None:
        if (self.weights < 1).any() or (self.denominators < 1).any():
            raise InputError("weights and denominators of rank-1 cuts must be positive")

    @classmethod
    def of(cls, cuts: Iterable[tuple[Sequence[int], Sequence[int], int]]) -> RankOneCuts:
        """From (row types, weights, denominator) of each cut."""
        given = list(cuts)
        lengths = np.array([len(types) for types, _, _ in given], np.int64)
        types = np.array([i for types, _, _ in given for i in types], np.int32)
        weights = np.array([p for _, weights, _ in given for p in weights], np.int64)
        order = np.lexsort((types, np.repeat(np.arange(len(given)), lengths)))
        denominators = np.array([denominator for _, _, denominator in given], np.int64)
        return cls(Ragged(indptr_of(lengths), types[order]), weights[order], denominators)

    @property
    def count(self) -> int:
        """Number of cuts."""
        return len(self.denominators)

    def each(self) -> list[tuple[list[int], list[int], int]]:
        """The cuts one by one: row types, weights, denominator."""
        weights = Ragged(self.types.indptr, self.weights)
        return [
            (types.tolist(), weight.tolist(), denominator)
            for types, weight, denominator in zip(
                self.types.each(), weights.each(), self.denominators.tolist(), strict=True
            )
        ]

    def limits(self, counts: Ints) -> Ints:
        """The right sides, int64 (r,). counts: rows of each row type, int64 (t,)."""
        total = np.zeros(self.count, dtype=np.int64)
        np.add.at(total, self.types.list_of_value(), self.weights * counts[self.types.values])
        found: Ints = total // self.denominators
        return found

    def by_type(self, types: int) -> CutsByType:
        """The same by row type. types: number of row types."""
        cuts, places = self.types.transposed(types)
        return CutsByType(cuts.indptr, cuts.values, self.weights[places], self.denominators)

    def subset(self, keep: Flags) -> RankOneCuts:
        """Only the cuts where `keep` is true."""
        return RankOneCuts(self.types.subset(keep), self.weights[self.types.of_kept(keep)], self.denominators[keep])

    def joined(self, others: RankOneCuts) -> RankOneCuts:
        """These cuts and then the others."""
        return RankOneCuts(
            self.types.joined(others.types),
            np.concatenate([self.weights, others.weights]),
            np.concatenate([self.denominators, others.denominators]),
        )

    def mapped(self, types: int, back: Callable[[NDArray[Any]], NDArray[Any]]) -> RankOneCuts:
        """The same cuts over other row types. types: number of row types here; back: takes one number for each of
        these to one for each of the others, as `reductions.restore_values` does.

        Row types that were merged get the weight of what they were merged to: a group's sum is the same.
        """
        found = []
        for chosen, weights, denominator in self.each():
            weight = np.zeros(types, dtype=np.int64)
            weight[chosen] = weights
            there = back(weight)
            others = np.flatnonzero(there)
            found.append((others.tolist(), there[others].tolist(), denominator))
        return RankOneCuts.of(found)


NO_CUTS = RankOneCuts.of([])


Cut: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int]
"""Row types in rising order, their weights, the denominator."""

DENOMINATORS = (2, 3, 4, 5)


class FractionalGroups(NamedTuple):
    """Groups that a point of the relaxation uses, and how often.

    indptr, types, copies: as in `Groups`. share: float64 (C,), θ. begins, of_type, copies_of_type: the same by row
    type: the groups of_type[begins[i]:begins[i+1]] have copies_of_type rows of type i. counts: n_i, int64 (t,).
    """

    indptr: Ints
    types: Ints
    copies: Ints
    share: Floats
    begins: Ints
    of_type: Ints
    copies_of_type: Ints
    counts: Ints


class Totals(NamedTuple):
    """What the local search for one cut keeps.

    sums: int64 (C,), Σ p_i a_i of each group. inside: bool (t,), the row types of the cut. alone: float64 (t, d),
    Σ ⌊p·a_i / d⌋ θ of a row type with weight p by itself. last: int64 (C,), the last step that saw a group; gain:
    zeros (t, d); near: scratch space for all row types.
    """

    sums: Ints
    inside: Flags
    alone: Floats
    gain: Floats
    last: Ints
    near: Ints


class Seeds(NamedTuple):
    """Which nearly violated triples larger cuts are grown from.

    most: how many. turn: None for the most violated ones; with a number a quarter of them, and the others are drawn,
    in each turn others. threads: that they are grown on; the cuts are the same on any number.
    """

    most: int
    turn: int | None = None
    threads: int = 1

    def of(self, triples: Ints, strongest: int) -> Ints:
        """Some of them. triples: the most violated ones first. strongest: one in so many is one of these."""
        first = self.most if self.turn is None else self.most // strongest
        others = triples[first:]
        if self.turn is None or not len(others):
            return triples[:first]
        drawn = np.random.default_rng(self.turn).permutation(len(others))[: self.most - first]
        return np.concatenate([triples[:first], others[np.sort(drawn)]])


def separate(
    groups: Groups,
    share: Floats,
    counts: Ints,
    most: int,
    known: RankOneCuts,
    seeds: Seeds | None = None,
    params: SeparationParameters | None = None,
) -> RankOneCuts:
    """Up to `most` violated cuts that are not known, the most violated ones for their width, spread over the row types.

    share: float64 (C,), how often each group is used. counts: int64 (t,), rows of each row type.
    """
    p = params or SeparationParameters()
    seeds = seeds or Seeds(p.seeds)
    used = share > 1e-7
    few = groups.subset(used)
    of_type, copies_of_type = few.by_type(len(counts))
    point = FractionalGroups(*few.types, few.copies, share[used], *of_type, copies_of_type, counts)
    sets, violations = _smallest(point, p.nearly)
    order = np.argsort(-violations, kind="stable")
    violated = order[violations[order] > p.least_violation]
    chosen = sets[seeds.of(order[sets[order, 2] >= 0], p.strongest)]
    with ThreadPoolExecutor(seeds.threads) as executor:
        larger = list(
            executor.map(
                lambda denominator: _enlarged(point, chosen, denominator, p.widest, p.least_violation), DENOMINATORS
            )
        )
    small = np.full((len(violated), p.widest), -1)
    small[:, :3] = sets[violated]
    found = [(small, (small >= 0).astype(np.int64), violations[violated]), *larger]
    denominators = np.repeat((2, *DENOMINATORS), [len(each) for _, _, each in found])
    types, weights, over = (np.concatenate(each) for each in zip(*found, strict=True))
    # a wide cut is a part of more groups and says less about each
    first = np.argsort(-over / np.sqrt((types >= 0).sum(axis=1)), kind="stable")
    return _choose(types[first], weights[first], denominators[first], most, len(counts), known, p.touching)


def _choose(
    sets: Ints, weights: Ints, denominators: Ints, most: int, types: int, known: RankOneCuts, touching: int
) -> RankOneCuts:
    """The first ones, in lowest terms, none twice, and no row type in too many. sets: row types, -1 for none."""
    seen: set[Cut] = {(tuple(i), tuple(p), d) for i, p, d in known.each()}
    touched = [0] * types
    cuts: list[Cut] = []
    for each, by, denominator in zip(sets.tolist(), weights.tolist(), denominators.tolist(), strict=True):
        chosen = [i for i in each if i >= 0]
        if any(touched[i] >= touching for i in chosen):
            continue
        pairs = sorted(zip(chosen, by, strict=False))
        shared = math.gcd(denominator, *by[: len(chosen)])
        cut = tuple(i for i, _ in pairs), tuple(p // shared for _, p in pairs), denominator // shared
        if cut in seen:
            continue
        seen.add(cut)
        for i in chosen:
            touched[i] += 1
        cuts.append(cut)
        if len(cuts) == most:
            break
    return RankOneCuts.of(cuts)


@compiled_part
def _links(point: FractionalGroups) -> tuple[Ints, Ints, Floats]:
    """Per row type the others of which groups hold an odd number where they hold an odd number of it, and their share:
    (begins, row type, share) as CSR."""
    indptr, types, copies, share, begins, of_type, copies_of_type, _ = point
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
            others, strength = doubled(others), doubled(strength)
        for x in range(close):
            others[starts[i] + x], strength[starts[i] + x] = near[x], together[near[x]]
            together[near[x]] = 0
        starts[i + 1] = end
    return starts, others[: starts[count]], strength[: starts[count]]


@compiled
def _smallest(point: FractionalGroups, least: float) -> tuple[Ints, Floats]:
    """Sets of one to three row types (-1 for none) and by how much Σ ⌊Σ a_i / 2⌋ θ is above its right side, if above
    `least`.

    ⌊(a+b)/2⌋ = ⌊a/2⌋ + ⌊b/2⌋ + 1 where both are odd: the row types of a triple are linked where a group holds odd
    numbers of both. With fewer than two links a triple says no more than its parts do.
    """
    indptr, types, copies, share, _, _, _, counts = point
    alone = np.zeros(len(counts))
    for c in range(len(share)):
        for e in range(indptr[c], indptr[c + 1]):
            alone[types[e]] += share[c] * (copies[e] // 2)
    starts, others, strength = _links(point)
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
            _thirds(i, j, point, every, 1.0)
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
            _thirds(i, j, point, every, 0.0)
        for x in range(starts[i], starts[i + 1]):
            first[others[x]] = 0
    return found[:end].copy(), violation[:end].copy()


@compiled_part
def _kept(found: Ints, violation: Floats, end: int, i: int, j: int, r: int, over: float) -> tuple[Ints, Floats, int]:
    """Append one set; the arrays grow."""
    if end == len(violation):
        found, violation = doubled_rows(found), doubled(violation)
    found[end, 0], found[end, 1], found[end, 2], violation[end] = i, j, r, over
    return found, violation, end + 1


@compiled_part
def _thirds(i: int, j: int, point: FractionalGroups, every: Floats, factor: float) -> None:
    """Share of the groups with odd numbers of i, j and a third row type, into `every`; factor 0 clears it."""
    indptr, types, copies, share, begins, of_type, _, _ = point
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


@compiled_part
def _put(i: int, weight: int, d: int, point: FractionalGroups, sums: Ints) -> float:
    """Add so many times row type i to the sums of all groups; by how much Σ ⌊sum / d⌋ θ rises."""
    rise = 0.0
    for at in range(point.begins[i], point.begins[i + 1]):
        c = point.of_type[at]
        before = sums[c]
        sums[c] = before + weight * point.copies_of_type[at]
        rise += point.share[c] * (sums[c] // d - before // d)
    return rise


@compiled_part
def _best_addition(
    chosen: Ints, without: int, d: int, point: FractionalGroups, totals: Totals, right: int, stamp: int
) -> tuple[float, int, int]:
    """The row type that is best to add to the chosen ones, except that at place `without`, with its weight.

    right: Σ p_i n_i. stamp: number of the step. Returns (violation less what Σ ⌊sum / d⌋ θ is now, row type, weight);
    the row type is -1 where there is none that shares a group with them.
    """
    indptr, types, copies, share, begins, of_type, _, counts = point
    sums, inside, alone, gain, last, near = totals
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
                    more = (sums[c] + p * copies[e]) // d - sums[c] // d - p * copies[e] // d
                    if more > 0:
                        gain[i, p] += share[c] * more
    for x in range(close):
        i = near[x]
        for p in range(1, d):
            value = gain[i, p] + alone[i, p] - (right + p * counts[i]) // d
            if value > top:
                top, which, by = value, i, p
        for p in range(d):
            gain[i, p] = 0
    return top, which, by


@compiled
def _enlarged(point: FractionalGroups, seeds: Ints, d: int, widest: int, least: float) -> tuple[Ints, Ints, Floats]:
    """From each seed, with weights 1/d, up to `widest` row types; what is violated by more than `least` at
    any width.

    Returns (row types, -1 for none; weights; violations).
    """
    share, begins, of_type, copies_of_type, counts = (
        point.share, point.begins, point.of_type, point.copies_of_type, point.counts,
    )  # fmt: skip
    found, weights, violation = np.empty((1024, widest), np.int64), np.empty((1024, widest), np.int64), np.empty(1024)
    end, stamp = 0, 0
    totals = Totals(
        np.zeros(len(share), np.int64), np.zeros(len(counts), np.bool_), np.zeros((len(counts), d)),
        np.zeros((len(counts), d)), np.zeros(len(share), np.int64), np.empty(len(counts), np.int64),
    )  # fmt: skip
    sums, inside, alone = totals.sums, totals.inside, totals.alone
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
            left += _put(i, 1, d, point, sums)
            right += counts[i]
            size += 1
        place, same = 0, 0  # same: exchanges in a row that did not help
        while True:
            value = left - right // d
            grows = same == size
            if grows:
                if value > least:
                    if end == len(violation):
                        found, weights = doubled_rows(found), doubled_rows(weights)
                        violation = doubled(violation)
                    violation[end] = value
                    for x in range(widest):
                        found[end, x], weights[end, x] = (chosen[x], weight[x]) if x < size else (-1, 0)
                    end += 1
                if size == widest:
                    break
                place = size
            else:
                place = place % size
                i, p = chosen[place], weight[place]
                inside[i] = False
                left += _put(i, -p, d, point, sums)
                right -= p * counts[i]
            stamp += 1
            top, which, by = _best_addition(chosen[:size], place, d, point, totals, right, stamp)
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
            left += _put(which, by, d, point, sums)
            right += by * counts[which]
            place += 1
        for x in range(size):
            inside[chosen[x]] = False
            _put(chosen[x], -weight[x], d, point, sums)
    return found[:end].copy(), weights[:end].copy(), violation[:end].copy()
