"""When a search ends."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Effort:
    """When a search ends: at a moment of `time.perf_counter()`, after so many neighbourhoods, after so many turns that
    found nothing (patience), when it is asked to, or when the loss is no more than `enough`.

    With a number of neighbourhoods and no moment no clock plays a part, and the result is the same on every machine for
    the same seed and number of workers.
    """

    ends: float = math.inf
    neighbourhoods: int | None = None
    interrupt: threading.Event | None = None
    enough: int = 0
    patience: float = math.inf

    @property
    def asked(self) -> bool:
        """Whether somebody wants it to stop."""
        return self.interrupt is not None and self.interrupt.is_set()

    @property
    def counted(self) -> bool:
        """Whether work is counted, not time."""
        return self.neighbourhoods is not None

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(self.ends - time.perf_counter(), 0.0)

    def over(self, loss: int) -> bool:
        """Whether it ends here."""
        return loss <= self.enough or self.asked or self.left == 0

    def part(self, seconds: float) -> Effort:
        """The same, but with no more than so many seconds from now."""
        return replace(self, ends=min(self.ends, time.perf_counter() + seconds))
