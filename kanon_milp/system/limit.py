"""When to stop: at a moment, or when somebody asks, as by Ctrl-C; also for work that cannot be asked itself."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_POLL = 0.05  # seconds between two looks at clock and event
_AGAIN = 0.5  # seconds until a call that has swallowed its end is ended once more
STOPPING = "stopping: the best table so far is verified and written; another signal discards it\n"
AGAIN = "interrupted again: what was found so far is not written\n"


class Over(BaseException):
    """The limit was reached within a call. No `Exception`, so that nothing on the way takes it for an error."""


class AlsoSet(threading.Event):
    """An event that is set by itself, or as soon as the other event is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self.other = other

    def is_set(self) -> bool:
        """Whether one of the two is."""
        return super().is_set() or self.other.is_set()


@dataclass(frozen=True)
class Limit:
    """When to stop: at a moment of `time.perf_counter()`, or once the event is set."""

    ends: float = math.inf
    interrupt: threading.Event | None = None

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(self.ends - time.perf_counter(), 0.0)

    @property
    def seconds(self) -> float | None:
        """Seconds left, None where there is no end."""
        return None if math.isinf(self.ends) else self.left

    @property
    def asked(self) -> bool:
        """Whether somebody wants it to stop."""
        return self.interrupt is not None and self.interrupt.is_set()

    @property
    def over(self) -> bool:
        """Whether it ends here."""
        return self.asked or time.perf_counter() >= self.ends

    @property
    def reason(self) -> str:
        """What has ended it, as a stop reason of results."""
        return "interrupted" if self.asked else "time_limit"

    def part(self, seconds: float) -> Self:
        """The same, but with no more than so many seconds from now."""
        return replace(self, ends=min(self.ends, time.perf_counter() + seconds))

    def share(self, part: float, least: float = 0.0) -> Self:
        """The same, but with a part of the seconds that are left, and no fewer than the least."""
        return self if math.isinf(self.ends) else replace(self, ends=time.perf_counter() + max(part * self.left, least))

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function that looks at no clock, such as those of Pyomo, and raise `Over` out of it at the limit.

        It ends between two steps of the interpreter: a single call of a compiled library is not cut short, and what
        the function was changing is left half done, so it must work on things of its own. What such an end makes of
        the function's clean-up, another error or no garbage collection any more, does not get out.
        """
        if self.over:
            raise Over
        if math.isinf(self.ends) and self.interrupt is None:
            return function(*args, **kwargs)
        guard, collected = _Guard(self, sys._getframe()), gc.isenabled()
        guard.start()
        try:
            return function(*args, **kwargs)
        except (Exception, Over) as error:
            guard.disarm()
            if not _comes_of_limit(error):
                raise
            if collected:
                gc.enable()
            raise Over from None
        finally:
            guard.disarm()


NO_LIMIT = Limit()


def _comes_of_limit(error: BaseException) -> bool:
    """Whether it is `Over`, or was raised while that was handled, as by a context manager that it met half done."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, Over):
        cause = cause.__context__
    return cause is not None


class _Guard(threading.Thread):
    """Raises `Over` in the thread of a call, once its limit is reached and for as long as that call is on its stack."""

    def __init__(self, limit: Limit, call: FrameType) -> None:
        super().__init__(name="limit", daemon=True)
        self._limit, self._call, self._thread = limit, call, threading.get_ident()
        self._lock, self._done, self._raised = threading.Lock(), threading.Event(), False

    def run(self) -> None:
        """Wait for the limit, or for the end of the call."""
        while not self._done.wait(_POLL):
            if self._limit.over:
                with _unreported(Over):
                    self._raise()
                return

    def _raise(self) -> None:
        """Once; and again, as long as a destructor or a callback has swallowed it."""
        while not self._done.is_set():
            with self._lock:
                if self._done.is_set() or not self._on_stack():
                    return
                self._raised = True
                _raise_in(self._thread, Over)
            self._done.wait(_AGAIN)

    def disarm(self) -> None:
        """The call has ended: from now on nothing is raised, not even what is already under way.

        That is replaced by one that is caught here. To take it back without another would leave Python 3.11 and 3.12
        with the order to look for it, and then a debugger, a tracer or a coverage tool stands still forever.
        """
        with self._lock:
            self._done.set()
        if not self._raised:
            return
        try:
            _raise_in(self._thread, Over)
            while True:  # it comes at the next step back at the latest
                pass
        except Over:
            self._raised = False

    def _on_stack(self) -> bool:
        frame = sys._current_frames().get(self._thread)
        while frame is not None and frame is not self._call:
            frame = frame.f_back
        return frame is not None


@contextmanager
def _unreported(kind: type[BaseException]) -> Iterator[None]:
    """Python reports what destructors and callbacks cannot raise; of this kind it shall not."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda info: None if issubclass(info.exc_type, kind) else before(info)
    try:
        yield
    finally:
        sys.unraisablehook = before


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    """Raise an exception in another thread at its next step, instead of one that it has not come to yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


@contextmanager
def ctrl_c_sets(interrupt: threading.Event | None, told: bool = False) -> Iterator[threading.Event]:
    """While the block runs, the first Ctrl-C sets the event instead of raising; the second raises.

    told: whether a person is told on standard error what the first one does.
    """
    stop = interrupt or threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt(AGAIN)
        stop.set()
        if told:
            os.write(2, STOPPING.encode())

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
