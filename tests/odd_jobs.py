"""Jobs that go wrong, of a campaign and of others; a module of its own, since the processes that do them import it."""

from __future__ import annotations

import os
import time
from typing import Any


def work(seed: int, number: int) -> dict[str, Any]:
    if number == 1:
        os._exit(7)
    if number == 2:
        time.sleep(3600)
    if number == 3:
        raise ValueError(seed)
    return {"tags": ["fine"], "failures": []}


def die(*_: object) -> None:
    """End the process."""
    os._exit(3)
