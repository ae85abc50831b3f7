"""Branch and bound of the hybrid method where nothing but sizes of groups is required."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds import DualPoint
from kanon_milp.bounds.columns.branching import NodeBounds, renumbered
from kanon_milp.heuristics.construction import construct
from kanon_milp.heuristics.state import Board
from kanon_milp.methods.branching import Branching
from kanon_milp.methods.guide import Guide
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment, Groups
from kanon_milp.presolve.reductions.base import Dropped
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds.columns.branching import Node


class SizesBranching(Branching):
    """dual: multipliers of the session's instance, with cuts."""

    def __init__(self, session: Session, guide: Guide, tracker: Tracker, dual: DualPoint) -> None:
        super().__init__(session, guide, tracker)
        self.dual = dual

    def _bounds(self, step: Dropped, best: Assignment) -> NodeBounds:
        return NodeBounds(step.instance, self.dual, renumbered(Groups.of_assignment(best), step))

    def _table(self, step: Dropped, node: Node, limit: Limit) -> Assignment | None:
        """The candidates that a node opens most, as far as enough rows are left, and the rest where it costs least."""
        del limit  # it is quick
        instance = step.instance
        board = Board.of(instance, node.pairs, None, 0)
        phi = np.zeros(instance.candidates.count)
        construct(board, replace(node.at, phi=phi))
        found = board.assignment()
        return None if found is None else step.invert(found)
