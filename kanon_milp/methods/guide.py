"""What leads the hybrid method: multipliers of a bound, the search that they guide, the fixing that they allow."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from kanon_milp.bounds import BoundLimit, BoundTask, best_registered
from kanon_milp.bounds.built_in import LAGRANGIAN
from kanon_milp.heuristics.worker_pool import Effort, Pool
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped, Reduction
from kanon_milp.problem.privacy.base import facts_of
from kanon_milp.solvers import StopReason
from kanon_milp.system.arrays import Floats
from kanon_milp.system.background import Background
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

MODEL_PAIRS = 300_000  # a core problem goes to the solver as one model up to this size
FEW_OPTIONS = 15  # candidates a row type, up to which models are solved in little time


def few_options(instance: Instance) -> bool:
    """Whether row types have few candidates, as under a small mask."""
    return instance.candidates.pairs <= FEW_OPTIONS * instance.types.count


def limits_work(instance: Instance) -> bool:
    """Whether the work of moving sensitive values is limited, as by t-closeness: models of that take longer."""
    requirements, table = instance.problem.requirements, instance.table_group
    return any(fact.emd is not None for each in requirements for fact in facts_of(each, table))


def multipliers_of_sizes(session: Session, tracker: Tracker, limit: BoundLimit) -> DualPoint:
    """The Lagrangian bound, and what users have registered: what they prove goes to the tracker."""
    threads = session.options.threads
    task = BoundTask(limit, table=tracker.best, threads=threads, on_progress=tracker.show)
    proven = LAGRANGIAN.compute(session.instance, task)
    assert proven.dual is not None
    tracker.higher(proven.units, proven.justified_by)
    own = best_registered(session.instance, replace(task, dual=proven.dual))
    tracker.higher(own.units, own.justified_by)
    return proven.dual


class Guide(ABC):
    """The phases before the core problem, for one kind of requirements; all of them report to the tracker.

    limit: of the session. background: processes that compile what comes next. search_part: the part of it that
    the search needs (`methods.warm_up.PARTS`). dual: multipliers whose certificate may be written, None before there
    are any. required: those of the bound under requirements, float64 (t,), where there is one.
    """

    search_part: ClassVar[str] = "search"

    def __init__(self, session: Session, tracker: Tracker, pool: Pool, limit: Limit) -> None:
        self.session, self.tracker, self.pool, self.limit = session, tracker, pool, limit
        self.background: Background | None = None
        self.dual: DualPoint | None = None
        self.required: Floats | None = None

    def wait(self, part: str) -> bool:
        """Whether this part is compiled, or has to be in this process, after a wait; False if the limit ends that."""
        return self.background is None or self.background.wait(part, self.limit)

    @abstractmethod
    def keep(self, table: Assignment | None) -> None:
        """Take a complete table over the session's instance if it is valid and the cheapest so far."""

    @abstractmethod
    def bound(self) -> None:
        """Multipliers, and what they prove."""

    def begin(self) -> None:  # noqa: B027
        """A first table from the multipliers, at once."""

    def presuming(self, loss: int) -> Reduction[Dropped] | None:
        """Drops what no table up to this loss uses, but for what the best table uses; None where that is not known."""
        del loss
        return None

    def promising(self, pairs: int, limit: Limit) -> bool:
        """Whether a model of so many pairs is likely to be solved to the end within this limit."""
        del pairs, limit
        return False

    @property
    def condenses(self) -> bool:
        """Whether condensed models are valid, since nothing but sizes of groups is required, and worth it."""
        return False

    @property
    def fits(self) -> bool:
        """Whether the core problem is likely to fit into one model."""
        return self.session.instance.candidates.pairs <= MODEL_PAIRS

    @property
    def raises_first(self) -> bool:
        """Whether to raise the bound before anything is searched."""
        return False

    @property
    def branches(self) -> bool:
        """Whether `prove` is the way to end."""
        return False

    def search_briefly(self) -> None:  # noqa: B027
        """Better tables, in a small part of the time."""

    def rounds(self) -> Iterator[Limit]:
        """The limits of rounds of search, cuts and core problem, each of which is `limit` while it lasts."""
        yield self.limit

    @property
    def core_limit(self) -> Limit:
        """When the core problem of this round ends."""
        return self.limit

    @property
    def trying(self) -> bool:
        """Whether the core problem is only tried: a better table is worth more of bound and search."""
        return False

    @abstractmethod
    def search(self) -> None:
        """Look for tables with the multipliers at hand, and leave time for what comes after it."""

    @abstractmethod
    def worth_raising(self) -> bool:
        """Whether to raise the bound, and search again afterwards."""

    @abstractmethod
    def raise_bound(self) -> None:
        """Better multipliers, or cuts."""

    def search_again(self) -> None:
        """As `search`, with better multipliers."""
        self.search()

    def prove(self) -> bool:
        """A proof that needs no core problem, where that is quicker; False where the core problem is left to do."""
        return False

    @abstractmethod
    def fixing(self, incumbent: int) -> Reduction[Dropped]:
        """Drops what no table below this loss uses, in units."""

    @abstractmethod
    def left(self, incumbent: int) -> int:
        """How many pairs that leaves."""

    @property
    def enough(self) -> int:
        """The largest loss at which it may stop: the bound, or what lies within the gap that was asked for."""
        return max(self.tracker.bound, math.floor(self.tracker.bound / (1 - self.session.options.gap)))

    @property
    def effort(self) -> Effort:
        """All that is left."""
        return Effort(self.limit.ends, self.limit.interrupt, self.session.iterations, self.enough)

    def why(self) -> StopReason:
        """Why it would end now."""
        if self.tracker.best is not None and self.tracker.best.cost <= self.enough:
            return StopReason.OPTIMAL if self.tracker.best.cost <= self.tracker.bound else StopReason.GAP_LIMIT
        if self.limit.asked:
            return StopReason.INTERRUPTED
        # without an iteration limit nothing else ends a search for good
        timed = self.session.iterations is None or self.limit.over
        return StopReason.TIME_LIMIT if timed else StopReason.ITERATION_LIMIT

    @property
    def settled(self) -> bool:
        """Whether nothing has to be done any more, or somebody wants it to stop."""
        return self.why() in (StopReason.OPTIMAL, StopReason.GAP_LIMIT, StopReason.INTERRUPTED)
