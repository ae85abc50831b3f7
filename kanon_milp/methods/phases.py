"""What a phase of a method is, and what phases know: a method is a list of phases, and a phase knows no other phase.

A phase says whether it applies to what is known, what it expects to take and to gain, and runs under a limit. What it
finds goes into `Known`: tables and bounds to the tracker, multipliers, and what these fix. `methods.scheduler` runs the
phases one after the other.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from kanon_milp.bounds.parameters import FixingParameters
from kanon_milp.errors import InputError, KanonError
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import PhaseRun, Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import Dropped, Reduction
from kanon_milp.problem.arguments import instance_of, text, wrong
from kanon_milp.problem.privacy.base import facts_of
from kanon_milp.solvers import StopReason
from kanon_milp.solvers.model import EXACT
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.arrays import Flags, Floats
from kanon_milp.system.extras import Plugins
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters
from kanon_milp.system.worker_pool import Pool

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

P = TypeVar("P")


@dataclass(frozen=True)
class Estimate:
    """What a phase is expected to take, in seconds, and to gain, as a share of the gap between table and bound.

    Raises InputError for what are no numbers of at least 0.
    """

    seconds: float
    gain: float

    def __post_init__(self) -> None:
        for name, given in (("seconds", self.seconds), ("gain", self.gain)):
            if isinstance(given, bool) or not (isinstance(given, Real) and given >= 0):
                raise wrong(f"Estimate: {name}", "a number of at least 0", given)

    @property
    def rate(self) -> float:
        """Gain a second."""
        return self.gain / max(self.seconds, 1e-9)


@parameters("restricted_model")
@dataclass(frozen=True)
class RestrictedModelParams:
    """When what fixing leaves is solved as one model."""

    pairs: int = number(300_000, "pairs of a core problem that goes to the solver as one model, at most")
    few_options: int = number(15, "candidates a row type, up to which models are solved in little time")


def few_options(instance: Instance, params: RestrictedModelParams) -> bool:
    """Whether row types have few candidates, as under a small mask."""
    return instance.candidates.pairs <= params.few_options * instance.types.count


def beyond_solvers(instance: Instance) -> bool:
    """Whether the limits of t-closeness need coefficients that floating point does not hold exactly, so that no solver
    is given a model of them."""
    requirements, table = instance.problem.requirements, instance.table_group
    limits = [fact.emd for each in requirements for fact in facts_of(each, table) if fact.emd is not None]
    largest = (max(each.t.denominator, each.t.numerator * instance.types.n) * each.space.scale for each in limits)
    return max(largest, default=0) > EXACT


class MoreThanSizes(ABC):
    """What is known where more than sizes of groups is required: what fixes, and when the core problem is due."""

    model_is_due: bool

    @property
    @abstractmethod
    def fixes_by(self) -> tuple[object, ...]:
        """What fixing goes by: other objects where that has changed."""

    @property
    @abstractmethod
    def trying(self) -> bool:
        """Whether the core problem is only tried, as a better table is worth more of bound and search."""

    @abstractmethod
    def fixing(self, incumbent: int) -> Reduction[Dropped]:
        """Drops what no table below this loss uses, in units."""

    @abstractmethod
    def model_limit(self, whole: Limit) -> Limit:
        """When the core problem ends."""

    @abstractmethod
    def after_model(self) -> None:
        """Go on, if the core problem was only tried."""


@dataclass(eq=False)
class LastModel:
    """The restricted model that was solved last. size: variables and constraints. backed_by, message: what the answer
    is backed by, and what the solver said. stopped: why it stopped."""

    size: tuple[int, int] = (0, 0)
    backed_by: tuple[Backing, ...] = ()
    message: str = ""
    stopped: StopReason | None = None


@dataclass(eq=False)
class Known:
    """What the phases of a session know.

    whole: when it all ends. limit: when this round does, of which phases take shares; the whole where there are no
    rounds. round: its number. dual: multipliers of sizes, whose certificate may be written; plain: the same before
    there were rank-1 cuts. iteration_seconds: what an iteration of that bound has taken. raised_in: the last round in
    which rank-1 cuts have gone as far as is worth it. model_speed: seconds that a model of the tables at the bound has
    taken after these, for the square of its pairs; 0 before there was one. searched: whether tables were searched for,
    not only constructed. constructed_by: the multipliers that a table was constructed by. concurrent: how many phases
    run in the place of a worker. notes: what the result is to say. valued: what is known where more than sizes is
    required. sizes_only: whether nothing else is required, or the rest is left out. ended: whether the session ends
    whatever else could be done. off: names of the phases that the user has left out.
    """

    session: Session
    tracker: Tracker
    pool: Pool
    whole: Limit
    log: list[PhaseRun] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    model: LastModel = field(default_factory=LastModel)
    dual: DualPoint | None = None
    plain: DualPoint | None = None
    required: Floats | None = None
    iteration_seconds: float = 0.0
    raised_in: int = -1
    model_speed: float = 0.0
    searched: bool = False
    constructed_by: DualPoint | None = None
    concurrent: int = 0
    round: int = 0
    ended: bool = False
    valued: MoreThanSizes | None = None
    sizes_only: bool = False
    off: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.limit = self.whole
        self.sizes_only |= self.session.problem.size_only
        self._check: GroupCheck | None = None
        self._left: tuple[tuple[object, ...], dict[int, int]] = (), {}

    @property
    def instance(self) -> Instance:
        """Row types, candidates and requirements."""
        return self.session.instance

    @property
    def counted(self) -> bool:
        """Whether work is counted, and no clock plays a part."""
        return self.session.iterations is not None

    @property
    def best(self) -> Assignment | None:
        """The cheapest table so far."""
        return self.tracker.best

    def get(self, kind: type[P]) -> P:
        """Parameters of this kind, with what the user has set."""
        return self.session.parameters.of(kind)

    def keep(self, table: Assignment | None) -> None:
        """Take a complete table over the session's instance if it is valid and the cheapest so far; each group is
        released as cheaply as its rows allow, where the requirements leave that open."""
        if table is None:
            return
        if whose := self.tracker.in_users_code:
            instance_of(table, Assignment, f"{whose}: known.keep: table", "an Assignment over known.instance, or None,")
            try:
                table = table.checked(self.instance)
            except KanonError as error:
                raise InputError(f"{whose}: known.keep: {error}") from error
            if self._refused(table):
                return
        from kanon_milp.heuristics.grouping import tighten_groups

        free = self.session.problem.merge_closed and not self.session.problem.wants_many_groups
        self.accept(tighten_groups(self.instance, table) if free else table)

    def accept(self, table: Assignment) -> None:
        """As `keep`, for groups that are as cheap as can be."""
        if self.best is not None and self.best.cost <= table.cost:
            return
        if not table.within(self.session.problem, self.instance.levels.unit):
            return
        if not ((not self.sizes_only or self.tracker.in_users_code) and self._refused(table)):
            self.tracker.better(table)

    def _refused(self, table: Assignment) -> bool:
        """Whether the requirements refuse one of its groups."""
        self._check = self._check or GroupCheck(self.instance)
        return len(self._check.refused(table)) > 0

    def seconds(self, share: float) -> float:
        """A share of the time that is left of this round; of a nominal second where no clock plays a part."""
        return share * (1.0 if math.isinf(self.limit.ends) else self.limit.left)

    @property
    def passed(self) -> float:
        """Seconds since the table was read."""
        return time.perf_counter() - self.session.clock.began

    def fixing(self, incumbent: int) -> Reduction[Dropped]:
        """Drops what no table below this loss uses, in units."""
        from kanon_milp.bounds import round_dual
        from kanon_milp.bounds.reduced_costs import ReducedCosts

        if self.valued is not None:
            return self.valued.fixing(incumbent)
        assert self.dual is not None
        return ReducedCosts(round_dual(self.dual), incumbent, params=self.get(FixingParameters))

    def possible(self, incumbent: int) -> Flags:
        """The pairs that fixing leaves, bool (pairs,)."""
        found: Flags = self.fixing(incumbent).possible(self.instance)[1]  # type: ignore[attr-defined]
        return found

    def left(self, incumbent: int) -> int:
        """How many pairs fixing leaves."""
        by = (self.dual,) if self.valued is None else self.valued.fixes_by
        if len(by) != len(self._left[0]) or any(a is not b for a, b in zip(by, self._left[0], strict=True)):
            self._left = by, {}
        known = self._left[1]
        if incumbent not in known:
            known[incumbent] = int(self.possible(incumbent).sum())
        return known[incumbent]

    def presuming(self, loss: int) -> Reduction[Dropped] | None:
        """Drops what no table up to this loss uses, but for what the best table uses; None where that is not known."""
        from kanon_milp.bounds import round_dual
        from kanon_milp.bounds.reduced_costs import ReducedCosts

        if self.valued is not None or self.dual is None:
            return None
        return ReducedCosts(round_dual(self.dual), loss + 1, self.best, params=self.get(FixingParameters))

    @property
    def fits(self) -> bool:
        """Whether the core problem is likely to fit into one model."""
        return self.instance.candidates.pairs <= self.get(RestrictedModelParams).pairs

    @property
    def enough(self) -> int:
        """The largest loss at which it may stop: the bound, or what lies within the gap that was asked for."""
        return max(self.tracker.bound, math.floor(self.tracker.bound / (1 - self.session.options.gap)))

    @property
    def effort(self) -> Effort:
        """All that is left of this round."""
        return Effort(self.limit.ends, self.limit.interrupt, self.session.iterations, self.enough)

    def why(self) -> StopReason:
        """Why it would end now."""
        if self.best is not None and self.best.cost <= self.enough:
            return StopReason.OPTIMAL if self.best.cost <= self.tracker.bound else StopReason.GAP_LIMIT
        if self.whole.asked:
            return StopReason.INTERRUPTED
        # without an iteration limit nothing else ends a search for good
        timed = not self.counted or self.whole.over
        return StopReason.TIME_LIMIT if timed else StopReason.ITERATION_LIMIT

    @property
    def settled(self) -> bool:
        """Whether nothing has to be done any more, or somebody wants it to stop."""
        return self.why() in (StopReason.OPTIMAL, StopReason.GAP_LIMIT, StopReason.INTERRUPTED)


class Phase(ABC):
    """A step of a method. One of a session is an object of its own, which may remember what it has done.

    name: in the log. step: of `result.seconds` that its time counts for, "" where it counts for the steps within.
    repeats: whether it runs again in each round, with that round's time. concurrent: whether it runs in a thread of its
    own while others run; worker: in the place of a worker, where it does.
    """

    name: ClassVar[str]
    step: ClassVar[str] = "search"
    repeats: ClassVar[bool] = False
    concurrent: ClassVar[bool] = False
    worker: ClassVar[bool] = True

    @abstractmethod
    def applies(self, known: Known) -> bool:
        """Whether it has something to do, as things stand; asked often, so it must be quick."""

    @abstractmethod
    def estimate(self, known: Known) -> Estimate:
        """What it is expected to take and to gain, where it applies."""

    @abstractmethod
    def run(self, known: Known, limit: Limit) -> None:
        """Do it, and end with the limit. What it finds goes to `known`: `known.keep(table)`, `known.tracker.higher`."""


class ByShare(Phase):
    """One that expects to take a share of the time, and to gain a share of the gap, as its `numbers` say."""

    numbers: ClassVar[type[Any]]

    def estimate(self, known: Known) -> Estimate:
        """As its parameters say."""
        params = known.get(self.numbers)
        return Estimate(known.seconds(params.share), params.gain)


def _checked(phase: object, what: str) -> type[Phase]:
    if not (isinstance(phase, type) and issubclass(phase, Phase)):
        raise wrong("phase", "a subclass of Phase", phase)
    if phase.__abstractmethods__:
        missing = ", ".join(sorted(phase.__abstractmethods__))
        raise InputError(f"{what}: the phase {phase.__name__} cannot be registered: it does not say {missing}")
    text(getattr(phase, "name", None), f"name of the phase {phase.__name__}")
    return phase


REGISTERED: Plugins[type[Phase]] = Plugins("phase", (), _checked)
"""Phases of users, by name; they are part of the hybrid method."""


def register_phase(phase: type[Phase], *, replace: bool = False) -> None:
    """Make a phase of your own part of the hybrid method (`search`, and `auto` if it takes that), in this process.

    phase: a subclass of `Phase`; each session makes an object of it without arguments. replace: replace the registered
    one of this name. Raises InputError if it is no such class, and for a name that is taken.
    """
    REGISTERED.add(phase, replace=replace)
