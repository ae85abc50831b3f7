"""Answers checked: a point against its model in exact arithmetic, and rows against each other and what is known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from kanon_milp.errors import counted
from kanon_milp.problem.exact import in_words
from kanon_milp.solvers import SolverOptions, StopReason, get
from kanon_milp.solvers.checked import with_integers_rounded
from kanon_milp.solvers.model import LinearModel
from kanon_milp.studies.bench.plan import INFEASIBLE, UNBOUNDED
from kanon_milp.studies.bench.sources import sign_of
from kanon_milp.system.arrays import Flags, Floats

INTEGRALITY = 1e-5  # by how much an integer variable may miss an integer
FEASIBILITY = 1e-5  # of a constraint with continuous variables, relative to its side
LP_SECONDS = 20.0  # to find continuous variables that go with the rounded integers
_FALLS = 1e-9  # by how much the objective must fall in a direction of size 1
_DENOMINATOR = 1000  # of the fractions that coefficients such as 0.1 are read as
_NEAR = 1e-6  # a continuous variable this near to an integer is taken for it
_LARGE = 2.0**62
_EXACT = 2.0**53


@dataclass(frozen=True)
class CheckedPoint:
    """What is wrong with a point, and what it is worth, exactly, once its integers are rounded."""

    defects: tuple[str, ...]
    objective: Fraction | None


def check_point(model: LinearModel, x: Floats | None) -> CheckedPoint:
    """Check bounds, constraints and integrality of a point, in integers and fractions.

    Integer variables are rounded, after a look at how far they are from integers; a constraint all of whose variables
    have integer values then must hold exactly, others within a tolerance, which is compared exactly, too. Numbers of
    the model are read as the fraction of a denominator up to 1000 whose double they are. Where rounding
    has broken what held within tolerances, continuous variables that go best with the rounded integers are looked for
    by a linear program.
    """
    if x is None:
        return CheckedPoint((), None)
    if x.shape != (model.variables,):
        return CheckedPoint((f"the point has {x.size} values for {model.variables} variables",), None)
    if not np.isfinite(x).all():
        return CheckedPoint((f"{counted(int((~np.isfinite(x)).sum()), 'value')} of the point not finite",), None)
    found = _checked(model, x)
    within = model.violation(x) <= FEASIBILITY * max(1.0, float(np.abs(x).max(initial=0.0)))
    if not found.defects or bool(model.integer.all()) or not within:
        return found
    mended = with_integers_rounded(model, x, LP_SECONDS)
    again = found if mended is None else _checked(model, mended)
    return found if again.defects else again


def check_unbounded(model: LinearModel) -> tuple[str, ...] | None:
    """What is wrong with the answer that the objective improves without end; None where that could not be told.

    With rational numbers it does exactly if the model has a point, and a direction that leads out of no point and in
    which the objective falls: a linear program over directions of limited size.
    """

    def only(side: Floats, inside: float, outside: float) -> Floats:
        """Where a side is finite no direction leads beyond it."""
        return np.where(np.isfinite(side), inside, outside)

    directions = replace(
        model,
        c=model.c / max(1.0, float(np.abs(model.c).max(initial=0.0))),
        offset=0.0,
        constraint_lower=only(model.constraint_lower, 0.0, -np.inf),
        constraint_upper=only(model.constraint_upper, 0.0, np.inf),
        lower=only(model.lower, 0.0, -1.0),
        upper=only(model.upper, 0.0, 1.0),
        integer=np.zeros_like(model.integer),
    )
    free = replace(model, c=np.zeros(model.variables), offset=0.0)
    falls, some = (get().solve(each, SolverOptions(time_limit=LP_SECONDS)) for each in (directions, free))
    if falls.objective is not None and falls.objective > -_FALLS:
        return ("says unbounded, but in no direction does the objective improve without end",)
    if some.stop_reason is StopReason.INFEASIBLE:
        return ("says unbounded, but the model has no point",)
    return () if falls.x is not None and some.x is not None and not check_point(free, some.x).defects else None


def read_number(value: float) -> Fraction:
    """The fraction of a small denominator whose double this is; other numbers as they are."""
    exact = Fraction(value)
    if exact.denominator == 1:
        return exact
    simple = exact.limit_denominator(_DENOMINATOR)
    return simple if float(simple) == value else exact


def exact_value(model: LinearModel, values: list[Fraction]) -> Fraction:
    """The objective of a point, exactly."""
    used = np.flatnonzero(model.c)
    costs = {cost: read_number(cost) for cost in np.unique(model.c[used]).tolist()}
    terms = (costs[cost] * values[j] for j, cost in zip(used.tolist(), model.c[used].tolist(), strict=True))
    return read_number(float(model.offset)) + sum(terms, Fraction(0))


def _checked(model: LinearModel, x: Floats) -> CheckedPoint:
    defects = []
    integers = x[model.integer]
    if (off := float(np.abs(integers - np.round(integers)).max(initial=0.0))) > INTEGRALITY:
        defects.append(f"an integer variable misses an integer by {off:.2g}")
    near = model.integer | (np.abs(x - np.round(x)) <= _NEAR)
    rounded = np.where(near, np.round(x), x)
    values = [Fraction(value) for value in rounded.tolist()]
    if count := _outside(model, rounded, near):
        defects.append(f"{counted(count, 'variable')} outside the bounds")
    count, worst = _violated(model, rounded, near, values)
    if count:
        defects.append(f"{counted(count, 'constraint')} violated, by up to {worst:.3g}")
    return CheckedPoint(tuple(defects), exact_value(model, values))


def _outside(model: LinearModel, x: Floats, near: Flags) -> int:
    """How many variables are outside their bounds; doubles compare exactly."""
    allowed_low = np.where(near, 0.0, FEASIBILITY * np.maximum(1.0, np.abs(np.nan_to_num(model.lower, posinf=0.0))))
    allowed_high = np.where(near, 0.0, FEASIBILITY * np.maximum(1.0, np.abs(np.nan_to_num(model.upper, posinf=0.0))))
    with np.errstate(invalid="ignore", over="ignore"):
        below, above = x < model.lower - allowed_low, x > model.upper + allowed_high
    return int((below | above).sum())


def _violated(model: LinearModel, x: Floats, near: Flags, values: list[Fraction]) -> tuple[int, float]:
    A = sp.csr_array(model.A)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    plain = (A.data == np.rint(A.data)) & (np.abs(A.data) < _EXACT) & near[A.indices] & (np.abs(x[A.indices]) < _EXACT)
    of_entry = np.repeat(np.arange(model.constraints), np.diff(A.indptr))
    integral = np.ones(model.constraints, dtype=np.bool_)
    integral[of_entry[~plain]] = False
    size = abs(A) @ np.abs(x)
    low, high = model.constraint_lower, model.constraint_upper
    integral &= size < _LARGE
    for side in (low, high):
        integral &= ~np.isfinite(side) | (np.abs(side) < _LARGE)
    count, worst = 0, 0.0
    rows = np.flatnonzero(integral)
    if len(rows):
        part = sp.csr_array(A[rows])
        whole = sp.csr_array((part.data.astype(np.int64), part.indices, part.indptr), shape=part.shape)
        reached = whole @ np.where(near, x, 0.0).astype(np.int64)
        for side, least in ((np.ceil(low[rows]), True), (np.floor(high[rows]), False)):
            # an integer is at least a number where it is at least the next integer
            known = np.isfinite(side) & (np.abs(side) < _LARGE)
            ends = np.where(known, side, 0.0).astype(np.int64)
            short = np.where(known, ends - reached if least else reached - ends, 0)
            count += int((short > 0).sum())
            worst = max(worst, float(short.max(initial=0)))
    numbers: dict[float, Fraction] = {}
    for r in np.flatnonzero(~integral).tolist():
        entries = range(A.indptr[r], A.indptr[r + 1])
        total = Fraction(0)
        for e in entries:
            coefficient = float(A.data[e])
            if coefficient not in numbers:
                numbers[coefficient] = read_number(coefficient)
            total += numbers[coefficient] * values[A.indices[e]]
        exactly = bool(near[A.indices[A.indptr[r] : A.indptr[r + 1]]].all())
        for bound, sign in ((float(low[r]), 1), (float(high[r]), -1)):
            if not math.isfinite(bound):
                continue
            needed = read_number(bound)
            missing = sign * (needed - total)
            allowed = Fraction(0) if exactly else Fraction(FEASIBILITY) * max(Fraction(1), abs(needed))
            if missing > allowed:
                count, worst = count + 1, max(worst, float(missing))
    return count, worst


SLACK = Fraction(1, 10**6)  # relative, of values that are not known exactly: a solver's bound on continuous objectives


def judged(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with the defects that show only beside other rows of the same instance, or beside its known optimum.

    A solution counts where the verifier, or the check against the model, has found nothing wrong. It refutes every
    bound beyond it and every "infeasible"; of two proven optima that differ the worse one is refuted by the other's
    solution. A known optimum refutes worse proven optima, bounds beyond it, and solutions better than it.
    """
    rows = frame.to_dicts()
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["instance"], []).append(row)
    for group in groups.values():
        for row in group:
            said = [*row["defects"], *_against_known(row), *_against_others(row, group)]
            row["defects"] = list(dict.fromkeys(said))
    return pl.DataFrame(rows, schema=frame.schema) if rows else frame


def _number(row: dict[str, Any], what: str) -> Fraction | None:
    text = row[f"{what}_exact"]
    return None if text is None else Fraction(text)


def _better(row: dict[str, Any], a: Fraction, b: Fraction) -> bool:
    """Whether a is better than b, by more than rounding."""
    rough = max(a.denominator, b.denominator) > 10**6  # no short fraction: it comes from floating point
    return sign_of(row["sense"]) * (b - a) > (SLACK * max(abs(a), abs(b), Fraction(1)) if rough else 0)


def _point(row: dict[str, Any]) -> Fraction | None:
    own = [each for each in row["defects"] if each.startswith(("model:", "verifier:", "the point"))]
    return None if own or row["verified"] is False else _number(row, "objective")


def _against_known(row: dict[str, Any]) -> Iterator[str]:
    known, objective, bound = row["known"], _number(row, "objective"), _number(row, "bound")
    if known is None or row["ended"] != "finished":
        return
    if known == INFEASIBLE:
        if _point(row) is not None or row["proof"] == UNBOUNDED:
            yield "has a solution of an instance that is known to be infeasible"
        return
    if known == UNBOUNDED:
        yield from _against_unbounded(row, "the instance is known to be unbounded")
        return
    optimum = Fraction(known)
    if row["proof"] in (INFEASIBLE, UNBOUNDED):
        yield f"says {row['proof']}, the known optimum is {in_words(optimum)}"
        return
    if row["proof"] == "optimal" and objective is not None and _better(row, optimum, objective):
        yield f"says optimal with {in_words(objective)}, the known optimum is {in_words(optimum)}"
    if bound is not None and row["proof"] != "optimal" and _better(row, optimum, bound):
        yield f"bound {in_words(bound)} is beyond the known optimum {in_words(optimum)}"
    point = _point(row)
    if point is not None and _better(row, point, optimum):
        yield f"its solution with {in_words(point)} is better than the known optimum {in_words(optimum)}"


def _against_others(row: dict[str, Any], group: list[dict[str, Any]]) -> Iterator[str]:
    if row["ended"] != "finished":
        return
    for other in group:
        if other is not row and other["proof"] == UNBOUNDED and not other["defects"]:
            yield from _against_unbounded(row, f"{_called(other)} says unbounded, which was checked")
        point = None if other is row else _point(other)
        if point is None:
            continue
        whose = _called(other)
        if row["proof"] == INFEASIBLE:
            yield f"says infeasible, {whose} has a solution with {in_words(point)}"
            return
        bound = _number(row, "objective" if row["proof"] == "optimal" else "bound")
        if bound is not None and _better(row, point, bound):
            word = "says optimal with" if row["proof"] == "optimal" else "bound"
            yield f"{word} {in_words(bound)}, {whose} has a solution with {in_words(point)}"
            return


def _against_unbounded(row: dict[str, Any], why: str) -> Iterator[str]:
    """What an objective that improves without end refutes."""
    if row["proof"] == INFEASIBLE:
        yield f"says infeasible, {why}"
    elif row["proof"] != UNBOUNDED and (bound := _number(row, "bound")) is not None:
        yield f"bound {in_words(bound)}, {why}"


def _called(row: dict[str, Any]) -> str:
    parts = [row["solver"], row["method"], row["formulation"]]
    name = ", ".join(part for part in parts if part and part != "none")
    return f"{name} (run {row['run']})"
