"""Rank-1 cuts in a thread of their own, while other processes search: on a large table both last to the end."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from kanon_milp.bounds import BoundLimit, BoundTask
from kanon_milp.bounds.providers import RELAX_AND_CUT
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.limit import AlsoSet, Limit

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

# seconds until a bound is certified for the first time, and how many times as long the next one takes: each time the
# groups that have been priced are lost
FIRST_SECONDS, LONGER = 60.0, 2.0
RISEN = 1e-3  # units by which the bound must have risen where cuts end by themselves, for others to go on


class CutsBeside:
    """A context manager: raises the bound of `tracker` from `dual` on, while its block searches and after it.

    dual: the best multipliers. gap: a relative one that is enough. limit: for both; it ends as well once table and
    bound have met. done: called when the thread ends, which may be long before the search does. What goes wrong in the
    thread is raised at the end of the block.
    """

    def __init__(
        self,
        instance: Instance,
        tracker: Tracker,
        dual: DualPoint,
        gap: float,
        limit: Limit,
        done: Callable[[], None],
    ) -> None:
        self._ended = AlsoSet(limit.interrupt or threading.Event())
        self.dual, self.limit = dual, replace(limit, interrupt=self._ended)
        self._instance, self._tracker, self._gap, self._done = instance, tracker, gap, done
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="rank-1 cuts", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None or self._met:
            self._ended.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._raise()
        except BaseException as error:
            self._error = error
            self._ended.set()
        finally:
            self._done()

    def _raise(self) -> None:
        seconds = FIRST_SECONDS
        while not self.limit.over:
            last = self.limit.left < (1 + LONGER) * seconds
            part = self.limit if last else self.limit.part(seconds)
            best = self._tracker.best
            target = None if best is None else math.ceil(best.cost * (1 - self._gap))
            limit = BoundLimit(part.ends, part.interrupt, target)
            raised = RELAX_AND_CUT.compute(self._instance, BoundTask(limit, self.dual, on_progress=self._tracker.show))
            before, self.dual = self.dual.value, raised.dual or self.dual
            self._tracker.higher(raised.units, raised.justified_by)
            if self._met:
                self._ended.set()
            elif not part.over and self.dual.value < before + RISEN:
                return
            seconds *= LONGER

    @property
    def _met(self) -> bool:
        """Whether table and bound are near enough, as the search says as well."""
        best, bound = self._tracker.best, self._tracker.bound
        return best is not None and best.cost <= max(bound, math.floor(bound / (1 - self._gap)))
