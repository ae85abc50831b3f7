"""The optimum of a random problem by brute force, and whether a result agrees with it."""

from __future__ import annotations

from fractions import Fraction

from oracle import optimum
from sensitive_cases import SensitiveCase

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code


def judge(case: SensitiveCase) -> Fraction | None:
    return optimum(case.case.rows, case.k, **case.judged())


def check(expected: Fraction | None, result: km.Result) -> None:
    if expected is None:
        assert result.proof == "infeasible"
        assert exit_code(result) == 3
        assert result.table is None
    else:
        assert result.exact_objective == expected
        assert result.exact_bound == expected
        assert result.is_optimal
        assert result.gap == 0
        assert exit_code(result) == 0


def value(result: km.Result) -> Fraction | None:
    """The optimal value; None where there is no solution. Both are proven."""
    assert result.is_optimal or result.proof == "infeasible"
    return result.exact_objective
