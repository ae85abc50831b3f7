"""Phases of the hybrid method under requirements other than sizes: the required bound, rank-1 cuts, and what their
multipliers lead.

Bound and search take turns, since better multipliers give better constructions and better tables give better targets;
each turn's time is divided by what the last ones have gained (`Turns`). The bound is the required one, then has rank-1
cuts, then branches. A requirement that tells bounds nothing, such as one of a user's own, has the multipliers of sizes,
and is searched by its `holds` and `declare` alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kanon_milp.bounds import BoundLimit
from kanon_milp.bounds.dual import DENOMINATOR, DualPoint, ExactDual, Proof, prove, round_dual, round_multipliers
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.parameters import FixingParameters, SubproblemParameters
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.errors import InputError
from kanon_milp.heuristics.construction import ConstructionParameters
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.valued_construction import mended
from kanon_milp.methods.phases import (
    ByShare,
    Estimate,
    Known,
    MoreThanSizes,
    Phase,
    RestrictedModelParams,
    few_options,
)
from kanon_milp.methods.required_cuts import RequiredCuts
from kanon_milp.methods.required_search import RequiredSearch
from kanon_milp.methods.scheduler import run_phases
from kanon_milp.methods.session import Session
from kanon_milp.methods.sizes_phases import (
    ConcurrentCuts,
    Construction,
    LagrangianParams,
    TableSearch,
    multipliers_of_sizes,
)
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.resources import PAIR_SECONDS
from kanon_milp.solvers.proof import REGISTERED
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("turns")
@dataclass(frozen=True)
class TurnParams:
    """Turns of bound and search under requirements of sensitive values."""

    share: float = number(0.2, "of the time, for the first turn", most=1)
    shortest: float = number(3.0, "seconds of the first turn, at least")
    shortest_few: float = number(
        0.6, "seconds of the first turn, at least, where row types have few candidates: the solver may be quick"
    )
    longest: float = number(90.0, "seconds of a turn, at most")
    pair_seconds: float = number(
        1e-5,
        "a pair, of the first turn: tables constructed with early multipliers may be as good as those with the best",
    )
    longer: float = number(3.0, "times as long as the one before is each turn: good averages are annealed for long")
    longer_with_cuts: float = number(
        1.5, "times as long as the one before is each turn with rank-1 cuts, which do not wait for averages"
    )
    last: float = number(1.6, "turns, or less, that are left are one")
    last_share: float = number(0.4, "of the last turn, for the bound at most", most=1)
    least_share: float = number(0.2, "of a turn, for each of bound and search", most=1)
    branching_share: float = number(0.5, "of a turn, for branch and bound", most=1)
    branch_gap: int = number(6, "units between table and bound, up to which it has that")
    few_nodes: int = number(3, "nodes of a turn that gains nothing, after which it has not")
    easy_pairs: int = number(2_000, "pairs of a core problem that goes to the solver at once", least=-1)
    core_pairs: int = number(50_000, "pairs of one that goes there after some time; a larger one comes last")
    rounds_share: float = number(0.5, "of the time, after which it does", most=1)
    rounds_share_with_cuts: float = number(0.85, "of the time, after which it does with rank-1 cuts")
    declared_share: float = number(0.1, "of what is left, for declaring it", most=1)
    patience: int = number(4, "searches that find nothing while the bound does not rise, before a larger one is left")
    counted: int = number(1, "turns after the first one, where work is counted instead of time")


@parameters("required_bound")
@dataclass(frozen=True)
class RequiredBoundParams:
    """The bound with the requirements inside the subproblems."""

    sizes_share: float = number(0.25, "of the first turn, for multipliers of sizes alone to begin with", most=1)
    proof_margin: float = number(1.5, "times what the last proof has taken are left for the next one")
    latest: float = number(5.0, "seconds that a turn is late, at most, but for what has to be compiled")
    stalled: float = number(2e-5, "relative rise in some iterations that is not worth it")
    stalled_after: int = number(100, "iterations, at least, after which a rise below `stalled` ends it")
    slow: float = number(
        5e-4, "relative rise in some iterations that is not worth it where rank-1 cuts can go on, which gains more"
    )
    slow_after: int = number(20, "iterations, at least, after which a rise below `slow` ends it")
    slow_charged: float = number(
        1e-2, "relative rise that is not worth it where moved values are charged, and exact in the groups of cuts"
    )
    counted_iterations: int = number(200, "in a turn, where work is counted instead of time")


@parameters("by_sizes")
@dataclass(frozen=True)
class BySizesParams:
    """The search by sizes alone, where different ones of many values are all that is asked."""

    share: float = number(0.7, "of the time left", most=1)
    failing: float = number(0.2, "part of the groups found so that may fail the requirements, at most")


@parameters("model_trials")
@dataclass(frozen=True)
class TrialParams:
    """When to try the core problem between two turns of bound and search."""

    seconds: float = number(
        1.6e-4, "what a model takes, times its pairs to the power of 1.5 (Adult, first 200 rows: l = 2, l = 3)"
    )
    harder: float = number(4.0, "times as long after each that has not ended")
    few_pair_seconds: float = number(
        3e-4, "a pair, where row types have few candidates (masks of CMC under p = 2 and l = 2)"
    )
    few_emd_pair_seconds: float = number(
        1e-3, "a pair, where row types have few candidates, under t-closeness (masks of CMC under t = 0.2)"
    )
    most_few: int = number(30_000, "pairs, up to which these two hold")
    eager: float = number(3.0, "times as long as all that was before it, at most, is a model likely to take")
    times: float = number(2.5, "times as long as is likely may it take")
    least: float = number(1.5, "times as long must be left")
    least_few: float = number(
        0.7, "times as long must be left where row types have few candidates: it may well take less"
    )
    smaller: float = number(0.7, "of the pairs of one that has not ended, at most, has one that is not harder")


class ModelTrial:
    """When to try the core problem: as soon as a model is likely to take not much longer than all that was before it.

    due: whether one is tried now; a better table ends it as well. long: whether it is likely to take longer than all
    that was before it. began: of the session, as `time.perf_counter()`. few: what a model takes a pair, at most, where
    row types have few candidates, None elsewhere.
    """

    def __init__(self, began: float, few: float | None = None, params: TrialParams = TrialParams()) -> None:
        self.due, self.long, self._began, self._few, self._params = False, False, began, few, params
        self._pairs, self._seconds = 0, 0.0  # of the model that was looked at last, and what it is likely to take
        self._failed, self._harder, self._before_turn = 0, 1.0, False  # pairs of the last one that has not ended

    def look(self, pairs: int, limit: Limit) -> bool:
        """Whether one of so many pairs is due; not at once after another one, whose table is worth a turn."""
        params = self._params
        if pairs <= params.smaller * self._failed:
            self._harder = 1.0
        few, usual = pairs <= params.most_few and self._few is not None, params.seconds * pairs**1.5
        self._pairs = pairs
        self._seconds = self._harder * (min(usual, (self._few or 0.0) * pairs) if few else usual)
        passed, least = time.perf_counter() - self._began, params.least_few if few else params.least
        likely, self.long = self._seconds <= min(params.eager * passed, limit.left / least), self._seconds > passed
        self.due, self._before_turn = likely and not self._before_turn, False
        return self.due

    def limit(self, whole: Limit) -> Limit:
        """Of the model: all that is left where it is no trial."""
        return whole.part(self._params.times * self._seconds) if self.due else whole

    def failed(self) -> None:
        """The one that was due has ended, and something is left to do."""
        self.due, self._before_turn = False, True
        self._failed, self._harder = self._pairs, self._params.harder * self._harder


class Turns:
    """The schedule of bound and search: they take turns, in each of which both have a part of its time.

    number: of the turn. seconds, bound_share: of it. searched: the turn that was searched last. rises, falls: of bound
    and loss, a second, in the last turns. fruitless: searches that have found nothing since the bound stopped rising.
    bound_is_due: whether the bound has not been raised in this turn, or the next turn may begin. model_is_due: whether
    the core problem is, instead of more of both.
    """

    def __init__(self, known: Known) -> None:
        self.number, self.seconds, self.bound_share, self.searched = 0, 0.0, 0.5, -1
        self.rises, self.falls, self.fruitless = 0.0, 0.0, 0
        self.model_is_due, self.bound_is_due = False, True
        trial, few = known.get(TrialParams), few_options(known.instance, known.get(RestrictedModelParams))
        pair_seconds = trial.few_emd_pair_seconds if known.instance.limits_emd else trial.few_pair_seconds
        self._few = few
        self.trial = ModelTrial(known.session.clock.began, pair_seconds if few else None, trial)

    def begin(self, known: Known) -> None:
        """The first turn is short, as many pairs as there are."""
        params = known.get(TurnParams)
        shortest = params.shortest_few if self._few else params.shortest
        usual = max(params.pair_seconds * known.instance.candidates.pairs, shortest)
        self.seconds = min(max(params.share * known.limit.left, shortest), usual, params.longest)

    def next(self, known: Known) -> None:
        """Begin the next turn, divided by what the last ones have gained; nothing in the first one."""
        self.bound_is_due = False
        if self.searched < self.number:
            return
        params, valued = known.get(TurnParams), valued_of(known)
        self.number += 1
        gained = self.rises + self.falls
        share = self.rises / gained if gained > 0 else 0.5
        least = valued.branching_share(known) or params.least_share
        self.bound_share = min(max(share, least), 1 - params.least_share)
        further = params.longer_with_cuts if valued.cuts.possible or valued.branches(known) else params.longer
        self.seconds = min(further * self.seconds, params.longest)
        if known.limit.left < params.last * self.seconds:
            self.seconds = known.limit.left
            self.bound_share = min(self.bound_share, max(least, params.last_share))

    @contextmanager
    def raising(self, known: Known) -> Iterator[None]:
        """Measure what the bound has gained within the block."""
        valued, began, before = valued_of(known), time.perf_counter(), known.tracker.bound
        yield
        rise = float(known.tracker.bound - before)
        self.rises = 0.0 if rise == 0 and valued.cuts.converged else averaged(self.rises, rise, began)

    @staticmethod
    def estimate(known: Known, rate: float, seconds: float) -> Estimate:
        """What so many units of bound or loss a second come to in these seconds."""
        best = known.best
        gap = 1.0 if best is None else max(best.cost - known.tracker.bound, 1)
        return Estimate(seconds, min(rate * seconds / gap, 1.0) if rate and seconds else 0.0)

    def after_search(self, known: Known) -> None:
        """Decide what comes next."""
        self.searched = self.number
        self.bound_is_due = self._worth_raising(known)
        self.model_is_due = not self.bound_is_due

    def after_model(self, known: Known) -> None:
        """Go on, if it was only tried."""
        tried, self.model_is_due = self.trial.due, False
        if tried and not known.whole.over:
            self.trial.failed()
            self.after_search(known)

    def _worth_raising(self, known: Known) -> bool:
        """As long as there is time, but for the core problem where that fits."""
        limit, best, params, valued = known.limit, known.best, known.get(TurnParams), valued_of(known)
        if known.settled or limit.over:
            return False
        if known.counted:
            return self.number < params.counted
        pairs = known.instance.candidates.pairs if best is None else known.left(best.cost + 1)
        if pairs <= params.easy_pairs:
            return False
        # a model that cannot be declared in good time is none
        if pairs > known.get(RestrictedModelParams).pairs or pairs * PAIR_SECONDS > params.declared_share * limit.left:
            return True
        if self.fruitless >= (params.patience if pairs > params.core_pairs else 1):
            return False
        # where moved values are charged, the relaxation of a model is weak (t = 0.3, 2,804 pairs: not in three minutes)
        charges, cuts = valued.point.charges, valued.cuts
        hard = (charges is not None and charges.any()) or valued.branching_share(known)
        if best is not None and (self._few or not hard) and self.trial.look(pairs, limit):
            if self.trial.long and not valued.branching and cuts.exact is not None:
                cuts.possible = self.trial.due = False  # branch and bound is quicker, mostly
                return True
            return False
        share = params.rounds_share_with_cuts if cuts.point is not None else params.rounds_share
        larger = pairs > params.core_pairs or valued.branching_share(known) > 0
        return larger or limit.left >= (1 - share) * (limit.ends - known.session.clock.began)


class UnderRequirements(MoreThanSizes):
    """What is known where more than sizes is required.

    point, proof: those of the required bound that prove most. cuts: the rounds of rank-1 cuts. branching: whether
    branch and bound has begun; branched: whether nothing more is to be had by it; idle: whether its nodes take long.
    stalled: whether the bound does not rise any more. by_sizes: what a search by sizes alone knows, whose table has few
    groups that do not satisfy the requirements.
    """

    def __init__(self, known: Known) -> None:
        self.point = DualPoint(np.zeros(known.instance.types.count))
        self.proof: Proof | None = None
        self.stalled = not known.session.problem.attributes
        self.cuts = RequiredCuts(known)
        self.branching, self.branched, self.idle = False, False, False
        self.by_sizes: Known | None = None
        self.turns = Turns(known)
        self._known = known
        self._fixing: tuple[tuple[object, ...], ReducedCosts] | None = None

    @property
    def fixes_by(self) -> tuple[object, ...]:
        """What fixing goes by: other objects where that has changed."""
        return self.proof, self.cuts.exact

    @property
    def model_is_due(self) -> bool:  # type: ignore[override]
        """As the turns say."""
        return self.turns.model_is_due

    @property
    def trying(self) -> bool:
        """As the turns say."""
        return self.turns.trial.due

    def model_limit(self, whole: Limit) -> Limit:
        """Short where it is only tried."""
        return self.turns.trial.limit(whole)

    def after_model(self) -> None:
        """As the turns say."""
        self.turns.after_model(self._known)

    @property
    def can_rise(self) -> bool:
        """Whether there is something left that raises the bound."""
        return not self.stalled or self.cuts.possible or self.branches(self._known)

    def branches(self, known: Known) -> bool:
        """Whether branch and bound goes on from the rank-1 cuts."""
        ended = self.cuts.exact is not None and not self.cuts.possible
        return ended and not self.branched and known.best is not None

    def branching_share(self, known: Known) -> float:
        """What branch and bound has of a turn at least; 0 where it does not get on, or is far from a proof."""
        params, best = known.get(TurnParams), known.best
        if best is None or best.cost - known.tracker.bound > params.branch_gap:
            return 0.0
        return params.branching_share if self.branches(known) and not self.idle else 0.0

    @property
    def value(self) -> Fraction:
        """What the point proves."""
        assert self.proof is not None
        return self.proof.value

    def take(self, point: DualPoint, proof: Proof) -> None:
        """Go on with these multipliers if they prove more than those before."""
        if self.proof is None or proof.value > self.proof.value:
            self.point, self.proof = point, proof
            self._known.required = point.multipliers
            self._known.tracker.higher(proof.bound, ("own bound",))

    def fixing(self, incumbent: int) -> ReducedCosts:
        """With the multipliers that prove most."""
        by, proof = self.fixes_by, self.proof
        made = self._fixing
        same = made is not None and all(a is b for a, b in zip(made[0], by, strict=True))
        if made is None or not same or made[1].incumbent != incumbent:
            assert proof is not None
            limit = self._known.limit
            found = self.cuts.fixing(incumbent, proof.value, limit)
            found = found or ReducedCosts(
                proof.dual, incumbent, params=self._known.get(FixingParameters), limit=limit, proof=proof
            )
            self._fixing = made = by, found
        return made[1]


def valued_of(known: Known) -> UnderRequirements:
    """What is known under requirements, where the first multipliers are there."""
    assert isinstance(known.valued, UnderRequirements)
    return known.valued


class Lagrangian(ByShare):
    """Multipliers of sizes, which lead all that comes after them, and what users have registered."""

    name = "lagrangian"
    numbers = LagrangianParams
    step = "bound"

    def applies(self, known: Known) -> bool:
        """Once."""
        return known.dual is None

    def run(self, known: Known, limit: Limit) -> None:
        """Until its share is over, or it proves the table at hand: a part of the first turn under requirements, but
        where sizes are nearly all that counts."""
        if known.sizes_only:
            params = known.get(LagrangianParams)
            seconds = math.inf if limit.seconds is None else min(params.share * limit.left, params.seconds)
            self._rise(known, limit, seconds, params.evaluations)
            return
        known.valued = valued = UnderRequirements(known)
        valued.turns.begin(known)
        required = known.get(RequiredBoundParams)
        if counts_many_values(known.session):
            self._by_sizes(known, valued)
        else:
            self._rise(known, limit, required.sizes_share * valued.turns.seconds, 10 * required.counted_iterations)
        assert known.dual is not None
        exact = ExactDual(round_multipliers(known.dual.multipliers), denominator=DENOMINATOR)
        proof = prove(known.instance, exact, params=known.get(SubproblemParameters))
        valued.take(DualPoint(known.dual.multipliers), proof)

    @staticmethod
    def _rise(known: Known, limit: Limit, seconds: float, evaluations: int) -> None:
        share, best, began = limit if limit.seconds is None else limit.part(seconds), known.best, time.perf_counter()
        target, counted = None if best is None else float(best.cost), evaluations if known.counted else None
        bounded = BoundLimit(share.ends, limit.interrupt, target, counted)
        known.dual = known.plain = multipliers_of_sizes(known.session, known.tracker, bounded)
        known.iteration_seconds = (time.perf_counter() - began) / max(known.dual.evaluations, 1)

    @staticmethod
    def _by_sizes(known: Known, valued: UnderRequirements) -> None:
        """Those of the problem with sizes alone, whose table is gone on with where most groups satisfy all
        requirements."""
        session = known.session
        relaxed = Tracker(known.tracker.unit, session.clock.began, None)
        relaxed.better(known.best)
        alone = Known(session, relaxed, known.pool, known.whole, sizes_only=True)
        Lagrangian().run(alone, alone.limit)
        known.dual = alone.dual
        known.tracker.higher(relaxed.proven, relaxed.proven_by)
        known.tracker.higher(relaxed.registered, (REGISTERED,))
        if not (alone.limit.over or alone.settled):
            Construction().run(alone, alone.limit)
        if SearchBySizes.name not in known.off and relaxed.best is not None and relaxed.best is not known.best:
            failing = GroupCheck(session.instance).refused(relaxed.best)
            if len(failing) <= known.get(BySizesParams).failing * len(np.unique(relaxed.best.candidate)):
                valued.by_sizes = alone
                valued.turns.bound_is_due = False


class SearchBySizes(Phase):
    """Where sizes are nearly all that counts, the search by sizes; the groups of its table are changed until they
    satisfy all requirements."""

    name = "search by sizes"

    def applies(self, known: Known) -> bool:
        """Once."""
        return known.valued is not None and valued_of(known).by_sizes is not None

    def estimate(self, known: Known) -> Estimate:
        """Before all else."""
        return Estimate(known.seconds(known.get(BySizesParams).share), 1.0)

    def run(self, known: Known, limit: Limit) -> None:
        """In a part of the time."""
        valued = valued_of(known)
        alone, valued.by_sizes = valued.by_sizes, None
        assert alone is not None
        self._take(known, alone)  # whatever comes after it, this is there
        if not alone.settled:
            if limit.seconds is not None:
                alone.whole = alone.limit = limit.part(known.get(BySizesParams).share * limit.left)
            run_phases(alone, [ConcurrentCuts(), TableSearch()])
            self._take(known, alone)

    @staticmethod
    def _take(known: Known, alone: Known) -> None:
        assert alone.dual is not None
        if alone.best is not None and (known.best is None or alone.best.cost < known.best.cost):
            seed, params = known.session.options.seed, known.get(ConstructionParameters)
            known.keep(mended(known.instance, alone.best, alone.dual.phi, known.limit, seed, params))


class Raising(Phase):
    """What raises the bound in its part of a turn."""

    step = "bound"
    repeats = True

    def estimate(self, known: Known) -> Estimate:
        """As the last turns have shown."""
        turns = valued_of(known).turns
        return turns.estimate(known, turns.rises, turns.bound_share * turns.seconds)

    def _due(self, known: Known) -> UnderRequirements | None:
        """What is known, in turns in which the bound is due."""
        valued = None if known.valued is None else valued_of(known)
        return valued if valued is not None and valued.by_sizes is None and valued.turns.bound_is_due else None


class RequiredBound(Raising):
    """The bound with the requirements inside the subproblems, and its proof in integers."""

    name = "required bound"

    def __init__(self) -> None:
        self._proof_seconds, self._late = 0.0, 0.0  # of the last proof, and by how much a turn was late

    def applies(self, known: Known) -> bool:
        """As long as it rises."""
        valued = self._due(known)
        return valued is not None and not valued.stalled

    def run(self, known: Known, limit: Limit) -> None:
        """A turn of iterations, and its proof."""
        valued, params, session = valued_of(known), known.get(RequiredBoundParams), known.session
        turns, best = valued.turns, known.best
        turns.next(known)
        began, at, before = time.perf_counter(), valued.point, valued.value
        # the proof of what is found takes its time as well
        least = params.proof_margin * self._proof_seconds
        seconds = max(min(turns.bound_share * turns.seconds, limit.left - self._late) - least, 0.0)
        point = required_bound(
            session.instance,
            at.multipliers,
            None if best is None else float(best.cost),
            limit.seconds if known.counted else seconds,
            params.counted_iterations if known.counted else None,
            known.tracker.show,
            limit.interrupt,
            point=None if at.ascent is None else at,
            threads=session.options.threads,
            params=session.parameters,
        )
        tried = point.evaluations - (0 if at.ascent is None else at.evaluations)
        least_rise, after = params.stalled, params.stalled_after
        if valued.cuts.possible:
            charged = point.charges is not None and len(point.charges) > 0
            least_rise, after = params.slow_charged if charged else params.slow, params.slow_after
        valued.stalled = tried >= after and point.value - float(before) < least_rise * abs(point.value)
        proof = time.perf_counter()
        self._late = min(max(proof - began - seconds, 0.0), params.latest)
        if not known.counted and limit.left < self._proof_seconds:
            return
        try:
            found = prove(session.instance, round_dual(point), params=known.get(SubproblemParameters))
        except InputError:  # exact numbers would need more than 64 bits
            valued.stalled = True
            return
        self._proof_seconds = time.perf_counter() - proof
        valued.take(point, found)
        turns.rises = averaged(turns.rises, float(valued.value - before), began)


class RequiredCutRounds(Raising):
    """Rank-1 cuts under requirements, once the bound without them has stalled."""

    name = "cuts"

    def applies(self, known: Known) -> bool:
        """As long as there is something to gain."""
        valued = self._due(known)
        return valued is not None and valued.stalled and valued.cuts.possible

    def run(self, known: Known, limit: Limit) -> None:
        """A turn of rounds."""
        valued = valued_of(known)
        turns = valued.turns
        turns.next(known)
        with turns.raising(known):
            part, point = limit.part(turns.bound_share * turns.seconds), valued.point
            known_charges = point if point.charges is not None else replace(point, charges=np.zeros(0))
            valued.cuts.rise(known_charges, part, limit)


class RequiredTableSearch(Phase):
    """Construct where the multipliers are much better, anneal, and search neighbourhoods."""

    name = "search"
    repeats = True

    def __init__(self) -> None:
        self._search: RequiredSearch | None = None

    def applies(self, known: Known) -> bool:
        """In each turn, after the bound."""
        if known.valued is None:
            return False
        valued = valued_of(known)
        if valued.by_sizes is not None or valued.turns.model_is_due:
            return False
        turns = valued.turns
        return not valued.can_rise if turns.bound_is_due else turns.searched < turns.number

    def estimate(self, known: Known) -> Estimate:
        """As the last turns have shown."""
        turns = valued_of(known).turns
        return turns.estimate(known, turns.falls, (1 - turns.bound_share) * turns.seconds)

    def run(self, known: Known, limit: Limit) -> None:
        """In its part of the turn."""
        valued, began = valued_of(known), time.perf_counter()
        turns = valued.turns
        if turns.bound_is_due:
            turns.next(known)
        search = self._search = self._search or RequiredSearch(known, valued.cuts)
        before, known.searched = None if known.best is None else known.best.cost, True
        effort = known.effort if known.counted else known.effort.part((1 - turns.bound_share) * turns.seconds)
        seed = known.session.options.seed + 1000 * turns.number
        assert valued.proof is not None
        search.improve(valued.point, valued.proof, effort, seed, first_turn=turns.number == 0)
        if known.best is None:
            turns.fruitless += valued.stalled
        else:
            fallen = math.inf if before is None else before - known.best.cost
            turns.falls = averaged(turns.falls, fallen, began)
            turns.fruitless = turns.fruitless + 1 if fallen == 0 and not valued.can_rise else 0
        turns.after_search(known)


def counts_many_values(session: Session) -> bool:
    """Whether different ones of many values, such as units of protection, are all that is asked beside sizes."""
    relaxations = relaxations_of(session.instance)
    return bool(relaxations) and all(each.plain for each in relaxations)


def averaged(last: float, gained: float, began: float) -> float:
    """What is gained in a second, with half of the weight what it was before: one turn without luck says little."""
    now = gained / max(time.perf_counter() - began, 1e-3)
    return now if math.isinf(last) else (last + now) / 2
