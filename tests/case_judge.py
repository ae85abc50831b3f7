"""The optimum of a random problem by brute force, and whether a result agrees with it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import judges
from oracle import optimum
from sensitive_cases import SensitiveCase

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code


def judge(case: SensitiveCase) -> Fraction | None:
    return optimum(case.case.rows, case.k, **case.judged())


def judge_subset(case: SensitiveCase) -> Fraction | None:
    """Of a case in which some columns must be k-anonymous, by trying every table."""
    assert case.subset is not None
    judged, (columns, number), holds = case.case.judged(), case.subset, case.requirement
    exempt = judged.pop("suppressed_rows") == "exempt"

    def valid(released: Sequence[tuple[str | None, ...]]) -> bool:
        return (
            judges.k_anonymous_in(released, columns, number, exempt)
            and judges.k_anonymous_in(released, range(len(released[0])), case.k, exempt)
            and all(holds(group) for group in judges.groups_of(released).values())
        )

    return judges.best_table(case.case.rows, valid, **judged)


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
