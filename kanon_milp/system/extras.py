"""Modules that only some installations have."""

from __future__ import annotations

import functools
import os
import sys
from importlib import import_module, metadata
from typing import Any

from kanon_milp.errors import InputError


def optional(module: str, extra: str, what: str) -> Any:
    """A module that an extra of the package brings; raises InputError that says how to get it where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        need = f"{what} needs {module}, which is not installed"
        raise InputError(f"{need}; install the extra: pip install 'kanon-milp[{extra}]'") from None


def entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    """What installed packages bring under this name.

    They are looked up again where the search path or one of its folders has changed: to read what all packages bring
    takes longer than to solve a small problem.
    """
    return _entry_points(group, tuple(map(_state, sys.path)))


@functools.lru_cache(maxsize=8)
def _entry_points(group: str, _path: tuple[tuple[str, int, int], ...]) -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group=group))


def _state(place: str) -> tuple[str, int, int]:
    """A folder, or an archive, and when something was put into it or taken away."""
    try:
        found = os.stat(place or os.curdir)
    except (OSError, ValueError):
        return place, 0, 0
    return place, found.st_ino, found.st_mtime_ns
