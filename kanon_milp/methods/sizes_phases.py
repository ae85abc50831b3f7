"""Phases of the hybrid method where nothing but sizes of groups is required: the Lagrangian bound, construction,
annealing and neighbourhoods, rank-1 cuts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kanon_milp.bounds import BoundLimit, BoundTask, DualPoint, ProvenBound, best_registered, round_dual
from kanon_milp.bounds.built_in import COLUMN_GENERATION, LAGRANGIAN, RELAX_AND_CUT, certified
from kanon_milp.bounds.parameters import FixingParameters
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.search import Search
from kanon_milp.methods.phases import ByShare, Estimate, Known, Phase, RestrictedModelParams
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.resources import PAIR_SECONDS, SOLVE_SECONDS
from kanon_milp.system.arrays import Flags
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters

AGAIN = 1_000_000  # between the seeds of two searches


@parameters("forecast")
@dataclass(frozen=True)
class ForecastParams:
    """What a proof is likely to take, where nothing but sizes of groups is required."""

    model_seconds: float = number(
        3e-6,
        "times the square of its pairs is what a core problem takes (Adult, first 300 and 500 rows: 4e-6; k-AnonML's "
        "mgm: 3e-6, and CMC with hierarchies of three columns: 3e-7)",
    )
    branch_seconds: float = number(
        9.0, "of a model of the tables at the bound, beyond which branch and bound takes its place", least=-1
    )
    branch_gap: float = number(
        6.0, "units between table and bound, up to which it does: each further unit takes three times as long", least=-1
    )
    far_gap: int = number(
        10,
        "units between table and bound, up to which branching does where the core problem would not be solved",
        least=-1,
    )
    easy_pairs: int = number(1_000, "pairs of a core problem that goes to the solver at once", least=-1)
    condensed_options: int = number(
        25, "candidates a row type, up to which models are condensed at least (masks of Adult)"
    )
    condensed_times: float = number(2.0, "times the time left, that the whole model may take for that")


@parameters("first_bound")
@dataclass(frozen=True)
class LagrangianParams:
    """The Lagrangian bound."""

    share: float = number(0.25, "of the time, at most", most=1)
    seconds: float = number(60.0, "seconds, at most")
    evaluations: int = number(3_000, "of the Lagrangian, where work is counted instead of time")
    gain: float = number(0.9, "expected share of the gap that it closes")


@parameters("first_table")
@dataclass(frozen=True)
class ConstructionParams:
    """A first table from the multipliers, in a second or two even on large tables."""

    share: float = number(0.01, "of the time, expected", most=1)
    gain: float = number(0.5, "expected share of the gap that it closes")


@parameters("cuts")
@dataclass(frozen=True)
class CutParams:
    """Rank-1 Chvátal-Gomory cuts where nothing but sizes of groups is required."""

    group_rows: int = number(
        15,
        "rows of a group, at most: cuts about a few row types say little about larger ones, and take minutes (nothing "
        "gained for k = 25 on 5,000 rows of Adult, as on all of them)",
    )
    master_types: int = number(3_000, "row types up to which a master problem goes on with the cuts")
    first_types: int = number(1_200, "row types up to which there are cuts before anything is searched")
    first_share: float = number(0.2, "of the time left, for those, at most", most=1)
    share: float = number(0.35, "of the time after the search, for cuts at most", most=1)
    large_share: float = number(0.35, "of the time, for cuts at most, on tables that are searched to the end", most=1)
    relax_share: float = number(0.5, "of the time of cuts, at most, for those without a master problem", most=1)
    iterations: int = number(
        6_000, "iterations of the bound that take as long as the shortest rounds that are worth it"
    )
    slow: float = number(1.0, "times what cuts have taken so far is too long for the next unit where branching goes on")
    rounds: int = number(10, "of cuts, where work is counted instead of time")
    short_rounds: int = number(
        4, "rounds of steps without a master problem for each round of cuts, where work is counted"
    )
    first_certificate: float = number(60.0, "seconds until a bound that rises in the background is certified")
    later_certificate: float = number(2.0, "times as long takes the next one")
    first_gain: float = number(0.35, "expected share of the gap that they close before the search")
    gain: float = number(0.3, "expected share of the gap that they close after the search")


@parameters("table_search")
@dataclass(frozen=True)
class SearchParams:
    """Annealing and neighbourhoods where nothing but sizes of groups is required."""

    share: float = number(0.2, "of the time left before the core problem, at most, for each of two searches", most=1)
    longer: float = number(2.0, "times what cuts before it have taken may it take, at most")
    briefly: float = number(
        0.5,
        "times what cuts before it have taken may it take where branch and bound follows, which finds tables itself",
    )
    patience: int = number(2, "turns that find nothing")
    gain: float = number(0.2, "expected share of the gap that it closes")


def small_groups(instance: Instance, params: CutParams) -> bool:
    """Whether groups are small enough for rank-1 cuts."""
    return float(np.median(instance.least)) <= params.group_rows


def few_row_types(known: Known) -> bool:
    """Whether a master problem alone is the quickest way to rank-1 cuts."""
    params, instance = known.get(CutParams), known.instance
    few = instance.types.count <= min(params.first_types, params.master_types)
    return few and known.fits and small_groups(instance, params)


def units_left(known: Known) -> float:
    """Between table and bound of a small table with rank-1 cuts; infinite elsewhere."""
    if known.best is None or known.dual is None or known.counted or not few_row_types(known):
        return math.inf
    return known.best.cost - known.tracker.bound if known.dual.rank_one_cuts.count else math.inf


def model_seconds(known: Known, loss: int) -> float:
    """What a model of the tables up to this loss is likely to take: as the one at the bound, where there was one."""
    return (known.model_speed or known.get(ForecastParams).model_seconds) * known.left(loss + 1) ** 2


def branching_is_quicker(known: Known) -> bool:
    """Whether branch and bound with rank-1 cuts is likely to be quicker than the core problem, which is solved from
    below."""
    params = known.get(ForecastParams)
    near = units_left(known) <= params.branch_gap
    return near and model_seconds(known, known.tracker.bound) > params.branch_seconds


def far_from_proof(known: Known) -> bool:
    """Whether nothing is likely to be proven in the time that is left, though there are rank-1 cuts."""
    far = known.get(ForecastParams).branch_gap < units_left(known) < math.inf
    return far and known.best is not None and model_seconds(known, known.best.cost) > known.limit.left


def few_pairs(known: Known, pairs: int, options: int, seconds: float) -> bool:
    """Whether there are so many candidates a row type at most, and one model of them all takes no longer."""
    most = min(known.get(RestrictedModelParams).pairs, options * known.instance.types.count)
    return pairs <= most and pairs * (PAIR_SECONDS + SOLVE_SECONDS) <= seconds


def promising(known: Known, pairs: int, limit: Limit) -> bool:
    """Whether a model of so many pairs is likely to be solved to the end within this limit: where there are few
    candidates a row type, the bound is close, and cuts of the solver do the rest."""
    params = known.get(ForecastParams)
    few = few_pairs(known, pairs, known.get(RestrictedModelParams).few_options, limit.left)
    if known.dual is not None and known.dual.rank_one_cuts.count:  # what is left after these is hard
        few = few and params.model_seconds * pairs**2 <= limit.left
    return pairs <= params.easy_pairs or few


def multipliers_of_sizes(session: Session, tracker: Tracker, limit: BoundLimit) -> DualPoint:
    """The Lagrangian bound, and what users have registered: what they prove goes to the tracker."""
    threads = session.options.threads
    task = BoundTask(
        limit, table=tracker.best, threads=threads, on_progress=tracker.show, parameters=session.parameters
    )
    proven = LAGRANGIAN.compute(session.instance, task)
    assert proven.dual is not None
    tracker.higher(proven.units, proven.justified_by)
    own = best_registered(session.instance, replace(task, dual=proven.dual))
    tracker.higher(own.units, own.justified_by)
    return proven.dual


class Construction(ByShare):
    """A table by the averages of the relaxation."""

    name = "construction"
    numbers = ConstructionParams

    def applies(self, known: Known) -> bool:
        """As soon as there are multipliers."""
        return known.sizes_only and known.dual is not None and known.constructed_by is None

    def run(self, known: Known, limit: Limit) -> None:
        """At once."""
        search_of(known, known.effort, known.session.options.seed).construct()


class TableSearch(ByShare):
    """Annealing and neighbourhoods by turns: in each round, and once more with better multipliers."""

    name = "search"
    numbers = SearchParams
    repeats = True

    def __init__(self) -> None:
        self._round, self._turns = -1, 0
        self._by: DualPoint | None = None  # the multipliers that there were

    def applies(self, known: Known) -> bool:
        """In each round, and where there are other multipliers than those of the last search."""
        if not known.sizes_only or known.dual is None or (known.searched and known.limit.over):
            return False
        again = known.dual is not self._by and known.best is not None and not known.counted and not known.concurrent
        return self._round < known.round or again

    def run(self, known: Known, limit: Limit) -> None:
        """Until its share is over, but for what the phases after it need."""
        params, cuts = known.get(SearchParams), known.get(CutParams)
        first, known.searched, self._round, self._by = not known.searched, True, known.round, known.dual
        if not first and known.best is not None:
            self._again(known)
        elif known.fits:
            seconds = params.share * limit.left
            if known.dual is not None and known.dual.rank_one_cuts.count:
                # what can be proven is half done, however late it may end
                longer = params.briefly if branching_is_quicker(known) else params.longer
                seconds = min(seconds, longer * known.passed)
            self._run(known, replace(known.effort.part(seconds), patience=params.patience))
            if far_from_proof(known) and not known.settled:  # a better table is what the time is for
                self._run(known, known.effort.part(params.share * limit.left), AGAIN)
        else:
            later = not known.concurrent and small_groups(known.instance, cuts)
            later = later and enough_for_cuts(known, cuts.large_share * limit.left)
            self._run(known, known.effort.part((1 - cuts.large_share) * limit.left) if later else known.effort)

    def _again(self, known: Known) -> None:
        """Where the core problem fits, with nothing but what a better table could use."""
        params, best = known.get(SearchParams), known.best
        assert best is not None
        effort, possible = known.effort, None
        if known.fits:
            effort = replace(effort.part(params.share * effort.left), patience=params.patience)
            possible = known.possible(best.cost + 1)
        self._turns += 1
        self._run(known, effort, AGAIN * self._turns, possible)

    def _run(self, known: Known, effort: Effort, further: int = 0, possible: Flags | None = None) -> None:
        session = known.session
        search_of(known, effort, session.options.seed + further, possible).run(session.adapter, session.options)


def search_of(known: Known, effort: Effort, seed: int, possible: Flags | None = None) -> Search:
    """A search from the best table on. possible: what a better one could use, where that is known; an unrestricted
    search of a small table goes by the multipliers without cuts."""
    dual = known.plain if possible is None and known.fits else known.dual
    assert dual is not None
    constructed, known.constructed_by = known.constructed_by is dual, dual
    better = known.tracker.better
    return Search(
        known.instance, dual, known.best, known.pool, effort, seed, better, possible,
        constructed=constructed, parameters=known.session.parameters,
    )  # fmt: skip


def enough_for_cuts(known: Known, seconds: float) -> bool:
    """Whether so many seconds are enough for rank-1 cuts on a table that does not fit into one model."""
    return known.counted or seconds >= known.get(CutParams).iterations * known.iteration_seconds


def worth_cuts(known: Known) -> bool:
    """Whether rank-1 cuts are worth their time: the core problem that multipliers without them leave is not easy."""
    best, params = known.best, known.get(CutParams)
    if best is None or known.raised_in == known.round or not small_groups(known.instance, params):
        return False
    # the search may have taken a little more than its part
    if known.limit.over or not (known.fits or enough_for_cuts(known, 2 * known.limit.left)):
        return False
    return not branching_is_quicker(known) and known.left(best.cost + 1) > known.get(ForecastParams).easy_pairs


def cuts_come_first(known: Known) -> bool:
    """Whether rank-1 cuts are quick, and likely to leave a core problem that is soon solved."""
    return before_search(known) and few_row_types(known) and worth_cuts(known)


def before_search(known: Known) -> bool:
    """Whether a table was constructed and none is searched for yet, by the clock."""
    return known.sizes_only and known.constructed_by is not None and not (known.searched or known.counted)


class RankOneCuts(Phase):
    """Rounds of rank-1 cuts: without a master problem, by one where there are few row types, or by both."""

    name = "cuts"
    step = "bound"
    repeats: ClassVar[bool] = False

    def __init__(self) -> None:
        self._first = True

    def applies(self, known: Known) -> bool:
        """Once in a round, after the search, and before it where they are quick."""
        if not known.sizes_only or known.dual is None or known.concurrent:
            return False
        return worth_cuts(known) if known.searched else self._first and cuts_come_first(known)

    def estimate(self, known: Known) -> Estimate:
        """A share of the time."""
        params = known.get(CutParams)
        if known.searched:
            return Estimate(known.seconds(params.share), params.gain)
        return Estimate(known.seconds(params.first_share), params.first_gain)

    def run(self, known: Known, limit: Limit) -> None:
        """Until table and bound meet, or its share is over."""
        params, instance, best = known.get(CutParams), known.instance, known.best
        assert best is not None
        first, types = not known.searched, instance.types.count
        share, self._began, self._first = limit, time.process_time(), False
        if known.fits:
            share = share.part((params.first_share if first else params.share) * share.left)
        bounded = BoundLimit(
            ends=share.ends,
            interrupt=share.interrupt,
            target=math.ceil(best.cost * (1 - known.session.options.gap)),
            rounds=params.rounds if known.counted else None,
        )
        session, show = known.session, known.tracker.show
        task = BoundTask(bounded, known.dual, best, session.options.threads, show, parameters=session.parameters)
        if not few_row_types(known) and params.relax_share > 0:
            part = bounded
            if types <= params.master_types:
                part = replace(bounded, ends=share.part(params.relax_share * share.left).ends)
            if bounded.rounds is not None:
                part = replace(part, rounds=params.short_rounds * bounded.rounds)
            self._take(known, RELAX_AND_CUT.compute(instance, replace(task, limit=part)))
        if types <= params.master_types and not bounded.reached(known.tracker.bound, 0.0):
            enough = replace(task, dual=known.dual, enough=lambda dual, seconds: self._enough(known, dual, seconds))
            self._take(known, COLUMN_GENERATION.compute(instance, enough))
        # those that the end of their part of the time has cut short go on later
        if not (first and bounded.over):
            known.raised_in = known.round

    def _enough(self, known: Known, dual: DualPoint, seconds: float) -> bool:
        """Whether the core problem, or branch and bound, is likely to take less time than the next unit of the bound by
        cuts.

        dual: the point so far. seconds: until that unit.
        """
        best, forecast = known.best, known.get(ForecastParams)
        if best is None or known.counted:
            return False
        near = best.cost - math.ceil(dual.value) <= forecast.branch_gap
        spent = time.process_time() - self._began
        if near and few_row_types(known) and seconds > known.get(CutParams).slow * spent:
            return True  # branching raises it faster
        loss = min(math.floor(dual.value) + 1, best.cost - 1)
        pairs = int(
            ReducedCosts(round_dual(dual), loss + 1, params=known.get(FixingParameters))
            .possible(known.instance)[1]
            .sum()
        )
        return forecast.model_seconds * pairs**2 < seconds

    @staticmethod
    def _take(known: Known, raised: ProvenBound) -> None:
        """Go on with these multipliers: they prove no less than those before."""
        known.dual = raised.dual or known.dual
        known.tracker.higher(raised.units, raised.justified_by)


class ConcurrentCuts(Phase):
    """Rank-1 cuts in a thread of their own, while other processes search: on a large table both last to the end."""

    name = "concurrent cuts"
    step = "bound"
    repeats = True
    concurrent = True

    def __init__(self) -> None:
        self._begun = False

    def applies(self, known: Known) -> bool:
        """Where a thread of this process has time for them."""
        if self._begun or not known.sizes_only or known.dual is None or known.fits or known.counted:
            return False
        free = bool(known.pool.workers) and small_groups(known.instance, known.get(CutParams))
        return free and enough_for_cuts(known, known.limit.left)

    def estimate(self, known: Known) -> Estimate:
        """They take nobody's time."""
        return Estimate(0.0, known.get(CutParams).gain)

    def run(self, known: Known, limit: Limit) -> None:
        """Certified again and again, until table and bound are near enough."""
        from kanon_milp.bounds.columns.relax_and_cut import RelaxAndCut

        self._begun, params, instance, dual = True, known.get(CutParams), known.instance, known.dual
        assert dual is not None
        best, open_share = dual, dual.open_share
        session, show = known.session, known.tracker.show
        bounded = self._bounded(known, limit)
        ascent = RelaxAndCut(instance, dual, bounded, on_progress=show, params=session.parameters)
        seconds, ended = params.first_certificate, False
        try:
            while not ended:
                ascent.limit = self._bounded(known, limit)
                last = limit.left < (1 + params.later_certificate) * seconds
                ended = ascent.maximize(math.inf if last else time.perf_counter() + seconds)
                raised = certified(instance, replace(ascent.end(), open_share=open_share))
                known.tracker.higher(raised.units, raised.justified_by)
                if raised.dual is not None and raised.dual.value >= best.value:
                    best = raised.dual
                if known.best is not None and known.best.cost <= known.enough:
                    break
                seconds *= params.later_certificate
        finally:
            known.dual, known.raised_in = best, known.round

    @staticmethod
    def _bounded(known: Known, limit: Limit) -> BoundLimit:
        """Until table and bound are near enough, as things stand."""
        best = known.best
        target = None if best is None else math.ceil(best.cost * (1 - known.session.options.gap))
        return BoundLimit(ends=limit.ends, interrupt=limit.interrupt, target=target)
