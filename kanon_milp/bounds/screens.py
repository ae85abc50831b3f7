"""Candidates that surely have no group of negative reduced cost are not solved; compiled.

For prices π_v of the limits of a node (of the upper limit where positive, of the lower one where negative) and
-1 ≤ p_v ≤ 1, every group that meets a relaxation has

    π_v (X_v - high_v·S) ≤ 0 or π_v (X_v - low_v·S) ≤ 0,    p_v (X_v - share_v·S) ≤ |X_v - share_v·S|,

so what it costs is at least Σ_i r_i x_i with r_i = w - λ_i + Σ_v (π_v + p_v q_v) - P over the nodes v that the value of
i lies below, q_v = θ·weight_v and P = Σ_v (π_v·limit_v + p_v q_v share_v) + θ·t. The least of that over at least κ rows
of at least `presence` values is bounded in closed form. Any prices are valid. Those that are dual to the cheapest group
when a candidate was last solved, and had none below 0, leave few of them while λ and θ move little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.tree_subproblem import ValuedCover, Workspace, cheapest_of_size
from kanon_milp.bounds.valued_groups import CheapestGroups, candidate_of, cheapest_negative, cheapest_of_candidate
from kanon_milp.kernels.tree_subproblem import TreeArrays, ValuedCandidates, ValuedRows
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.jit import compiled, compiled_part
from kanon_milp.system.kernels import stable_order

HALVINGS = 12  # of the interval in which the marginal cost lies
MOVES = 8  # per row in a cover, after which it is sorted from the beginning
NEAR = 1e-7  # rows from a limit
NEVER = np.float64(np.inf)
WIDEST = 16.0  # units between the two ends of a marginal cost


class Prices(NamedTuple):
    """Remembered of each candidate. of_limits, of_shares: float32 (G, nodes), π and p; (G, 0) where there are no limits
    and charges."""

    of_limits: NDArray[np.float32]
    of_shares: NDArray[np.float32]


class Levels(NamedTuple):
    """Scratch space for one candidate, (nodes + 1,).

    shift: what prices add to the rows of a value, by rank. low, high, held: per node the marginal cost before its
    limits and charge, and the rows below it. lows, highs, sums: the same after them, of nodes whose parent is to come.
    above, children: what is above open parents, and how many children they still have.
    """

    shift: Floats
    low: Floats
    high: Floats
    held: Floats
    lows: Floats
    highs: Floats
    sums: Floats
    above: Floats
    children: Ints


class Memory(NamedTuple):
    """Prices of the candidates, and scratch space."""

    prices: Prices
    levels: Levels
    workspace: Workspace[np.float64]


def make_levels(nodes: int) -> Levels:
    """Scratch space for a tree of so many nodes."""
    a, b, c, d, e, f, g, h = np.zeros((8, nodes + 1))
    return Levels(a, b, c, d, e, f, g, h, np.zeros(nodes + 1, np.int64))


def no_prices(candidates: int, nodes: int) -> Prices:
    """Nothing is remembered."""
    of_limits, of_shares = np.zeros((2, candidates, nodes), np.float32)
    return Prices(of_limits, of_shares)


@compiled_part
def _shifts(
    theta: np.float64,
    limits: NDArray[np.float32],
    shares: NDArray[np.float32],
    tree: TreeArrays[np.float64],
    levels: Levels,
) -> np.float64:
    """What prices add to the rows of each value, into levels.shift; returns P."""
    total, top = theta * tree.closeness, 0
    levels.above[0], levels.children[0] = 0.0, 1
    for v in range(len(tree.own) - 1, -1, -1):
        while levels.children[top] == 0:
            top -= 1
        levels.children[top] -= 1
        q = float(shares[v]) * theta * tree.weight[v]
        price = float(limits[v])
        grid = tree.node_grid if tree.children[v] > 0 else tree.value_grid
        total += price * grid[v, 1 if price > 0 else 0] + q * tree.share[v]
        shift = levels.above[top] + price + q
        if tree.own[v] >= 0:
            levels.shift[tree.own[v]] = shift
        if tree.children[v] > 0:
            top += 1
            levels.above[top], levels.children[top] = shift, tree.children[v]
    return total


@compiled
def screen(
    candidates: ValuedCandidates[np.float64],
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    prices: Prices,
    levels: Levels,
    left: Flags,
) -> None:
    """Keep true in `left` (G,) only candidates whose φ could be negative."""
    counts, multipliers, _ = rows
    members, thetas, shift = candidates.members, candidates.thetas, levels.shift
    for g in range(len(left)):
        if not left[g]:
            continue
        left[g] = False
        if candidates.support[g] < candidates.least[g]:
            continue
        base = candidates.cost[g]
        if not tree.convex:
            base -= _shifts(thetas[g], prices.of_limits[g], prices.of_shares[g], tree, levels)
        value, held, cheapest, different = 0.0, 0.0, np.inf, 0
        begin = candidates.indptr[g]
        for cell in range(candidates.cell_indptr[g], candidates.cell_indptr[g + 1]):
            cost, below = base + shift[candidates.cell_value[cell]], 0.0
            for at in range(begin + candidates.cell_begin[cell + g], begin + candidates.cell_begin[cell + g + 1]):
                reduced = cost - multipliers[members[at]]
                if reduced < 0:
                    below += reduced * counts[members[at]]
                    held += counts[members[at]]
                elif reduced < cheapest:
                    cheapest = reduced
            different += below < 0
            value += below
        missing = max(candidates.least[g] - held, tree.presence - different)
        if missing > 0:
            value += missing * cheapest
        left[g] = not value >= 0


@compiled_part
def _sort(members: Ints32, multipliers: Floats, begin: int, end: int) -> None:
    """Sort members[begin:end] by falling multiplier; they are nearly so."""
    moves = MOVES * (end - begin)
    for at in range(begin + 1, end):
        i, e = members[at], at
        while e > begin and multipliers[members[e - 1]] < multipliers[i]:
            members[e] = members[e - 1]
            e -= 1
        members[e] = i
        moves -= at - e
        if moves < 0:
            cell, keys = members[begin:end].copy(), np.empty(end - begin)
            for a in range(len(cell)):
                keys[a] = -multipliers[cell[a]]
            order = stable_order(keys)
            for a in range(len(cell)):
                members[begin + a] = cell[order[a]]
            return


@compiled_part
def _interval(
    size: int,
    theta: np.float64,
    v: int,
    tree: TreeArrays[np.float64],
    levels: Levels,
    low: np.float64,
    high: np.float64,
) -> tuple[np.float64, np.float64]:
    """The marginal costs of a node after its limits and charge. low, high: before them."""
    held = levels.held[v]
    grid = tree.node_grid if tree.children[v] > 0 else tree.value_grid
    if held >= grid[v, 1] * size - NEAR:
        high = NEVER
    if held <= grid[v, 0] * size + NEAR:
        low = -NEVER
    q, apart = theta * tree.weight[v], held - tree.share[v] * size
    return low + (q if apart > NEAR else -q), high + (-q if apart < -NEAR else q)


@compiled_part
def _descend(
    marginal: np.float64,
    size: int,
    theta: np.float64,
    tree: TreeArrays[np.float64],
    levels: Levels,
    limits: NDArray[np.float32],
    shares: NDArray[np.float32],
) -> None:
    """Prices of a group with this marginal cost at the root, from there to the leaves."""
    top = 0
    levels.above[0], levels.children[0] = marginal, 1
    for v in range(len(tree.own) - 1, -1, -1):
        while levels.children[top] == 0:
            top -= 1
        levels.children[top] -= 1
        q, apart = theta * tree.weight[v], levels.held[v] - tree.share[v] * size
        charge = q if apart > NEAR else (-q if apart < -NEAR else 0.0)
        inside = min(max(levels.above[top] - charge, levels.low[v]), levels.high[v])
        rest = levels.above[top] - inside
        if charge == 0.0:
            charge = min(max(rest, -q), q)
        limits[v] = rest - charge if v < len(tree.own) - 1 else 0.0
        shares[v] = min(max(charge / q, -1.0), 1.0) if q > 0 else 0.0
        if tree.children[v] > 0:
            top += 1
            levels.above[top], levels.children[top] = inside, tree.children[v]


@compiled_part
def _ascend(
    chosen: int,
    size: int,
    candidate: ValuedCover[np.float64],
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    memory: Memory,
) -> tuple[np.float64, np.float64]:
    """Marginal costs at every node of the group in the workspace, from the leaves to the root: those at the root."""
    workspace, levels = memory.workspace, memory.levels
    for v in range(len(levels.shift)):
        levels.shift[v] = 0.0
    for at in range(chosen):
        levels.shift[rows.value[workspace.chosen[at]]] += workspace.chosen_amounts[at]
    top, cell = 0, 0
    for v in range(len(tree.own)):
        low, high, held = -NEVER, NEVER, np.float64(0.0)
        if cell < len(candidate.values) and candidate.values[cell] == tree.own[v]:
            held, before = levels.shift[tree.own[v]], 0.0
            for at in range(candidate.begins[cell], candidate.begins[cell + 1]):
                i = candidate.members[at]
                before += rows.counts[i]
                if before > held + NEAR:
                    high = candidate.w - rows.multipliers[i]
                    low = high if before - rows.counts[i] < held - NEAR else low
                    break
                low = candidate.w - rows.multipliers[i]
            cell += 1
        for _ in range(tree.children[v]):
            top -= 1
            low, high = max(low, levels.lows[top]), min(high, levels.highs[top])
            held += levels.sums[top]
        levels.low[v], levels.high[v], levels.held[v] = low, high, held
        low, high = _interval(size, candidate.theta, v, tree, levels, low, high)
        levels.lows[top], levels.highs[top], levels.sums[top] = low, high, held
        top += 1
    return levels.low[len(tree.own) - 1], levels.high[len(tree.own) - 1]


@compiled_part
def _remember(
    size: int,
    g: int,
    candidate: ValuedCover[np.float64],
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    memory: Memory,
) -> None:
    """Remember the prices of the cheapest group of `size` rows, fractions of rows allowed."""
    possible, _, chosen = cheapest_of_size(size, False, candidate, rows, tree, memory.workspace)
    if not possible:
        return
    low, high = _ascend(chosen, size, candidate, rows, tree, memory)
    if low == -np.inf and high == np.inf:
        return
    if low == -np.inf:
        low = high - WIDEST
    elif high == np.inf:
        high = low + WIDEST
    limits, shares = memory.prices.of_limits[g], memory.prices.of_shares[g]
    # one more row costs the marginal cost less P: nothing, where more and fewer rows are possible
    for _ in range(HALVINGS):
        marginal = (low + high) / 2
        _descend(marginal, size, candidate.theta, tree, memory.levels, limits, shares)
        if marginal < _shifts(candidate.theta, limits, shares, tree, memory.levels):
            low = marginal
        else:
            high = marginal


@compiled
def solve_left(
    candidates: ValuedCandidates[np.float64],
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    tries: int,
    everything: bool,
    left: Flags,
    memory: Memory,
    found: CheapestGroups[np.float64],
) -> None:
    """φ_g of every candidate in `left` under one relaxation into `found`, 0 for the others.

    Sorts the covers that it needs, in place. everything: φ_g is what it is also where it is positive.
    """
    phi, sizes, groups = found
    for g in range(len(left)):
        phi[g] = 0.0
        if not left[g]:
            continue
        begin = candidates.indptr[g]
        for at in range(candidates.cell_indptr[g] + g, candidates.cell_indptr[g + 1] + g):
            cell = candidates.cell_begin
            _sort(candidates.members, rows.multipliers, begin + cell[at], begin + cell[at + 1])
        candidate = candidate_of(candidates, g)
        if everything:
            phi[g], sizes[g], groups[g] = cheapest_of_candidate(
                sizes[g], tries, NEVER, everything, candidate, rows, tree, memory.workspace
            )
            continue
        negative, phi[g], groups[g] = cheapest_negative(groups[g], tries, candidate, rows, tree, memory.workspace)
        if not negative and not tree.convex:
            _remember(groups[g], g, candidate, rows, tree, memory)
