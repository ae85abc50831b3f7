"""Violated rank-1 cuts of fractional groups, and the coefficients of groups in cuts (`bounds.rank_one_cuts`)."""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.growing import doubled
from kanon_milp.system.arrays import Floats, Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython
if not cython.compiled:
    from math import inf as INFINITY  # noqa: N812


class FractionalGroups:
    """Groups that a point of the relaxation uses, and how often.

    indptr, types, copies: as in `Groups`. share: (C,), θ. begins, of_type, copies_of_type: the same by row type: the
    groups of_type[begins[i]:begins[i+1]] have copies_of_type rows of type i. counts: n_i, (t,).
    """

    def __init__(
        self, indptr: Ints, types: Ints, copies: Ints, share: Floats, begins: Ints, of_type: Ints,
        copies_of_type: Ints, counts: Ints,
    ) -> None:  # fmt: skip
        self.indptr, self.types, self.copies, self.share = indptr, types, copies, share
        self.begins, self.of_type, self.copies_of_type, self.counts = begins, of_type, copies_of_type, counts


class _Sets:
    """Sets of up to three row types, -1 for none, and by how much each is violated."""

    def __init__(self) -> None:
        self.rows, self.violation = np.empty((1024, 3), np.int64), np.empty(1024)
        self.end = 0


class _Addition:
    """One cut that grows: its row types with weights, and what the local search for it keeps.

    sums: (C,), Σ p_i a_i of each group. inside: (t,), the row types of the cut. alone: (t, d), Σ ⌊p·a_i / d⌋ θ of a row
    type with weight p by itself. last: (C,), the last step that saw a group; gain: zeros (t, d); near: scratch space
    for all row types.
    """

    def __init__(self, groups: int, types: int, d: int, widest: int) -> None:
        self.d = d
        self.chosen, self.weight, self.size = np.empty(widest, np.int64), np.empty(widest, np.int64), 0
        self.sums, self.inside = np.zeros(groups, np.int64), np.zeros(types, np.uint8)
        self.alone, self.gain = np.zeros((types, d)), np.zeros((types, d))
        self.last, self.near = np.zeros(groups, np.int64), np.empty(types, np.int64)


def smallest_sets(
    point: FractionalGroups, linked: tuple[Ints, Ints, Floats], begin: int, end: int, least: float
) -> tuple[Ints, Floats]:
    """Sets of one to three row types (-1 for none), the lowest of them in begin:end, and by how much Σ ⌊Σ a_i / 2⌋ θ is
    above its right side, if above `least`. linked: of `links`.

    ⌊(a+b)/2⌋ = ⌊a/2⌋ + ⌊b/2⌋ + 1 where both are odd: the row types of a triple are linked where a group holds odd
    numbers of both. With fewer than two links a triple says no more than its parts do.
    """
    counts, count = point.counts, len(point.counts)
    starts, others, strength = linked
    found = _Sets()
    alone = np.zeros(count)
    # links of the first and of the second row type; share of the groups with odd numbers of all three, by the third
    first, second, every = np.zeros(count), np.zeros(count), np.zeros(count)
    with cython.nogil:
        for c in range(len(point.share)):
            for e in range(point.indptr[c], point.indptr[c + 1]):
                alone[point.types[e]] += point.share[c] * (point.copies[e] // 2)
        for i in range(begin, end):
            if alone[i] - counts[i] // 2 > least and counts[i] > 1:
                _keep(found, i, -1, -1, alone[i] - counts[i] // 2)
            for x in range(starts[i], starts[i + 1]):
                first[others[x]] = strength[x]
            for x in range(starts[i], starts[i + 1]):
                j = others[x]
                if j < i:
                    continue
                pair = alone[i] + alone[j] + strength[x]
                over = pair - (counts[i] + counts[j]) // 2
                if over > least and counts[i] + counts[j] > 2:
                    _keep(found, i, j, -1, over)
                _thirds(point, i, j, every, 1.0)
                for y in range(starts[j], starts[j + 1]):
                    second[others[y]] = strength[y]
                # with a link to i, once, from the first of these; else with one to j
                for y in range(starts[i], starts[i + 1]):
                    r = others[y]
                    if r > j:
                        over = pair + alone[r] + strength[y] + second[r] - 2 * every[r]
                        over -= (counts[i] + counts[j] + counts[r]) // 2
                        if over > least:
                            _keep(found, i, j, r, over)
                for y in range(starts[j], starts[j + 1]):
                    r = others[y]
                    if r > i and first[r] == 0:
                        over = pair + alone[r] + strength[y] - 2 * every[r] - (counts[i] + counts[j] + counts[r]) // 2
                        if over > least:
                            _keep(found, i, j, r, over)
                    second[r] = 0
                _thirds(point, i, j, every, 0.0)
            for x in range(starts[i], starts[i + 1]):
                first[others[x]] = 0
    return np.array(found.rows[: found.end], np.int64), np.array(found.violation[: found.end])


def links(point: FractionalGroups) -> tuple[Ints, Ints, Floats]:
    """Per row type the others of which groups hold an odd number where they hold an odd number of it, and their share:
    (begins, row type, share) as CSR."""
    count = len(point.counts)
    together, near = np.zeros(count), np.empty(count, np.int64)
    starts, others, strength = np.zeros(count + 1, np.int64), np.empty(1024, np.int64), np.empty(1024)
    with cython.nogil:
        for i in range(count):
            close = 0
            for at in range(point.begins[i], point.begins[i + 1]):
                if point.copies_of_type[at] % 2 == 0:
                    continue
                c = point.of_type[at]
                for e in range(point.indptr[c], point.indptr[c + 1]):
                    j = point.types[e]
                    if j != i and point.copies[e] % 2 == 1:
                        if together[j] == 0:
                            near[close] = j
                            close += 1
                        together[j] += point.share[c]
            end = starts[i] + close
            while end > len(others):
                with cython.gil:
                    others, strength = doubled(others), doubled(strength)
            for x in range(close):
                others[starts[i] + x], strength[starts[i] + x] = near[x], together[near[x]]
                together[near[x]] = 0
            starts[i + 1] = end
    return starts, others, strength


def _keep(s: _Sets, i: int, j: int, r: int, over: float) -> None:
    if s.end == len(s.violation):
        with cython.gil:
            s.rows, s.violation = doubled(s.rows), doubled(s.violation)
    s.rows[s.end, 0], s.rows[s.end, 1], s.rows[s.end, 2], s.violation[s.end] = i, j, r, over
    s.end += 1


def _thirds(point: FractionalGroups, i: int, j: int, every: Floats, factor: float) -> None:
    """Share of the groups with odd numbers of i, j and a third row type, into `every`; factor 0 clears it."""
    for at in range(point.begins[i], point.begins[i + 1]):
        c = point.of_type[at]
        odd = 0
        for e in range(point.indptr[c], point.indptr[c + 1]):
            if (point.types[e] == i or point.types[e] == j) and point.copies[e] % 2 == 1:
                odd += 1
        if odd == 2:
            for e in range(point.indptr[c], point.indptr[c + 1]):
                if point.copies[e] % 2 == 1:
                    every[point.types[e]] = factor * (every[point.types[e]] + point.share[c])


def enlarged(point: FractionalGroups, seeds: Ints, d: int, widest: int, least: float) -> tuple[Ints, Ints, Floats]:
    """From each seed, a row of row types, with weights 1/d, up to `widest` row types; what is violated by more than
    `least` at any width.

    Returns (row types, -1 for none; weights; violations).
    """
    found, weights, violation = np.empty((1024, widest), np.int64), np.empty((1024, widest), np.int64), np.empty(1024)
    cut = _Addition(len(point.share), len(point.counts), d, widest)
    end, stamp = 0, 0
    with cython.nogil:
        for i in range(len(point.counts)):
            for at in range(point.begins[i], point.begins[i + 1]):
                for p in range(1, d):
                    cut.alone[i, p] += point.share[point.of_type[at]] * (p * point.copies_of_type[at] // d)
        for s in range(len(seeds)):
            left, right = 0.0, 0
            cut.size = 0
            for x in range(seeds.shape[1]):
                left += _put(point, cut, cut.size, seeds[s, x], 1)
                right += point.counts[seeds[s, x]]
                cut.size += 1
            place, same = 0, 0  # same: exchanges in a row that did not help
            while True:
                value = left - right // d
                grows = same == cut.size
                if grows:
                    if value > least:
                        if end == len(violation):
                            with cython.gil:
                                found, weights = doubled(found), doubled(weights)
                                violation = doubled(violation)
                        violation[end] = value
                        for x in range(widest):
                            found[end, x] = cut.chosen[x] if x < cut.size else -1
                            weights[end, x] = cut.weight[x] if x < cut.size else 0
                        end += 1
                    if cut.size == widest:
                        break
                    place = cut.size
                else:
                    place = place % cut.size
                    i, p = cut.chosen[place], cut.weight[place]
                    left += _take(point, cut, place)
                    right -= p * point.counts[i]
                stamp += 1
                top, which, by = _best_addition(point, cut, place, right, stamp)
                if grows:
                    if which < 0:
                        break
                    cut.size += 1
                    same = 1
                elif left + top > value + 1e-9:
                    same = 1
                else:
                    which, by = i, p
                    same += 1
                left += _put(point, cut, place, which, by)
                right += by * point.counts[which]
                place += 1
            for x in range(cut.size):
                _take(point, cut, x)
    return np.array(found[:end], np.int64), np.array(weights[:end], np.int64), np.array(violation[:end])


def _put(point: FractionalGroups, cut: _Addition, place: int, i: int, weight: int) -> float:
    """Have row type i with this weight at a place of the cut; by how much Σ ⌊sum / d⌋ θ rises."""
    cut.chosen[place], cut.weight[place] = i, weight
    cut.inside[i] = 1
    return _add(point, cut, i, weight)


def _take(point: FractionalGroups, cut: _Addition, place: int) -> float:
    """Take out what is there; by how much it rises."""
    cut.inside[cut.chosen[place]] = 0
    return _add(point, cut, cut.chosen[place], -cut.weight[place])


def _add(point: FractionalGroups, cut: _Addition, i: int, weight: int) -> float:
    rise = 0.0
    for at in range(point.begins[i], point.begins[i + 1]):
        c = point.of_type[at]
        before = cut.sums[c]
        cut.sums[c] = before + weight * point.copies_of_type[at]
        rise += point.share[c] * (cut.sums[c] // cut.d - before // cut.d)
    return rise


def _best_addition(
    point: FractionalGroups, cut: _Addition, without: int, right: int, stamp: int
) -> tuple[float, int, int]:
    """The row type that is best to add to the cut, except what is at place `without`, with its weight.

    right: Σ p_i n_i. stamp: number of the step. Returns (violation less what Σ ⌊sum / d⌋ θ is now, row type, weight);
    the row type is -1 where there is none that shares a group with them.
    """
    d, close = cut.d, 0
    for x in range(cut.size):
        if x == without:
            continue
        for at in range(point.begins[cut.chosen[x]], point.begins[cut.chosen[x] + 1]):
            c = point.of_type[at]
            if cut.last[c] == stamp:
                continue
            cut.last[c] = stamp
            for e in range(point.indptr[c], point.indptr[c + 1]):
                i = point.types[e]
                if cut.inside[i]:
                    continue
                if cut.gain[i, 0] == 0:
                    cut.gain[i, 0] = 1
                    cut.near[close] = i
                    close += 1
                for p in range(1, d):
                    more = (cut.sums[c] + p * point.copies[e]) // d - cut.sums[c] // d - p * point.copies[e] // d
                    if more > 0:
                        cut.gain[i, p] += point.share[c] * more
    top, which, by = -INFINITY, -1, 0
    for x in range(close):
        i = cut.near[x]
        for p in range(1, d):
            value = cut.gain[i, p] + cut.alone[i, p] - (right + p * point.counts[i]) // d
            if value > top:
                top, which, by = value, i, p
        for p in range(d):
            cut.gain[i, p] = 0
    return top, which, by


def coefficients_in_cuts(
    indptr: Ints, types: Ints, copies: Ints, begins: Ints, cut_of: Ints, weight_of: Ints, denominators: Ints
) -> tuple[Ints, Ints, Ints]:
    """The coefficients of groups in cuts that are not 0: (cut, group, coefficient), ordered by group.

    indptr, types, copies: the groups. begins, cut_of, weight_of, denominators: the cuts, as
    `bounds.rank_one_cuts.CutsByType`.
    """
    cut, column, times = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    filled = np.zeros(len(denominators), np.int64)
    end = 0
    with cython.nogil:
        for c in range(len(indptr) - 1):
            for e in range(indptr[c], indptr[c + 1]):
                for f in range(begins[types[e]], begins[types[e] + 1]):
                    filled[cut_of[f]] += weight_of[f] * copies[e]
            for e in range(indptr[c], indptr[c + 1]):
                for f in range(begins[types[e]], begins[types[e] + 1]):
                    r = cut_of[f]
                    if filled[r] >= denominators[r]:
                        if end == len(cut):
                            with cython.gil:
                                cut, column, times = doubled(cut), doubled(column), doubled(times)
                        cut[end], column[end], times[end] = r, c, filled[r] // denominators[r]
                        end += 1
                    filled[r] = 0
    return np.array(cut[:end], np.int64), np.array(column[:end], np.int64), np.array(times[:end], np.int64)
