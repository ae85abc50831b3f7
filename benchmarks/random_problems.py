"""20,000 random small problems against the brute-force judge: solvers, recodings, requirements, readings, sides.

python benchmarks/random_problems.py                                about half an hour on two cores
python benchmarks/random_problems.py --count 500 --seed 7           another draw, shorter
python benchmarks/random_problems.py --seed 7 --only 123            one of them again, with the problem in its row

Every tenth is plain k-anonymity and solved by `method="search"`, half of these the long way of
benchmarks/random_tables.py: a rough bound, rank-1 cuts, a model of what is left. Every other one goes to the next
solver as one model. Wrong is: another optimum, another verdict on infeasibility, a bound above the optimum, a released
table that is not what is asked for at the loss that is said, a certificate that the checker refuses or that is above
the optimum, and any exception. The judge (tests/oracle.py, tests/judges.py) shares no code with the package. What is
left unproven is counted, and is no failure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import campaign  # makes the judges of the tests known
import judges
from drawn import Draw
from oracle import optimum, released_rows
from random_tables import long_way
from sensitive_cases import SensitiveCase
from strategies import Case

import kanon_milp as km
from kanon_milp.methods.refusals import groups_not_alone
from kanon_milp.verify import check_certificate

SOLVERS = ("highs", "cbc", "scip", "cpsat", "pulp:PULP_CBC_CMD")
FORCED = 10  # every tenth problem is for the hybrid method
CERTIFIED = 4  # of every fourth one the certificate is checked too
SECONDS = 20.0


def drawn_case(draw: Draw, number: int) -> Case | SensitiveCase:
    if number % FORCED == 0:
        return draw.plain() if draw.one_in(2) else draw.recoded(sides=False)
    kind = draw.randrange(20)
    if kind == 0:
        return draw.subset()
    if kind < 6:
        return draw.plain()
    if kind < 11:
        return draw.recoded(sides=True)
    return draw.sensitive(draw.recoded(sides=draw.one_in(3)) if draw.one_in(2) else draw.plain())


def work(seed: int, number: int) -> campaign.Row:
    """Draw a problem, solve it, judge it."""
    draw = Draw(f"{seed}-{number}")
    case = drawn_case(draw, number)
    solver = SOLVERS[(number + number // FORCED) % len(SOLVERS)]
    problem = case.problem()
    forced = number % FORCED == 0 and not groups_not_alone(problem)
    formulation = "strong" if forced else draw.choice(formulations(case))
    options: dict[str, Any] = {"solver": solver, "formulation": formulation, "time_limit": SECONDS}
    options |= {"method": "search"} if forced else {"method": "milp"}
    with long_way(search=number % (2 * FORCED) == 0) if forced and draw.one_in(2) else nullcontext():
        try:
            result = km.solve(problem, **options)
        except km.SolverError as error:
            if solver != "cpsat" or "may be fractional" not in str(error):
                raise
            return {"tags": ["(solver cpsat, which knows whole numbers only, not asked)"], "failures": []}
    loss, best = expected(case)
    failures = disagreements(case, result, best)
    if draw.one_in(CERTIFIED) and result.proof != "infeasible":
        failures += wrong_certificate(problem, result, loss)
    row: campaign.Row = {"tags": [*tags(case), f"solver {solver}", f"formulation {formulation}"], "failures": failures}
    row["tags"] += ["method search (forced)"] if forced else []
    row["tags"] += [f"proof {result.proof}"]
    if failures:
        row |= {"case": repr(case), "options": options, "result": result.summary(), "optimum": str(best)}
    return row


def formulations(case: Case | SensitiveCase) -> list[str]:
    """Those that are about the case; the strong one most often."""
    if not isinstance(case, SensitiveCase):
        return ["strong", "strong", "groups", "textbook"]
    return ["strong"] if case.subset is not None else ["strong", "strong", "groups"]


def plain(case: Case | SensitiveCase) -> Case:
    return case.case if isinstance(case, SensitiveCase) else case


def tags(case: Case | SensitiveCase) -> list[str]:
    base = plain(case)
    found = [f"reading {base.suppressed_rows}", *(f"side {key}" for key in base.sides if key != "objective")]
    found.append(f"objective {base.sides.get('objective', 'loss')}")
    recoding = "hierarchies" if base.hierarchies else "suppression"
    found.append(f"recoding {recoding}{'' if base.vectors is None else ' of a mask'}")
    if set(base.weights) != {1}:
        found.append("recoding with weights")
    asked = [demand.kind for demand in case.demands] if isinstance(case, SensitiveCase) else []
    asked += ["k"] if not isinstance(case, SensitiveCase) or case.with_k else []
    asked += ["k of some columns"] if isinstance(case, SensitiveCase) and case.subset is not None else []
    found += [f"requirement {kind}" for kind in dict.fromkeys(asked)]
    return [*found, *(["requirement (several together)"] if len(asked) > 1 else [])]


def holds(case: Case | SensitiveCase, group: Sequence[int]) -> bool:
    return not isinstance(case, SensitiveCase) or case.requirement(tuple(group))


def valid_table(case: Case | SensitiveCase, released: Sequence[tuple[str | None, ...]]) -> bool:
    """Whether the groups of a released table have what is asked for; cells and loss are another matter."""
    base, k = plain(case), case.k
    exempt = base.suppressed_rows == "exempt"
    if isinstance(case, SensitiveCase) and case.subset is not None:
        columns, number = case.subset
        if not judges.k_anonymous_in(released, columns, number, exempt):
            return False
    return judges.k_anonymous_in(released, range(len(base.rows[0])), k, exempt) and all(
        holds(case, group) for group in judges.groups_of(released).values()
    )


def expected(case: Case | SensitiveCase) -> tuple[Fraction | None, Fraction | None]:
    """The least loss without side constraints, and the optimum."""
    judged, sides = case.judged(), plain(case).sides
    if isinstance(case, SensitiveCase) and case.subset is not None:
        judged.pop("suppressed_rows")
        judged.pop("requirement")
        best = judges.best_table(plain(case).rows, lambda released: valid_table(case, released), **judged)
        return best, best
    best = optimum(plain(case).rows, case.k, **judged)
    if not sides:
        return best, best
    return optimum(plain(case).rows, case.k, **{key: v for key, v in judged.items() if key not in sides}), best


def disagreements(case: Case | SensitiveCase, result: km.Result, best: Fraction | None) -> list[str]:
    """What is wrong with a result."""
    found = []
    if result.report is not None and not result.report.ok:
        found.append("verification failed: a table was made that the verifier refuses")
    if result.proof == "infeasible" and best is not None:
        found.append(f"infeasible: said of a problem with the optimum {best}")
    if result.proof == "optimal" and result.exact_objective != best:
        found.append(f"wrong optimum: {result.exact_objective}, and it is {best}")
    if result.stop_reason == "error":
        found.append(f"error: {result.message[:200]}")
    largest = plain(case).sides.get("objective") == "max_groups"
    bound = result.exact_bound
    if best is not None and bound is not None and (bound < best if largest else bound > best):
        found.append(f"wrong bound: {bound}, and the optimum is {best}")
    if result.table is not None:
        found += wrong_table(case, result)
    return found


def wrong_table(case: Case | SensitiveCase, result: km.Result) -> list[str]:
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
    groups, sides = len(set(released)), base.sides
    said = result.exact_objective
    if said != (loss if sides.get("objective", "loss") == "loss" else groups):
        return [f"wrong objective: {said} of a table with loss {loss} and {groups} groups"]
    broken = (
        loss > sides.get("cost_bound", loss)
        or groups < sides.get("min_groups", groups)
        or groups > sides.get("max_groups", groups)
    )
    return ["wrong table: it breaks a side constraint"] if broken else []


def wrong_certificate(problem: km.Problem, result: km.Result, loss: Fraction | None) -> list[str]:
    report = check_certificate(problem, result.certify().as_dict())
    if not report.valid:
        return [f"certificate refused: {'; '.join(report.problems)}"]
    if loss is not None and report.bound > loss:
        return [f"certificate above the optimum: {report.bound}, and no table loses less than {loss}"]
    if loss is not None and " at all" in report.statement:
        return ["certificate: it says that there is no table, and there is one"]
    return []


if __name__ == "__main__":
    sys.exit(campaign.main(work, __doc__ or "", 20_000))
