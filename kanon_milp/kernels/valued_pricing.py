"""The cheapest group of a candidate under limits of sensitive values and rank-1 cuts: exact.

For one candidate: φ = min { Σ r_i a_i + Σ_R ν_R ⌊p_R·a / d_R⌋ : a integer, 0 ≤ a_i ≤ n_i, κ ≤ Σ a_i = S, low_v·S ≤ X_v
≤ high_v·S, p different values, EMD cost of X ≤ t·S }, X_v the rows with value v, reduced costs r_i = w - λ_i and ν ≥ 0
(`kanon_milp.bounds.rank_one_cuts`, `kanon_milp.kernels.size_search`). The first sum alone, with a charge θ instead of
the EMD cost's limit, is what `kanon_milp.kernels.valued_groups` finds, a lower bound.

The search: sizes S whose h(S), with fractions of rows, is below the value of interest; these are next to each other,
since h is convex. For each of them the groups one by one (`kanon_milp.kernels.size_search`), and where that takes too
long, because the cheapest rows are together in many cuts, branch and bound over rows with a bound that knows of cuts
(`kanon_milp.kernels.row_branching`).

Where EMD cost is limited, the dynamic program charges it with the θ that is best for the size, which only lowers the
cost of what is allowed; compositions are looked at in passes that begin close to that bound, and their EMD cost is
exact.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.row_branching import Branching
from kanon_milp.system.arrays import Flags, Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

if not cython.compiled:
    from kanon_milp.kernels.row_branching import branch_on_rows, gather
    from kanon_milp.kernels.size_search import (
        charge_numbers,
        cheapest_rests,
        far_by_number,
        limit_numbers,
        rows_of,
        search_passes,
        sort_rows,
    )
    from kanon_milp.kernels.tree_subproblem import cheapest_of_size, select
    from kanon_milp.kernels.valued_groups import lowest_size

Scalar = TypeVar("Scalar", np.float64, np.int64)

PREPARED = 8  # the dynamic program for a size takes as long as its square divided by that in nodes
LOWEST_CHARGE = 64  # part of a row's cost at least, for a unit of EMD cost
FIRST_CHARGE = 4  # parts of a row's cost that EMD cost is charged with where no charge is known
FINER = 4  # a charge is searched by doubling and halving, then by this part of itself
FIRST_PASS = 8  # parts of a row's cost, for the first one


class Answers(NamedTuple, Generic[Scalar]):
    """Of each candidate φ, whether the search came to its end, and what the cheapest group costs that it has found; the
    groups, one after the other: (candidate, size, row types), a row type as often as it has rows in it."""

    phi: NDArray[Scalar]
    complete: Flags
    cheapest: NDArray[Scalar]
    groups: tuple[Ints, Ints, Ints]


def _best_charge(s: Branching) -> bool:
    """The θ at which a group of the size is charged best, from one that is near, and what it costs at least, in
    `search.start`, unless that is not below `search.below`; False where no group is allowed, and there is no best θ."""
    w, tick, grain = s.search.problems.w, s.search.problems.tick, s.search.problems.grain
    theta, kept = s.search.theta, s.search.problems.theta
    if theta * LOWEST_CHARGE < w:
        theta = s.search.problems.rounded(w, FIRST_CHARGE) + tick
    s.search.problems.theta = theta
    possible = cheapest_of_size(s.search.problems, s.search.size, True)
    best = s.search.problems.value
    for fine in range(2):
        for down in range(2):
            # doubled or halved; finer, a quarter more or a fifth less
            parts = (FINER if fine else 1) + down
            while possible and s.search.problems.rounded(best, grain) < s.search.below:
                change = theta
                if parts > 1:
                    change = s.search.problems.rounded(theta, parts)
                trial = theta - change if down else theta + change
                if change <= 0 or trial * LOWEST_CHARGE < w or trial > s.highest_charge * w:
                    break
                s.search.problems.theta = trial
                cheapest_of_size(s.search.problems, s.search.size, True)
                if s.search.problems.value <= best:
                    break
                theta, best = trial, s.search.problems.value
    s.search.problems.theta = kept
    s.search.theta, s.search.start = theta, s.search.problems.rounded(best, grain)
    return possible


def _cheapest(s: Branching) -> None:
    """The cheapest group of the size: `search.below`, and in `weak` what all of them cost at least, no more than
    that."""
    if s.search.nodes > 0:  # none are left where one size took too long: so would the next one
        cheapest_rests(s.search)
        s.search.nodes = max(s.search.nodes - s.search.size * s.search.size // PREPARED, 0)
        search_passes(s.search)
        if s.search.nodes >= 0:
            s.weak = s.search.below
            return
        s.search.nodes = 0
    s.weak = min(s.search.below, s.search.start)
    if s.nodes > 0:
        branch_on_rows(s)
        s.weak = max(s.weak, min(s.search.below, s.search.start))
        s.nodes = max(s.nodes, 0)


def _price(s: Branching, middle: int) -> int:
    """The cheapest group of the candidate that is looked at, `search.below`; returns its size, 0 where there is none
    below. In `weak` what all of them cost at least, or more than that. middle: the size at which h is lowest."""
    g, best_size = s.search.problems.g, 0
    s.search.below = weak = s.highest
    s.search.above = s.search.problems.rounded(s.search.problems.w, FIRST_PASS) + s.search.problems.tick
    for down in range(2):
        size, step = middle - down, 1 - 2 * down
        s.search.theta = s.search.problems.thetas[g]
        while s.search.problems.fewest <= size <= s.search.problems.most:
            possible = cheapest_of_size(s.search.problems, size, False)
            s.search.start = s.search.problems.rounded(s.search.problems.value, s.search.problems.grain)
            if not possible or s.search.start >= min(s.search.below, weak):
                break
            possible = limit_numbers(s.search, size)
            if possible and s.search.charged:
                possible = _best_charge(s)
                if size == middle:
                    s.search.problems.thetas[g] = s.search.theta
                possible = possible and s.search.start < s.search.below
                if possible:
                    far_by_number(s.search)
                    s.kept_charge = s.search.theta
                    charge_numbers(s.search)
            if possible:
                before, theta = s.search.below, s.search.theta
                _cheapest(s)
                s.search.theta = theta
                if s.search.below < before:
                    best_size = size
                weak = min(weak, s.weak)
            size += step
    s.weak = weak
    return best_size


def cheapest_valued_groups(
    s: Branching, chosen: Ints, below: Any, most_single: int, most_branched: int, all_nodes: int
) -> Answers[Any]:
    """The cheapest group of each chosen candidate, if it is below `below`.

    The tree of `s` is a star, or a line whose EMD cost is limited. most_single, most_branched, all_nodes: nodes of the
    search one by one of one candidate, of its branch and bound over rows, and of all of them. φ and `cheapest` are
    `below` where there is no cheaper group; φ is a lower bound where the search gave up. Charges become better ones.
    """
    s.highest, s.kept_charge = below, 0
    s.phi, s.cheapest = np.full((2, len(chosen)), below, np.asarray(s.shares).dtype)
    complete = np.ones(len(chosen), np.uint8)
    found_of, sizes = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    types = np.empty(1024, np.int64)
    groups, end = 0, 0
    with cython.nogil:
        for c in range(len(chosen)):
            select(s.search.problems, chosen[c])
            if s.search.problems.most < s.search.problems.fewest:
                continue
            possible = lowest_size(s.search.problems, s.search.problems.fewest)
            if not possible or s.search.problems.rounded(s.search.problems.value, s.search.problems.grain) >= s.highest:
                continue
            middle, rows = s.search.problems.lowest, rows_of(s.search)
            values = s.search.problems.last_cell - s.search.problems.first_cell
            if rows > s.search.row_capacity or values > s.search.value_capacity:
                with cython.gil:
                    s.reserve(values, rows)
            sort_rows(s.search)
            s.search.nodes, s.nodes = min(most_single, all_nodes), min(most_branched, all_nodes)
            before = s.search.nodes + s.nodes
            size = _price(s, middle)
            all_nodes = max(all_nodes - (before - s.search.nodes - s.nodes), 0)
            s.phi[c], s.cheapest[c] = min(s.search.below, s.weak), s.search.below
            complete[c] = s.weak >= s.search.below
            gather(s)
            if size > 0:
                while end + size > len(types):
                    with cython.gil:
                        types = np.resize(np.asarray(types), 2 * len(types))
                for d in range(size):
                    types[end + d] = s.search.best[d]
                end += size
                found_of[groups], sizes[groups] = chosen[c], size
                groups += 1
    return Answers(
        np.asarray(s.phi), np.asarray(complete).view(np.bool_), np.asarray(s.cheapest),
        (np.asarray(found_of)[:groups].copy(), np.asarray(sizes)[:groups].copy(), np.asarray(types)[:end].copy()),
    )  # fmt: skip
