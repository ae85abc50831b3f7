"""Numbers that kernels and their callers share."""

from __future__ import annotations

FAILED = 1 << 62  # instead of a change of the loss
INFINITE = float("inf")
