"""Branch and bound with rank-1 cuts instead of a core problem that would take the solver long (hybrid method).

Its nodes are `kanon_milp.bounds.columns.branching`; here are the tables that their points lead to, and the models of
nodes that are small: `kanon_milp.methods.sizes_branching` where nothing but sizes of groups is required,
`kanon_milp.methods.required_branching` elsewhere. When all that is worth it the guides say.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.methods.guide import Guide
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped, restore
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.limit import NO_LIMIT, Limit, Over

if TYPE_CHECKING:
    from kanon_milp.bounds.columns.branching import BranchAndBound, Node, NodeBounds

LEAF = 1_000  # pairs of a node that goes to the solver; such a model takes as long as a node or two


class Branching(ABC):
    """The proof of a table, or of better ones, from multipliers with rank-1 cuts; goes on where it has stopped.

    nodes: how many were solved. backed_by: what the bound is justified by.
    """

    def __init__(self, session: Session, guide: Guide, tracker: Tracker) -> None:
        self.session, self.guide, self.tracker = session, guide, tracker
        self.nodes = 0
        self.backed_by: tuple[Backing, ...] = ("own bound",)
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
        while not (self.guide.settled or limit.over or turn.over):
            try:
                self._begun = self._begun or self._begin()
                closed = self._begun is None or self._go_on(*self._begun, limit, turn)
            except Over:
                return True
            except InputError:  # exact numbers would need more than 64 bits
                return False
            if not closed:
                return limit.over or turn.over or self.guide.settled
        return True

    def _begin(self) -> tuple[Dropped, BranchAndBound] | None:
        """A tree of the tables that lose less than the next cutoff; None where there are certainly none."""
        from kanon_milp.bounds.columns.branching import BranchAndBound  # imports the compiler

        best, instance = self.tracker.best, self.session.instance
        assert best is not None
        # few pairs are left for tables that cost no more than the bound; where there is none, it rises by a unit
        cutoff = min(best.cost, self.tracker.bound + 1)
        step = self.guide.fixing(cutoff).apply(instance)
        if np.bincount(step.instance.candidates.members, minlength=instance.types.count).all():
            return step, BranchAndBound(self._bounds(step, best), cutoff, self.tracker.proven)
        self._higher(cutoff)
        return None

    def _go_on(self, step: Dropped, tree: BranchAndBound, limit: Limit, turn: Limit) -> bool:
        """Solve nodes; whether there is certainly no table below its cutoff but those that are known."""
        before = tree.nodes

        def look(seen: Node, bound: int) -> int | None:
            self._higher(bound)
            self.guide.keep(self._table(step, seen, limit))
            self._node_began = time.perf_counter()
            return None if self.guide.settled or self.tracker.best is None else self.tracker.best.cost

        def leaf(node: Dropped, below: int) -> tuple[int, int] | None:
            try:
                return self._leaf([step, node], node.instance, below, self._leaf_limit(limit))
            except Over:
                if limit.over:
                    raise
                return None

        try:
            closed = tree.solve(limit, LEAF, leaf, look, turn)
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
            self.guide.keep(restore(steps, model.assignment(answer.x)))
        best = self.tracker.best
        assert best is not None
        bound = cutoff if answer.infeasible else answer.bound
        return None if bound is None else (bound, best.cost)
