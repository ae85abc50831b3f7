"""Where closed candidates are too many to be listed: a bound over all of them by pricing, and tables over those that
are near its multipliers, round by round.

A round raises the bound, then searches tables over the candidates that the multipliers of now make cheap, and those of
the best table. What it proves holds for all candidates (`kanon_milp.bounds.pattern_pricing`); the search proves
nothing.

Where numbers of groups are limited, the bound has a multiplier for each limit and goes on from where the problem
without them has ended, and the tables are those of `kanon_milp.methods.few_groups` over what is near.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from kanon_milp.bounds.closure_pricing import pricing_of
from kanon_milp.bounds.columns.priced_cuts import PricedCuts
from kanon_milp.bounds.dual import DualPoint, prove, round_dual
from kanon_milp.bounds.lagrangian_bound import lagrangian
from kanon_milp.bounds.parameters import SubproblemParameters
from kanon_milp.bounds.pattern_pricing import PatternPricing
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.bounds.required_pricing import RequiredPricing, required_pricing_of
from kanon_milp.errors import InputError
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.methods.few_groups import FewGroups, Splitting
from kanon_milp.methods.hybrid import limit_of_search
from kanon_milp.methods.model_phases import RestrictedModel
from kanon_milp.methods.outcome import Bound, Found, Outcome, Scale
from kanon_milp.methods.phases import Estimate, Known, Phase
from kanon_milp.methods.required_phases import UnderRequirements
from kanon_milp.methods.required_search import RequiredSearch
from kanon_milp.methods.result import Result
from kanon_milp.methods.scheduler import begun, run_phases
from kanon_milp.methods.session import GreedyTableParams, Session
from kanon_milp.methods.sizes_phases import Construction, CutParams, TableSearch
from kanon_milp.methods.tracker import PhaseRun, Tracker
from kanon_milp.presolve.assignment import Assignment, RowGroups
from kanon_milp.presolve.instance import Instance, with_candidates
from kanon_milp.presolve.partition import Partition, partition_of_groups, released_partition
from kanon_milp.presolve.preparation import Prepared, priced_by_vectors
from kanon_milp.solvers import Progress
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.arrays import Floats
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import Parameters, number, parameters
from kanon_milp.system.worker_pool import Pool, open_pool


@parameters("priced_rounds")
@dataclass(frozen=True)
class PricedParams:
    """Rounds over candidates that are priced. Tuned on all of Adult with hierarchies, k = 5."""

    seconds: float = number(5.0, "of the first round, at least, where there is time for another one", least=1e-3)
    value_seconds: float = number(20.0, "of the first round, at least, under requirements about values", least=1e-3)
    longer: float = number(3.0, "times as long is each round", least=1)
    bound_share: float = number(0.6, "of a round, for the bound at most", most=1)
    cut_share: float = number(0.4, "of a round, for rank-1 cuts at most, where the bound without them is done", most=1)
    sizes_rounds: int = number(4, "of the bound of sizes, before that of values begins", least=0)
    open_limit: float = number(2.0, "cells, φ of the candidates that tables are made of")
    pair_limit: float = number(2.0, "cells, reduced cost of their pairs")
    value_pair_limit: float = number(
        4.0, "cells, reduced cost of their pairs where groups need values, of which some are scarce"
    )
    some_pairs: int = number(
        2_000_000, "row types under some level vectors, for the first bound on few groups", least=1
    )
    some_share: float = number(0.1, "of the time left, for that bound at most", most=1)
    some_iterations: int = number(300, "iterations of that bound, where there is no limit", least=1)
    releases: float = number(2.0, "times what a release and its check take is left at the end")


def solve_priced(session: Session, tracker: Tracker | None = None) -> Result:
    """Rounds until table and bound meet, one has changed nothing and needed no more time than it had, or the limit.
    tracker: of who watches."""
    with open_pool(session.options.threads, session.dask) as pool:
        search = _PricedSearch(session, limit_of_search(session), pool, tracker)
        search.begin()
        return search.run()


def solve_priced_groups(session: Session, free: Result, tables: Sequence[RowGroups]) -> Result:
    """The same with limits on numbers of groups. session: of the problem with them. free: the result without; tables:
    group of each row, of tables that may satisfy them, the last one of the problem without them."""
    with open_pool(session.options.threads, session.dask) as pool:
        search = _GroupsSearch(session, limit_of_search(session), pool, free=free)
        search.begin_from(tables)
        return search.run()


@dataclass(eq=False)
class _PricedSearch:
    """What is known so far. table: the best one, as an instance whose candidates are its groups, and found: as it was
    verified. dual: multipliers that prove most of sizes; proven: the bound, in units. cuts: once the bound without them
    rises no more. rounds: how many there were. seconds: of the last one; release_seconds: of releasing a table. idle:
    whether another round would do what the last one did."""

    session: Session
    limit: Limit
    pool: Pool
    tracker: Tracker | None = None
    table: tuple[Instance, Assignment] | None = None
    found: Found | None = None
    dual: DualPoint | None = None
    proven: int = 0
    cuts: PricedCuts | None = None
    rounds: int = 0
    seconds: float = 0.0
    release_seconds: float = 0.0
    idle: bool = False
    trajectory: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    phases: list[PhaseRun] = field(default_factory=list)

    def begin(self) -> None:
        """The table that was given to start with, tables by methods that need no candidates, and what all rows lose at
        least."""
        session, before = self.session, self.session.prepared.before
        self._read_parameters()
        if session.start is not None:
            self._release(partition_of_groups(before, session.start))
        with session.clock.step("search"):
            first = session.parameters.of(GreedyTableParams)
            share = first.value_alone_share if session.problem.attributes else first.alone_share
            partition = session.quick_partition(session.limit.share(share))
        if partition is not None:
            self._release(partition)
        with session.clock.step("bound"):
            problem, types, tuned, threads = session.problem, before.types, session.parameters, session.options.threads
            self.ascent = PricedAscent(pricing_of(problem, types, tuned, self.limit, self.pool), threads, tuned)
            self._begin_with_values()
        self._note()

    def _begin_with_values(self) -> None:
        """What sizes prove; where something is required of values, some more of that, and from there on the bound that
        knows of them."""
        session, root = self.session, self.ascent.source.root
        self._prove(self.ascent.best)
        if not session.problem.attributes:
            return
        while self.ascent.rounds < self.params.sizes_rounds and not (self.limit.over or self.ascent.stalled):
            self.ascent.rise(self.limit)
        self._prove(self.ascent.best)
        tuned, threads = session.parameters, session.options.threads
        source = required_pricing_of(root.problem, root.types, threads, tuned, self.limit, self.pool)
        self.ascent = PricedAscent(source, threads, tuned, self.ascent.multipliers)

    def _read_parameters(self) -> None:
        self.params, self.unit = self.session.parameters.of(PricedParams), self.session.instance.levels.unit

    def run(self) -> Result:
        """Rounds, and what comes out."""
        while not self.ended:
            self.round()
        return self.end()

    @property
    def ended(self) -> bool:
        """Whether there is no time for another round, or no use in one: where more is proven than any table loses."""
        before = self.session.prepared.before
        none = self.proven > before.levels.most * before.types.n
        return none or self.idle or self._left <= 0 or self.limit.asked or self._enough

    @property
    def _left(self) -> float:
        return self.limit.left - self.params.releases * self.release_seconds

    @property
    def _enough(self) -> bool:
        """Whether the table is as good as the bound, within the gap that was asked for."""
        return self._cost is not None and self._cost * (1 - self.session.options.gap) <= self.proven

    @property
    def _cost(self) -> int | None:
        return None if self.table is None else self.table[1].cost

    def round(self) -> None:
        """Raise the bound, then search tables."""
        before, left = self._state, self._left
        self.rounds += 1
        shortest = self.params.value_seconds if self.session.problem.attributes else self.params.seconds
        self.seconds = max(shortest, self.params.longer * self.seconds)
        if left < 2 * self.seconds:
            self.seconds = left
        ends = time.perf_counter() + self.seconds
        share = self.params.cut_share if self.ascent.stalled and self._worth_cuts else self.params.bound_share
        self._raise(self.limit if math.isinf(left) else self.limit.part(share * self.seconds))
        if not (self.limit.over or self._enough):
            # a look that takes longer than the bound's share leaves the search its own
            ends = max(ends, time.perf_counter() + (1 - share) * self.seconds)
            self._search(min(ends, self.limit.ends))
        # with more time than this one has used, another one would do the same
        done = self.ascent.stalled and (self.cuts is None or self.cuts.stalled) and time.perf_counter() < ends
        self.idle = (done or math.isinf(left)) and before == self._state

    @property
    def _state(self) -> tuple[int | None, int, bool]:
        """What a round begins with: loss of the best table, bound, and whether a search has nothing to begin with."""
        return self._cost, self.proven, self._start is None

    @property
    def _worth_cuts(self) -> bool:
        """Whether groups are small enough for rank-1 cuts, and sizes are all that is asked for."""
        small = int(self.ascent.source.root.least[0]) <= self.session.parameters.of(CutParams).group_rows
        return small and self.session.problem.size_only and not self.ascent.source.sets.lists

    def _raise(self, limit: Limit) -> None:
        clock, began = self.session.clock, time.perf_counter()
        loss, bound = self._in_words
        with clock.step("bound"):
            self._rise(limit)
            if self.ascent.stalled and self._worth_cuts and not limit.over:
                self.cuts = self.cuts or PricedCuts(self.ascent, self.session.parameters)
                self.cuts.rise(limit, self._cost)
                while not (self.cuts.stalled or self.cuts.short or math.isinf(limit.ends)):
                    self.cuts.rise(limit, self._cost)
                self._prove(self.cuts.dual)
        self._note()
        seconds, now = time.perf_counter() - began, self._in_words
        self.phases.append(PhaseRun("pricing", began - clock.began, seconds, *now, loss, bound))

    def _rise(self, limit: Limit) -> None:
        while not (limit.over or self.ascent.stalled):
            self.ascent.rise(limit)
        self._prove(self.ascent.best)

    def _prove(self, dual: DualPoint) -> None:
        """What a point is worth over all candidates, in integers, if that is more than before."""
        source = self.ascent.source
        with suppress(InputError):  # exact numbers would need more than 64 bits, or there are too many groups
            bound = source.bound(dual)
            if self.dual is None or bound > self.proven:
                self.dual = self.dual if isinstance(source, RequiredPricing) else dual
                self.proven = max(bound, self.proven)
        if self.tracker is not None:
            self.tracker.higher(self.proven, self._backed_by)

    def _search(self, ends: float) -> None:
        """Tables over the candidates that are near the multipliers, and the groups of the best one; what these could
        prove is not asked."""
        session, params, ascent, source = self.session, self.params, self.ascent, self.ascent.source
        with session.clock.step("candidates"):
            pair_limit = params.value_pair_limit if session.problem.attributes else params.pair_limit
            start = self._start
            near = source.near(ascent.multipliers, params.open_limit, pair_limit, None if start is None else start[0])
            dual = ascent.point(near)
        instance = replace(near.instance, problem=session.problem)  # with a least number of groups, which tables need
        known = suppress_all(instance)  # there is a candidate of all rows
        if start is not None:
            numbers, best = source.numbers(near, start[0]), start[1]
            known = Assignment(best.row_type, numbers[best.candidate], best.rows, best.cost).checked(instance)
        assert known is not None
        prepared = Prepared(session.problem, instance, instance, [], session.prepared.row_types, None)
        options = session.options
        if not math.isinf(ends):
            options = replace(options, time_limit=ends - session.clock.began)
        # what is near is all that there is to be looked at
        near_enough = {"search.open_limit": math.inf, "search.pair_limit": math.inf}
        tuned = Parameters({**near_enough, **session.parameters.values}, session.parameters.used)
        valid = known if known.within(session.problem, self.unit) else None
        inner = replace(session, prepared=prepared, options=options, known=valid, start=None, parameters=tuned)
        tracker = Tracker(self.unit, session.clock.began, session.on_progress, self.proven, trajectory=self.trajectory)
        tracker.before = self._in_words[0]
        with begun(Known, inner, limit_of_search(inner), tracker, self.pool) as found:
            found.dual = found.plain = dual
            found.iteration_seconds = math.inf  # no time is left for cuts, which would be about these candidates
            run_phases(found, self._phases(found, known))
        self.phases += found.log
        if found.best is not None:
            used, group = np.unique(found.best.candidate, return_inverse=True)
            # groups that could become one are released as they were found where many are asked for
            given = instance.exempt[used] | session.problem.wants_many_groups
            of_used = instance.levels.vectors[instance.candidates.vector[used]]
            vector = np.where(given[:, None], of_used, np.int16(-1)).astype(np.int16)
            self._release(Partition(group.reshape(-1), found.best.row_type, found.best.rows, vector))

    @property
    def _start(self) -> tuple[Instance, Assignment] | None:
        """The table that a search begins with. The first one has none but what the multipliers lead to: from that it
        gets further than from the table of greedy (Adult with hierarchies, k = 2, a minute: 9,355 cells for 9,627)."""
        session = self.session
        own = session.start is None and not session.problem.attributes
        return None if own and all(each.name != TableSearch.name for each in self.phases) else self.table

    def _phases(self, known: Known, table: Assignment) -> list[Phase]:
        """What searches tables over what is near. table: what it begins with."""
        return [Construction(), TableSearch()] if known.sizes_only else [_RequiredTables(self.rounds)]

    def _release(self, partition: Partition) -> None:
        """Take a table by its groups, each of which keeps as much as the recoding allows, if it is valid and the best
        so far."""
        made, began = released_partition(self.session.prepared.before, partition), time.perf_counter()
        if made is None or (self._cost is not None and made[1].cost >= self._cost):
            return
        prepared = replace(self.session.prepared, before=made[0], instance=made[0], steps=[])
        found = replace(self.session, prepared=prepared).release(made[1])
        if found.report.ok:
            self.table, self.found = made, found
            if self.tracker is not None:
                self.tracker.released(made[1], found.groups)
        self.release_seconds = max(self.release_seconds, time.perf_counter() - began)
        self._note()

    @property
    def _backed_by(self) -> tuple[Backing, ...]:
        return ("own bound" if self.session.problem.attributes else "certificate",)

    @property
    def _in_words(self) -> tuple[float | None, float]:
        """Loss of the best table and bound, in the problem's units."""
        return None if self._cost is None else self._cost * float(self.unit), self.proven * float(self.unit)

    def _note(self) -> None:
        """What is known now, for the trajectory and for whoever watches."""
        point = (self.session.clock.since_reading(), *self._in_words)
        self.trajectory.append(point)
        if self.session.on_progress is not None:
            self.session.on_progress(Progress(*point))

    def end(self) -> Result:
        """The result, with the size of the last instance."""
        session, near = self.session, self.ascent.near.instance
        bound = Bound(self.proven * self.unit, self._backed_by)
        outcome = Outcome(bound=bound, dual=self.dual, trajectory=tuple(self.trajectory), phases=tuple(self.phases))
        if session.problem.attributes:
            outcome = replace(outcome, required=self.ascent.source.split(self.ascent.multipliers)[0])
        idle = "iteration_limit" if session.iterations else "finished"
        reason = self.limit.reason if self.limit.over or not self.idle else idle
        outcome = outcome.stopped("gap_limit" if self._enough else reason, self.pool.losses())
        session = replace(session, prepared=replace(session.prepared, before=near, instance=near))
        if self.found is None:
            return session.end(session.fallback(outcome))
        return session.end(outcome.with_table(self.found, Scale.of_problem(session.instance)))


@dataclass(eq=False)
class _GroupsSearch(_PricedSearch):
    """With limits on numbers of groups. free: the result without them; before: its table, over its own candidates."""

    free: Result | None = None
    before: tuple[Instance, Assignment] | None = None

    def begin_from(self, tables: Sequence[RowGroups]) -> None:
        """From these tables, and from where the bound without the limits stands, or that over some level vectors."""
        session, free, before = self.session, self.free, self.session.prepared.before
        self._read_parameters()
        assert free is not None
        for groups in tables:
            self._release(partition_of_groups(before, groups))
            self.before = released_partition(before, partition_of_groups(before, groups))
        if free.exact_bound is not None:
            self.proven, self.dual = int(free.exact_bound / self.unit), free.dual
        problem = session.problem
        with session.clock.step("bound"):
            source = pricing_of(problem, before.types, session.parameters, self.limit, self.pool)
            starts = [] if free.dual is None else [free.dual.multipliers]
            if priced_by_vectors(problem, before.types):
                starts.append(self._over_some(source))
            starts = [each for each in starts if len(each) >= before.types.count] or [source.cheapest()]
            begun = [PricedAscent(source, session.options.threads, session.parameters, start) for start in starts]
            self.ascent = max(begun, key=lambda each: each.value)
            self._begin_with_values()
        self._note()

    def _over_some(self, source: PatternPricing) -> Floats:
        """Multipliers of the problem over the candidates of some level vectors."""
        params, problem = self.params, self.session.problem
        number = max(1, params.some_pairs // source.types.count)
        levels = source.levels if source.levels.count <= number else source.levels.some(number)
        some = with_candidates(problem, source.types, levels)
        seconds = None if math.isinf(self._left) else max(params.some_share * self._left, 0.0)
        iterations = None if seconds is not None else params.some_iterations
        with suppress(InputError):  # a row type that none of these level vectors covers
            found = lagrangian(
                some, None, seconds, iterations, interrupt=self.limit.interrupt, packing_cuts=False,
                params=self.session.parameters,
            )  # fmt: skip
            return np.concatenate([found.multipliers, source.of_groups(found)])
        return source.cheapest()

    @property
    def _start(self) -> tuple[Instance, Assignment] | None:
        return self.table or self.before

    def _phases(self, known: Known, table: Assignment) -> list[Phase]:
        assert known.dual is not None
        known.dual = replace(known.dual, charges=None)  # sizes and numbers of groups are what fixes
        return [Splitting(table), FewGroups(), RestrictedModel()]


class _RequiredTables(Phase):
    """One search under requirements, by the multipliers of sizes or of values that are known."""

    name = "search"

    def __init__(self, number: int) -> None:
        self._number = number

    def applies(self, known: Known) -> bool:
        """Once."""
        return not known.searched

    def estimate(self, known: Known) -> Estimate:
        """All that is left."""
        return Estimate(known.seconds(1.0), 1.0)

    def run(self, known: Known, limit: Limit) -> None:
        """Construct, anneal, and search neighbourhoods; what they prove is of these candidates alone."""
        known.searched = True
        known.valued = valued = UnderRequirements(known)
        dual = known.dual
        assert dual is not None
        try:
            valued.point = dual
            valued.proof = prove(known.instance, round_dual(dual), params=known.get(SubproblemParameters))
        except InputError:  # numbers of more than 64 bits
            valued.point = replace(dual, charges=None)
            valued.proof = prove(known.instance, round_dual(valued.point))
        search, seed = RequiredSearch(known, valued.cuts), known.session.options.seed + 1000 * self._number
        search.improve(valued.point, valued.proof, known.effort, seed, first_turn=True)
