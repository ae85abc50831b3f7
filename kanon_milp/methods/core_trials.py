"""When to try the core problem between two turns of bound and search: a model of it costs time, and may end it all."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from kanon_milp.system.limit import Limit

# what a model takes, times its pairs to the power of 1.5 (first 200 rows of Adult: l = 2 and l = 3), and how many times
# as long after each that has not ended
SECONDS, HARDER = 1.6e-4, 4.0
# the same a pair, up to so many, where row types have few candidates: masks of CMC under p = 2 and l = 2, and under
# t = 0.2
FEW_PAIR_SECONDS, FEW_WORK_PAIR_SECONDS, MOST_FEW = 3e-4, 1e-3, 30_000
EAGER = 3.0  # times as long as all that was before it, at most, is a model likely to take
# times as long may it take, and must be left; where row types have few candidates it may well take less
TRIAL, LEAST_TRIAL, LEAST_TRIAL_FEW = 2.5, 1.5, 0.7
SMALLER = 0.7  # of the pairs of one that has not ended, at most, has one that is not harder


class CoreTrials:
    """A model is tried as soon as it is likely to take not much longer than all that was before it.

    due: whether one is tried now; a better table ends it as well. long: whether it is likely to take longer than all
    that was before it. began: of the session, as `time.perf_counter()`. pair_seconds: what a model takes a pair, at
    most, where row types have few candidates.
    """

    def __init__(self, began: float, pair_seconds: float = math.inf) -> None:
        self.due, self.long, self._began, self._pair_seconds = False, False, began, pair_seconds
        self._pairs, self._seconds = 0, 0.0  # of the model that was looked at last, and what it is likely to take
        self._failed, self._harder, self._before_turn = 0, 1.0, False  # pairs of the last one that has not ended

    def look(self, pairs: int, limit: Limit) -> bool:
        """Whether one of so many pairs is due; not at once after another one, whose table is worth a turn."""
        if pairs <= SMALLER * self._failed:
            self._harder = 1.0
        few = pairs <= MOST_FEW and not math.isinf(self._pair_seconds)
        usual = SECONDS * pairs**1.5
        self._pairs, self._seconds = pairs, self._harder * (min(usual, self._pair_seconds * pairs) if few else usual)
        passed, least = time.perf_counter() - self._began, LEAST_TRIAL_FEW if few else LEAST_TRIAL
        likely, self.long = self._seconds <= min(EAGER * passed, limit.left / least), self._seconds > passed
        self.due, self._before_turn = likely and not self._before_turn, False
        return self.due

    def limit(self, whole: Limit) -> Limit:
        """Of the model: all that is left where it is no trial."""
        return whole.part(TRIAL * self._seconds) if self.due else whole

    def rounds(self, whole: Limit) -> Iterator[Limit]:
        """One for each trial, and the last one."""
        yield whole
        while self.due and not whole.over:  # it has ended, and something is left to do
            self.due, self._before_turn = False, True
            self._failed, self._harder = self._pairs, HARDER * self._harder
            yield whole
