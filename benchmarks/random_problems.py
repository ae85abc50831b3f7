"""20,000 random small problems on every route from a problem to a result, against the brute-force judge.

python benchmarks/random_problems.py                                about half an hour on two cores
python benchmarks/random_problems.py --count 500 --seed 7           another draw, shorter
python benchmarks/random_problems.py --seed 7 --only 123            one of them again, with the problem in its row

The routes are those of tests/routes.py (methods, solvers, formulations, forced ways), which the default tests go with a
few problems each. Every problem is for the next route, every hundredth for all that draw the same problems. Wrong is:
another optimum, another verdict on infeasibility, a bound above the optimum, a released table that is not what is asked
for at the loss that is said, a refusal without a reason, a certificate that the checker refuses or that is above the
optimum, and any exception. Some certificates are forged, by a higher claim or a number changed somewhere: what the
checker then accepts must be true. The judge (tests/oracle.py, tests/judges.py) shares no code with the package.
"""

from __future__ import annotations

import copy
import sys
from random import Random

import campaign  # makes the judges of the tests known
from case_judge import Truth, truth
from mutations import owner, places
from routes import ROUTES, agrees, features

import kanon_milp as km
from kanon_milp.verify import check_certificate

EVERY = 100  # of so many problems one goes all routes that draw such problems
FORGED = 8  # one in so many certified results is forged
FORGERIES = 6  # of a certificate


def work(seed: int, number: int) -> campaign.Row:
    """Draw a problem, solve it, judge it."""
    rng, turn = Random(f"{seed}-{number}"), ROUTES[number % len(ROUTES)]
    case = turn.draw(rng)
    known, problem = truth(case), case.problem()
    routes = [turn] if number % EVERY else [route for route in ROUTES if route.draw is turn.draw]
    failures, tags, said = list[str](), sorted(features(case)), dict[str, str]()
    for route in routes:
        verdict = agrees(case, route, known)
        failures += [f"{route}: {each}" for each in verdict.wrong]
        if verdict.result is None:
            tags.append(f"route {route}: refused")
            continue
        said[route.name] = verdict.result.summary()
        tags.append(f"route {route}: {verdict.result.proof}")
        if route.certified and verdict.result.proof != "infeasible" and rng.randrange(FORGED) == 0:
            wrong, accepted = forged(problem, verdict.result, known, rng)
            failures += wrong
            tags += ["certificates forged", *["forgery that is true"] * accepted]
    row: campaign.Row = {"tags": tags, "failures": failures}
    return row | {"case": repr(case), "results": said, "optimum": str(known.best)} if failures else row


def forged(problem: km.Problem, result: km.Result, known: Truth, rng: Random) -> tuple[list[str], int]:
    """What is wrong with what the checker says of forged certificates; how many it has accepted."""
    true, accepted, found = result.certify().as_dict(), 0, list[str]()
    numbers = [each for each in places(true) if isinstance(owner(true, each)[each[-1]], int)]
    for _ in range(FORGERIES):
        false = copy.deepcopy(true)
        place = rng.choice(numbers)
        owner(false, place)[place[-1]] += rng.choice([-1, 1]) * rng.choice([1, 1, 2, 7, 1000, 10**6, 10**9])
        try:
            report = check_certificate(problem, false)
        except km.InputError:
            continue
        accepted += report.valid
        if report.valid and known.loss is not None and report.bound > known.loss:
            found.append(f"forged certificate accepted: {place}, {report.bound} above the optimum {known.loss}")
    return found, accepted


if __name__ == "__main__":
    sys.exit(campaign.main(work, __doc__ or "", 20_000))
