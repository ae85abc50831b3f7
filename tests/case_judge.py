"""The optimum of a random problem by brute force, and what is wrong with a result; no code of the package judges it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import judges
from oracle import Row, optimum, released_rows
from sensitive_cases import SensitiveCase
from strategies import Case

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.verify import check_certificate

AnyCase = Case | SensitiveCase


@dataclass(frozen=True)
class Truth:
    """The optimum, and the least loss without the side constraints that no certificate states; None where there is no
    table."""

    best: Fraction | None
    loss: Fraction | None


def plain(case: AnyCase) -> Case:
    return case.case if isinstance(case, SensitiveCase) else case


def judge(case: AnyCase, *, sides: bool = True) -> Fraction | None:
    """The optimum, with or without the side constraints that no certificate states."""
    base, judged = plain(case), case.judged()
    if not sides:
        judged = {key: value for key, value in judged.items() if key not in base.sides or key in certified_sides(base)}
    if not (isinstance(case, SensitiveCase) and case.sets):
        return optimum(base.rows, case.k, **judged)
    for key in ("suppressed_rows", "requirement", "units"):
        judged.pop(key)
    return judges.best_table(base.rows, lambda released: valid_table(case, released), **judged)


def certified_sides(base: Case) -> tuple[str, ...]:
    """The side constraints that a certificate may state."""
    return ("max_groups", "min_groups") if base.sides.get("objective", "loss") == "loss" else ()


def truth(case: AnyCase) -> Truth:
    best = judge(case)
    return Truth(best, judge(case, sides=False) if plain(case).sides else best)


def valid_table(case: AnyCase, released: Sequence[Row]) -> bool:
    """Whether the groups of a released table have what is asked for; cells and loss are another matter."""
    every, exempt = range(len(plain(case).rows[0])), plain(case).suppressed_rows == "exempt"
    if not isinstance(case, SensitiveCase):
        return judges.k_anonymous_in(released, every, case.k, exempt)
    groups = judges.groups_of(released)
    return (
        all(judges.k_anonymous_in(released, columns, k, exempt) for columns, k in case.sets)
        and all(case.requirement(group) for group in groups.values())
        and all(
            (exempt and set(row) == {"*"})
            or len(group if case.units is None else {case.units[i] for i in group}) >= case.k
            for row, group in groups.items()
        )
    )


def wrong_result(case: AnyCase, result: km.Result, known: Truth) -> list[str]:
    """What is wrong with a result: verdict, optimum, bound, exit code and table."""
    best, found = known.best, list[str]()
    if result.report is not None and not result.report.ok:
        found.append("verification failed: a table was made that the verifier refuses")
    if result.proof == "infeasible" and (best is not None or result.table is not None):
        found.append(f"infeasible: said of a problem with the optimum {best}")
    if result.is_optimal and not (result.exact_objective == result.exact_bound == best and result.gap == 0):
        found.append(f"wrong optimum: {result.exact_objective} and bound {result.exact_bound}, and it is {best}")
    if (result.proof == "optimal") != result.is_optimal or (exit_code(result) == 0) != result.is_optimal:
        found.append(f"wrong proof: {result.proof}, exit code {exit_code(result)}")
    if (exit_code(result) == 3) != (result.proof == "infeasible"):
        found.append(f"wrong exit code: {exit_code(result)} with the proof {result.proof}")
    if result.stop_reason == "error":
        found.append(f"error: {result.message[:200]}")
    largest = plain(case).sides.get("objective") == "max_groups"
    bound = result.exact_bound
    if best is not None and bound is not None and (bound < best if largest else bound > best):
        found.append(f"wrong bound: {bound}, and the optimum is {best}")
    return found if result.table is None else [*found, *wrong_table(case, result)]


def wrong_table(case: AnyCase, result: km.Result) -> list[str]:
    """What is wrong with the table itself: cells, groups, loss, side constraints."""
    base = plain(case)
    assert result.table is not None
    released = list(result.table.select(base.names).rows())
    readings = released_rows(base.rows, base.hierarchies, base.vectors, base.weights, base.level_costs)
    if any(i not in readings.get(row, {}) for i, row in enumerate(released)):
        return ["wrong table: a released row is none that its row may become"]
    if not valid_table(case, released):
        return ["wrong table: a group has not what is asked for"]
    loss = sum((readings[row][i] for i, row in enumerate(released)), Fraction(0))
    groups, sides, said = len(set(released)), base.sides, result.exact_objective
    if said != (loss if sides.get("objective", "loss") == "loss" else groups):
        return [f"wrong objective: {said} of a table with loss {loss} and {groups} groups"]
    broken = (
        loss > sides.get("cost_bound", loss)
        or groups < sides.get("min_groups", groups)
        or groups > sides.get("max_groups", groups)
    )
    return ["wrong table: it breaks a side constraint"] if broken else []


def wrong_certificate(problem: km.Problem, result: km.Result, known: Truth) -> list[str]:
    """What is wrong with the certificate of a result."""
    loss = known.loss
    try:
        found = result.certify()
    except km.InputError as error:
        return [f"wrong: no certificate of a result that is no proof of infeasibility: {error}"]
    report = check_certificate(problem, json.loads(json.dumps(found.as_dict())))
    if not report.valid:
        return [f"certificate refused: {'; '.join(report.problems)}"]
    if report.bound != found.bound:
        return [f"certificate of {found.bound}, and its checker proves {report.bound}"]
    if loss is not None and report.bound > loss:
        return [f"certificate above the optimum: {report.bound}, and no table loses less than {loss}"]
    if loss is not None and " at all" in report.statement:
        return ["certificate: it says that there is no table, and there is one"]
    return []


def check(expected: Fraction | None, result: km.Result) -> None:
    """It has this optimum and proves it, or proves that there is no table."""
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
