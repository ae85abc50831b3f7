"""7,000 random small problems under requirements through the hybrid method, against the brute-force judge.

python benchmarks/random_hybrid.py                              1,000 for each requirement and 1,000 with several
python benchmarks/random_hybrid.py --count 700 --seed 7         another draw, shorter
python benchmarks/random_hybrid.py --seed 7 --only 123          one of them again, with the problem in its row

On a table of a few rows the bound and the first table meet before anything else begins. So every third problem has a
rough bound, whose multipliers are what fixing and the core problem then rest on, and every third one has no core
problem, so that its table is one that construction, annealing and neighbourhoods have found. Wrong is what is wrong in
benchmarks/random_problems.py. Of every second one there is a certificate, which the checker has to accept; it is forged
as well, by a higher claim and by a number changed somewhere, and what the checker then accepts must be true.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import campaign  # makes the judges of the tests known
from drawn import Draw
from mutations import owner, places
from random_problems import disagreements, expected, tags
from sensitive_cases import CLOSENESS, DISCLOSURE, DIVERSITY, SensitiveCase

import kanon_milp as km
from kanon_milp.methods import core_problem, required_guide
from kanon_milp.methods.refusals import groups_not_alone
from kanon_milp.verify import check_certificate

REQUIREMENTS = (("p",), DIVERSITY[1:], ("alpha", "alpha named"), ("beta",), DISCLOSURE, CLOSENESS, None)
ROUGH = 2  # iterations of the bound
FORGERIES = 6  # of a certificate
SECONDS = 30.0


def drawn_case(draw: Draw, number: int) -> SensitiveCase:
    """A problem that the hybrid method is for, with a requirement of the kind whose turn it is."""
    kinds = REQUIREMENTS[number % len(REQUIREMENTS)]
    while True:
        base = draw.recoded(sides=False) if draw.one_in(2) else draw.plain()
        case = draw.sensitive(base)
        if kinds is not None:
            case = replace(case, demands=tuple(demand for demand in case.demands if demand.kind in kinds)[:1])
        enough = 1 if kinds else 2
        if len(case.demands) >= enough and not groups_not_alone(case.problem()):
            return case


@contextmanager
def the_way(number: int) -> Iterator[str]:
    """As it is, with a rough bound, or without a core problem."""
    way = ("as it is", "rough bound", "no core problem")[number // len(REQUIREMENTS) % 3]
    with ExitStack() as stack:
        if way != "as it is":
            stack.enter_context(mock.patch.object(required_guide, "COUNTED_ITERATIONS", ROUGH))
            stack.enter_context(mock.patch.object(required_guide, "EASY_PAIRS", -1))
        if way == "no core problem":
            stack.enter_context(mock.patch.object(core_problem, "MODEL_PAIRS", 0))
        yield way


def work(seed: int, number: int) -> campaign.Row:
    """Draw a problem, solve it, judge it, forge its certificate."""
    draw = Draw(f"hybrid-{seed}-{number}")
    try:
        case = drawn_case(draw, number)
        problem = case.problem()
    except km.InputError as error:
        return {"tags": [f"(no problem: {str(error)[:60]})"], "failures": []}
    options: dict[str, Any] = {"method": "search", "time_limit": SECONDS, "iteration_limit": draw.choice([1, 3])}
    with the_way(number) as way:
        result = km.solve(problem, seed=number, **options)
    loss, best = expected(case)
    failures = disagreements(case, result, best)
    if result.table is None and best is not None:
        failures.append(f"no table of a problem with the optimum {best}: {result.stop_reason}, {result.message[:100]}")
    found = [*tags(case), f"way {way}", f"proof {result.proof}"]
    found += ["optimum found"] if best is not None and result.exact_objective == best else []
    if draw.one_in(2) and result.proof != "infeasible":
        wrong, accepted = forged(problem, result, loss, draw)
        failures += wrong
        found += ["certificates", *["forgery that is true"] * accepted]
    row: campaign.Row = {"tags": found, "failures": failures}
    if failures:
        row |= {"case": repr(case), "options": options, "result": result.summary(), "optimum": str(best)}
    return row


def forged(problem: km.Problem, result: km.Result, loss: Fraction | None, draw: Draw) -> tuple[list[str], int]:
    """What is wrong with the certificate, or with what the checker says of forged ones; how many it has accepted."""
    true, accepted = result.certify().as_dict(), 0
    report = check_certificate(problem, true)
    if not report.valid:
        return [f"certificate refused: {'; '.join(report.problems)}"], 0
    found = []
    if loss is not None and report.bound > loss:
        found.append(f"certificate above the optimum: {report.bound}, and no table loses less than {loss}")
    numbers = [each for each in places(true) if isinstance(owner(true, each)[each[-1]], int)]
    for _ in range(FORGERIES):
        false = copy.deepcopy(true)
        place = draw.choice(numbers)
        inside = owner(false, place)
        inside[place[-1]] += draw.choice([-1, 1]) * draw.choice([1, 1, 2, 7, 1000, 10**6, 10**9])
        try:
            report = check_certificate(problem, false)
        except km.InputError:
            continue
        accepted += report.valid
        if report.valid and loss is not None and report.bound > loss:
            found.append(f"forged certificate accepted: {place}, {report.bound} above the optimum {loss}")
    return found, accepted


if __name__ == "__main__":
    sys.exit(campaign.main(work, __doc__ or "", 7_000))
