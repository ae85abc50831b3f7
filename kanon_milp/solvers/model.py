"""A mixed-integer linear program as arrays, what a solver must not see of it, and what a point of it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kanon_milp.errors import InputError
from kanon_milp.system.arrays import Flags, Floats

FEASIBILITY = 1e-6  # by how much a start may violate a constraint, a bound or an integrality
VIOLATION = 1e-5  # relative to the largest value (text files have about eight digits); a point beyond is none
EXACT = 2.0**53  # integers up to here are what they are in floating point


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A mixed-integer linear program: minimize offset + c·x, constraint_lower ≤ A·x ≤ constraint_upper,
    lower ≤ x ≤ upper.

    Always a minimization; infinite bounds are ±numpy.inf. A: CSR, one row of the matrix for each constraint, one column
    for each variable; integer: bool (variables,). Names are in the order of variables and constraints and may hold
    anything. integral: if there is an optimum, there is one where the continuous variables have integer values too, so
    that a solver for integer programs finds the same value. The arrays cannot be written to: what is claimed of a model
    is held against the model that was handed over.
    """

    name: str
    c: Floats
    offset: float
    A: sp.csr_array
    constraint_lower: Floats
    constraint_upper: Floats
    lower: Floats
    upper: Floats
    integer: Flags
    variable_names: tuple[str, ...]
    constraint_names: tuple[str, ...]
    integral: bool = False

    def __post_init__(self) -> None:
        """Lock the arrays."""
        rows = (self.A.data, self.A.indices, self.A.indptr, self.constraint_lower, self.constraint_upper)
        for array in (self.c, self.lower, self.upper, self.integer, *rows):
            array.flags.writeable = False

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self.c)

    @property
    def constraints(self) -> int:
        """Number of constraints."""
        return len(self.constraint_lower)

    @property
    def largest_cost(self) -> float:
        """The largest number in the objective."""
        return max(abs(self.offset), float(np.abs(self.c).max(initial=0.0)))

    def violation(self, x: Floats) -> float:
        """Largest violation of a bound, a constraint or an integrality by the point x (absolute)."""
        values = self.A @ x
        worst = 0.0
        for low, value, high in ((self.lower, x, self.upper), (self.constraint_lower, values, self.constraint_upper)):
            if len(value):
                worst = max(worst, float(np.max(low - value)), float(np.max(value - high)))
        if self.integer.any():
            ints = x[self.integer]
            worst = max(worst, float(np.max(np.abs(ints - np.round(ints)))))
        return worst

    def value(self, x: Floats) -> float:
        """Objective value of the point x."""
        return self.offset + float((self.c * x).sum())  # a BLAS would add up in the order of its processor


def check_numbers(model: LinearModel) -> None:
    """Raise InputError for numbers that no solver should see; HiGHS calls a model with a NaN cost solved."""
    arrays = (model.c, model.A.data, model.lower, model.upper, model.constraint_lower, model.constraint_upper)
    if any(np.isnan(array).any() for array in arrays) or math.isnan(model.offset):
        raise InputError(f"model {model.name!r} contains a NaN")
    if not (np.isfinite(model.c).all() and np.isfinite(model.A.data).all() and math.isfinite(model.offset)):
        raise InputError(f"model {model.name!r} contains an infinite coefficient")


def beyond_floats(model: LinearModel) -> str:
    """Why the constraints cannot be handed over: coefficients that floating point does not hold; empty if they can."""
    largest = float(np.abs(model.A.data).max(initial=0.0))
    if largest <= EXACT:
        return ""
    return (
        f"the constraints of the model have coefficients up to {largest:.1g}, which floating point does not hold "
        "exactly: take values or parameters with fewer digits, the method search or subset_dp, or the formulation "
        "groups"
    )


def complaint(model: LinearModel, x: Floats) -> str:
    """What makes a point that a solver has returned useless; empty if nothing does."""
    if x.shape != (model.variables,):
        return f"its point has {x.size} values for {model.variables} variables"
    if not np.isfinite(x).all():
        return f"{int((~np.isfinite(x)).sum())} values of its point are not finite"
    if model.violation(x) > VIOLATION * max(1.0, float(np.abs(x).max(initial=0.0))):
        return "its point does not satisfy the model"
    return ""


def usable_start(model: LinearModel, start: Mapping[int, float] | Floats | None) -> dict[int, float]:
    """The finite values of a start by column; empty for a start that is of no use."""
    if start is None:
        return {}
    try:
        if isinstance(start, Mapping):
            given = {int(column): float(value) for column, value in start.items()}
        else:
            values = np.asarray(start, dtype=np.float64)
            if values.shape != (model.variables,):
                return {}
            given = dict(enumerate(values.tolist()))
    except (TypeError, ValueError):
        return {}
    if not all(0 <= column < model.variables and math.isfinite(value) for column, value in given.items()):
        return {}
    return given


def complete_point(model: LinearModel, given: Mapping[int, float]) -> Floats | None:
    """The start as a point if it is complete and feasible, with exact integers."""
    if len(given) != model.variables or not given:
        return None
    x = np.array([given[column] for column in range(model.variables)])
    if model.violation(x) > FEASIBILITY:
        return None
    x[model.integer] = np.round(x[model.integer])
    clipped: Floats = np.clip(x, model.lower, model.upper)
    return clipped
