"""One call of `solve`: what a method works on, and how it ends."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from kanon_milp.errors import InputError, KanonError, TooManyLevelVectorsError
from kanon_milp.formulations import Formulation
from kanon_milp.formulations.goals import first_goal, goal_over
from kanon_milp.heuristics.greedy import greedy, greedy_partition, suppress_all
from kanon_milp.heuristics.mondrian import mondrian_partition, with_last_divided
from kanon_milp.methods.arguments import groups_not_alone
from kanon_milp.methods.description import backing
from kanon_milp.methods.extension import Extension, unit_of
from kanon_milp.methods.outcome import UNKNOWN, Bound, Found, Outcome, Scale, verified_objective
from kanon_milp.methods.result import NO_SOLVER, Result, SolverRun
from kanon_milp.presolve.assignment import Assignment, RowGroups, expand
from kanon_milp.presolve.infeasibility import explain_infeasible, side_constraints
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.partition import Partition, assignment_of_groups, partition_of_groups, released_partition
from kanon_milp.presolve.preparation import Prepared, Size, presolve
from kanon_milp.problem.arguments import instance_of, text, wrong
from kanon_milp.problem.exact import exact_parameter, in_words
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import Capability, OnProgress, SolverAdapter, SolverOptions
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import Parameters, number, parameters
from kanon_milp.verify import verify

VALUE_SECONDS = 4e-5  # for a value of a column, to see whether it could be more specific: twice what 1,200,000 took
JOINT_SECONDS = 3e-7  # the same for two joint values, sensitive ones or persons, of a group
NO_COMMON_ROW = "the mask has no pattern under which the rows of some group are alike; another method may find a table"


@parameters("greedy_table")
@dataclass(frozen=True)
class GreedyTableParams:
    """The time of the first table, which greedy makes before everything else. Under requirements about values greedy
    is slow, and gets more: other methods that need little time find worse tables there."""

    share: float = number(0.1, "of the time left, for greedy at most", most=1)
    seconds: float = number(1.0, "seconds that greedy has at least")
    value_share: float = number(0.95, "of the time left, for greedy under requirements about values", most=1)
    value_seconds: float = number(20.0, "seconds for greedy under requirements about values, at most")
    alone_share: float = number(0.8, "of the time left, for greedy where there are no candidates for all else", most=1)
    value_alone_share: float = number(
        0.3, "of the time left, for greedy where candidates are priced under requirements about values", most=1
    )
    mondrian_share: float = number(0.3, "of the time left, for Mondrian, where greedy was cut short", most=1)

    def value_limit(self, limit: Limit) -> Limit:
        """That of greedy under requirements about values."""
        return limit.part(min(self.value_share * limit.left, self.value_seconds))


def quick_partition(instance: Instance, part: Limit, limit: Limit, params: GreedyTableParams) -> Partition | None:
    """A table by methods that need no candidates: greedy within a part of the limit, and where that was cut short the
    rest by Mondrian in a share of what is left, if the requirements allow it.

    instance: before the reductions.
    """
    found = None
    with suppress(TooManyLevelVectorsError):
        found = greedy_partition(instance, part)
    if part.over and instance.problem.merge_closed:
        rest = limit.share(params.mondrian_share)
        return mondrian_partition(instance, rest) if found is None else with_last_divided(instance, found, rest)
    return found


def table_before_candidates(problem: Problem, clock: Clock, limit: Limit, tuned: Parameters) -> Partition | None:
    """The table that a session begins with where greedy is slow and time is limited: candidates could take the time in
    which it has a good one. None where greedy is quick, or is not for the problem."""
    able = problem.objective == "loss" and problem.separable and not side_constraints(problem)
    if math.isinf(limit.ends) or not problem.attributes or not able:
        return None
    prepared = presolve(problem, clock, enumerated=False)
    if prepared.obstacle is not None:
        return None
    params = tuned.of(GreedyTableParams)
    with clock.step("search"):
        return quick_partition(prepared.before, params.value_limit(limit), limit, params)


@dataclass(frozen=True, eq=False)
class Call(ABC):
    """One call of `solve`, whatever its method works on.

    method: its name in the registry. interrupt: set by whoever wants it to stop. iterations: neighbourhoods of a
    search, instead of a time limit. dask: address of a scheduler whose workers search. files: SHA-256 of each file
    that the problem was read from. solver_used: whether the method asks the solver at all. parameters: of phases.
    """

    adapter: SolverAdapter
    options: SolverOptions
    clock: Clock
    method: str = "milp"
    interrupt: threading.Event | None = None
    iterations: int | None = None
    dask: str | None = None
    on_progress: OnProgress | None = None
    files: Mapping[str, str | None] = field(default_factory=dict)
    solver_used: bool = True
    parameters: Parameters = field(default_factory=Parameters)

    @property
    @abstractmethod
    def problem(self) -> Problem:
        """The problem as it was given."""

    @property
    def limit(self) -> Limit:
        """When it has to end."""
        return limit_of(self.clock, self.options, self.interrupt)

    @property
    def threads(self) -> int:
        """Threads or processes in use."""
        return self.options.threads if self.solver_used else 1

    def result_of(self, outcome: Outcome, formulation: str, *sizes: Size, row_types: tuple[int, int]) -> Result:
        """The result of an outcome, with the sizes before and after reductions. A table that the verifier refuses is
        not shown, its report is."""
        found, bound = outcome.found, outcome.both
        shown = found if found is not None and found.report.ok else None
        version = outcome.version or (self.adapter.version() if self.solver_used else "")
        before, after = sizes
        return Result(
            problem=self.problem,
            stop_reason=outcome.stop_reason,
            proof=outcome.proof,
            backed_by=() if outcome.proof == "none" else backing(bound.backed_by, self.problem, formulation),
            exact_objective=None if found is None else found.objective,
            exact_bound=bound.value,
            table=None if shown is None else shown.table,
            placed=None if shown is None else shown.groups,
            report=None if found is None else found.report,
            solver=SolverRun(
                self.adapter.name if self.solver_used else NO_SOLVER,
                version,
                formulation,
                self.options,
                self.method,
                self.iterations,
                self.dask,
                self.threads,
            ),
            before=before,
            after=after,
            row_types=row_types,
            seconds=self.clock.total(),
            trajectory=outcome.trajectory,
            message=outcome.message,
            files=self.files,
            phases=outcome.phases,
            parameters=self.parameters.values,
        )


@dataclass(frozen=True, eq=False)
class Session(Call):
    """One call of `solve` of a problem whose cost is one of cells: what a method works on, and how it ends.

    start: group of each row in a table to start with. known: a table over `instance` that was found before. quick: one
    that was made before its candidates, in the place of that of greedy. extension: how a user's model differs from the
    one that was built; None where it is the package's own.
    """

    prepared: Prepared = field(kw_only=True)
    formulation: Formulation = field(kw_only=True)
    start: RowGroups | None = None
    known: Assignment | None = None
    quick: Partition | None = None
    extension: Extension | None = None

    def __repr__(self) -> str:
        """Names and sizes, and no cell."""
        return f"<Session: method {self.method}, solver {self.adapter.name}; {self.instance!r}>"

    @property
    def problem(self) -> Problem:
        """The problem as it was given."""
        return self.prepared.problem

    @property
    def instance(self) -> Instance:
        """Its row types, candidates and requirements after the reductions."""
        return self.prepared.instance

    @cached_property
    def first(self) -> Assignment | None:
        """A table to start with, and to end with if there is no better one: the one that was given, greedy, or all rows
        suppressed; None where none of them exists.

        It may take its minimum time also after the limit. Whether it satisfies the problem is for the verifier to say.
        """
        given = self._given
        if self.known is not None and given is None:
            return self.known
        with self.clock.step("search"):
            found = None if self.quick is None else self._assigned(self.quick)
            if found is None:
                found = self._greedy()
            found = suppress_all(self.instance) if found is None else found
        within = found is not None and found.within(self.problem, self.instance.levels.unit)
        if self.known is not None and (found is None or not within or self.known.cost < found.cost):
            found, within = self.known, True
        cheaper = found is not None and given is not None and within and found.cost < given.cost
        if given is None or (self.problem.objective == "loss" and cheaper):
            return found
        return given

    @property
    def _greedy_params(self) -> GreedyTableParams:
        return self.parameters.of(GreedyTableParams)

    def _greedy(self) -> Assignment | None:
        """A table by greedy; where that was cut short the better one of it and the quick one, since candidates may be
        so many that the level vectors are sooner gone through, or the rows divided."""
        params = self._greedy_params
        least = params.value_limit(self.limit).left if self.problem.attributes else 0.0
        limit = self.limit.share(params.share, max(params.seconds, least))
        found = greedy(self.instance, limit)
        if limit.over and not self.limit.over and not groups_not_alone(self.problem):
            quick = self.quick_partition(self.limit.share(params.share))
            other = None if quick is None else self._assigned(quick)
            if other is not None and (found is None or other.cost < found.cost):
                return other
        return found

    def _assigned(self, partition: Partition) -> Assignment | None:
        """A partition as a table over `instance`; None where some group has no candidate."""
        return assignment_of_groups(self.prepared, partition.of_rows(self.problem.table, self.prepared.before.types))

    def quick_partition(self, part: Limit) -> Partition | None:
        """The table that was made before the candidates, or else one by `quick_partition` in a part of the limit."""
        if self.quick is not None:
            return self.quick
        return quick_partition(self.prepared.before, part, self.limit, self._greedy_params)

    @cached_property
    def _given(self) -> Assignment | None:
        """The table that was given to start with, where it satisfies the problem."""
        if self.start is None:
            return None
        with self.clock.step("search"):
            found = assignment_of_groups(self.prepared, self.start)
        return found if found is not None and self.release(found).report.ok else None

    def constructed(self, better_than: Fraction | None = None) -> Found | None:
        """A verified table that no solver has made, with a better objective than this one; None if there is none.

        The first table, or the one with all rows in one group.
        """
        first = None if self.first is None else self.prepared.restore(self.first)
        return self._verified(first, better_than) or self.one_group(better_than)

    def one_group(self, better_than: Fraction | None = None) -> Found | None:
        """As `constructed`, but only the table with all rows in one group.

        It is made before anything is reduced, so it can refute what reductions and requirements say.
        """
        return self._verified(suppress_all(self.prepared.before), better_than)

    def _verified(self, table: Assignment | None, better_than: Fraction | None) -> Found | None:
        """The table of an assignment over the instance before the reductions, if it is valid, and better."""
        if table is None:
            return None
        sign = -1 if self.problem.objective == "max_groups" else 1
        objective = table.cost * self.prepared.before.levels.unit
        if self.problem.objective != "loss":
            goal = goal_over(self.prepared.before, first_goal(self.problem))
            objective = goal.of(table) * goal.unit
        if better_than is not None and sign * objective >= sign * better_than:
            return None
        found = self._released(table)
        reached = found.objective  # what the table is worth is the verifier's word
        if found.report.ok and reached is not None and (better_than is None or sign * reached < sign * better_than):
            return found
        return None

    def release(self, assignment: Assignment) -> Found:
        """The table of an assignment over the reduced instance, verified."""
        return self._released(self.prepared.restore(assignment))

    def _released(self, assignment: Assignment) -> Found:
        """The table of an assignment over the instance before the reductions, verified."""
        with self.clock.step("assign"):
            release = expand(self.prepared.before, assignment)
            table = release.table(self.problem.table)
        types = self.prepared.before.types
        values = sum(len(domain) for domain in types.domains[: len(types.names)])
        sizes = np.bincount(release.groups.group, weights=release.groups.rows)
        held = np.minimum(sizes, len(self.prepared.before.table_group.tuples))
        seconds = values * VALUE_SECONDS + float((held * held).sum()) * JOINT_SECONDS
        minimal = seconds < self.limit.left
        with self.clock.step("verify"):
            report = verify(self.problem, table, partition=release.groups.group.tolist(), minimal=minimal)
        return Found(table, release.groups, report, verified_objective(self.problem, report))

    def finish(self, assignment: Assignment | None, *, bound: Fraction | None = None, message: str = "") -> Result:
        """End a method of one's own with the assignment it has found over `instance`, or None.

        The table is released and verified here, and its objective recomputed. bound: a proven bound on the optimum in
        the problem's units (a lower one; an upper one for `max_groups`), None where the method proves nothing; the
        result says that it is backed by this method alone, unless a verified table refutes it: then the bound is
        discarded, and the message says so. Raises InputError for
        arguments that are none, SolverError for an assignment that does not place each row exactly once.
        """
        what = f'the method "{self.method}": session.finish'
        given: object = bound
        if isinstance(given, str):
            raise wrong(f"{what}: bound", "a Fraction, an integer or None", given)
        if isinstance(given, float | np.floating) and not math.isfinite(given):
            raise InputError(f"{what}: bound: a finite number is expected, found {given}; None stands for no bound")
        proven = None if given is None else exact_parameter(given, f"{what}: bound")
        text(message, f"{what}: message")
        if assignment is not None:
            instance_of(assignment, Assignment, f"{what}: assignment", "an Assignment over session.instance, or None,")
            try:
                assignment = assignment.checked(self.instance)
            except KanonError as error:
                raise type(error)(f"{what}: {error}") from error
        claimed = UNKNOWN if proven is None else Bound(proven, (f"method {self.method}",))
        outcome = Outcome(registered=claimed).stopped(self.limit.reason if self.limit.over else "finished", message)
        if assignment is None:
            return self.end(outcome)
        return self.end(self.held_against(outcome, self.release(assignment)))

    def finish_partition(self, partition: Partition, *, bound: Fraction | None = None, message: str = "") -> Result:
        """As `finish`, with a partition of the table's rows into groups, each of which is released as cheaply as the
        recoding allows.

        partition: over `prepared.before.types`. Its groups need no candidates of `instance`. Raises SolverError for one
        that does not place each row exactly once.
        """
        try:
            found = released_partition(self.prepared.before, partition)
        except KanonError as error:
            raise type(error)(f'the method "{self.method}": session.finish_partition: {error}') from error
        if found is None:
            return self.finish(None, bound=bound, message=NO_COMMON_ROW)
        instance, assignment = found
        result = self._over(instance).finish(assignment, bound=bound, message=message)
        # with a bound, or a table to start with, a better table may have taken its place
        if result.placed is None or bound is not None or self.start is not None:
            return result
        return replace(result, parts=partition.of_rows(self.problem.table, self.prepared.before.types))

    def _over(self, instance: Instance) -> Session:
        """The same over another instance of the problem, without reductions."""
        return replace(self, prepared=replace(self.prepared, before=instance, instance=instance, steps=[]))

    def held_against(self, claimed: Outcome, found: Found) -> Outcome:
        """What a method claims, with its table, or with a better one that needs no method and refutes the bound."""
        scale = Scale.of_problem(self.instance)
        bound = claimed.both.value
        if bound is None or not found.report.ok or scale.refutes(found.objective, bound):
            return claimed.with_table(found, scale)
        rival = self.constructed(found.objective)
        refuted = rival is not None and scale.refutes(rival.objective, bound)
        return claimed.with_table(rival if rival is not None and refuted else found, scale)

    def fallback(self, outcome: Outcome) -> Outcome:
        """An outcome without a table, with the first one if that satisfies the problem."""
        found = self.constructed()
        return outcome if found is None else outcome.with_table(found, Scale.of_problem(self.instance))

    def end_early(self, reason: str, message: str = "", known: Outcome | None = None) -> Result:
        """The result where the method has found no table. known: what it has found otherwise."""
        return self.end(self.fallback((known or Outcome()).stopped(reason, message)))

    @property
    def why_infeasible(self) -> str:
        """What to say of a problem that is proven infeasible."""
        return explain_infeasible(self.problem, self.prepared.before.levels)

    def end_infeasible(self) -> Result:
        """The result of a method that has gone through everything and found no table."""
        return self.end(Outcome().infeasible((f"method {self.method}",), self.why_infeasible))

    @property
    def threads(self) -> int:
        """Threads or processes in use: a solver on one thread leaves the rest to none but a search."""
        alone = Capability.THREADS not in self.adapter.capabilities and self.method == "milp"
        return 1 if alone else super().threads

    def _no_worse_than_start(self, outcome: Outcome) -> Outcome:
        """The outcome with the table that was given to start with, where that is better; a note says so, and says where
        it is no table of this problem.

        Methods may not know it: they start with nothing, or it has groups that no candidate covers.
        """
        refused = outcome.found is not None and not outcome.found.report.ok
        if self.start is None or refused:
            return outcome
        made = released_partition(self.prepared.before, partition_of_groups(self.prepared.before, self.start))
        if made is None:
            return self._without_start(outcome, "no pattern makes the rows of some group alike")
        instance, assignment = made
        session = self._over(instance)
        reached = None if outcome.found is None else outcome.found.objective
        given = None if outcome.proof == "optimal" else session._verified(assignment, reached)
        if given is None:
            report = session._released(assignment).report
            return outcome if report.ok else self._without_start(outcome, report.violations[0])
        if outcome.proof == "infeasible":
            return replace(
                outcome.failed("a proof of infeasibility was claimed, but the start table refutes it"), found=given
            )
        goal = self.problem.optimized
        alone = "none" if reached is None else f"one with {goal} {in_words(reached)}"
        return outcome.with_table(given, Scale.of_problem(self.instance)).noted(
            f"the table is the one that was given to start with; {self.method} itself found {alone}"
        )

    def _without_start(self, outcome: Outcome, why: str) -> Outcome:
        """The outcome with a note that the groups to start with were of no use; infeasible problems have no such."""
        said = f"start was dropped: its groups give no table of this problem ({why})"
        return outcome if outcome.proof == "infeasible" else outcome.noted(said)

    def end(self, outcome: Outcome) -> Result:
        """The result of an outcome. A table that the verifier refuses is not shown, its report is."""
        outcome = self._no_worse_than_start(outcome)
        types, candidates = self.instance.types, self.instance.candidates
        return replace(
            self.result_of(
                outcome,
                self.formulation.name,
                self.prepared.size_before,
                Size(types.count, candidates.count, candidates.pairs, *outcome.size),
                row_types=self.prepared.row_types,
            ),
            reductions=self.prepared.reduction_sizes,
            dual=None if outcome.dual is None else outcome.dual.restored(self.prepared.restore_values),
            required=None if outcome.required is None else self.prepared.restore_values(outcome.required),
            extension=self.extension,
            unit=unit_of(self.instance, self.extension),
        )


def limit_of(clock: Clock, options: SolverOptions, interrupt: threading.Event | None) -> Limit:
    """The time limit counts from the moment when the table has been read."""
    return Limit(math.inf if options.time_limit is None else clock.began + options.time_limit, interrupt)
