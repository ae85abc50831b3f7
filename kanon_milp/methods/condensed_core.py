"""The core problem under a mask of few patterns: condensed models (`kanon_milp.bounds.condensed`), from below.

With few candidates a row type reduced costs fix little, since no row can cost much more elsewhere; but most rows are in
groups with rows to spare, and what is left to decide is a small part of the model.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds.condensed import NOWHERE, Condensed, condense
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.formulations.row_assignment import PRICED, Placed, place_rows
from kanon_milp.methods.phases import Known
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped
from kanon_milp.solvers import Progress, Setting
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.arrays import Flags, Floats
from kanon_milp.system.limit import AlsoSet, Limit

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint


@dataclass(frozen=True, eq=False)
class _Point:
    """What a point of a model opens, bool (G,), and where the rows go then, None where some have no place."""

    opened: Flags
    placed: Placed | None


NEAR = 0.2  # units between what a row is worth and what it costs somewhere that count as none
WORTH = 0.3  # of the pairs of an instance, at most, that condensing leaves
AHEAD = 12  # units above the bound, of the first tables that are looked for; doubled each time
SMALLER = 0.85  # of the pairs of the model of all better tables, at most, has one of the first tables
TURNS = 6  # of a model whose point is no table, each with less taken for ample
FIRST_GAP = 5e-4  # of the first of them: what is scarce shows in any good point
REPAIRS, REPAIR_SHARE = 6, 0.3  # of a point that is no table, and of the time that its model has taken, at most
# relative gap after a model that has taken so many seconds, beyond which a search finds more than the next one
FAR, LONG = 4e-3, 2.0
CLOSINGS = 5  # of groups that are too small, until there is a table


@dataclass(eq=False)
class CondensedCore:
    """Models of the tables up to some loss, which grows until there is one.

    conflicts: whether the models say so where candidates exclude each other. size: variables and constraints of the
    last model. backed_by: what the last answer is backed by.
    """

    session: Session
    known: Known
    tracker: Tracker
    limit: Limit
    conflicts: bool = True
    size: tuple[int, int] = (0, 0)
    backed_by: tuple[Backing, ...] = ()

    @property
    def applies(self) -> bool:
        """Whether it is valid here, and likely to be worth it."""
        best, instance = self.tracker.best, self.session.instance
        if best is None or side_constraints(self.session.problem):
            return False
        return _worth(self._condense(instance, *_by_prices(instance, self._dual, best))) is not None

    @property
    def _dual(self) -> DualPoint:
        assert self.known.dual is not None
        return self.known.dual

    def _condense(self, instance: Instance, ample: Flags, apart: Flags) -> Condensed:
        return condense(instance, ample, apart, self._dual.sets, conflicting=self.conflicts)

    def solve(self) -> bool:
        """Model after model, until table and bound meet or the time is over; False where condensed models do not lead
        to a table, or not soon, and something else has to."""
        ahead = AHEAD
        while not self.limit.over and not self.known.settled:
            best = self.tracker.best
            assert best is not None
            loss, near = best.cost - 1, self.tracker.bound + ahead
            step = self._up_to(loss)
            smaller = self._up_to(near) if near < loss else None
            if step is None:
                return False
            if smaller and smaller.instance.candidates.pairs <= SMALLER * step.instance.candidates.pairs:
                loss, step = near, smaller
            if not self._decide(step, loss):
                return self.limit.over or self.known.settled
            ahead *= 2
        return True

    def _up_to(self, loss: int) -> Dropped | None:
        """What tables up to this loss use, and the best one; None where nothing is known."""
        presuming = self.known.presuming(loss)
        return None if presuming is None else presuming.apply(self.session.instance)

    def _decide(self, step: Dropped, loss: int) -> bool:
        """Whether there is a table up to this loss, and if so the cheapest; False where that is not known."""
        rest, best = step.instance, self.tracker.best
        assert best is not None
        table = replace(best, candidate=np.searchsorted(step.origin, best.candidate))
        ample, apart = _by_prices(rest, self._dual, table)
        for turn in range(TURNS):
            condensed = _worth(self._condense(rest, ample, apart))
            if condensed is None:
                return False
            began = time.perf_counter()
            point = self._solve(condensed, table if turn == 0 else None, step, loss)
            if point is None or self.known.settled or self.tracker.bound > loss:
                return self.tracker.bound > loss or self.known.settled
            seconds = time.perf_counter() - began
            ample, apart = self._repaired(condensed, point, apart, step, self.limit.part(REPAIR_SHARE * seconds))
            if self.known.settled:
                return True
            if seconds > LONG and self._far:
                return False
        return False

    @property
    def _far(self) -> bool:
        best = self.tracker.best
        return best is not None and best.cost - self.tracker.bound > FAR * best.cost

    def _solve(self, condensed: Condensed, table: Assignment | None, step: Dropped, loss: int) -> _Point | None:
        """Solve one model, and take its table and bound; its point, None where it was not solved to the end.

        table: to start with, for a first model, of which a good point is enough.
        """
        session, limit = self.session, self.limit
        model = condensed.model()
        self.size = (model.variables, model.constraints)
        options = replace(session.options, gap=0.0 if table is None else FIRST_GAP)
        options = session.adapter.suited(options, [Setting.CONDENSED])
        start, call = None if table is None else condensed.start(table), AlsoSet(limit.interrupt or threading.Event())

        def watch(point: Progress) -> None:
            self.tracker.show(Progress(point.seconds, None, point.bound))
            if point.incumbent is not None and round(point.incumbent) <= self.tracker.bound:
                call.set()  # nothing is cheaper

        with session.clock.step("solve"):
            answer = solve_restricted(
                model,
                session.adapter,
                options,
                replace(limit, interrupt=call),
                start=start,
                most=loss + 1,
                on_progress=watch,
            )
        self.backed_by = answer.backed_by
        found = None if answer.x is None else self._table(condensed, answer.x, step)
        bound = loss + 1 if answer.infeasible else answer.bound
        if bound is not None:
            self.tracker.higher(bound, answer.backed_by)
        return found if answer.solved or (call.is_set() and not limit.over) else None

    def _table(self, condensed: Condensed, x: Floats, step: Dropped) -> _Point:
        """Keep the table of what a point opens."""
        instance, opened = condensed.instance, condensed.opened(x)
        with self.session.clock.step("assign"):
            placed = place_rows(instance, opened)
            self.known.keep(_closed(instance, _Point(opened, placed), step))
        return _Point(opened, placed)

    def _repaired(
        self, condensed: Condensed, point: _Point, apart: Flags, step: Dropped, limit: Limit
    ) -> tuple[Flags, Flags]:
        """Tables from a point that is none ; what is ample, and what is told apart, by what the
        point and these have shown."""
        for turn in range(REPAIRS + 1):
            ample, apart = _refined(condensed, point, apart)
            scarce = condensed.ample & ~ample
            if turn == REPAIRS or not scarce.any() or limit.over:
                break
            condensed = self._condense(condensed.instance, ample, apart)
            free = near(condensed, scarce)
            found = None if free is None else self._repair(held(condensed, point.opened, free), limit)
            if found is None:
                break
            point = self._table(condensed, found, step)
            if self.known.settled:
                break
        return ample, apart

    def _repair(self, model: LinearModel, limit: Limit) -> Floats | None:
        """A good point of a repair; its bound is of no use."""
        session = self.session
        with session.clock.step("solve"):
            return solve_restricted(model, session.adapter, replace(session.options, gap=0.0), limit, checked=False).x


def _worth(found: Condensed) -> Condensed | None:
    """What condensing leaves, None where it is too much."""
    few = len(found.pair) + len(found.supply) <= WORTH * found.instance.candidates.pairs
    return found if few else None


def _by_prices(instance: Instance, dual: DualPoint, table: Assignment) -> tuple[Flags, Flags]:
    """What is ample, bool (G,), and which row types are told apart, bool (t,), by what a row is worth: ample is a group
    that has, in the table and by the multipliers, rows to spare at its own cost, and rows of a type are told apart
    where they are worth less than what they would lose there, because many groups want them."""
    candidates, least, worth = instance.candidates, instance.least, dual.multipliers
    of_pair, members = candidates.candidate_of_pair(), candidates.members
    here = worth[members] >= candidates.cost[of_pair] - NEAR
    rows = np.bincount(of_pair, weights=instance.types.counts[members] * here, minlength=candidates.count)
    size = np.bincount(table.candidate, weights=table.rows, minlength=candidates.count)
    ample = (rows > least) & (size > least)
    ample[PackingCuts.of(instance, dual.sets).nested.values] = False  # or the cuts would say less
    return ample, _scarce_rows(instance, ample, worth, NEAR)


def _refined(condensed: Condensed, point: _Point, apart: Flags) -> tuple[Flags, Flags]:
    """What is ample, and which row types are told apart, after a point that is no table of its loss.

    The smallest sizes of scarce groups, and what rows are worth, are a dual solution of placing the rows. With these
    groups no longer ample, and these rows told apart, it is one of the next model with the same candidates open: there
    they cost no less than in the table, but for scarce groups in which no row saves anything: these are closed there.
    """
    instance, placed = condensed.instance, point.placed
    if placed is None:
        return np.zeros_like(point.opened), apart
    ample = condensed.ample & ~placed.scarce
    return ample, apart | _scarce_rows(instance, ample, placed.worth, PRICED)


def _scarce_rows(instance: Instance, ample: Flags, worth: Floats, near: float) -> Flags:
    """Row types worth less, by more than `near`, than what they lose in the cheapest ample group: bool (t,)."""
    candidates = instance.candidates
    of_pair, lost = candidates.candidate_of_pair(), np.full(instance.types.count, NOWHERE, dtype=np.int64)
    inside = ample[of_pair]
    np.minimum.at(lost, candidates.members[inside], candidates.cost[of_pair[inside]])
    return (worth < lost - near) & (lost < NOWHERE)


def _closed(instance: Instance, point: _Point, step: Dropped) -> Assignment | None:
    """A table of what a point opens, without the candidates that would be too small."""
    opened, placed = point.opened, point.placed
    for _ in range(CLOSINGS):
        if placed is None:
            return None
        if not placed.short.any():
            return step.invert(Assignment.from_pairs(instance, placed.rows))
        opened = opened & ~placed.short
        placed = place_rows(instance, opened)
    return None


MOST_FREE = 600  # candidates that are decided anew, at most


def near(condensed: Condensed, scarce: Flags) -> Flags | None:
    """Positions of candidates that are decided anew, bool (C,): those that compete with scarce ones for row types, and
    those that compete with these, as long as there are no more than `MOST_FREE`; None where the first are too many.

    scarce: bool (G,), candidates of the instance.
    """
    found = None
    at = scarce[condensed.candidates]
    while True:
        wanted = np.zeros(len(condensed.rows), dtype=bool)
        wanted[condensed.row_type[at[condensed.candidate]]] = True
        more = at.copy()
        more[condensed.candidate[wanted[condensed.row_type]]] = True
        if more.sum() > MOST_FREE:
            return found
        if found is not None and more.sum() == found.sum():
            return found
        found = at = more


def held(condensed: Condensed, opened: Flags, free: Flags) -> LinearModel:
    """The model with all but the free candidates open or closed as they are in `opened`, bool (G,)."""
    model = condensed.model()
    first = len(condensed.pair) + len(condensed.supply)
    lower, upper = model.lower.copy(), model.upper.copy()
    as_it_is = opened[condensed.candidates]
    lower[first:] = np.where(free, 0.0, as_it_is)
    upper[first:] = np.where(free, 1.0, as_it_is)
    return replace(model, lower=lower, upper=upper)
