"""What Ctrl-C does while a table is being made."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STOPPING = "stopping: the best table so far is verified and written; another signal discards it\n"
AGAIN = "interrupted again: what was found so far is not written\n"


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
