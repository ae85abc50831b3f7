"""In place of Cython's own module where kernels run as plain Python and Cython is not installed."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

compiled = False
nogil = nullcontext()
gil = nullcontext()
longlong = int


def cast(kind: Any, value: Any) -> Any:
    """A number as one of another type."""
    return kind(value)
