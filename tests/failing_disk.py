"""A disk on which a step of writing fails, and a process that is killed there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kanon_milp.errors import InputError
from kanon_milp.system.files import Fill

CALLS = ("open", "replace", "unlink", "fsync")


class Killed(BaseException):
    """The process is gone: nothing after this happens."""


@contextmanager
def failing_at(index: int, monkeypatch: pytest.MonkeyPatch, *, killed: bool) -> Iterator[list[str]]:
    """The call of that number to the operating system fails, as on a full disk; if killed, so do all after it."""
    made: list[str] = []

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            made.append(name)
            if killed and len(made) > index:
                raise Killed
            if len(made) - 1 == index:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, wrapped(name, getattr(os, name)))
        patch.setattr(Path, "open", wrapped("Path.open", Path.open))
        yield made


def succeeds(work: Callable[[], None]) -> bool:
    """Whether it was done; where not, the error says why."""
    try:
        work()
    except Killed:
        return False
    except InputError as error:
        return "No space left" not in str(error)
    return True


def fill(text: str) -> Fill:
    return lambda file: file.write(text.encode())
