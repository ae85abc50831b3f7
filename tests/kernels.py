"""Parts of compiled functions, which only compiled functions call, for tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from kanon_milp.system.jit import compiled_in_memory

Function = TypeVar("Function", bound=Callable[..., Any])


def runnable(part: Function) -> Function:
    """The same function for callers in Python; each process compiles it anew."""
    names = ", ".join(inspect.signature(part).parameters)
    space: dict[str, Any] = {"part": part}
    exec(f"def call({names}):\n    return part({names})", space)
    found: Function = compiled_in_memory(space["call"])
    return found
