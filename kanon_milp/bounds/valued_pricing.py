"""The cheapest group of a candidate under limits of sensitive values and rank-1 cuts: exact, compiled.

For one candidate: φ = min { Σ r_i a_i + Σ_R ν_R ⌊p_R·a / d_R⌋ : a integer, 0 ≤ a_i ≤ n_i, κ ≤ Σ a_i = S, low_v·S ≤ X_v
≤ high_v·S, p different values, EMD cost of X ≤ t·S }, X_v the rows with value v, reduced costs r_i = w - λ_i and ν ≥ 0
(`kanon_milp.bounds.rank_one_cuts`, `kanon_milp.bounds.size_search`). The first sum alone, with a charge θ instead of
the EMD cost's limit, is what `kanon_milp.bounds.valued_groups` finds, a lower bound.

The search: sizes S whose h(S), with fractions of rows, is below the value of interest; these are next to each other,
since h is convex. For each of them the groups one by one (`kanon_milp.bounds.size_search`), and where that takes too
long, because the cheapest rows are together in many cuts, branch and bound over rows with a bound that knows of cuts
(`kanon_milp.bounds.row_branching`).

Where EMD cost is limited, the dynamic program charges it with the θ that is best for the size, which only lowers the
cost of what is allowed; compositions are looked at in passes that begin close to that bound, and their EMD cost is
exact.

All values of one call are either float64 or int64, so exact bounds are computed by the same lines.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.rank_one_cuts import PricedCuts
from kanon_milp.bounds.row_branching import CutShares, branch_on_rows, gather, no_shares
from kanon_milp.bounds.size_search import (
    HIGHEST_CHARGE,
    EmdCost,
    Size,
    SortedRows,
    charge_numbers,
    cheapest_rests,
    far_by_number,
    limit_numbers,
    search_passes,
    sort_rows,
)
from kanon_milp.bounds.tree_subproblem import ValuedCover, Workspace, cheapest_of_size, rounded
from kanon_milp.bounds.valued_groups import candidate_of, lowest_size
from kanon_milp.kernels.tree_subproblem import TreeArrays, ValuedCandidates, ValuedRows
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.system.jit import compiled, compiled_part
from kanon_milp.system.kernels import doubled

Scalar = TypeVar("Scalar", np.float64, np.int64)

# of the search for one group, one by one and by branch and bound over rows: at prices that are not known to be better,
# where few searches need more, and at others; where EMD cost is limited, the latter bounds it less well
Nodes: TypeAlias = tuple[int, int]
NODES: tuple[Nodes, ...] = (10_000, 0), (50_000, 150_000), (1_500_000, 3_500_000)
NODES_OF_EMD: tuple[Nodes, ...] = (10_000, 0), (200_000, 0), (5_000_000, 1_000_000)
ALL_NODES = 200_000_000  # of one call, of each kind: some seconds
PREPARED = 8  # the dynamic program for a size takes as long as its square divided by that in nodes
LOWEST_CHARGE = 64  # part of a row's cost at least, for a unit of EMD cost
FIRST_CHARGE = 4  # parts of a row's cost that EMD cost is charged with where no charge is known
FINER = 4  # a charge is searched by doubling and halving, then by this part of itself
FIRST_PASS = 8  # parts of a row's cost, for the first one


def nodes_of(emd: EmdCost) -> tuple[Nodes, ...]:
    """Of each pass over the candidates, the last one for proofs."""
    return NODES_OF_EMD if len(emd.weights) else NODES


class Answers(NamedTuple, Generic[Scalar]):
    """The chosen candidates, and of each of them φ, whether the search came to its end, and what the cheapest group
    costs that it has found."""

    chosen: Ints
    phi: NDArray[Scalar]
    complete: Flags
    cheapest: NDArray[Scalar]

    @classmethod
    def of(cls, chosen: Ints, zero: Scalar) -> Answers[Scalar]:
        """Scratch space for the answers about these. zero: of their type."""
        count, kind = len(chosen), type(zero)
        return cls(chosen, np.zeros(count, kind), np.ones(count, np.bool_), np.zeros(count, kind))


@compiled_part
def _charged(
    size: int,
    theta: Scalar,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    workspace: Workspace[Scalar],
) -> tuple[bool, Scalar]:
    """What a group of integer numbers of rows costs at least with a charge: (possible, value times the grain)."""
    w, _, least, support, members, values, begins = candidate
    charged = ValuedCover(w, theta, least, support, members, values, begins)
    possible, value, _ = cheapest_of_size(size, True, charged, rows, tree, workspace)
    return possible, value


@compiled_part
def _best_charge(
    size: int,
    theta: Scalar,
    enough: Scalar,
    candidate: ValuedCover[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    workspace: Workspace[Scalar],
) -> tuple[bool, Scalar, Scalar]:
    """The θ at which a group of a size is charged best, from one that is near: (possible, θ, what it costs at least).

    enough: what it need not cost more than. Where no group is allowed there is no best θ.
    """
    zero = candidate.w * 0
    most = candidate.w * HIGHEST_CHARGE
    if theta * LOWEST_CHARGE < candidate.w:
        theta = rounded(candidate.w, zero + FIRST_CHARGE, tree.tick) + tree.tick
    possible, best = _charged(size, theta, candidate, rows, tree, workspace)
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
                _, value = _charged(size, trial, candidate, rows, tree, workspace)
                if value <= best:
                    break
                theta, best = trial, value
    return True, theta, rounded(best, tree.grain, tree.tick)


@compiled_part
def _cheapest(
    at: Size[Scalar],
    bounds: tuple[Scalar, Scalar, Scalar],
    nodes: tuple[int, int],
    multipliers: NDArray[Scalar],
    cuts: PricedCuts[Scalar],
    sorted_rows: SortedRows[Scalar],
    decomposition: CutShares[Scalar],
) -> tuple[Scalar, Scalar, tuple[int, int]]:
    """The cheapest group of a size: (what it costs, what all of them cost at least, nodes left), the first two no more
    than they have to be below. bounds: as of `search_passes`. nodes: one by one, and of branch and bound over rows."""
    best, (single, branched) = bounds[2], nodes
    if single > 0:  # none are left where one size took too long: so would the next one
        cheapest_rests(at.size, at.emd, sorted_rows, at.never)
        single = max(single - at.size * at.size // PREPARED, 0)
        best, left = search_passes(at, cuts, bounds, single, sorted_rows)
        single = max(left, 0)
        if left >= 0:
            return best, best, (single, branched)
    lowest = min(best, bounds[0])
    if branched > 0:
        best, branched, lowest = branch_on_rows(best, branched, multipliers, cuts, at, sorted_rows, decomposition)
        lowest = max(lowest, min(best, bounds[0]))
    return best, lowest, (single, max(branched, 0))


@compiled
def cheapest_valued_groups(
    candidates: ValuedCandidates[Scalar],
    rows: ValuedRows[Scalar],
    tree: TreeArrays[Scalar],
    emd: EmdCost,
    workspace: Workspace[Scalar],
    cuts: PricedCuts[Scalar],
    settings: tuple[Scalar, Scalar, int, int, int],
    answers: Answers[Scalar],
) -> tuple[Ints, Ints, Ints]:
    """The cheapest group of each chosen candidate, if it is below `below`.

    tree: a star, or a line whose EMD cost is limited. settings: below; a number larger than any value here; nodes of
    the search one by one of one candidate, of its branch and bound over rows, and of all of them. φ and `cheapest` are
    `below` where there is no cheaper group; φ is a lower bound where the search gave up. Charges in `candidates` become
    better ones. Returns (candidate, size, row types): the groups, one after the other, a row type as often as it has
    rows in it.
    """
    below, never, most_single, most_branched, all_nodes = settings
    chosen, decomposition = answers.chosen, no_shares(cuts)
    found_of, sizes = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    types = np.empty(1024, np.int64)
    groups, end = 0, 0
    limited, zero = len(emd.weights) > 0, below * 0
    for c in range(len(chosen)):
        candidate = candidate_of(candidates, chosen[c])
        least, support, w = candidate.least, candidate.support, candidate.w
        answers.phi[c], answers.complete[c], answers.cheapest[c] = below, True, below
        if support < least:
            continue
        possible, middle, value = lowest_size(least, support, least, candidate, rows, tree, workspace)
        if not possible or rounded(value, tree.grain, tree.tick) >= below:
            continue
        sorted_rows = sort_rows(candidate, rows, len(cuts.denominators), limited)
        in_order, above = sorted_rows.items.copy(), rounded(w, zero + FIRST_PASS, tree.tick) + tree.tick
        # where the search gives up, no group costs less than `weak`
        best, best_size, weak = below, 0, below
        first = min(most_single, all_nodes), min(most_branched, all_nodes)
        nodes = first
        for step in (1, -1):
            size, theta = middle if step > 0 else middle - 1, candidates.thetas[chosen[c]]
            while least <= size <= support:
                possible, value, _ = cheapest_of_size(size, False, candidate, rows, tree, workspace)
                start = rounded(value, tree.grain, tree.tick)
                if not possible or start >= min(best, weak):
                    break
                possible, before, charge = limit_numbers(size, candidate.values, tree, sorted_rows), 0, zero
                if possible and limited:
                    possible, theta, start = _best_charge(size, theta, best, candidate, rows, tree, workspace)
                    if size == middle:
                        candidates.thetas[chosen[c]] = theta
                    if possible and start < best:
                        before = far_by_number(size, candidate.values, emd, sorted_rows.far)
                        decomposition.kept_charge[0] = theta
                        charge = charge_numbers(size, theta, before, emd, tree.tick, sorted_rows)
                    else:
                        possible = False
                if possible:
                    at = Size(
                        size, emd, before, charge, tree.presence, w, never, tree.tick, tree.tolerance,
                        sorted_rows.limits.copy(), in_order,
                    )  # fmt: skip
                    found, lowest, nodes = _cheapest(
                        at, (start, above, best), nodes, rows.multipliers, cuts, sorted_rows, decomposition
                    )
                    if found < best:
                        best, best_size = found, size
                        while end + size > len(types):
                            types = doubled(types)
                        for d in range(size):
                            types[end + d] = sorted_rows.best[d]
                    weak = min(weak, lowest)
                size += step
        all_nodes = max(all_nodes - (first[0] - nodes[0]) - (first[1] - nodes[1]), 0)
        answers.phi[c], answers.complete[c], answers.cheapest[c] = min(best, weak), weak >= best, best
        gather(in_order, decomposition)
        if best_size > 0:
            end += best_size
            found_of[groups], sizes[groups] = chosen[c], best_size
            groups += 1
    return found_of[:groups].copy(), sizes[:groups].copy(), types[:end].copy()
