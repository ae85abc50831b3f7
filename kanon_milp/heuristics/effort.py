"""When a search ends: a limit of time, and counts of work."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kanon_milp.system.limit import Limit


@dataclass(frozen=True)
class Effort(Limit):
    """A moment and an event as in `Limit`; it ends as well after so many neighbourhoods, after so many turns that found
    nothing (patience), or when the loss is no more than `enough`.

    With a number of neighbourhoods and no moment no clock plays a part, and the result is the same on every machine for
    the same seed and number of workers.
    """

    neighbourhoods: int | None = None
    enough: int = 0
    patience: float = math.inf

    @property
    def counted(self) -> bool:
        """Whether work is counted, not time."""
        return self.neighbourhoods is not None

    def ended(self, loss: int) -> bool:
        """Whether it ends here."""
        return loss <= self.enough or self.over
