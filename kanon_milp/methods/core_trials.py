"""When to try the core problem between two turns of bound and search: a model of it costs time, and may end it all."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kanon_milp.system.limit import Limit

# what a model takes for a pair (first 200 rows of Adult, l = 2), and how many times as long where its relaxation is
# weak, or after each that has not ended
PAIR_SECONDS, HARDER = 8e-3, 4.0
TRIAL, LEAST_TRIAL = 2.0, 1.5  # times as long may it take, and must be left


class CoreTrials:
    """A model is tried as soon as it is likely to take no longer than all that was before it.

    due: whether one is tried now. began: of the session, as `time.perf_counter()`.
    """

    def __init__(self, began: float) -> None:
        self.due, self._began = False, began
        self._pair_seconds, self._seconds = PAIR_SECONDS, 0.0

    def look(self, pairs: int, limit: Limit, *, weak: bool) -> bool:
        """Whether one of so many pairs is due. weak: whether the relaxation of the model is."""
        self._seconds = self._pair_seconds * pairs * (HARDER if weak else 1.0)
        self.due = self._seconds <= min(time.perf_counter() - self._began, limit.left / LEAST_TRIAL)
        return self.due

    def limit(self, whole: Limit) -> Limit:
        """Of the model: all that is left where it is no trial."""
        return whole.part(TRIAL * self._seconds) if self.due else whole

    def rounds(self, whole: Limit) -> Iterator[Limit]:
        """One for each trial, and the last one."""
        yield whole
        while self.due and not whole.over:  # it has ended, and something is left to do
            self.due, self._pair_seconds = False, HARDER * self._pair_seconds
            yield whole
