"""Phases of the hybrid method that hand models to the solver: condensed ones, one of the tables that cost no more than
the bound, and the core problem, which is all that fixing leaves."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kanon_milp.bounds import DualPoint
from kanon_milp.methods.core_problem import CondensedCore, CondensedParams, CoreProblem
from kanon_milp.methods.phases import ByShare, Estimate, Known, LastModel, Phase
from kanon_milp.methods.sizes_phases import (
    ForecastParams,
    before_search,
    branching_is_quicker,
    few_pairs,
    promising,
)
from kanon_milp.presolve.reductions import Dropped
from kanon_milp.solvers import StopReason
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("model_at_bound")
@dataclass(frozen=True)
class ModelAtBoundParams:
    """A model of the tables that cost no more than the bound."""

    share: float = number(0.3, "of the time left", most=1)
    seconds: float = number(60.0, "seconds, at most")
    gain: float = number(0.8, "expected share of the gap that it closes")


@parameters("core")
@dataclass(frozen=True)
class CoreParams:
    """The core problem as a restricted MILP."""

    early_share: float = number(
        0.4, "of the time, expected where it is likely to be solved before anything is searched"
    )
    share: float = number(1.0, "of the time, expected elsewhere", most=1)
    gain: float = number(1.0, "share of the gap that it closes where it is solved")
    late_gain: float = number(0.5, "share of the gap that it is expected to close elsewhere")


class CondensedModels(ByShare):
    """Where there are few candidates a row type; with more of them less is left by fixing."""

    name = "condensed models"
    numbers = CondensedParams
    step = ""

    def __init__(self) -> None:
        self._tried: DualPoint | None = None  # with these multipliers

    def applies(self, known: Known) -> bool:
        """Before the search, where most rows are in groups with rows to spare."""
        if not before_search(known) or known.dual is self._tried or known.best is None:
            return False
        params, pairs = known.get(ForecastParams), known.instance.candidates.pairs
        few = few_pairs(known, pairs, params.condensed_options, params.condensed_times * known.limit.left)
        return (
            few
            and core_of(known, known.limit).in_time
            and not branching_is_quicker(known)
            and CondensedCore(known, known.limit).applies
        )

    def run(self, known: Known, limit: Limit) -> None:
        """From below, until table and bound meet; given up where they do not lead to a table."""
        self._tried, models = known.dual, CondensedCore(known, known.limit)
        models.solve()
        known.model = models.last


class ModelAtBound(ByShare):
    """A model of the tables that cost no more than the bound.

    It is small even where the incumbent is poor. If its optimum is no higher than the bound, that is the optimum; else
    the bound rises by a unit, and the table that it has found is a good one, of what costs least by the multipliers.
    Where rank-1 cuts have led to these, models of what costs more follow, as long as they are likely to be solved: as
    fast as the first one, for the square of their pairs.
    """

    name = "model at the bound"
    numbers = ModelAtBoundParams
    step = ""

    def __init__(self) -> None:
        self._tried: DualPoint | None = None
        self._seen: tuple[object, int] | None = None  # the table and the bound of the model that was looked at last
        self._step: Dropped | None = None

    def applies(self, known: Known) -> bool:
        """Before the search, where the core problem is large."""
        if not before_search(known) or known.dual is self._tried or not known.fits or core_is_promising(known):
            return False
        core = core_of(known, known.limit)
        if not core.in_time or branching_is_quicker(known):
            return False
        if self._seen != (known.best, known.tracker.bound):
            self._seen, self._step = (known.best, known.tracker.bound), core.presuming(known.tracker.bound)
        return self._step is not None and promising(known, self._step.instance.candidates.pairs, self._share(known))

    def run(self, known: Known, limit: Limit) -> None:
        """Once with the same multipliers."""
        assert self._step is not None
        assert known.dual is not None
        step, self._step, self._seen, self._tried = self._step, None, None, known.dual
        core, began = core_of(known, self._share(known)), time.perf_counter()
        core.decide(step.instance, step, known.tracker.bound, core.limit)
        if known.dual.rank_one_cuts.count and not known.settled:
            known.model_speed = (time.perf_counter() - began) / step.instance.candidates.pairs**2
            core.takes = lambda pairs: known.model_speed * pairs**2 <= core.limit.left
            core.solve()
        known.model = core.last

    @staticmethod
    def _share(known: Known) -> Limit:
        params = known.get(ModelAtBoundParams)
        return known.limit.part(min(params.share * known.limit.left, params.seconds))


class EarlyModel(Phase):
    """The core problem, where it is likely to be solved before anything is searched."""

    name = "early model"
    step = ""

    def __init__(self) -> None:
        self._tried: DualPoint | None = None

    def applies(self, known: Known) -> bool:
        """Once with the same multipliers."""
        return known.dual is not self._tried and core_is_promising(known)

    def estimate(self, known: Known) -> Estimate:
        """All the gap."""
        params = known.get(CoreParams)
        return Estimate(known.seconds(params.early_share), params.gain)

    def run(self, known: Known, limit: Limit) -> None:
        """Until nothing better is left, or the time is over."""
        self._tried, core = known.dual, core_of(known, limit)
        core.last.stopped = core.solve(raising=False)
        known.model = core.last
        known.ended = core.last.stopped is not None


class RestrictedModel(Phase):
    """The core problem, all that a better table could use, as one model; a smaller one once a better table turns up.

    It comes last in a round. Under other requirements than sizes the schedule of bound and search says when it is due.
    """

    name = "restricted model"
    step = ""
    repeats = True

    def __init__(self) -> None:
        self._round = -1

    def applies(self, known: Known) -> bool:
        """Once in a round."""
        if known.valued is not None:
            return known.valued.model_is_due
        return known.dual is not None and self._round < known.round

    def estimate(self, known: Known) -> Estimate:
        """It may end nothing."""
        params = known.get(CoreParams)
        return Estimate(known.seconds(params.share), params.late_gain)

    def run(self, known: Known, limit: Limit) -> None:
        """Until nothing better is left, or the time is over; with all the time, but where it is only tried."""
        self._round, valued = known.round, known.valued
        if valued is None:  # a model that has begun may take as long as all that was before it
            trying, until = False, known.whole.part(max(limit.left, known.passed))
        else:
            trying, until = valued.trying, valued.model_limit(known.whole)
        core = core_of(known, until, once=trying)
        stopped = core.solve()
        if trying and stopped in (StopReason.ERROR, StopReason.NODE_LIMIT):
            stopped = None  # there is more to do
        core.last.stopped, known.model = stopped, core.last
        known.ended = stopped not in (None, StopReason.TIME_LIMIT)
        if valued is not None:
            valued.after_model()


def core_of(known: Known, limit: Limit, *, once: bool = False) -> CoreProblem:
    """The core problem as things stand."""
    last = known.model
    return CoreProblem(known, limit, once, last=LastModel(last.size, last.backed_by))


def core_is_promising(known: Known) -> bool:
    """Whether the core problem is likely to be solved before anything is searched."""
    if not before_search(known) or known.best is None or branching_is_quicker(known):
        return False
    return core_of(known, known.limit).in_time and promising(known, known.left(known.best.cost + 1), known.limit)
