"""Compilation of inner loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function over arrays to machine code; other threads go on while it runs.

    It is compiled when it is first called and kept on disk: beside the source, or where that cannot be written to in
    the folder NUMBA_CACHE_DIR or the user's cache. Where there is no such place either, each process compiles it anew.
    """
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # nowhere to keep it
        return cast(Function, numba.njit(nogil=True)(function))


class _Compilations(event.Listener):
    """Counts functions that are being compiled in this process; what comes from the disk is none."""

    def __init__(self) -> None:
        self.begun = self.open = 0

    def on_start(self, _event: Any) -> None:
        """One more begins."""
        self.begun += 1
        self.open += 1

    def on_end(self, _event: Any) -> None:
        """One of them has ended."""
        self.open -= 1


_compilations = _Compilations()
event.register("numba:compile", _compilations)  # type: ignore[no-untyped-call]


def compiling() -> bool:
    """Whether a function is being compiled now."""
    return _compilations.open > 0


def number_compiled() -> int:
    """How many functions this process has compiled because they were not on disk."""
    return _compilations.begun
