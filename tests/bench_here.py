"""Runs of a study in the process of the tests: for tests of what a run finds, not of the process that it has."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from kanon_milp.studies.bench import one_run, supervisor
from kanon_milp.studies.bench.kinds import ANSWER, Teller

_alone = threading.Lock()


class _Here(Teller):
    """What a run has to say goes to whoever watches it, as the same lines of JSON."""

    def __init__(self, watch: supervisor._Watch) -> None:
        self._watch = watch

    def say(self, what: str, **more: Any) -> None:
        self._watch.hear(json.dumps({"what": what, **more}).encode())


def _watched(task: Mapping[str, Any], _token: str, watch: supervisor._Watch) -> tuple[str, str, int | None, float]:
    tell = _Here(watch)
    with _alone:
        began = time.thread_time()
        tell.say(ANSWER, row=one_run._measured(json.loads(json.dumps(dict(task))), tell))
        seconds = time.thread_time() - began
    assert watch.answer is not None
    return str(watch.answer["ended"]), "", 0, seconds


@contextmanager
def runs_here() -> Iterator[None]:
    """In the block, the runs of studies take place in this process, one at a time."""
    with patch.object(supervisor, "_watched", _watched):
        yield
