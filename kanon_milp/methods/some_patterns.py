"""Where there is no time, or no memory, for the candidates of all level vectors: a table of some of them, improved
until the limit, and a bound that needs no candidates.

A round is a session of the hybrid method over candidates of its own: its phases know these alone, so no phase can go
from one round to the next. What they share is a verified table of the problem; their runs are one log.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.heuristics.mondrian import mondrian_partition
from kanon_milp.methods import full_domain
from kanon_milp.methods.arguments import groups_not_alone, groups_not_merging
from kanon_milp.methods.hybrid import limit_of_search, solve_hybrid
from kanon_milp.methods.outcome import Bound, Found, Outcome, Scale
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import GreedyTableParams, Session
from kanon_milp.methods.tracker import PhaseRun
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance, recode, with_candidates
from kanon_milp.presolve.partition import Partition, assignment_of_groups, partition_of_groups, released_partition
from kanon_milp.presolve.preparation import Prepared, reduced_instance
from kanon_milp.presolve.resources import vectors_in_memory, vectors_in_time
from kanon_milp.problem.recoding import Levels
from kanon_milp.solvers import Progress
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import Limit, Over
from kanon_milp.system.parameters import number, parameters


@parameters("some_patterns")
@dataclass(frozen=True)
class SomePatternsParams:
    """Rounds over some level vectors."""

    baseline_share: float = number(0.05, "of the time left, for a table by full-domain recoding", most=1)
    instead_share: float = number(
        0.3, "of the time left, for full-domain recoding where greedy has found no table or was cut short", most=1
    )
    bound_share: float = number(0.15, "of the time left, for the bound", most=1)
    candidates_share: float = number(0.1, "of the time left, for the candidates of a round", most=1)
    round_share: float = number(0.5, "of the time left, for a round, where there is time for another one", most=1)
    round_seconds: float = number(5.0, "seconds for it, at least")
    preparations: float = number(4.0, "times what preparing a round takes must be left for another one")
    most_pairs: int = number(10_000_000, "pairs of a round, at most", least=1)
    releases: float = number(3.0, "times what a release and its check take is left at the end of a round")
    drawn: int = number(8, "one of so many level vectors is drawn from all", least=1)


def solve_some_patterns(session: Session) -> Result:
    """Mondrian has a table soon, greedy goes over all level vectors, or full-domain recoding is better; then the hybrid
    method works over those of the best table and their neighbours in the lattice, round by round.

    What a round proves holds for its level vectors alone, so the bound is that of `cheapest_without_candidates`.
    """
    with session.clock.step("candidates"):
        levels = recode(session.problem, session.prepared.before.types)
    search = _Search(session, levels, limit_of_search(session))
    if groups_not_alone(session.problem):
        return search.fallback()
    search.begin()
    for inner in search.rounds():
        search.take(solve_hybrid(inner))
    return search.end()


@dataclass(eq=False)
class _Search:
    """What is known so far. found: the best table; used: the level vector of each of its groups, and how many rows it
    has. proven: a bound, in units. release_seconds: of releasing and verifying a table. round_: that of the last
    round; prepare_seconds: of preparing it."""

    session: Session
    levels: Levels
    limit: Limit
    found: Found | None = None
    used: tuple[Ints, Ints] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    proven: int = 0
    release_seconds: float = 0.0
    round_: Prepared | None = None
    prepare_seconds: float = 0.0
    trajectory: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    phases: list[PhaseRun] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.params = self.session.parameters.of(SomePatternsParams)

    def begin(self) -> None:
        """The best table of the methods that need no candidates, or the one that was given to start with; and what all
        rows lose at least."""
        from kanon_milp.bounds.built_in import cheapest_without_candidates
        from kanon_milp.heuristics.greedy import greedy_partition

        session, before, params = self.session, self.session.prepared.before, self.params
        quick = session.quick
        first = session.parameters.of(GreedyTableParams)
        least = first.seconds if quick is None else 0.0
        if not (groups_not_merging(session.problem) or (quick is not None and self.limit.over)):
            with session.clock.step("search"):
                partition = mondrian_partition(before, self.limit.share(first.mondrian_share, least))
            if partition is not None:
                self._release(partition)
        with session.clock.step("search"):
            limit = self.limit.share(first.alone_share, least)
            partition = greedy_partition(before, limit) if quick is None else quick
        share = params.instead_share if partition is None or limit.over else params.baseline_share
        if partition is not None:
            self._release(partition)
        masked = session.problem.recoding.mask is not None
        if not (masked or math.isinf(self.limit.ends) or full_domain.refuses(session.problem)):  # it may take for ever
            with session.clock.step("search"):
                partition = full_domain.full_domain_partition(session, self.limit.share(share))
            if partition is not None:
                self._release(partition)
        if session.start is not None:
            self._release(partition_of_groups(before, session.start))
        with session.clock.step("bound"):
            self.proven = cheapest_without_candidates(before, self.levels, self.limit.share(params.bound_share))
        self._note()

    def rounds(self) -> Iterator[Session]:
        """A session over some level vectors, again and again until the limit; without one, until the table gets no
        better."""
        session, types = self.session, self.session.prepared.before.types
        draw = np.random.default_rng(session.options.seed)
        while (
            self.found is not None
            and self.limit.left > self.params.releases * self.release_seconds + self.prepare_seconds
            and not self._enough
        ):
            if self.limit.asked:
                return
            levels, began = self._some(max(self._affordable, 1), draw), time.perf_counter()
            try:
                with session.clock.step("candidates"):
                    instance = self.limit.call(with_candidates, session.problem, types, levels)
                with session.clock.step("reduce"):
                    self.round_ = reduced_instance(instance, session.prepared.row_types, self.limit)
            except Over:
                return
            before, self.prepare_seconds = self.found, time.perf_counter() - began
            yield self._inner(self.round_)
            if session.options.time_limit is None and self.found is before:
                return

    def take(self, result: Result) -> None:
        """The table of a round, where it is better, and better still where its groups can keep more."""
        self.phases += result.phases
        if (
            result.placed is None
            or result.report is None
            or self.round_ is None
            or not self._better(result.exact_objective)
        ):
            return
        self._release(partition_of_groups(self.session.prepared.before, result.placed))
        assignment = assignment_of_groups(self.round_, result.placed)
        if assignment is not None:
            found = Found(result.table, result.placed, result.report, result.exact_objective)
            self._keep(found, self.round_.instance, assignment)
        self._note()

    def end(self) -> Result:
        """The result, with what there was not enough of."""
        session, shortage = self.session, self.session.prepared.shortage
        assert shortage is not None
        used = None if self.found is None else len(np.unique(self.used[0]))
        reason = (
            self.limit.reason if self.limit.over else shortage.reason if not session.iterations else "iteration_limit"
        )
        outcome = Outcome(trajectory=tuple(self.trajectory), phases=tuple(self.phases))
        if session.problem.objective == "loss":
            outcome = replace(outcome, bound=Bound(self.proven * self.levels.unit, ("own bound",)))
        if self.round_ is not None:
            session = replace(session, prepared=replace(self.round_, shortage=shortage))
        outcome = outcome.stopped("gap_limit") if self._enough else outcome.stopped(reason, shortage.said(used))
        if self.found is None:
            return session.end(session.fallback(outcome))
        return session.end(outcome.with_table(self.found, Scale.of_problem(session.instance)))

    def fallback(self) -> Result:
        """A first table over some level vectors, where groups cannot be judged alone."""
        session, types = self.session, self.session.prepared.before.types
        number = max(self._affordable, 1)
        instance = with_candidates(session.problem, types, self.levels.some(number))
        self.round_ = Prepared(session.problem, instance, instance, [], session.prepared.row_types, None)
        session = replace(session, prepared=self.round_)
        for assignment in (session.first, suppress_all(instance)):
            if self.found is None and assignment is not None:
                self._keep(session.release(assignment), instance, assignment)
        return self.end()

    @property
    def _enough(self) -> bool:
        """Whether the table is as good as the bound, within the gap that was asked for."""
        if self.found is None or self.found.objective is None:
            return False
        return float(self.found.objective) * (1 - self.session.options.gap) <= float(self.proven * self.levels.unit)

    @property
    def _affordable(self) -> int:
        """The candidates of how many level vectors there is time and memory for."""
        count, valued = self.session.prepared.before.types.count, bool(self.session.problem.attributes)
        left = self.params.candidates_share * self.limit.left
        timed = math.inf if math.isinf(left) else vectors_in_time(count, left)
        return int(
            min(vectors_in_memory(count, valued=valued), timed, self.levels.count, self.params.most_pairs // count)
        )

    def _inner(self, prepared: Prepared) -> Session:
        """A session over the instance of a round, which begins with the best table."""
        session, clock = self.session, self.session.clock
        assert self.found is not None
        options = session.options
        if not math.isinf(self.limit.ends):
            left = self.limit.left - self.params.releases * self.release_seconds
            another = left * (1 - self.params.round_share) > self.params.preparations * self.prepare_seconds
            share = self.params.round_share if another else 1.0
            seconds = max(share * left, min(self.params.round_seconds, left))
            options = replace(options, time_limit=time.perf_counter() - clock.began + seconds)
        known = assignment_of_groups(prepared, self.found.groups)
        tell = None if session.on_progress is None else self._tell
        return replace(session, prepared=prepared, options=options, known=known, start=None, on_progress=tell)

    def _tell(self, point: Progress) -> None:
        """Pass on what a round has found, without what it proves."""
        assert self.session.on_progress is not None
        self.session.on_progress(replace(point, bound=float(self.proven * self.levels.unit)))

    def _some(self, number: int, draw: np.random.Generator) -> Levels:
        """About so many level vectors: those by which rows are released, then neighbours of those by which most are,
        and some of all others."""
        levels, (used, rows) = self.levels, self.used
        weight = np.zeros(levels.count)
        for j in range(levels.vectors.shape[1]):
            for step in (-1, 1):
                beside = levels.vectors[used].copy()
                beside[:, j] += step
                at = self._places(beside)
                np.add.at(weight, at[at >= 0], rows[at >= 0])
        np.add.at(weight, used, weight.max() + 1.0 + rows)
        # without all vectors of the best table a round would have to begin with a worse one
        drawn = max(number, len(np.unique(used))) // self.params.drawn
        near = np.argsort(-weight, kind="stable")[: max(number - drawn, len(np.unique(used)))]
        last = self._places(levels.last.vectors)
        return levels.only(
            np.unique(np.concatenate([near[weight[near] > 0], draw.integers(levels.count, size=drawn), last]))
        )

    @cached_property
    def _keys(self) -> tuple[Ints, Ints, Ints]:
        """Of level vectors: random factors whose products add up to a key, the keys in order, and whose each is."""
        draw = np.random.default_rng(0)
        factors = np.array([draw.integers(1 << 62) for _ in self.levels.columns], dtype=np.int64)
        keys: Ints = (self.levels.vectors.astype(np.int64) * factors).sum(axis=1)
        order: Ints = np.asarray(np.argsort(keys), dtype=np.int64)
        return factors, keys[order], order

    def _places(self, vectors: NDArray[np.int16]) -> Ints:
        """Where these level vectors are among all that are allowed, -1 where they are not."""
        factors, keys, order = self._keys
        at = np.searchsorted(keys, (vectors.astype(np.int64) * factors).sum(axis=1))
        found = order[np.minimum(at, len(order) - 1)]
        return np.where((self.levels.vectors[found] == vectors).all(axis=1), found, -1)

    def _release(self, partition: Partition) -> None:
        """Take a table by its groups, each of which keeps as much as the recoding allows."""
        with self.session.clock.step("assign"):
            made = released_partition(self.session.prepared.before, partition)
        if made is not None and self._better(made[1].cost * made[0].levels.unit):
            instance, assignment = made
            prepared, began = (
                replace(self.session.prepared, before=instance, instance=instance, steps=[]),
                time.perf_counter(),
            )
            self._keep(replace(self.session, prepared=prepared).release(assignment), instance, assignment)
            self.release_seconds = max(self.release_seconds, time.perf_counter() - began)

    def _keep(self, found: Found, instance: Instance, assignment: Assignment) -> None:
        """Take a table if it is valid and the best so far."""
        if found.report.ok and self._better(found.objective):
            vectors = instance.levels.vectors[instance.candidates.vector[assignment.candidate]]
            self.found, self.used = found, (self._places(vectors), assignment.rows)

    def _better(self, objective: Fraction | None) -> bool:
        """Whether a table of this objective is better than the best so far."""
        sign = -1 if self.session.problem.objective == "max_groups" else 1
        known = None if self.found is None else self.found.objective
        return objective is not None and (known is None or sign * objective < sign * known)

    def _note(self) -> None:
        """What is known now, for the trajectory and for whoever watches."""
        loss = None if self.found is None or self.found.objective is None else float(self.found.objective)
        point = (self.session.clock.since_reading(), loss, float(self.proven * self.levels.unit))
        self.trajectory.append(point)
        if self.session.on_progress is not None:
            self.session.on_progress(Progress(*point))
