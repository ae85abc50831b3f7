"""Branch and bound of the hybrid method under requirements of sensitive values."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_milp.bounds.columns.branching import NodeBounds, renumbered
from kanon_milp.heuristics.set_partitioning import best_of_groups
from kanon_milp.methods.branching import Branching
from kanon_milp.methods.guide import Guide
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.reductions.base import Dropped
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds.columns.branching import Node
    from kanon_milp.bounds.columns.cut_rounds import CutRounds

TABLE_SHARE = 0.25  # of the time that a node has taken, at most, for a table
LEAF_SECONDS = 3.0  # for the model of a node


class RequiredBranching(Branching):
    """cuts: rounds that have ended, of the session's instance."""

    def __init__(self, session: Session, guide: Guide, tracker: Tracker, cuts: CutRounds) -> None:
        super().__init__(session, guide, tracker)
        self.cuts = cuts

    def _bounds(self, step: Dropped, best: Assignment) -> NodeBounds:
        del best  # its groups are among the columns
        cuts = self.cuts
        at = cuts.at
        if at.charges is not None and len(at.charges):
            at = replace(at, charges=at.charges[step.origin])
        return NodeBounds(step.instance, at, renumbered(cuts.groups, step))

    def _leaf_limit(self, limit: Limit) -> Limit:
        return limit.part(LEAF_SECONDS)

    def _table(self, step: Dropped, node: Node, limit: Limit) -> Assignment | None:
        """The cheapest table of a node's columns."""
        best = self.tracker.best
        assert best is not None
        part = limit.part(TABLE_SHARE * (time.perf_counter() - self._node_began))
        session, instance = self.session, step.instance
        found = best_of_groups(instance, node.groups, best.cost - 1, session.adapter, session.options, part)
        return None if found is None else step.invert(found)
