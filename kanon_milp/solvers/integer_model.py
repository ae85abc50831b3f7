"""A linear model with integer data and variables, exactly or not at all: for solvers that know nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanon_milp.errors import SolverError, counted
from kanon_milp.solvers.base import Floats, LinearModel

_DENOMINATOR = 1000  # largest denominator that a number may have
_EXACT = 1 << 53  # every integer below is a double
_OBJECTIVE = 1 << 40  # values of the objective below are told apart even where a solver reports them as doubles
_ROUNDS = 10  # of deriving bounds from constraints
_CLOSE = Fraction(1, 10**6)  # sides that miss an integer by rounding only, such as 0.3 computed as 3 * 0.1


@dataclass(frozen=True, eq=False)
class IntegerModel:
    """Minimize offset + (c·x)/unit subject to low ≤ A·x ≤ high and lower ≤ x ≤ upper, all data and variables integer.

    None as a side of a constraint is no side. least: c·x is at least that within the bounds.
    """

    c: list[int]
    unit: int
    offset: Fraction
    indptr: list[int]
    indices: list[int]
    coefficients: list[int]
    low: list[int | None]
    high: list[int | None]
    lower: list[int]
    upper: list[int]
    least: int

    def below(self, value: int) -> float:
        """The objective where c·x is this number, rounded down if it is no double."""
        exact = self.offset + Fraction(value, self.unit)
        rounded = float(exact)
        return math.nextafter(rounded, -math.inf) if Fraction(rounded) > exact else rounded

    def read_objective(self, objective: float) -> int:
        """c·x where a solver reports this objective, which is an integer but for rounding."""
        return math.floor((Fraction(objective) - self.offset) * self.unit + Fraction(1, 1000))


def integer_model(model: LinearModel, solver: str) -> IntegerModel | None:
    """State a model in integers; None if its bounds contradict each other then.

    Continuous variables become integer where `model.integral` says that this loses nothing. Numbers are read as the
    fraction of a denominator up to 1000 whose double they are. Infinite bounds are replaced by what the constraints
    imply. Raises SolverError where any of this is impossible.
    """
    if not (model.integer.all() or model.integral):
        raise SolverError(
            f"{solver} solves integer programs only, and {counted(int((~model.integer).sum()), 'variable')} of this "
            "model may be fractional; take another solver"
        )
    A = sp.csr_array(model.A)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    units = _units(A, solver)
    scale = np.repeat(units, np.diff(A.indptr))
    coefficients = [int(v) for v in np.rint(A.data * scale).tolist()]
    low = [
        math.ceil(_read(v) * u - _CLOSE) if math.isfinite(v) else None for v, u in _pairs(model.constraint_lower, units)
    ]
    high = [
        math.floor(_read(v) * u + _CLOSE) if math.isfinite(v) else None
        for v, u in _pairs(model.constraint_upper, units)
    ]
    lower = [math.ceil(_read(v) - _CLOSE) if math.isfinite(v) else None for v in model.lower.tolist()]
    upper = [math.floor(_read(v) + _CLOSE) if math.isfinite(v) else None for v in model.upper.tolist()]
    matrix = A.indptr.tolist(), A.indices.tolist(), coefficients
    _tighten(matrix, low, high, lower, upper)
    if None in lower or None in upper:
        raise SolverError(
            f"{solver} needs bounds for all variables, and neither the bounds nor the constraints of this model limit "
            f"{sum(a is None or b is None for a, b in zip(lower, upper, strict=True))} of them; take another solver"
        )
    least_values, most_values = [v for v in lower if v is not None], [v for v in upper if v is not None]
    if any(a > b for a, b in zip(least_values, most_values, strict=True)):
        return None
    unit = _unit(model.c.tolist(), solver, "objective")
    c = [int(_read(v) * unit) for v in model.c.tolist()]
    ends = [(v * a, v * b) for v, a, b in zip(c, least_values, most_values, strict=True)]
    if sum(max(abs(a), abs(b)) for a, b in ends) + abs(model.offset * unit) >= _OBJECTIVE:
        raise SolverError(f"the objective has values that are too large for {solver}; take another solver")
    least = sum(min(a, b) for a, b in ends)
    return IntegerModel(c, unit, Fraction(model.offset), *matrix, low, high, least_values, most_values, least)


def _pairs(values: Floats, units: NDArray[np.int64]) -> Iterable[tuple[float, int]]:
    return zip(values.tolist(), units.tolist(), strict=True)


def _read(value: float) -> Fraction:
    """The fraction of a small denominator whose double this is; other numbers as they are."""
    if value.is_integer():
        return Fraction(int(value))
    simple = Fraction(value).limit_denominator(_DENOMINATOR)
    return simple if float(simple) == value else Fraction(value)


def _unit(values: Iterable[float], solver: str, where: str) -> int:
    """What all these numbers have to be multiplied by to be integers."""
    unit, largest = 1, 0.0
    for value in values:
        largest = max(largest, abs(value))
        if not value.is_integer():
            read = _read(value)
            unit = math.lcm(unit, read.denominator)
            if read.denominator > _DENOMINATOR or unit > _DENOMINATOR**2:
                raise SolverError(
                    f"{solver} solves integer programs only, and the {where} has coefficients that are not fractions "
                    "with small denominators; take another solver"
                )
    if largest * unit >= _EXACT:
        raise SolverError(f"the {where} has coefficients that are too large for {solver}; take another solver")
    return unit


def _units(A: sp.csr_array, solver: str) -> NDArray[np.int64]:
    """By what each constraint has to be multiplied."""
    units = np.ones(A.shape[0], dtype=np.int64)
    plain = (A.data == np.rint(A.data)) & (np.abs(A.data) < _EXACT)
    constraint = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    for r in np.unique(constraint[~plain]).tolist():
        units[r] = _unit(A.data[A.indptr[r] : A.indptr[r + 1]].tolist(), solver, f"constraint {r}")
    return units


def _tighten(
    matrix: tuple[list[int], list[int], list[int]],
    low: list[int | None],
    high: list[int | None],
    lower: list[int | None],
    upper: list[int | None],
) -> None:
    """Bound what is unbounded by the constraints: a_j·x_j ≤ high - (the least that the other terms can be)."""
    indptr, indices, coefficients = matrix
    for _ in range(_ROUNDS):
        if None not in lower and None not in upper:
            return
        for r in range(len(low)):
            entries = [(indices[e], coefficients[e]) for e in range(indptr[r], indptr[r + 1])]
            if any(lower[j] is None or upper[j] is None for j, _ in entries):
                _tighten_one(entries, high[r], lower, upper)
                negated = None if low[r] is None else -(low[r] or 0)
                _tighten_one([(j, -a) for j, a in entries], negated, lower, upper)


def _tighten_one(
    entries: list[tuple[int, int]], high: int | None, lower: list[int | None], upper: list[int | None]
) -> None:
    """The same for one constraint Σ a_j·x_j ≤ high."""
    if high is None:
        return
    total, endless = 0, []
    for j, a in entries:
        end = lower[j] if a > 0 else upper[j]
        if end is None:
            endless.append(j)
        else:
            total += a * end
    for j, a in entries:
        if a == 0 or (endless and endless != [j]):
            continue
        end = lower[j] if a > 0 else upper[j]
        room = high - total + (0 if end is None else a * end)
        if a > 0 and upper[j] is None:
            upper[j] = room // a
        elif a < 0 and lower[j] is None:
            lower[j] = -(room // -a)
