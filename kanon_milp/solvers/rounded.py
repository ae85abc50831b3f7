"""A solver's point with integers that are integers, and the continuous variables that go with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kanon_milp.errors import KanonError
from kanon_milp.solvers import get
from kanon_milp.solvers.base import Floats, LinearModel, SolverOptions, StopReason


def with_integers_rounded(model: LinearModel, x: Floats, seconds: float | None) -> Floats | None:
    """The best point of the model whose integer variables are those of x, rounded.

    Solvers return integers that are some 10⁻⁶ off, and continuous variables that fit those: beside the rounded ones,
    such a point is none of the model, and its objective may be better than any. So the linear program that is left is
    solved. seconds: for that; None for no limit. None where it has no solution, or was not solved.
    """
    integers = np.round(x)
    if model.integer.all():
        return integers
    fixed = replace(
        model,
        lower=np.where(model.integer, integers, model.lower),
        upper=np.where(model.integer, integers, model.upper),
        integer=np.zeros(model.variables, dtype=bool),
    )
    try:
        found = get("highs").solve(fixed, SolverOptions(time_limit=seconds))
    except KanonError:
        return None
    if found.stop_reason is not StopReason.OPTIMAL or found.x is None:
        return None
    return np.where(model.integer, integers, found.x)
