"""Branch and bound with rank-1 cuts instead of a core problem that would take the solver long (hybrid method).

Its nodes are `kanon_milp.bounds.columns.branching`; here are the tables that their points lead to, and the models of
nodes that are small.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds.columns.branching import NodeBounds, renumbered
from kanon_milp.bounds.parameters import BranchParameters
from kanon_milp.errors import InputError
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.heuristics.construction import ConstructionParameters, construct
from kanon_milp.heuristics.set_partitioning import best_of_groups
from kanon_milp.heuristics.state import Board
from kanon_milp.methods.phases import Estimate, Known, Phase
from kanon_milp.methods.sizes_phases import ForecastParams, branching_is_quicker, far_from_proof, units_left
from kanon_milp.presolve.assignment import Assignment, Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import Dropped, restore
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.limit import NO_LIMIT, Limit, Over
from kanon_milp.system.parameters import number, parameters

if TYPE_CHECKING:
    from kanon_milp.bounds.columns.branching import BranchAndBound, Node
    from kanon_milp.bounds.columns.cut_rounds import CutRounds


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


class Branching(ABC):
    """The proof of a table, or of better ones, from multipliers with rank-1 cuts; goes on where it has stopped.

    nodes: how many were solved. backed_by: what the bound is justified by.
    """

    def __init__(self, known: Known) -> None:
        self.known, self.session, self.tracker = known, known.session, known.tracker
        self.nodes = 0
        self.backed_by: tuple[Backing, ...] = ("own bound",)
        self._params = known.get(BranchingParams)
        self._node_began = 0.0  # when the node at hand, or this turn, began
        self._begun: tuple[Dropped, BranchAndBound] | None = None  # the step to the instance of a tree, and the tree

    @abstractmethod
    def _bounds(self, step: Dropped, best: Assignment) -> NodeBounds:
        """What bounds the nodes of the instance after a step. best: the best table, before it."""

    @abstractmethod
    def _table(self, step: Dropped, node: Node, limit: Limit) -> Assignment | None:
        """A table near a node of the instance after a step, for the one before it."""

    def _leaf_limit(self, limit: Limit) -> Limit:
        """When the model of a node ends, which is branched on then."""
        return limit

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
        from kanon_milp.bounds.columns.branching import BranchAndBound  # imports the compiler

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
                return self._leaf([step, node], node.instance, below, self._leaf_limit(limit))
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
        """A node as a model, whose table is kept: as `Leaf` says."""
        session = self.session
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


class SizesBranching(Branching):
    """Where nothing but sizes of groups is required: from the multipliers with cuts."""

    def _bounds(self, step: Dropped, best: Assignment) -> NodeBounds:
        assert self.known.dual is not None
        return NodeBounds(step.instance, self.known.dual, renumbered(Groups.of_assignment(best), step))

    def _table(self, step: Dropped, node: Node, limit: Limit) -> Assignment | None:
        """The candidates that a node opens most, as far as enough rows are left, and the rest where it costs least."""
        del limit  # it is quick
        instance = step.instance
        board = Board.of(instance, node.pairs, None, 0)
        phi = np.zeros(instance.candidates.count)
        construct(board, replace(node.at, phi=phi), self.known.get(ConstructionParameters))
        found = board.assignment()
        return None if found is None else step.invert(found)


class RequiredBranching(Branching):
    """Under requirements of sensitive values. cuts: rounds that have ended, of the session's instance."""

    def __init__(self, known: Known, cuts: CutRounds) -> None:
        super().__init__(known)
        self.cuts = cuts

    def _bounds(self, step: Dropped, best: Assignment) -> NodeBounds:
        del best  # its groups are among the columns
        at = self.cuts.at
        if at.charges is not None and len(at.charges):
            at = replace(at, charges=at.charges[step.origin])
        return NodeBounds(step.instance, at, renumbered(self.cuts.groups, step))

    def _leaf_limit(self, limit: Limit) -> Limit:
        return limit.part(self._params.leaf_seconds)

    def _table(self, step: Dropped, node: Node, limit: Limit) -> Assignment | None:
        """The cheapest table of a node's columns."""
        best = self.tracker.best
        assert best is not None
        part = limit.part(self._params.table_share * (time.perf_counter() - self._node_began))
        session, instance = self.session, step.instance
        found = best_of_groups(instance, node.groups, best.cost - 1, session.adapter, session.options, part)
        return None if found is None else step.invert(found)


class SizesBranches(Phase):
    """Branch and bound where nothing but sizes of groups is required, and that is likely to be quicker than a model."""

    name = "branching"
    step = "bound"

    def __init__(self) -> None:
        self._given_up = False

    def applies(self, known: Known) -> bool:
        """Where table and bound are near, or nothing else will raise the bound by as much."""
        if self._given_up or not known.sizes_only or not known.searched:
            return False
        near = units_left(known) <= known.get(ForecastParams).far_gap
        return branching_is_quicker(known) or (near and far_from_proof(known))

    def estimate(self, known: Known) -> Estimate:
        """After tables were searched for."""
        params = known.get(BranchingParams)
        return Estimate(known.seconds(params.share), params.gain)

    def run(self, known: Known, limit: Limit) -> None:
        """Until table and bound meet, or the limit."""
        self._given_up = not SizesBranching(known).solve(limit)
