"""Several sets of quasi-identifiers to the end: models of all sets side by side (`kanon_milp.bounds.linked`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.presolve.linked_sets import LinkedSets
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:  # compiled code, as its caller has
    from kanon_milp.bounds.linked import LinkedExtras, LinkedModel

AHEAD = 5  # units above the bound, of the first tables that are looked for; doubled each time
SMALLER = 0.95  # of the pairs of the model of all better tables, at most, has one of the first tables
MODEL_PAIRS = 40_000  # more are not solved in minutes


@dataclass(eq=False)
class LinkedCore:
    """Models of the tables up to some loss, which grows until there is one.

    size: variables and constraints of the last model. message: what the solver said.
    """

    session: Session
    extras: LinkedExtras
    tracker: Tracker
    limit: Limit
    size: tuple[int, int] = (0, 0)
    message: str = ""

    @staticmethod
    def applies(session: Session, linked: LinkedSets) -> bool:
        """Whether the model of the sets is all there is to it, and likely to be solved."""
        problem = session.problem
        alone = all(isinstance(each, KAnonymity) for each in problem.requirements) and not side_constraints(problem)
        stated = session.formulation.name == "strong" and session.options.node_limit is None
        return alone and stated and linked.parts.candidates.pairs <= MODEL_PAIRS

    @property
    def settled(self) -> bool:
        """Whether table and bound are near enough to each other."""
        best = self.tracker.best
        return best is not None and self.tracker.bound >= best.cost * (1 - self.session.options.gap)

    def solve(self) -> bool:
        """Model after model, until table and bound meet or the time is over; False where something else goes on."""
        ahead = AHEAD
        while not self.settled and not self.limit.over:
            best = self.tracker.best
            assert best is not None
            loss, near = best.cost - 1, self.tracker.bound + ahead
            model = self.extras.up_to(loss, best)
            if near < loss and len((smaller := self.extras.up_to(near, best)).pairs) <= SMALLER * len(model.pairs):
                loss, model = near, smaller
            if not self._decide(model, loss) or loss == best.cost - 1:
                break  # the model of all better tables was the last one
            ahead *= 2
        return self.settled or self.limit.over

    def _decide(self, left: LinkedModel, loss: int) -> bool:
        """The cheapest table of one model, which has all up to this loss; False where it was not solved to the end."""
        session, tracker, limit = self.session, self.tracker, self.limit
        assert tracker.best is not None
        model, start = left.model(), left.start(tracker.best)
        self.size = (model.variables, model.constraints)
        with session.clock.step("solve"):
            answer = solve_restricted(
                model, session.adapter, session.options, limit, start=start, most=loss + 1, on_progress=tracker.show
            )
        self.message = answer.message
        if answer.bound is not None:
            tracker.higher(answer.bound, answer.backed_by)
        table = None if answer.x is None else left.table(answer.x)
        if table is not None and session.release(table).report.ok:
            tracker.better(table)
        return table is not None and answer.solved
