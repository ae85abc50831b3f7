"""A first table under requirements, from the candidates priced at the multipliers of the bound."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.parameters import SubproblemParameters
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.heuristics.construction import DEFAULT, ConstructionParameters
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.grouping import most_general_pairs
from kanon_milp.heuristics.repair import repair
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.heuristics.valued_state import ValuedBoard, rules_of
from kanon_milp.kernels.covers import ordered_covers
from kanon_milp.kernels.rules import Rules
from kanon_milp.kernels.tree_subproblem import FloatSubproblems, TreeArrays, ValuedCandidates, ValuedRows
from kanon_milp.kernels.valued_construction import Rest, place_groups
from kanon_milp.kernels.valued_moves import absorb, descend, mend_all, settle
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit

CHUNK = 1000  # candidates between two looks at the clock
NOTHING = 1e-6  # of a row


def construct(
    instance: Instance,
    point: DualPoint,
    limit: Limit,
    seed: int = 0,
    params: ConstructionParameters = DEFAULT,
) -> Assignment | None:
    """A complete assignment whose groups satisfy every requirement; None if none is found.

    For rising slack, go through the candidates, once those first that were open most often in the averages of the
    bound, once by rising φ; the cheapest group over the rows that have none yet, at a cost that is lower by the slack,
    is placed if it is worth its rows' multipliers. What is left over goes to the most general candidates, and rows are
    moved until these satisfy the requirements as well. The better of the two tables is returned; the second one is not
    begun after half of the time. Where nothing is known of the requirements but `holds`, Algorithm 1 of the
    pattern-guided paper (`heuristics.greedy`). At the limit, all rows that have no group yet are left over.
    """
    if not instance.problem.separable:
        return None
    best, pricing = None, PricedCandidates.of(instance, point)
    if pricing.priced:
        seconds, check = limit.seconds, GroupCheck(instance)
        # converged multipliers say the same of many candidates, their averages still tell them apart
        for key in ([] if point.open_share is None else [-point.open_share]) + [pricing.phi]:
            if best is not None and seconds is not None and limit.left < seconds / 2:
                break
            placed = _place(instance, pricing, key, limit, params)
            found = repair(instance, _mended(instance, placed, pricing, seed, limit, params), limit, check)
            if best is None or (found is not None and found.cost < best.cost):
                best = found
    return greedy(instance, limit) if best is None else best


def _place(
    instance: Instance, pricing: PricedCandidates, key: Floats, limit: Limit, params: ConstructionParameters
) -> Ints:
    """Rows of every pair, int64 (pairs,), those that are left over at the most general candidate that they have.

    key: float64 (G,), candidates are gone through by rising key, then φ.
    """
    candidates, cell = instance.candidates, cell_cost(instance)
    arrays, value = rules_of(instance)
    left, rows = instance.types.counts.astype(np.float64), np.zeros(candidates.pairs, np.int64)
    width, tries = int(arrays.columns.max(initial=-1)) + 1, SubproblemParameters().tries
    rest = Rest(
        left=left,
        rows=rows,
        value=value,
        members=candidates.members,
        covers=ordered_covers(*candidates.covers, np.lexsort((-pricing.multipliers, value))),
        rules=Rules(np.zeros((1, width), np.int32), *arrays),
        price=params.mending * cell,
        exchanges=params.exchanges,
        paired=params.paired,
    )
    promising = np.flatnonzero(pricing.phi <= params.promising * cell)
    promising = promising[np.lexsort((pricing.phi[promising], key[promising]))]
    for slack in params.slacks:
        for v, priced in enumerate(pricing.priced):
            bound_here = promising[pricing.which[promising] == v]
            subproblems = FloatSubproblems(
                priced.tree, priced.candidates, ValuedRows(left, pricing.multipliers, priced.rank)
            )
            for begin in range(0, len(bound_here), CHUNK):
                if limit.over:
                    break
                place_groups(bound_here[begin : begin + CHUNK], slack * cell, tries, subproblems, rest)
    rows[most_general_pairs(instance)] += np.round(left).astype(np.int64)
    return rows


def mended(
    instance: Instance,
    start: Assignment,
    phi: Floats,
    limit: Limit,
    seed: int = 0,
    params: ConstructionParameters = DEFAULT,
) -> Assignment | None:
    """A table whose groups are large enough, changed until they satisfy every requirement as well; None if that cannot
    be.

    phi: float64 (G,), φ_g; rows are moved among candidates where it is low.
    """
    return repair(instance, _on_board(instance, start, phi, seed, limit, params).placed(), limit)


def _on_board(
    instance: Instance, start: Assignment, phi: Floats, seed: int, limit: Limit, params: ConstructionParameters
) -> ValuedBoard:
    """Move single rows until no group has a violation or the limit is reached, and where that does not help, all rows
    of groups."""
    cell = cell_cost(instance)
    allowed = phi[instance.candidates.candidate_of_pair()] <= params.looked_at * cell
    board = ValuedBoard.of(instance, allowed, start, seed)
    c = board.rows
    c.price = params.mending * cell
    settle(c)
    order = np.argsort(board.board.state.size[:-1], kind="stable")  # the largest groups last
    for begin in range(0, len(order), CHUNK):
        if limit.over:
            return board
        mend_all(c, order[begin : begin + CHUNK], params.tried)
    for g in np.flatnonzero(c.violation).tolist():
        while c.violation[g] > 0 and not limit.over and absorb(c, g):
            pass
    settle(c)
    return board


def _mended(
    instance: Instance, rows: Ints, pricing: PricedCandidates, seed: int, limit: Limit, params: ConstructionParameters
) -> Assignment:
    """As `_on_board`; then open candidates one by one where that pays.

    rows: int64 (pairs,), a complete assignment.
    """
    board = _on_board(instance, Assignment.from_pairs(instance, rows), pricing.phi, seed, limit, params)
    cell = cell_cost(instance)
    phi = pricing.phi[board.board.candidate]
    order = np.argsort(phi, kind="stable")
    order = order[phi[order] <= params.promising * cell]
    for begin in range(0, len(order), CHUNK):
        if limit.over:
            break
        descend(board.rows, order[begin : begin + CHUNK])
    return board.placed()


def rounded(instance: Instance, point: DualPoint, params: ConstructionParameters = DEFAULT) -> Assignment | None:
    """A complete assignment near the averages of the bound, whose groups may violate requirements.

    The rows of each type are apportioned by largest remainders to those candidates that were open often enough; where
    there are none, they go to the most general candidate that they have. None where the point knows no averages.
    """
    if point.rows is None or point.open_share is None:
        return None
    candidates, counts = instance.candidates, instance.types.counts
    likely = (point.open_share[candidates.candidate_of_pair()] >= params.open) & (point.rows > NOTHING)
    pairs = np.flatnonzero(likely)
    types, weights = candidates.members[pairs], point.rows[pairs]
    weights *= counts[types] / np.bincount(types, weights=weights, minlength=len(counts))[types]
    whole = np.floor(weights + NOTHING).astype(np.int64)
    lacking = counts - np.bincount(types, weights=whole, minlength=len(counts)).astype(np.int64)
    order = np.lexsort((whole - weights, types))
    rank = np.arange(len(order)) - np.searchsorted(types[order], types[order])
    whole[order[rank < lacking[types[order]]]] += 1
    rows = np.zeros(candidates.pairs, np.int64)
    rows[pairs] = whole
    left = counts - np.bincount(types, weights=whole, minlength=len(counts)).astype(np.int64)
    rows[most_general_pairs(instance)] += left
    return Assignment.from_pairs(instance, rows)


@dataclass(frozen=True, eq=False)
class Priced:
    """The candidates under one relaxation, at the multipliers of a point."""

    candidates: ValuedCandidates[np.float64]
    rank: Ints
    tree: TreeArrays[np.float64]


@dataclass(frozen=True, eq=False)
class PricedCandidates:
    """phi: float64 (G,), φ_g, the largest of the relaxations, and 0 for candidates without a row of negative reduced
    cost; which: int64 (G,), the number of that relaxation.
    multipliers: float64 (t,), λ. priced: one for each relaxation; none where no requirement is about a value."""

    instance: Instance
    phi: Floats
    which: Ints
    multipliers: Floats
    priced: tuple[Priced, ...]

    @classmethod
    def of(cls, instance: Instance, point: DualPoint) -> PricedCandidates:
        """φ of every candidate at a point; what is known of the last points is kept, since it takes a while."""
        if point not in _KNOWN:
            _KNOWN[point] = cls._of(instance, point)
        return _KNOWN[point]

    @classmethod
    def _of(cls, instance: Instance, point: DualPoint) -> PricedCandidates:
        count, multipliers = instance.candidates.count, np.ascontiguousarray(point.multipliers)
        if not relaxations_of(instance):
            nothing = np.zeros(count)
            return cls(instance, nothing, nothing.astype(np.int64), multipliers, ())
        at = RequiredEvaluator(instance, multipliers)
        charges = np.zeros(0) if point.charges is None else point.charges
        place = np.concatenate([multipliers, charges])
        phis, priced = [], []
        for v, relaxed in enumerate(at.relaxed):
            covers = relaxed.cells.covers(instance, multipliers)
            thetas = np.ascontiguousarray(at.thetas(place, v))
            candidates = relaxed.cells.candidates(instance, covers, at.candidates.cost, thetas)
            phis.append(at.every_phi(v, multipliers, thetas))
            priced.append(Priced(candidates, relaxed.cells.rank, relaxed.tree))
        found = np.array(phis)
        # poor multipliers say little of candidates none of whose rows is worth its place: these are not left out
        reduced = at.candidates.cost[of_pair := instance.candidates.candidate_of_pair()]
        below = (reduced - multipliers[instance.candidates.members]) < 0
        some = np.bincount(of_pair, weights=below, minlength=instance.candidates.count) > 0
        most = np.where(some, found.max(axis=0), 0.0)
        return cls(instance, most, found.argmax(axis=0).astype(np.int64), multipliers, tuple(priced))


_KNOWN: WeakKeyDictionary[DualPoint, PricedCandidates] = WeakKeyDictionary()  # a point belongs to one instance
