"""What is known on the way: the cheapest table, the proven bound, and how they came about."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from fractions import Fraction

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.solvers import OnProgress, Progress
from kanon_milp.solvers.proof import REGISTERED, Backing

LOGGER = logging.getLogger(__name__)


@dataclass
class Tracker:
    """What is known so far, in units of the loss: the cheapest assignment and the proven bound; tells who wants to
    know. Several threads may report; `on_progress` has one call at a time.

    proven, proven_by: the bound without the registered ones, and what it is backed by. registered: the highest of
    these, until a table refutes it.
    """

    unit: Fraction
    began: float
    on_progress: OnProgress | None
    proven: int = 0
    proven_by: tuple[Backing, ...] = ("own bound",)  # no table costs less than nothing
    registered: int = 0
    refuted: bool = False
    best: Assignment | None = None
    trajectory: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def better(self, assignment: Assignment | None) -> None:
        """Take a table if it is the cheapest so far."""
        with self._lock:
            if assignment is not None and (self.best is None or assignment.cost < self.best.cost):
                self.best = assignment
                self._refute()
                self._note()

    def higher(self, bound: int, backed_by: tuple[Backing, ...]) -> None:
        """Take a proven bound if it is the highest so far. Of registered ones the word is all there is: they are kept
        apart."""
        with self._lock:
            before = self.bound
            if backed_by == (REGISTERED,):
                self.registered = max(self.registered, bound)
                self._refute()
            elif bound > self.proven:
                self.proven, self.proven_by = bound, backed_by
            if self.bound > before:
                self._note()

    @property
    def bound(self) -> int:
        """The highest bound so far."""
        return max(self.proven, self.registered)

    def _refute(self) -> None:
        """A registered bound above the cheapest table is discarded; what else is known stays."""
        if self.best is not None and self.registered > self.best.cost:
            self.registered, self.refuted = 0, True

    def show(self, point: Progress) -> None:
        """Pass on what is on its way, in floating point: a bound, a table that nobody has verified."""
        if self.on_progress is None:
            return
        with self._lock:
            bound = self.bound if point.bound is None else max(self.bound, point.bound)
            known = [x for x in (self._loss(), point.incumbent and point.incumbent * float(self.unit)) if x is not None]
            seconds = time.perf_counter() - self.began
            self.on_progress(Progress(seconds, min(known, default=None), bound * float(self.unit)))

    def _note(self) -> None:
        seconds = time.perf_counter() - self.began
        point = (seconds, self._loss(), self.bound * float(self.unit))
        self.trajectory.append(point)
        LOGGER.debug("after %.3f s: table %s, bound %s", *point)
        if self.on_progress is not None:
            self.on_progress(Progress(*point))

    def _loss(self) -> float | None:
        return None if self.best is None else self.best.cost * float(self.unit)
