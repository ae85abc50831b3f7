"""Numbers that kernels and their callers share."""

from __future__ import annotations

FAILED = 1 << 62  # instead of a change of the loss
INFINITE = float("inf")  # the same under requirements
FRACTION = 0.5  # of a row, that any violation counts in addition: small ones would be bargains
SAMPLE = 300  # rows of a large cover that one move under requirements looks at
DRAWS = 8  # from a cover or from options, until one of them is of use
