"""When a bound is no longer improved."""

from __future__ import annotations

from dataclasses import dataclass

from kanon_milp.system.limit import Limit


@dataclass(frozen=True)
class BoundLimit(Limit):
    """A moment and an event as in `Limit`, a loss to prove, and numbers of iterations or of rounds of cuts.

    target: a loss in units, such as that of a table at hand. A bound above target - 1 proves that there is nothing
    cheaper. With a number of iterations or rounds and no moment no clock plays a part.
    """

    target: float | None = None
    iterations: int | None = None
    rounds: int | None = None

    def reached(self, value: float, margin: float, *, iterations: int = 0, rounds: int = 0) -> bool:
        """Whether a bound of this value is good enough, or the time is over.

        margin: what rounding the multipliers may cost. iterations, rounds: how many there were.
        """
        if self.target is not None and value > self.target - 1 + margin:
            return True
        if self.iterations is not None and iterations >= self.iterations:
            return True
        return (self.rounds is not None and rounds >= self.rounds) or self.over
