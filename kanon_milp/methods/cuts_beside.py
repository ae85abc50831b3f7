"""Rank-1 cuts in a thread of their own, while other processes search: on a large table both last to the end."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from kanon_milp.bounds import BoundLimit
from kanon_milp.bounds.built_in import certified
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.limit import AlsoSet, Limit

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

# seconds until a bound is certified for the first time, and how many times as long the next one takes: a certificate of
# all of Adult takes some ten
FIRST_SECONDS, LONGER = 60.0, 2.0


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
        from kanon_milp.bounds.columns.relax_and_cut import RelaxAndCut  # its code is compiled

        ascent = RelaxAndCut.of(self._instance, self.dual, self._bound_limit(), on_progress=self._tracker.show)
        seconds, ended = FIRST_SECONDS, False
        while not ended:
            ascent.limit = self._bound_limit()
            last = self.limit.left < (1 + LONGER) * seconds
            ended = ascent.maximize(math.inf if last else time.perf_counter() + seconds)
            raised = certified(self._instance, replace(ascent.end(), open_share=self.dual.open_share))
            self._tracker.higher(raised.units, raised.justified_by)
            if raised.dual is not None and raised.dual.value >= self.dual.value:
                self.dual = raised.dual
            if self._met:
                self._ended.set()
                return
            seconds *= LONGER

    def _bound_limit(self) -> BoundLimit:
        """Until table and bound are near enough, as things stand."""
        best = self._tracker.best
        target = None if best is None else math.ceil(best.cost * (1 - self._gap))
        return BoundLimit(self.limit.ends, self.limit.interrupt, target)

    @property
    def _met(self) -> bool:
        """Whether table and bound are near enough, as the search says as well."""
        best, bound = self._tracker.best, self._tracker.bound
        return best is not None and best.cost <= max(bound, math.floor(bound / (1 - self._gap)))
