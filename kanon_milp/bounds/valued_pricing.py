"""The cheapest group of a candidate under limits of sensitive values and rank-1 cuts: exact, depth first, compiled.

For one candidate: φ = min { Σ r_i a_i + Σ_R ν_R ⌊p_R·a / d_R⌋ : a integer, 0 ≤ a_i ≤ n_i, κ ≤ Σ a_i = S,
low_v·S ≤ X_v ≤ high_v·S, p different values, work of X ≤ t·S }, X_v the rows with value v, reduced costs r_i = w - λ_i
and ν ≥ 0 (`kanon_milp.bounds.rank_one_cuts`, `kanon_milp.bounds.work`). The first sum alone, with a charge θ instead of
the work's limit, is what `kanon_milp.bounds.sizes` finds, a lower bound.

The search: sizes S whose h(S), with fractions of rows, is below the value of interest; these are next to each other,
since h is convex. For each of them compositions (X_v) value by value: X_v rows with value v cost at least their X_v
cheapest ones, so those of the values that are still to come are found for all numbers of rows by a dynamic program, and
only compositions that can be below are looked at. For each of these, rows in rising order of r, value by value: a
group grows by one row after another, and what it can still become costs at least what it costs now plus the next rows
in order. Its own terms of rank-1 cuts never fall when rows are added.

Where work is limited, the dynamic program charges it with the θ that is best for the size, which only lowers the cost
of what is allowed; compositions are looked at in passes that begin close to that bound, and their work is exact.

All values of one call are either float64 or int64, so exact bounds are computed by the same lines.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.composition import TreeArrays, ValuedCover, ValuedRows, Workspace, rounded
from kanon_milp.bounds.pricing import give_back, take
from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.bounds.rows_by_value import Lined, charge_numbers, cheapest_rests, limit_numbers, line_up
from kanon_milp.bounds.sizes import ValuedCandidates, candidate_of, lowest_size
from kanon_milp.bounds.star import cheapest_of_size
from kanon_milp.bounds.work import Work
from kanon_milp.system.arrays import doubled
from kanon_milp.system.jit import compiled, compiled_part

Ints = NDArray[np.int64]
Scalar = TypeVar("Scalar", np.float64, np.int64)

PREPARED = 8  # the dynamic program for a size takes as long as its square divided by that in nodes
HIGHEST_CHARGE, LOWEST_CHARGE = 16, 64  # times a row's cost at most, a part of it at least, for a unit of work
FIRST_CHARGE = 4  # parts of a row's cost that work is charged with where no charge is known
FINER = 4  # a charge is searched by doubling and halving, then by this part of itself
PASSES = 4  # over the compositions of a size, each with four times the distance to the bound, the last without one
FIRST_PASS = 8  # parts of a row's cost, for the first one


class Answers(NamedTuple, Generic[Scalar]):
    """The chosen candidates, and of each of them φ, and whether the search came to its end."""

    chosen: Ints
    phi: NDArray[Scalar]
    complete: NDArray[np.bool_]


@compiled_part
def _grow(size: int, cuts: PricedCuts[Scalar], below: Scalar, nodes: int, lined: Lined[Scalar]) -> tuple[Scalar, int]:
    """Search the groups with the numbers of rows in `lined` for one below `below`; (the least or `below`, nodes left).

    What is found is in `best`. Nodes left is -1 where it gave up.
    """
    begins, items, prefix, _, numbers, _, chosen, values, best_group, filled, _, _ = lined
    zero = below * 0
    best, value, rest = below, zero, zero
    for v in range(len(numbers)):
        rest += prefix[begins[v] + v + numbers[v]]
    v, fence = -1, 0  # value of the next row, and the number of rows with which this value is complete
    depth, at = 0, 0
    deeper = True
    while True:
        if deeper:
            while depth == fence and depth < size:
                v += 1
                fence += numbers[v]
                at = begins[v]
                rest -= prefix[begins[v] + v + numbers[v]]
        need = fence - depth
        deeper = at + need <= begins[v + 1] and value + (prefix[at + v + need] - prefix[at + v]) + rest < best
        if deeper:
            nodes -= 1
            if nodes < 0:
                break
            values[depth], chosen[depth] = value, at
            value += prefix[at + v + 1] - prefix[at + v] + take(items[at], cuts, filled, zero)
            depth += 1
            at += 1
            if depth < size:
                continue
            if value < best:
                best = value
                for d in range(size):
                    best_group[d] = chosen[d]
            deeper = False
        if depth == 0:
            break
        depth -= 1
        while depth < fence - numbers[v]:
            rest += prefix[begins[v] + v + numbers[v]]
            fence -= numbers[v]
            v -= 1
        at, value = chosen[depth], values[depth]
        give_back(items[at], cuts, filled)
        at += 1
        while at < begins[v + 1] and items[at] == items[at - 1]:
            at += 1
    for d in range(depth):
        give_back(items[chosen[d]], cuts, filled)
    return best, nodes


@compiled_part
def _search_size(
    size: int,
    presence: int,
    cuts: PricedCuts[Scalar],
    below: Scalar,
    nodes: int,
    work: Work,
    before: tuple[int, Scalar],
    lined: Lined[Scalar],
) -> tuple[Scalar, int]:
    """As `_grow`, over all compositions of a size. before: what `charge_numbers` returns."""
    begins, prefix, bests, numbers, limits = lined.begins, lined.prefix, lined.bests, lined.numbers, lined.limits
    width, charged = len(numbers), len(lined.charges) > 0
    best, most = below, work.limit * size
    left, spent = np.empty(width + 1, np.int64), np.zeros(width + 1, prefix.dtype)
    far = np.zeros(width + 1, np.int64)
    left[0] = size
    far[0], spent[0] = before
    v = 0
    numbers[0] = limits[0, 0] - 1
    while v >= 0:
        numbers[v] += 1
        x, first = numbers[v], begins[v] + v
        if x > min(limits[v, 1], left[v]):
            v -= 1
            continue
        left[v + 1] = left[v] - x
        spent[v + 1] = spent[v] + prefix[first + x]
        if charged:
            number = size - left[v + 1] if work.line else x
            spent[v + 1] += lined.charges[v, number]
            far[v + 1] = far[v] + lined.far[v, number]
        # `never` is so large that nothing that is below can have it
        if spent[v + 1] + bests[v + 1, left[v + 1]] >= best or far[v + 1] > most:
            continue
        if v + 1 < width:
            nodes -= 1
            if nodes < 0:
                break
            v += 1
            numbers[v] = limits[v, 0] - 1
            continue
        different = 0
        for u in range(width):
            different += int(numbers[u] > 0)
        if different < presence:
            continue
        best, nodes = _grow(size, cuts, best, nodes, lined)
        if nodes < 0:
            break
    return best, nodes


@compiled_part
def _charged(
    size: int,
    theta: Scalar,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    room: Workspace[Scalar],
) -> tuple[bool, Scalar]:
    """What a group of integer numbers of rows costs at least with a charge: (possible, value times the grain)."""
    w, _, least, support, members, values, begins = candidate
    charged = ValuedCover(w, theta, least, support, members, values, begins)
    possible, value, _ = cheapest_of_size(size, True, charged, rows, tree, room)
    return possible, value


@compiled_part
def _best_charge(
    size: int,
    theta: Scalar,
    enough: Scalar,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    room: Workspace[Scalar],
) -> tuple[bool, Scalar, Scalar]:
    """The θ at which a group of a size is charged best, from one that is near: (possible, θ, what it costs at least).

    enough: what it need not cost more than. Where no group is allowed there is no best θ.
    """
    zero = candidate.w * 0
    most = candidate.w * HIGHEST_CHARGE
    if theta * LOWEST_CHARGE < candidate.w:
        theta = rounded(candidate.w, zero + FIRST_CHARGE, tree.tick) + tree.tick
    possible, best = _charged(size, theta, candidate, rows, tree, room)
    if not possible:
        return False, theta, best
    for part in (1, FINER):
        for step in (1, -1):
            # a step of 1 doubles, one of -1 halves; finer, a quarter more or a fifth less
            while rounded(best, tree.grain, tree.tick) < enough:
                change = rounded(theta, zero + (part if step > 0 else part + 1), tree.tick)
                trial = theta + step * change
                if change <= zero or trial * LOWEST_CHARGE < candidate.w or trial > most:
                    break
                _, value = _charged(size, trial, candidate, rows, tree, room)
                if value <= best:
                    break
                theta, best = trial, value
    return True, theta, rounded(best, tree.grain, tree.tick)


@compiled
def cheapest_valued_groups(
    candidates: ValuedCandidates[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    work: Work,
    room: Workspace[Scalar],
    cuts: PricedCuts[Scalar],
    settings: tuple[Scalar, Scalar, int, int],
    answers: Answers[Scalar],
) -> tuple[Ints, Ints, Ints]:
    """The cheapest group of each chosen candidate, if it is below `below`.

    tree: a star, or a line whose work is limited. settings: below; a number larger than any value here; nodes of the
    search of one candidate, and of all of them. φ is `below` where there is no cheaper group, a lower bound where the
    search gave up. Charges in `candidates` become better ones. Returns (candidate, size, row types): the groups, one
    after the other, a row type as often as it has rows in it.
    """
    below, never, most_nodes, all_nodes = settings
    chosen = answers.chosen
    found_of, sizes = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    types = np.empty(1024, np.int64)
    groups, end = 0, 0
    limited = len(work.weights) > 0
    for c in range(len(chosen)):
        candidate = candidate_of(candidates, chosen[c])
        least, support = candidate.least, candidate.support
        answers.phi[c], answers.complete[c] = below, True
        if support < least:
            continue
        possible, middle, value = lowest_size(least, support, least, candidate, rows, tree, room)
        bound = rounded(value, tree.grain, tree.tick)
        if not possible or bound >= below:
            continue
        lined = line_up(candidate, rows, len(cuts.denominators), limited)
        best, best_size = below, 0
        most = min(most_nodes, all_nodes)
        nodes = most
        for step in (1, -1):
            size, theta = middle if step > 0 else middle - 1, candidates.thetas[chosen[c]]
            while least <= size <= support and nodes >= 0:
                possible, value, _ = cheapest_of_size(size, False, candidate, rows, tree, room)
                if not possible or rounded(value, tree.grain, tree.tick) >= best:
                    break
                possible, before, start = limit_numbers(size, candidate.values, tree, lined), (0, below * 0), never
                if possible and limited:
                    possible, theta, start = _best_charge(size, theta, best, candidate, rows, tree, room)
                    if size == middle:
                        candidates.thetas[chosen[c]] = theta
                    if possible and start < best:
                        before = charge_numbers(size, theta, candidate.values, tree, work, lined)
                    else:
                        possible = False
                if possible:
                    cheapest_rests(size, work, lined, never)
                    nodes = max(nodes - size * size // PREPARED, 0)
                    above = rounded(candidate.w, candidate.w * 0 + FIRST_PASS, tree.tick) + tree.tick
                    for number in range(PASSES):
                        last = not limited or number == PASSES - 1 or start + above >= best
                        enough = best if last else start + above
                        found, nodes = _search_size(size, tree.presence, cuts, enough, nodes, work, before, lined)
                        if found < enough:
                            best, best_size = found, size
                            while end + size > len(types):
                                types = doubled(types)
                            for d in range(size):
                                types[end + d] = lined.items[lined.best[d]]
                        if last or found < enough or nodes < 0:
                            break
                        above *= 4
                size += step
        all_nodes -= most - max(nodes, 0)
        answers.phi[c] = best
        if nodes < 0:
            answers.complete[c], answers.phi[c] = False, bound
        if best_size > 0:
            end += best_size
            found_of[groups], sizes[groups] = chosen[c], best_size
            groups += 1
    return found_of[:groups].copy(), sizes[:groups].copy(), types[:end].copy()
