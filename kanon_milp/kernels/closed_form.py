"""The closed form of the Lagrangian subproblems; one source for floating point and for integers.

For one candidate: φ = σ + min { Σ r_i x_i : Σ x_i ≥ κ, 0 ≤ x_i ≤ n_i } over the row types i that it covers, with the
reduced costs r_i = w - λ_i. All rows with r_i < 0 are taken; if they are fewer than κ, the cheapest others are added up
to κ.

Covers are sorted by the multipliers of a while ago, and most of each is not looked at: with λ_i ≤ order_i + rise for
all i, no row type from one with w - order_i ≥ rise on has r < 0, and none from one with w - order_i - rise ≥ r on is
cheaper than r. Of all of Adult's pairs, 2 to 10 % are left. That the cheapest row not taken costs so much also tells,
of three in four candidates with rows of r < 0, that they need too many others to have φ < 0.

All values of one call are either float64 or int64, so the exact bound is computed by the same lines. Candidates come as
`bounds.closed_form.PricedCandidates` has them, row types as `PricedRows`, array by array.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.system.arrays import Flags, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

Scalar = TypeVar("Scalar", np.float64, np.int64)


def add_cheapest(
    members: Ints32, begin: int, end: int,
    counts: NDArray[Scalar], multipliers: NDArray[Scalar], order: NDArray[Scalar], rise: Scalar,
    w: Scalar, need: Scalar, keys: NDArray[Scalar], items: Ints,
) -> tuple[int, Scalar, Scalar]:  # fmt: skip
    """The cheapest `need` > 0 rows whose reduced cost is not negative, of the cover members[begin:end].

    keys, items: room for min(need, t) + 2 entries. Returns (entries, over, value): the row types items[:entries] with
    reduced costs keys[:entries], the cheapest first; of the rows of the last one `over` are too many. value: Σ r_i x_i
    of these rows. over < 0 if there are too few.
    """
    entries = 0
    held = w * 0
    for at in range(begin, end):
        i = members[at]
        if held >= need and w - order[i] - rise >= keys[entries - 1]:
            break
        reduced = w - multipliers[i]
        if reduced >= 0 and (held < need or reduced < keys[entries - 1]):
            # in covers that are nearly sorted, close to the end
            e = entries
            while e > 0 and keys[e - 1] > reduced:
                keys[e], items[e] = keys[e - 1], items[e - 1]
                e -= 1
            keys[e], items[e] = reduced, i
            entries += 1
            held += counts[i]
            while held - counts[items[entries - 1]] >= need:
                entries -= 1
                held -= counts[items[entries]]
    over = held - need
    value = w * 0
    if over >= 0:
        for e in range(entries):
            value += counts[items[e]] * keys[e]
        value -= over * keys[entries - 1]
    return entries, over, value


def subproblems(
    indptr: Ints, members: Ints32, cost: NDArray[Scalar], least: NDArray[Scalar], surcharge: NDArray[Scalar],
    counts: NDArray[Scalar], multipliers: NDArray[Scalar], order: NDArray[Scalar], rise: Scalar,
    never: Scalar, everything: bool, phi: NDArray[Scalar], marginal: NDArray[Scalar], taken: NDArray[Scalar],
) -> Scalar:  # fmt: skip
    """Solve the subproblem of every candidate; returns Σ min(0, φ_g), and adds to `taken` (t,) the x of those with
    φ_g < 0.

    counts: n_i ≥ 1: arrays hold the κ + 1 row types that reach κ at most. members: each cover sorted by `order`,
    falling. never: φ of a candidate that covers fewer than κ rows. everything:
    also work out the φ_g that are surely not negative; else these are set to 0, which is faster. Into phi (G,) and
    marginal (G,): φ_g, and the highest reduced cost among the rows that are taken only to reach κ, 0 for none.
    """
    capacity = min(int(np.asarray(least).max(initial=0)), len(counts)) + 2
    keys, items = np.empty(capacity, np.asarray(cost).dtype), np.empty(capacity, np.int64)
    total: Scalar = multipliers[0] * 0
    with cython.nogil:
        for g in range(len(cost)):
            w = cost[g]
            begin, end = indptr[g], indptr[g + 1]
            value, need = surcharge[g], least[g]
            # no row that is not counted here costs less
            cheapest = never
            for at in range(begin, end):
                i = members[at]
                if w - order[i] >= rise:
                    cheapest = min(cheapest, w - order[i] - rise)
                    break
                reduced = w - multipliers[i]
                if reduced < 0:
                    value += counts[i] * reduced
                    need -= counts[i]
                else:
                    cheapest = min(cheapest, reduced)
            phi[g] = marginal[g] = 0
            if not everything and (value >= 0 or (need > 0 and value + need * min(cheapest, -value) >= 0)):
                continue
            entries, over = 0, w * 0
            if need > 0:
                entries, over, added = add_cheapest(
                    members, begin, end, counts, multipliers, order, rise, w, need, keys, items
                )
                if over < 0:
                    phi[g] = never
                    continue
                value += added
                marginal[g] = keys[entries - 1]
            phi[g] = value
            if value >= 0:
                continue
            total += value
            if entries > 0:
                taken[items[entries - 1]] -= over
                for e in range(entries):
                    taken[items[e]] += counts[items[e]]
            for at in range(begin, end):
                i = members[at]
                if w - order[i] >= rise:
                    break
                if w - multipliers[i] < 0:
                    taken[i] += counts[i]
    return total


def different_values(
    indptr: Ints, members: Ints32, cost: NDArray[Scalar], least: NDArray[Scalar], surcharge: NDArray[Scalar],
    counts: NDArray[Scalar], multipliers: NDArray[Scalar], order: NDArray[Scalar], rise: Scalar,
    value_of: Ints, presence: int, never: Scalar, everything: bool, left: Flags, phi: NDArray[Scalar],
    taken: NDArray[Scalar], ascending: Ints32, average: NDArray[Scalar],
) -> None:  # fmt: skip
    """The same where a group needs rows of so many different values, too: φ (G,) of the candidates in `left`.

    value_of: int64 (t,), the value of each row type; presence: how many a group needs. never: φ of a candidate that has
    no group. The cheapest group has all rows below 0, and of the others the cheapest: the first row of a value that it
    lacks always, any other row only as long as that leaves room for the values that are missing. (A group with other
    rows can be changed into it row by row, and costs no more.) Adds the groups with φ < 0 to `taken` (t,), and to
    `average` (pairs + 1,), by the covers in ascending order, of each pair the rows times the last entry; arrays that
    are empty are left out.
    """
    widest = 1
    for g in range(len(cost)):
        widest = max(widest, indptr[g + 1] - indptr[g])
    dtype = np.asarray(cost).dtype
    seen = np.full(int(np.asarray(value_of).max()) + 1, -1, np.int64)
    keys, items = np.empty(widest + 1, dtype), np.empty(widest + 1, np.int64)
    chosen, amounts = np.empty(widest + 1, np.int64), np.empty(widest + 1, dtype)
    with cython.nogil:
        for g in range(len(cost)):
            phi[g] = 0
            if not left[g]:
                continue
            w, begin, end = cost[g], indptr[g], indptr[g + 1]
            value, held, different, number = surcharge[g], w * 0, 0, 0
            for at in range(begin, end):
                i = members[at]
                if w - order[i] >= rise:
                    break
                if w - multipliers[i] < 0 and counts[i] > 0:
                    value += counts[i] * (w - multipliers[i])
                    held += counts[i]
                    chosen[number], amounts[number] = i, counts[i]
                    number += 1
                    if seen[value_of[i]] != g:
                        seen[value_of[i]] = g
                        different += 1
            if not everything and value >= 0:
                continue
            # rows that are missing, and those among them that need not be first ones of a value
            lacking = w * 0 + max(presence - different, 0)
            need = max(least[g] - held, lacking)
            others = need - lacking
            entries, first, at = 0, 0, begin
            while need > 0 and (everything or value < 0):
                # what comes later in the cover costs at least this
                floor = w - order[members[at]] - rise if at < end else never
                if first < entries and keys[first] <= floor:
                    i, key = items[first], keys[first]
                    first += 1
                    new = 1 if seen[value_of[i]] != g else 0
                    amount = min(counts[i], others + new, need)
                    if amount > 0:
                        if new > 0:
                            seen[value_of[i]] = g
                        others -= amount - new
                        need -= amount
                        value += amount * key
                        chosen[number], amounts[number] = i, amount
                        number += 1
                    continue
                if at == end:
                    break
                i = members[at]
                at += 1
                key = w - multipliers[i]
                if key >= 0 and counts[i] > 0:
                    e = entries
                    while e > first and keys[e - 1] > key:
                        keys[e], items[e] = keys[e - 1], items[e - 1]
                        e -= 1
                    keys[e], items[e] = key, i
                    entries += 1
            if need > 0 and (everything or value < 0):
                phi[g] = never
                continue
            phi[g] = value if everything else min(value, w * 0)
            if value >= 0:
                continue
            if len(taken) > 0:
                for a in range(number):
                    taken[chosen[a]] += amounts[a]
            if len(average) == 0:
                continue
            for a in range(number):
                low, high = begin, end
                while low < high:
                    middle = (low + high) // 2
                    if ascending[middle] < chosen[a]:
                        low = middle + 1
                    else:
                        high = middle
                average[low] += average[len(average) - 1] * amounts[a]
