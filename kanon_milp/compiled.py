"""Compilation of inner loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function over arrays to machine code, kept on disk; other threads go on while it runs."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))
