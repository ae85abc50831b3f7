"""The time that each step of a solve session takes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

STEPS = (
    "read",
    "compress",
    "candidates",
    "reduce",
    "bound",
    "search",
    "build",
    "handover",
    "solve",
    "assign",
    "verify",
)
OPTIONAL_STEPS = ("bound", "search")

LOGGER = logging.getLogger(__name__)

OnStage = Callable[[str], None]


@dataclass
class Clock:
    """Wall-clock seconds of each step, and the stage that is on."""

    on_stage: OnStage | None = None
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STEPS, 0.0))
    began: float = field(default_factory=time.perf_counter)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step."""
        if self.on_stage is not None:
            self.on_stage(name)
        LOGGER.info("%s begins", name)
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.seconds[name] += seconds
            LOGGER.info("%s: %.3f s", name, seconds)

    def since_reading(self) -> float:
        """Seconds since the table was read."""
        return time.perf_counter() - self.began

    def total(self) -> dict[str, float]:
        """All seconds with their total; steps that not every method has where they took any."""
        spent = {step: seconds for step, seconds in self.seconds.items() if seconds or step not in OPTIONAL_STEPS}
        return {**spent, "total": self.since_reading() + self.seconds["read"]}
