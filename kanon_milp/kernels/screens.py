"""Candidates that surely have no group of negative reduced cost are not solved.

For prices π_v of the limits of a node (of the upper limit where positive, of the lower one where negative) and
-1 ≤ p_v ≤ 1, every group that meets a relaxation has

    π_v (X_v - high_v·S) ≤ 0 or π_v (X_v - low_v·S) ≤ 0,    p_v (X_v - share_v·S) ≤ |X_v - share_v·S|,

so what it costs is at least Σ_i r_i x_i with r_i = w - λ_i + Σ_v (π_v + p_v q_v) - P over the nodes v that the value of
i lies below, q_v = θ·weight_v and P = Σ_v (π_v·limit_v + p_v q_v share_v) + θ·t. The least of that over at least κ rows
of at least `presence` values is bounded in closed form. Any prices are valid. Those that are dual to the cheapest group
when a candidate was last solved, and had none below 0, leave few of them while λ and θ move little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.sorting import sort_stably
from kanon_milp.kernels.tree_subproblem import FloatSubproblems, cheapest_of_size, select
from kanon_milp.kernels.valued_groups import cheapest_negative, cheapest_of_candidate
from kanon_milp.system.arrays import Floats, Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

HALVINGS = 12  # of the interval in which the marginal cost lies
MOVES = 8  # per row in a cover, after which it is sorted from the beginning
NEAR = 1e-7  # rows from a limit
NEVER = np.inf
WIDEST = 16.0  # units between the two ends of a marginal cost


class Prices:
    """Remembered of each candidate, and scratch space for one.

    of_limits, of_shares: float32 (G, nodes), π and p; without columns where there are no limits and charges.
    """

    of_limits: NDArray[np.float32]
    of_shares: NDArray[np.float32]
    # (nodes + 1,): what prices add to the rows of a value, by rank; per node the marginal cost before its limits and
    # charge, and the rows below it
    shift: Floats
    low: Floats
    high: Floats
    held: Floats
    # the same after them, of nodes whose parent is to come
    lows: Floats
    highs: Floats
    sums: Floats
    # what is above open parents, and how many children they still have
    above: Floats
    children: Ints

    def __init__(self, candidates: int, nodes: int, convex: bool) -> None:
        self.of_limits, self.of_shares = np.zeros((2, candidates, 0 if convex else nodes), np.float32)
        self.shift, self.low, self.high, self.held = np.zeros((4, nodes + 1))
        self.lows, self.highs, self.sums, self.above = np.zeros((4, nodes + 1))
        self.children = np.zeros(nodes + 1, np.int64)


def _shifts(s: FloatSubproblems, p: Prices, g: int, theta: float) -> float:
    """What prices add to the rows of each value, into `shift`; returns P."""
    total, top = theta * s.closeness, 0
    p.above[0], p.children[0] = 0.0, 1
    for v in range(len(s.own) - 1, -1, -1):
        while p.children[top] == 0:
            top -= 1
        p.children[top] -= 1
        price, q = p.of_limits[g, v], p.of_shares[g, v] * theta * s.weight[v]
        side = 1 if price > 0 else 0
        limit = s.node_grid[v, side] if s.children[v] > 0 else s.value_grid[v, side]
        total += price * limit + q * s.share[v]
        shift = p.above[top] + price + q
        if s.own[v] >= 0:
            p.shift[s.own[v]] = shift
        if s.children[v] > 0:
            top += 1
            p.above[top], p.children[top] = shift, s.children[v]
    return total


def screen(s: FloatSubproblems, p: Prices, left: NDArray[np.uint8]) -> None:
    """Keep true in `left` (G,) only candidates whose φ could be negative."""
    with cython.nogil:
        for g in range(len(left)):
            if not left[g]:
                continue
            left[g] = False
            if s.support[g] < s.least[g]:
                continue
            base = s.cost[g]
            if not s.convex:
                base -= _shifts(s, p, g, s.thetas[g])
            value, held, cheapest, different = 0.0, 0.0, NEVER, 0
            begin = s.indptr[g]
            for cell in range(s.cell_indptr[g], s.cell_indptr[g + 1]):
                cost, below = base + p.shift[s.cell_value[cell]], 0.0
                for at in range(begin + s.cell_begin[cell + g], begin + s.cell_begin[cell + g + 1]):
                    reduced = cost - s.multipliers[s.members[at]]
                    if reduced < 0:
                        below += reduced * s.counts[s.members[at]]
                        held += s.counts[s.members[at]]
                    elif reduced < cheapest:
                        cheapest = reduced
                if below < 0:
                    different += 1
                value += below
            missing = max(s.least[g] - held, s.presence - different)
            if missing > 0:
                value += missing * cheapest
            left[g] = not value >= 0


def _sort(s: FloatSubproblems, begin: int, end: int) -> None:
    """Sort members[begin:end] by falling multiplier; they are nearly so."""
    moves = MOVES * (end - begin)
    for at in range(begin + 1, end):
        i, e = s.members[at], at
        while e > begin and s.multipliers[s.members[e - 1]] < s.multipliers[i]:
            s.members[e] = s.members[e - 1]
            e -= 1
        s.members[e] = i
        moves -= at - e
        if moves < 0:
            for a in range(end - begin):
                s.keys[a], s.chosen[a] = -s.multipliers[s.members[begin + a]], s.members[begin + a]
            sort_stably(s.keys, end - begin, s.items, s.other_items)
            for a in range(end - begin):
                s.members[begin + a] = s.chosen[s.items[a]]
            return


def _interval(s: FloatSubproblems, p: Prices, v: int, size: int, low: float, high: float) -> tuple[float, float]:
    """The marginal costs of a node after its limits and charge. low, high: before them."""
    held = p.held[v]
    least, most = s.value_grid[v, 0], s.value_grid[v, 1]
    if s.children[v] > 0:
        least, most = s.node_grid[v, 0], s.node_grid[v, 1]
    if held >= most * size - NEAR:
        high = NEVER
    if held <= least * size + NEAR:
        low = -NEVER
    q, apart = s.theta * s.weight[v], held - s.share[v] * size
    return low + (q if apart > NEAR else -q), high + (-q if apart < -NEAR else q)


def _descend(s: FloatSubproblems, p: Prices, g: int, marginal: float, size: int) -> None:
    """Prices of a group with this marginal cost at the root, from there to the leaves."""
    top = 0
    p.above[0], p.children[0] = marginal, 1
    for v in range(len(s.own) - 1, -1, -1):
        while p.children[top] == 0:
            top -= 1
        p.children[top] -= 1
        q, apart = s.theta * s.weight[v], p.held[v] - s.share[v] * size
        charge = q if apart > NEAR else (-q if apart < -NEAR else 0.0)
        inside = min(max(p.above[top] - charge, p.low[v]), p.high[v])
        rest = p.above[top] - inside
        if charge == 0.0:
            charge = min(max(rest, -q), q)
        p.of_limits[g, v] = rest - charge if v < len(s.own) - 1 else 0.0
        p.of_shares[g, v] = min(max(charge / q, -1.0), 1.0) if q > 0 else 0.0
        if s.children[v] > 0:
            top += 1
            p.above[top], p.children[top] = inside, s.children[v]


def _ascend(s: FloatSubproblems, p: Prices, size: int) -> tuple[float, float]:
    """Marginal costs at every node of the group that is chosen, from the leaves to the root: those at the root."""
    for v in range(len(p.shift)):
        p.shift[v] = 0.0
    for at in range(s.entries):
        p.shift[s.rank[s.chosen[at]]] += s.chosen_amounts[at]
    top, cell = 0, s.first_cell
    for v in range(len(s.own)):
        low, high, held = -NEVER, NEVER, 0.0
        if cell < s.last_cell and s.cell_value[cell] == s.own[v]:
            held, before = p.shift[s.own[v]], 0.0
            for at in range(s.begin + s.cell_begin[cell + s.g], s.begin + s.cell_begin[cell + s.g + 1]):
                i = s.members[at]
                before += s.counts[i]
                if before > held + NEAR:
                    high = s.w - s.multipliers[i]
                    if before - s.counts[i] < held - NEAR:
                        low = high
                    break
                low = s.w - s.multipliers[i]
            cell += 1
        for _ in range(s.children[v]):
            top -= 1
            low, high = max(low, p.lows[top]), min(high, p.highs[top])
            held += p.sums[top]
        p.low[v], p.high[v], p.held[v] = low, high, held
        p.lows[top], p.highs[top] = _interval(s, p, v, size, low, high)
        p.sums[top] = held
        top += 1
    return p.low[len(s.own) - 1], p.high[len(s.own) - 1]


def _remember(s: FloatSubproblems, p: Prices, size: int) -> None:
    """Remember the prices of the cheapest group of `size` rows, fractions of rows allowed."""
    if not cheapest_of_size(s, size, False):
        return
    low, high = _ascend(s, p, size)
    if low == -NEVER and high == NEVER:
        return
    if low == -NEVER:
        low = high - WIDEST
    elif high == NEVER:
        high = low + WIDEST
    # one more row costs the marginal cost less P: nothing, where more and fewer rows are possible
    for _ in range(HALVINGS):
        marginal = (low + high) / 2
        _descend(s, p, s.g, marginal, size)
        if marginal < _shifts(s, p, s.g, s.theta):
            low = marginal
        else:
            high = marginal


def solve_left(
    s: FloatSubproblems,
    p: Prices,
    tries: int,
    everything: bool,
    left: NDArray[np.uint8],
    phi: Floats,
    sizes: Ints,
    groups: Ints,
) -> None:
    """φ of every candidate in `left` into `phi` (G,), 0 for the others; infinite where there is no group.

    Sorts the covers that it needs, in place. everything: φ is what it is also where it is positive. sizes, groups (G,):
    where h is lowest, and the sizes of the groups; at first where to begin to look for them.
    """
    with cython.nogil:
        for g in range(len(left)):
            phi[g] = 0.0
            if not left[g]:
                continue
            select(s, g)
            for cell in range(s.first_cell, s.last_cell):
                _sort(s, s.begin + s.cell_begin[cell + g], s.begin + s.cell_begin[cell + g + 1])
            if everything:
                phi[g] = s.value if cheapest_of_candidate(s, sizes[g], tries, True) else NEVER
                sizes[g], groups[g] = s.lowest, s.size
                continue
            negative = cheapest_negative(s, groups[g], tries)
            phi[g], groups[g] = s.value, s.size
            if not negative and not s.convex:
                _remember(s, p, groups[g])
