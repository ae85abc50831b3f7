"""Side constraints at minimum loss: first the problem without them, whose bound holds with them, too, and whose table
is the answer where it satisfies them; then direct MILP from there.

The methods for large tables judge each group alone, and side constraints are about all groups together. So one that
does not bind costs nothing, and one that does has the bound of the problem without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from kanon_milp.errors import TooManyLevelVectorsError, counted
from kanon_milp.heuristics.grouping import group_sizes
from kanon_milp.methods.direct import MilpParams, settled, solve_milp
from kanon_milp.methods.few_groups import LimitBinds, limits_groups, solve_few_groups
from kanon_milp.methods.group_number import priced_number
from kanon_milp.methods.hybrid import HybridParams
from kanon_milp.methods.outcome import UNKNOWN, Bound, Found, Outcome, Scale
from kanon_milp.methods.phases import Phase
from kanon_milp.methods.priced_rounds import solve_priced_groups
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment, RowGroups
from kanon_milp.presolve.infeasibility import numbers_of_groups, refuse_side_constraints, side_constraints
from kanon_milp.presolve.instance import Instance, compress_table, types_of
from kanon_milp.presolve.partition import Partition, assignment_of_groups, partition_of_groups, released_partition
from kanon_milp.problem.exact import in_words
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers.proof import REGISTERED, Backing
from kanon_milp.system.limit import AlsoSet
from kanon_milp.system.parameters import number, parameters
from kanon_milp.verify import verify


@parameters("side_constraints")
@dataclass(frozen=True)
class SideConstraintsParams:
    """The problem without its side constraints, which comes first."""

    share: float = number(0.3, "of the time left, after which it ends if its best table does not satisfy them", most=1)
    seconds: float = number(120.0, "after which it ends where there is no time limit")


def has_free_problem(problem: Problem) -> bool:
    """Whether the problem without its side constraints comes first."""
    return (
        problem.objective == "loss"
        and problem.separable
        and not problem.asks_of_labels
        and bool(side_constraints(problem))
    )


def solve_free_first(
    problem: Problem,
    begun: Callable[[Problem], Session],
    solved: Callable[[Session, Tracker | None, Sequence[Phase]], Result],
) -> Result:
    """The result of a problem with side constraints.

    begun: a session of a problem. solved: the result of one; tracker and phases are for the hybrid method alone.
    """
    if refuse_side_constraints(problem, types_of(problem, compress_table(problem))) is not None:
        return solved(begun(problem), None, ())  # it says so at once
    free = begun(problem.without_sides())
    if free.prepared.obstacle is not None:
        return replace(solved(free, None, ()), problem=problem)
    ended = AlsoSet(free.interrupt or threading.Event())
    tracker = Satisfying(free.instance.levels.unit, free.clock.began, free.on_progress, problem=problem, ended=ended)
    timer = _timer(free, tracker, waits=free.prepared.priced and not limits_groups(problem))
    try:
        more = [LimitBinds(problem.most_groups, ended)] if problem.most_groups and limits_groups(problem) else []
        first = solved(replace(free, interrupt=ended), tracker, more)
    finally:
        timer.cancel()
    if first.proof == "infeasible":
        return replace(first, problem=problem)
    bound = Bound() if first.backed_by[:1] == (REGISTERED,) else Bound(first.exact_bound, first.backed_by)
    found = _found(first, problem)
    if found is not None and not (first.stop_reason == "interrupted" and not free.limit.asked):
        return replace(first, problem=problem, report=found.report)
    free = replace(free, prepared=replace(free.prepared, problem=problem))
    refused = None if found is not None else _above_most(free, bound, first)
    if refused is not None:
        return free.end(refused)
    if found is None and tracker.groups is not None:
        found = _released(free, partition_of_groups(free.prepared.before, tracker.groups))
    elif found is None and tracker.kept is not None:
        kept = free.release(tracker.kept)
        found = kept if kept.report.ok else None
    if first.placed is not None and problem.most_groups is not None:
        fewer = _in_fewer_groups(free, first.placed, problem.most_groups)
        losses = [each.objective for each in (fewer, found) if each is not None and each.objective is not None]
        if fewer is not None and fewer.objective == min(losses, default=None):
            found = fewer
    so_far = Outcome(bound=bound, phases=first.phases, trajectory=_bounds(first))
    if free.prepared.priced:
        return (
            _ended(free, so_far.stopped(free.limit.reason), found)
            if not limits_groups(problem)
            else _priced_groups(free, first, found)
        )
    try:
        rest = begun(problem)
    except TooManyLevelVectorsError as error:
        if found is None:
            raise
        return _ended(free, so_far.stopped(free.limit.reason, str(error)), found)
    if rest.prepared.shortage is not None or rest.limit.over:
        return _ended(rest, so_far.stopped(rest.limit.reason), found)
    if found is not None:
        known = assignment_of_groups(rest.prepared, found.groups)
        if known is not None and known.within(problem, rest.instance.levels.unit):
            rest = replace(rest, known=known)
    free_table = None
    if first.placed is not None and problem.min_groups is not None:
        free_table = assignment_of_groups(rest.prepared, first.placed)
        if free_table is not None and not _large_enough(rest.instance, free_table):
            free_table = None  # fully suppressed rows that need no partners, which groups do not tell from others
    result = settled(rest) or _rest_solved(rest, so_far, free_table)
    result = replace(result, phases=(*first.phases, *result.phases))
    if first.dual is not None and (result.dual is None or result.dual.value < first.dual.value):
        result = replace(result, dual=first.dual)
    if found is None or found.objective is None or result.proof == "optimal":
        return result
    if result.exact_objective is not None and result.exact_objective <= found.objective:
        return result
    if result.proof == "infeasible":
        return _ended(
            rest, so_far.failed("a proof of infeasibility was claimed, but a verified table refutes it"), found
        )
    bound = Bound(result.exact_bound, result.backed_by)
    return _ended(rest, replace(so_far, bound=bound).stopped(result.stop_reason, result.message), found)


def has_number_first(problem: Problem) -> bool:
    """Whether the objective is a number of groups, of which counts of rows say something beforehand."""
    return problem.objective in ("min_groups", "max_groups") and problem.separable


def solve_number_first(problem: Problem, begun: Callable[..., Session], solved: Callable[[Session], Result]) -> Result:
    """The result of a problem whose objective is the number of groups: with what counts of rows prove of it, and where
    these allow a single group with that.

    Where candidates are too many to be listed, the table is that of the least loss under the same side constraints, and
    with a cost bound multipliers of the number of groups are found over priced ones (`methods.group_number`).
    """
    if refuse_side_constraints(problem, types_of(problem, compress_table(problem))) is not None:
        return solved(begun(problem))  # it says so at once
    light = begun(problem, listed=False)
    if light.prepared.obstacle is not None:
        return solved(light)
    least, most = numbers_of_groups(problem, light.prepared.before.types)
    fewest, number = problem.objective == "min_groups", Fraction(least if problem.objective == "min_groups" else most)
    bound = Bound(number, ("own bound",))
    if number == 1 and (one := light.one_group()) is not None and one.report.ok:
        return _ended(light, Outcome(bound=bound).stopped("finished"), one)
    try:
        session = begun(problem)
        result = solved(session)
    except TooManyLevelVectorsError as error:
        with light.clock.step("bound"):
            limit = light.limit.part(2 * light.parameters.of(MilpParams).seconds(light.options))
            number = Fraction(priced_number(light, int(number), limit))
        bound = Bound(number, ("own bound",))
        if not 1 <= number <= problem.table.n:
            return light.end(Outcome().infeasible(bound.backed_by, light.why_infeasible))
        loss = replace(problem, objective="loss")
        free = solve_free_first(loss, begun, lambda each, *_: solved(each)) if side_constraints(loss) else None
        first = solved(begun(loss)) if free is None else free
        found = _found(first, problem)
        found = None if found is None else replace(found, objective=Fraction(found.report.groups))
        said = "" if found is not None and found.objective == number else str(error)
        return _ended(light, Outcome(bound=bound, phases=first.phases).stopped(first.stop_reason, said), found)
    known = result.exact_bound
    weaker = known is None or (known < number if fewest else known > number)
    if result.proof in ("optimal", "infeasible") or not weaker:
        return result
    found = _found(result, problem)
    outcome = Outcome(bound=bound, phases=result.phases, trajectory=result.trajectory)
    return _ended(session, outcome.stopped(result.stop_reason, result.message), found)


def _priced_groups(free: Session, first: Result, found: Found | None) -> Result:
    """The result where candidates are priced. free: a session of the problem with side constraints, first: the result
    without them; found: a table that satisfies them."""
    problem, before = free.problem, free.prepared.before
    before = replace(before, problem=problem)
    session = replace(free, prepared=replace(free.prepared, before=before, instance=before))
    tables = [each for each in (None if found is None else found.groups, first.placed) if each is not None]
    result = solve_priced_groups(session, first, tables)
    bound = Bound(result.exact_bound, result.backed_by)
    refused = None if result.table is not None else _above_most(session, bound, result)
    result = result if refused is None else session.end(refused)
    return replace(result, phases=(*first.phases, *result.phases))


def _above_most(session: Session, bound: Bound, by: Result) -> Outcome | None:
    """That there is no table, where each loses more than the cost bound, or than any can. by: the result that has
    proven this."""
    before, limit = session.prepared.before, session.problem.exact_cost_bound
    everything = before.levels.most * before.types.n * before.levels.unit
    if bound.value is None or bound.value <= (everything if limit is None else min(limit, everything)):
        return None
    groups = "" if by.problem.most_groups is None else f" in at most {counted(by.problem.most_groups, 'group')}"
    which = f"is above the cost bound of {in_words(limit)}"
    if limit is None or bound.value <= limit:
        which = f"is above the {in_words(everything)} that fully suppressed rows lose"
    said = f"each table{groups} loses at least {in_words(bound.value)}, which {which}"
    return Outcome(phases=by.phases, trajectory=_bounds(by)).infeasible(bound.backed_by, said)


def _large_enough(instance: Instance, table: Assignment) -> bool:
    """Whether each group has as many rows as its candidate needs."""
    size = group_sizes(instance, table)
    return bool(((size == 0) | (size >= instance.least)).all())


def _rest_solved(session: Session, so_far: Outcome, free: Assignment | None) -> Result:
    """By what limits on groups add to the bound, and by direct MILP where there are none, or time is left.

    so_far: what is known of the problem without side constraints. free: its table, over the instance with them.
    """
    ran = Outcome()
    if limits_groups(session.problem):
        result = solve_few_groups(session, so_far.bound, free)
        bound = UNKNOWN if result.backed_by[:1] == (REGISTERED,) else Bound(result.exact_bound, result.backed_by)
        refused = None if result.table is not None else _above_most(session, bound, result)
        if refused is not None:
            return session.end(refused)
        timed = session.method == "search" or session.limit.over or session.options.time_limit is not None
        if timed or result.proof in ("optimal", "infeasible"):
            return result
        bound = Bound(result.exact_bound, result.backed_by)
        so_far = replace(so_far, bound=bound, trajectory=result.trajectory)
        ran = replace(ran, phases=result.phases, dual=result.dual)
        if result.placed is not None:
            session = replace(session, known=assignment_of_groups(session.prepared, result.placed))
    if session.method == "search" and session.options.time_limit is None:
        seconds = session.parameters.of(HybridParams).seconds
        session = replace(session, options=replace(session.options, time_limit=seconds))
    result = solve_milp(session, known=None if so_far.bound.value is None else replace(so_far, phases=()))
    return replace(result, phases=(*ran.phases, *result.phases), dual=ran.dual)


def _ended(session: Session, outcome: Outcome, found: Found | None) -> Result:
    """The result with this table, or with a first one."""
    if found is None:
        return session.end(session.fallback(outcome))
    return session.end(outcome.with_table(found, Scale.of_problem(session.instance)))


@dataclass
class Satisfying(Tracker):
    """Keeps also the cheapest of the tables that satisfy the side constraints, which is the incumbent for whoever
    watches.

    problem: with them. kept, groups: that table, and group of each row where its candidates are its own. ended: set
    once it is proven that no table loses as little as they ask for.
    """

    problem: Problem | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    kept: Assignment | None = None
    groups: RowGroups | None = None

    def better(self, table: Assignment | None) -> None:
        """As for every tracker."""
        with self._lock:
            asked, cheaper = self.problem, table is not None and (self.kept is None or table.cost < self.kept.cost)
            if cheaper and table is not None and asked is not None and table.within(asked, self.unit):
                self.kept, self.groups = table, None
        super().better(table)

    def released(self, table: Assignment, groups: RowGroups) -> None:
        """As for every tracker."""
        super().released(table, groups)
        with self._lock:
            self.groups = groups if self.kept is table else self.groups

    def higher(self, bound: int, backed_by: tuple[Backing, ...]) -> None:
        """As for every tracker."""
        super().higher(bound, backed_by)
        most = None if self.problem is None else self.problem.exact_cost_bound
        if most is not None and self.proven * self.unit > most:
            self.ended.set()

    @property
    def loss(self) -> float | None:
        """Of the cheapest table that satisfies the side constraints, in the problem's units."""
        return None if self.kept is None else self.kept.cost * float(self.unit)


def _timer(free: Session, tracker: Satisfying, *, waits: bool) -> threading.Timer:
    """Ends the problem without side constraints after its share of the time, if its best table does not satisfy them
    by then; where work is counted no clock plays a part. waits: whether nothing else comes after it."""
    params, left = free.parameters.of(SideConstraintsParams), free.limit.seconds

    def look() -> None:
        if tracker.kept is None or (tracker.best is not None and tracker.best.cost < tracker.kept.cost):
            tracker.ended.set()

    timer = threading.Timer(params.seconds if left is None else params.share * left, look)
    timer.daemon = True
    if free.iterations is None and free.options.node_limit is None and not waits:
        timer.start()
    return timer


def _found(first: Result, problem: Problem) -> Found | None:
    """The table of a result, if it is one of the problem with side constraints."""
    if first.table is None or first.placed is None:
        return None
    report = verify(problem, first.table, partition=first.placed.group.tolist())
    return Found(first.table, first.placed, report, first.exact_objective) if report.ok else None


def _in_fewer_groups(session: Session, groups: RowGroups, most: int) -> Found | None:
    """A table with the groups whose rows would lose most if they were suppressed; all others are one group."""
    before = session.prepared.before
    made = released_partition(before, partition_of_groups(before, groups))
    if made is None:
        return None
    instance, table = made
    rows = np.bincount(table.candidate, weights=table.rows, minlength=instance.candidates.count)
    kept = np.argsort(-rows * (instance.levels.most - instance.candidates.cost), kind="stable")[: most - 1]
    number = np.full(instance.candidates.count, len(kept))
    number[kept] = np.arange(len(kept))
    return _released(session, Partition(number[table.candidate], table.row_type, table.rows))


def _released(session: Session, partition: Partition) -> Found | None:
    """The table with these groups, if it satisfies the problem."""
    made = released_partition(session.prepared.before, partition)
    if made is None:
        return None
    instance, table = made
    prepared = replace(session.prepared, before=instance, instance=instance, steps=[])
    found = replace(session, prepared=prepared).release(table)
    return found if found.report.ok else None


def _bounds(first: Result) -> tuple[tuple[float, float | None, float | None], ...]:
    """What it has proven when; its tables do not satisfy the side constraints, or may not."""
    return tuple((seconds, None, bound) for seconds, _, bound in first.trajectory)
