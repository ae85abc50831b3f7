"""Every exact method on the same random small problems: they agree with each other and with brute force.

python benchmarks/random_methods.py                            400 problems, some minutes on two cores
python benchmarks/random_methods.py --seed 7 --only 123        one of them again

Asked are the direct MILP by four solvers and in three formulations, the hybrid method, `subset_dp`, `fpt` and
`matching`; a method that refuses a problem is counted as such. Wrong is what benchmarks/random_problems.py says, and a
method that ends without a proof of the optimum, or of infeasibility, where it has not refused the problem. A quarter of
the problems are 2-anonymity or 2-diversity, for `matching`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import campaign  # makes the judges of the tests known
from drawn import Draw
from random_problems import disagreements, drawn_case, expected, plain, tags
from sensitive_cases import SensitiveCase
from strategies import Case

import kanon_milp as km

SECONDS = 30.0
WAYS: dict[str, dict[str, Any]] = {
    **{f"milp, {solver}": {"method": "milp", "solver": solver} for solver in ("highs", "cbc", "scip", "cpsat")},
    **{f"milp, {name}": {"method": "milp", "formulation": name} for name in ("textbook", "groups")},
    **{name: {"method": name} for name in ("search", "subset_dp", "fpt", "matching")},
}
REFUSALS = ("is not for this problem", "may be fractional", "formulation", "use another method", "too many")


def case_of(draw: Draw, number: int) -> Case | SensitiveCase:
    """As in random_problems.py, or for `matching`."""
    if number % 4:
        return drawn_case(draw, number + 1)
    case = draw.plain() if number % 8 else draw.sensitive(draw.plain())
    if isinstance(case, SensitiveCase):
        only = tuple(each for each in case.demands if each.kind in ("l distinct", "p"))
        return replace(case, demands=tuple(replace(each, number="2") for each in only)) if only else case
    return replace(case, k=2)


def work(seed: int, number: int) -> campaign.Row:
    """Draw a problem, solve it in all ways, judge the results."""
    draw = Draw(f"methods-{seed}-{number}")
    case = case_of(draw, number)
    problem = case.problem()
    _, best = expected(case)
    failures, found, said = [], tags(case), {}
    for way, options in WAYS.items():
        try:
            result = km.solve(problem, time_limit=SECONDS, **options)
        except (km.InputError, km.SolverError) as error:
            if not any(words in str(error) for words in REFUSALS):
                raise
            found.append(f"way {way}: refused")
            continue
        found.append(f"way {way}: {result.proof}")
        said[way] = result.summary()
        failures += [f"{way}: {each}" for each in disagreements(case, result, best)]
        if result.proof not in ("optimal", "infeasible"):
            failures.append(f"{way}: not proven within {SECONDS:g} s")
    row: campaign.Row = {"tags": found, "failures": failures, "rows": len(plain(case).rows)}
    if failures:
        row |= {"case": repr(case), "results": said, "optimum": str(best)}
    return row


if __name__ == "__main__":
    sys.exit(campaign.main(work, __doc__ or "", 400))
