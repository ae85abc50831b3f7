"""What is being compiled in this process, and for how long; without the compiler, which most problems never need."""

from __future__ import annotations

import math
import threading
import time

LEAST = 0.1  # seconds of compiling of which something is said


class Compilations:
    """Counts functions that are being compiled in this process; what comes from the disk is none.

    begun: how many have been compiled or are being compiled. open: how many are now, or are waited for. kept: whether
    all of them can be kept on disk.
    """

    def __init__(self) -> None:
        self.begun = self.open = 0
        self.kept = True
        self._seconds, self._since = 0.0, 0.0
        self._lock = threading.Lock()

    def begin(self, *, waited_for: bool = False) -> None:
        """One more begins. waited_for: in another process."""
        with self._lock:
            self.begun += not waited_for
            if not self.open:
                self._since = time.perf_counter()
            self.open += 1

    def end(self) -> None:
        """One of them has ended."""
        with self._lock:
            self.open -= 1
            if not self.open:
                self._seconds += time.perf_counter() - self._since

    @property
    def seconds(self) -> float:
        """Wall-clock seconds so far in which this process has compiled, or waited for another one that does."""
        with self._lock:
            return self._seconds + (time.perf_counter() - self._since if self.open else 0.0)


COMPILATIONS = Compilations()
"""Those of this process."""


def compiled_note(seconds: float, time_limit: float | None) -> str:
    """What to say of the seconds that a session with a time limit has spent compiling; empty where there is nothing to
    say."""
    if time_limit is None or math.isinf(time_limit) or seconds < LEAST:
        return ""
    spent = f"{seconds:.1f} s within the time limit ({time_limit:g} s) went into compiling inner loops"
    if not COMPILATIONS.kept:
        return f"{spent}, as every run does where it can keep nothing on disk: name a folder in NUMBA_CACHE_DIR"
    return f"{spent}, which later runs find on disk (`kanon-milp doctor --warm-up` does all of it beforehand)"
