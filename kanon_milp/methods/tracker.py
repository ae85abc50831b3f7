"""What is known on the way: the cheapest table, the proven bound, and how they came about."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, Literal, Protocol, TypeVar

from kanon_milp.presolve.assignment import Assignment, RowGroups
from kanon_milp.presolve.whole_groups import GroupTable
from kanon_milp.solvers import OnProgress, Progress
from kanon_milp.solvers.proof import REGISTERED, Backing

LOGGER = logging.getLogger(__name__)
Trajectory = tuple[tuple[float, float | None, float | None], ...]  # seconds, incumbent, bound
Proof = Literal["optimal", "bound", "none", "infeasible"]


@dataclass(frozen=True)
class PhaseRun:
    """One run of a phase of a method.

    began: seconds since the table was read. incumbent, bound: loss of the cheapest table (None for none) and proven
    bound when it ended, in the problem's units; incumbent_before, bound_before: when it began.
    """

    name: str
    began: float
    seconds: float
    incumbent: float | None
    bound: float
    incumbent_before: float | None = None
    bound_before: float = 0.0

    def as_list(self) -> list[float | str | None]:
        """An entry of `phases` in `result.json`."""
        return [self.name, round(self.began, 6), round(self.seconds, 6), self.incumbent, self.bound]


N = TypeVar("N", int, Fraction)
T = TypeVar("T", bound="Costed")


class Costed(Protocol):
    """What has a cost, in units of the loss."""

    @property
    def cost(self) -> Any:
        """Its cost."""


@dataclass
class AnyTracker(Generic[T, N]):
    """What is known so far, in units of the loss: the cheapest table and the proven bound; tells who wants to know.
    Several threads may report; `on_progress` has one call at a time.

    proven, proven_by: the bound without the registered ones, and what it is backed by. registered: the highest of
    these, until a table refutes it. before: loss, in the problem's units, of the best table before, over candidates of
    its own; None without one.
    """

    unit: Fraction
    began: float
    on_progress: OnProgress | None
    proven: N
    registered: N
    proven_by: tuple[Backing, ...] = ("own bound",)  # no table costs less than nothing
    refuted: bool = False
    best: T | None = None
    before: float | None = None
    trajectory: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _users: dict[int, str] = field(default_factory=dict, repr=False)  # whose own code runs in which thread
    _own: set[int] = field(default_factory=lambda: {threading.get_ident()}, repr=False)  # threads of this package
    _guests: bool = False  # whether any code of a user's own has run: it may have begun threads

    @contextmanager
    def users_code(self, what: str) -> Iterator[None]:
        """Within the block a bound of this thread is a registered one: the word of a user's own code. what: whose."""
        self._guests = True
        self._users[threading.get_ident()] = what
        try:
            yield
        finally:
            self._users.pop(threading.get_ident(), None)

    def own_thread(self) -> None:
        """Take what this thread reports for the package's own, outside of code of a user's own."""
        self._own.add(threading.get_ident())

    @property
    def in_users_code(self) -> str:
        """Whose own code runs in this thread; empty where none does."""
        return self._users.get(threading.get_ident(), "")

    def better(self, table: T | None) -> None:
        """Take a table if it is the cheapest so far."""
        with self._lock:
            if table is not None and (self.best is None or table.cost < self.best.cost):
                self.best = table
                self._refute()
                self._note()

    def higher(self, bound: N, backed_by: tuple[Backing, ...]) -> None:
        """Take a proven bound if it is the highest so far. Of registered ones the word is all there is: they are kept
        apart."""
        with self._lock:
            before = self.bound
            unknown = self._guests and threading.get_ident() not in self._own
            if backed_by == (REGISTERED,) or self.in_users_code or unknown:
                self.registered = max(self.registered, bound)
                self._refute()
            elif bound > self.proven:
                self.proven, self.proven_by = bound, backed_by
            if self.bound > before:
                self._note()

    @property
    def bound(self) -> N:
        """The highest bound so far."""
        return max(self.proven, self.registered)

    def _refute(self) -> None:
        """A registered bound above the cheapest table is discarded; what else is known stays."""
        if self.best is not None and self.registered > self.best.cost:
            self.registered, self.refuted = self.registered * 0, True

    def show(self, point: Progress) -> None:
        """Pass on what is on its way, in floating point: a bound, a table that nobody has verified."""
        if self.on_progress is None:
            return
        with self._lock:
            bound = float(self.bound) if point.bound is None else max(float(self.bound), point.bound)
            known = [x for x in (self.loss, point.incumbent and point.incumbent * float(self.unit)) if x is not None]
            seconds = time.perf_counter() - self.began
            self.on_progress(Progress(seconds, min(known, default=None), bound * float(self.unit)))

    def _note(self) -> None:
        seconds = time.perf_counter() - self.began
        point = (seconds, self.loss, self.value)
        self.trajectory.append(point)
        LOGGER.debug("after %.3f s: table %s, bound %s", *point)
        if self.on_progress is not None:
            self.on_progress(Progress(*point))

    @property
    def loss(self) -> float | None:
        """Of the cheapest table, in the problem's units; None before there is one."""
        if self.best is None:
            return self.before
        loss = float(self.best.cost * float(self.unit))
        return loss if self.before is None else min(loss, self.before)

    @property
    def value(self) -> float:
        """The highest bound so far, in the problem's units."""
        return float(self.bound) * float(self.unit)


@dataclass
class Tracker(AnyTracker[Assignment, int]):
    """Of assignments, in integers."""

    proven: int = 0
    registered: int = 0

    def released(self, table: Assignment, groups: RowGroups) -> None:
        """As `better`, for a table over candidates of its own. groups: of its rows."""
        self.better(table)


@dataclass
class GroupTracker(AnyTracker[GroupTable, Fraction]):
    """Of tables whose cost is one of whole groups; `unit` is 1."""

    proven: Fraction = Fraction(0)
    registered: Fraction = Fraction(0)
