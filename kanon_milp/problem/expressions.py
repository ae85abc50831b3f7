"""Linear expressions over many variables, declared fast."""

from __future__ import annotations

from typing import Any

from pyomo.core.expr import LinearExpression


def weighted_sum(coefficients: list[int], variables: list[Any]) -> LinearExpression:
    """Σ coefficient · variable: what `sum(...)` means, without building and flattening a tree of terms."""
    return LinearExpression(constant=0, linear_coefs=coefficients, linear_vars=variables)
