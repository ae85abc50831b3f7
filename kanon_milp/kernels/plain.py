"""In place of Cython's own module where kernels run as plain Python and Cython is not installed."""

from __future__ import annotations

from contextlib import nullcontext

compiled = False
nogil = nullcontext()
gil = nullcontext()
