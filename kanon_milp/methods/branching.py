"""Branch and bound with rank-1 cuts instead of a core problem that would take the solver long (hybrid method).

Its nodes are `kanon_milp.bounds.columns.branching`; here are the tables that their points lead to, and the models of
nodes that are small.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from kanon_milp.bounds.columns.branching import BranchAndBound, Node, NodeBounds, renumbered
from kanon_milp.bounds.columns.cut_rounds import CutRounds
from kanon_milp.bounds.parameters import BranchParameters
from kanon_milp.errors import InputError
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.heuristics.construction import ConstructionParameters, construct
from kanon_milp.heuristics.set_partitioning import best_of_groups
from kanon_milp.heuristics.state import Board
from kanon_milp.methods.phases import Estimate, Known
from kanon_milp.methods.required_phases import Raising, TurnParams, valued_of
from kanon_milp.methods.sizes_phases import ForecastParams, branching_is_quicker, far_from_proof, units_left
from kanon_milp.presolve.assignment import Assignment, Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import Dropped, restore
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.limit import NO_LIMIT, Limit, Over
from kanon_milp.system.parameters import number, parameters


@parameters("branching")
@dataclass(frozen=True)
class BranchingParams:
    """Branch and bound with rank-1 cuts."""

    leaf: int = number(
        1_000, "pairs of a node that goes to the solver; such a model takes as long as a node or two", least=-1
    )
    leaf_seconds: float = number(3.0, "for the model of a node, under requirements of sensitive values")
    table_share: float = number(0.25, "of the time that such a node has taken, at most, for a table", most=1)
    share: float = number(1.0, "of the time, expected", most=1)
    gain: float = number(0.6, "expected share of the gap that it closes")


class Branching:
    """The proof of a table, or of better ones, from multipliers with rank-1 cuts; goes on where it has stopped.

    cuts: rounds that have ended, of the session's instance, under requirements of sensitive values; None where sizes
    are all that is required. nodes: how many were solved. backed_by: what the bound is justified by.
    """

    def __init__(self, known: Known, cuts: CutRounds | None = None) -> None:
        self.known, self.session, self.tracker, self.cuts = known, known.session, known.tracker, cuts
        self.nodes = 0
        self.backed_by: tuple[Backing, ...] = ("own bound",)
        self._params = known.get(BranchingParams)
        self._node_began = 0.0  # when the node at hand, or this turn, began
        self._begun: tuple[Dropped, BranchAndBound] | None = None  # the step to the instance of a tree, and the tree

    def _bounds(self, step: Dropped, best: Assignment) -> NodeBounds:
        """What bounds the nodes of the instance after a step. best: the best table, before it."""
        if self.cuts is None:
            assert self.known.dual is not None
            return NodeBounds(step.instance, self.known.dual, renumbered(Groups.of_assignment(best), step))
        at = self.cuts.at  # the groups of the best table are among the columns
        if at.charges is not None and len(at.charges):
            at = replace(at, charges=at.charges[step.origin])
        return NodeBounds(step.instance, at, renumbered(self.cuts.groups, step))

    def _table(self, step: Dropped, node: Node, limit: Limit) -> Assignment | None:
        """A table near a node of the instance after a step, for the one before it: under requirements the cheapest one
        of the node's columns; else the candidates that it opens most, as far as enough rows are left, and the rest
        where it costs least."""
        best, instance = self.tracker.best, step.instance
        assert best is not None
        if self.cuts is None:
            board = Board.of(instance, node.pairs, None, 0)
            phi = np.zeros(instance.candidates.count)
            construct(board, replace(node.at, phi=phi), self.known.get(ConstructionParameters))
            found = board.assignment()
        else:
            part = limit.part(self._params.table_share * (time.perf_counter() - self._node_began))
            adapter, options = self.session.adapter, self.session.options
            found = best_of_groups(instance, node.groups, best.cost - 1, adapter, options, part)
        return None if found is None else step.invert(found)

    def solve(self, limit: Limit, turn: Limit = NO_LIMIT) -> bool:
        """Until bound and table meet, or the limit; False where the core problem is left to do. turn: after which no
        other node is begun."""
        self._node_began = time.perf_counter()
        while not (self.known.settled or limit.over or turn.over):
            try:
                self._begun = self._begun or self._begin()
                closed = self._begun is None or self._go_on(*self._begun, limit, turn)
            except Over:
                return True
            except InputError:  # exact numbers would need more than 64 bits
                return False
            if not closed:
                return limit.over or turn.over or self.known.settled
        return True

    def _begin(self) -> tuple[Dropped, BranchAndBound] | None:
        """A tree of the tables that lose less than the next cutoff; None where there are certainly none."""
        best, instance = self.tracker.best, self.session.instance
        assert best is not None
        # few pairs are left for tables that cost no more than the bound; where there is none, it rises by a unit
        cutoff = min(best.cost, self.tracker.bound + 1)
        step = self.known.fixing(cutoff).apply(instance)
        if np.bincount(step.instance.candidates.members, minlength=instance.types.count).all():
            return step, BranchAndBound(
                self._bounds(step, best), cutoff, self.tracker.proven, self.known.get(BranchParameters)
            )
        self._higher(cutoff)
        return None

    def _go_on(self, step: Dropped, tree: BranchAndBound, limit: Limit, turn: Limit) -> bool:
        """Solve nodes; whether there is certainly no table below its cutoff but those that are known."""
        before = tree.nodes

        def look(seen: Node, bound: int) -> int | None:
            self._higher(bound)
            self.known.keep(self._table(step, seen, limit))
            self._node_began = time.perf_counter()
            return None if self.known.settled or self.tracker.best is None else self.tracker.best.cost

        def leaf(node: Dropped, below: int) -> tuple[int, int] | None:
            try:
                return self._leaf([step, node], node.instance, below, limit)
            except Over:
                if limit.over:
                    raise
                return None

        try:
            closed = tree.solve(limit, self._params.leaf, leaf, look, turn)
        finally:
            self.nodes += tree.nodes - before
        self._higher(tree.bound)
        if closed:
            self._begun = None
        return closed

    def _higher(self, bound: int) -> None:
        self.tracker.higher(bound, self.backed_by)

    def _leaf(self, steps: list[Dropped], rest: Instance, cutoff: int, limit: Limit) -> tuple[int, int] | None:
        """A node as a model, whose table is kept: as `Leaf` says. Under requirements it may not last long: the node is
        branched on then."""
        session = self.session
        limit = limit if self.cuts is None else limit.part(self._params.leaf_seconds)
        model = RestrictedModel.of(rest, session.formulation, limit, session.clock)
        with session.clock.step("solve"):
            answer = solve_restricted(
                model.linear, session.adapter, replace(session.options, gap=0.0), limit, most=cutoff
            )
        self.backed_by = tuple(dict.fromkeys(self.backed_by + answer.backed_by))
        if answer.x is not None:
            self.known.keep(restore(steps, model.assignment(answer.x)))
        best = self.tracker.best
        assert best is not None
        bound = cutoff if answer.infeasible else answer.bound
        return None if bound is None else (bound, best.cost)


class Branches(Raising):
    """Branch and bound: in turns from the rank-1 cuts on; where sizes are all that is required, once that is likely to
    be quicker than a model."""

    name = "branching"

    def __init__(self) -> None:
        self._given_up = False
        self._tree: Branching | None = None

    def applies(self, known: Known) -> bool:
        """Once the cuts have ended; or table and bound are near, or nothing else will raise the bound by as much."""
        if known.valued is not None:
            valued = self._due(known)
            return valued is not None and valued.stalled and not valued.cuts.possible and valued.branches(known)
        if self._given_up or not known.searched:
            return False
        near = units_left(known) <= known.get(ForecastParams).far_gap
        return branching_is_quicker(known) or (near and far_from_proof(known))

    def estimate(self, known: Known) -> Estimate:
        """As the last turns have shown, or after tables were searched for."""
        if known.valued is not None:
            return super().estimate(known)
        params = known.get(BranchingParams)
        return Estimate(known.seconds(params.share), params.gain)

    def run(self, known: Known, limit: Limit) -> None:
        """Until table and bound meet, or the limit; in turns but for the node that one ends in."""
        if known.valued is None:
            self._given_up = not Branching(known).solve(limit)
            return
        valued = valued_of(known)
        turns = valued.turns
        turns.next(known)
        with turns.raising(known):
            tree = self._tree = self._tree or Branching(known, valued.cuts.rounds)
            valued.branching, before = True, (tree.nodes, known.tracker.bound)
            valued.branched = not tree.solve(limit, limit.part(turns.bound_share * turns.seconds))
            few = tree.nodes < before[0] + known.get(TurnParams).few_nodes
            valued.idle = few and known.tracker.bound == before[1]
