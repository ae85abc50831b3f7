"""Answers of different runs held against each other, and against what is known: what contradicts is a red row."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import polars as pl

from kanon_milp.problem.exact import in_words
from kanon_milp.studies.bench.plan import INFEASIBLE, UNBOUNDED
from kanon_milp.studies.bench.sources import sign_of

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
    sign = sign_of(row["sense"])
    return sign * (b - a) > SLACK * max(abs(a), abs(b), Fraction(1)) if _rough(a, b) else sign * (b - a) > 0


def _rough(*values: Fraction) -> bool:
    """Whether one of them is no short fraction, so that it comes from floating point."""
    return any(value.denominator > 10**6 for value in values)


def _point(row: dict[str, Any]) -> Fraction | None:
    """The objective of a solution in which nothing was found wrong."""
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
