"""Branch and bound with rank-1 cuts instead of a core problem that would take the solver long (hybrid method).

Its nodes are `kanon_milp.bounds.columns.branching`; here are the tables that their points lead to, the models of
nodes that are small, and when all that is worth it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.heuristics.construction import construct
from kanon_milp.heuristics.state import Board
from kanon_milp.methods.direct import assignment_of, integral_assignment
from kanon_milp.methods.guide import Guide
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped, restore
from kanon_milp.solvers import StopReason
from kanon_milp.solvers.attempts import tried
from kanon_milp.solvers.proof import INTEGRAL_GAP, Backing, Grid
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.solvers.second_look import precision_size, solve_checked
from kanon_milp.system.limit import Limit, Over

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint
    from kanon_milp.bounds.columns.branching import Point

LEAF = 1_000  # pairs of a node that goes to the solver; such a model takes as long as a node or two


class Branching:
    """The proof of a table, or of better ones, from multipliers with rank-1 cuts.

    nodes: how many were solved. backed_by: what the bound is justified by.
    """

    def __init__(self, session: Session, guide: Guide, tracker: Tracker, limit: Limit) -> None:
        self.session, self.guide, self.tracker, self.limit = session, guide, tracker, limit
        self.nodes = 0
        self.backed_by: tuple[Backing, ...] = ("own bound",)

    def solve(self, dual: DualPoint) -> bool:
        """Until bound and table meet, or nothing more is to be had; False where the core problem is left to do.

        dual: multipliers of the session's instance, with cuts.
        """
        while not self.guide.settled and not self.limit.over:
            best = self.tracker.best
            assert best is not None
            # few pairs are left for tables that cost no more than the bound; where there is none, it rises by a unit
            cutoff = min(best.cost, self.tracker.bound + 1)
            try:
                closed = self._solve_below(cutoff, dual)
            except Over:
                return True
            except InputError:  # exact numbers would need more than 64 bits
                return False
            if not closed:
                return self.limit.over or self.guide.settled
        return True

    def _solve_below(self, cutoff: int, dual: DualPoint) -> bool:
        """Look for tables that lose less than that; whether there is certainly none but those that are known."""
        from kanon_milp.bounds.columns.branching import BranchAndBound  # imports the compiler

        best, instance = self.tracker.best, self.session.instance
        assert best is not None
        step = self.guide.fixing(cutoff).apply(instance)
        if not np.bincount(step.instance.candidates.members, minlength=instance.types.count).all():
            self._higher(cutoff)
            return True
        groups = _renumbered(Groups.of_assignment(best), step)
        tree = BranchAndBound(step.instance, dual, groups, cutoff, self.tracker.proven)

        def look(point: Point, bound: int) -> int | None:
            self._higher(bound)
            self.guide.keep(_table(step, dual, point))
            return None if self.guide.settled or self.tracker.best is None else self.tracker.best.cost

        def leaf(node: Dropped, below: int) -> tuple[int, int] | None:
            return self._leaf([step, node], node.instance, below)

        try:
            closed = tree.solve(self.limit, LEAF, leaf, look)
        finally:
            self.nodes += tree.nodes
        self._higher(tree.bound)
        return closed

    def _higher(self, bound: int) -> None:
        self.tracker.higher(bound, self.backed_by)

    def _leaf(self, steps: list[Dropped], rest: Instance, cutoff: int) -> tuple[int, int] | None:
        """A node as a model, whose table is kept: as `Leaf` says."""
        session, limit = self.session, self.limit
        with session.clock.step("build"):
            model = limit.call(session.formulation.build, rest)
        with session.clock.step("handover"):
            compiled = integral_assignment(rest, limit.call(to_arrays, model), model)
        grid = Grid(size=precision_size(session.adapter, compiled.linear))
        limited = replace(session.options, time_limit=limit.seconds, gap=0.0, absolute_gap=INTEGRAL_GAP)
        with session.clock.step("solve"):
            solver, linear = session.adapter, compiled.linear
            answer = tried(
                solver, limited, lambda: solve_checked(solver, linear, limited, grid, interrupt=limit.interrupt)
            )
        self.backed_by = tuple(dict.fromkeys(self.backed_by + answer.backed_by))
        if answer.x is not None:
            self.guide.keep(restore(steps, assignment_of(rest, model, compiled, answer.x, own=True)))
        bound = grid.safe(answer.bound)
        best = self.tracker.best
        assert best is not None
        if answer.stop_reason is StopReason.INFEASIBLE and answer.x is None:
            return cutoff, best.cost
        return None if bound is None else (min(int(bound), cutoff), best.cost)


def _renumbered(groups: Groups, step: Dropped) -> Groups:
    """Groups of the instance before as ones after it; those of candidates that are gone are left out."""
    number = np.full(step.before.candidates.count, -1, dtype=np.int64)
    number[step.origin] = np.arange(len(step.origin))
    candidate = number[groups.candidate]
    some = groups.subset(candidate >= 0)
    return replace(some, candidate=candidate[candidate >= 0])


def _table(step: Dropped, dual: DualPoint, point: Point) -> Assignment | None:
    """The candidates that a point opens most, as far as enough rows are left, and the rest where it costs least."""
    instance = step.instance
    board = Board.of(instance, point.pairs, None, 0)
    phi = np.zeros(instance.candidates.count)
    construct(board, replace(dual, multipliers=point.multipliers, open_share=point.opened, phi=phi))
    found = board.assignment()
    return None if found is None else step.invert(found)
