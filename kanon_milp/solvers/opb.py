"""Write a pure 0-1 model for pseudo-Boolean solvers: OPB, in which all numbers are integers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.solvers.model import LinearModel

NUMBERED = "x1, x2, ..."  # the names that variables have in such a file, in the order of the model
_DENOMINATOR = 1000  # of the fractions that coefficients such as 0.1 are read as


def opb_lines(model: LinearModel, variables: Sequence[str], constraints: Sequence[str]) -> Iterator[str]:
    """Pieces of an OPB file, the line with the sizes first.

    Each constraint is multiplied by what makes its numbers integers, one with two sides is two, and variables that are
    fixed have a constraint. The objective has no constant, and is multiplied likewise; a comment says both.
    Raises InputError for a model with variables that are not 0 or 1. constraints: the names of these, for comments.
    """
    _expect_binary(model)
    A, lines = model.A, []
    for i, constraint in enumerate(constraints):
        at = slice(A.indptr[i], A.indptr[i + 1])
        names = [variables[j] for j in A.indices[at].tolist()]
        low, high = float(model.constraint_lower[i]), float(model.constraint_upper[i])
        sides = [(low, "=", 1)] if low == high else [(low, ">=", 1), (high, ">=", -1)]
        for side, sign, factor in sides:
            if math.isfinite(side):
                *values, right = _integers([*A.data[at].tolist(), side], factor)[0]
                if not any(values) and (right == 0 or (right < 0 and sign == ">=")):
                    continue
                terms = _terms(values, names) or f"+0 {variables[0]} "
                lines.append(f"* {constraint}\n{terms}{sign} {right} ;\n")
    fixed = np.flatnonzero(model.lower == model.upper).tolist()
    lines += [f"+1 {variables[j]} = {int(model.lower[j])} ;\n" for j in fixed]
    costs, scale = _integers(model.c.tolist())
    yield f"* #variable= {model.variables} #constraint= {len(lines)}\n"
    yield f"* objective of the model = {1 / scale} * objective of this file + {model.offset:.17g}\n"
    yield f"min: {_terms(costs, variables)};\n"
    yield from lines


def _expect_binary(model: LinearModel) -> None:
    bounds = np.isin(model.lower, (0, 1)) & np.isin(model.upper, (0, 1))
    wrong = np.flatnonzero(~bounds | ~(model.integer | model.integral))
    if not len(wrong):
        return
    j = int(wrong[0])
    others = f" and {len(wrong) - 1:,} others" if len(wrong) > 1 else ""
    raise InputError(
        f"OPB is for variables that are 0 or 1, and {model.variable_names[j]}{others} may have "
        f"{'fractional' if bounds[j] else 'other'} values in this model; write .mps, .lp or .ommx"
    )


def _integers(values: Sequence[float], factor: int = 1) -> tuple[list[int], Fraction]:
    """Numbers times what makes them integers (returned, too) and times the factor."""
    exact = [_exact(value) for value in values]
    scale = math.lcm(*(value.denominator for value in exact))
    shared = math.gcd(*(int(value * scale) for value in exact)) or 1
    return [factor * int(value * scale) // shared for value in exact], Fraction(scale, shared)


def _exact(value: float) -> Fraction:
    simple = Fraction(value).limit_denominator(_DENOMINATOR)
    return simple if float(simple) == value else Fraction(value)


def _terms(values: Sequence[int], names: Sequence[str]) -> str:
    return "".join(f"{value:+d} {name} " for value, name in zip(values, names, strict=True) if value)
