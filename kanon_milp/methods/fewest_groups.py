"""As few groups as a cost bound allows (t_out^min): a bound by a multiplier of the number of groups, and a table by
interchange.

With λ, and a multiplier μ ≥ 0 of the number of groups, A(λ, μ) = Σ n_i λ_i + Σ_g min(0, φ_g + μ) is no more than what a
table loses, plus μ for each of its groups (`kanon_milp.bounds.packing_cuts`). So a table that loses s at most has
⌈(A - s)/μ⌉ groups or more. The best (λ, μ) for tables of at most T groups say so of T: the least loss, as a function of
T, is bounded by one that is convex and falls, of which A - μT is a tangent, and that number is Newton's next T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kanon_milp.bounds import lagrangian
from kanon_milp.bounds.dual import DualPoint, ExactDual, prove, round_dual
from kanon_milp.errors import InputError
from kanon_milp.heuristics.interchange import InterchangeParameters, interchange
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("fewest_groups")
@dataclass(frozen=True)
class FewestGroupsParams:
    """Bound and table of as few groups as possible. Tuned on the first 1,000 rows of Adult, k = 5."""

    rounds: int = number(8, "of the bound, at most", least=1)
    iterations: int = number(300, "of it in each of these", least=1)
    tables: int = number(12, "numbers of groups that tables are made for, at most", least=1)


def asks_for_fewest(session: Session) -> bool:
    """Whether this is for the problem."""
    problem = session.problem
    return problem.objective == "min_groups" and session.instance.cost_bound is not None and problem.separable


def fewest_groups(session: Session, limit: Limit) -> tuple[int, Assignment | None]:
    """No table within the cost bound has fewer groups than this; and one of few groups, if one is found.

    n + 1 where there is no such table at all.
    """
    instance, params = session.instance, session.parameters.of(FewestGroupsParams)
    most = instance.cost_bound
    assert most is not None
    first = session.first
    number, dual = session.problem.min_groups or 1, None
    at = number if first is None else max(number, len(np.unique(first.candidate)))
    for _ in range(params.rounds):
        limited = _limited(instance, at)
        found = lagrangian(
            limited, seconds=None if math.isinf(limit.left) else max(limit.left, 0.0), iterations=params.iterations,
            interrupt=limit.interrupt, packing_cuts=False, threads=session.options.threads, params=session.parameters,
        )  # fmt: skip
        dual = found
        proven = _fewest(limited, round_dual(found), most)
        done = proven <= number and at <= number
        number = max(number, proven)
        if done or at == number or number > instance.types.n or limit.over:
            break
        at = number
    assert dual is not None
    return number, _table(session, dual, number, first, limit)


def _limited(instance: Instance, number: int) -> Instance:
    """The least loss of at most so many groups, as a problem."""
    problem = replace(instance.problem, objective="loss", cost_bound=None, min_groups=None, max_groups=number)
    return replace(instance, problem=problem)


def _fewest(instance: Instance, exact: ExactDual, most: int) -> int:
    """How many groups a table has at least that loses no more, in integers. instance: of a largest number of groups."""
    try:
        proof = prove(instance, exact)
    except InputError:  # numbers of more than 64 bits
        return 0
    of_groups = Fraction(sum(exact.packing_multipliers.tolist()), exact.denominator)
    limit = min(instance.problem.most_groups or 0, instance.types.n // int(instance.least.min()))
    short = proof.value + of_groups * limit - most
    if short <= 0:
        return 0
    return math.ceil(short / of_groups) if of_groups else instance.types.n + 1


def _table(session: Session, dual: DualPoint, fewest: int, first: Assignment | None, limit: Limit) -> Assignment | None:
    """The one of the fewest groups that is found by bisection."""
    instance, params = session.instance, session.parameters.of(FewestGroupsParams)
    unit, best = instance.levels.unit, None
    low, high = fewest, instance.types.n // int(instance.least.min())
    if first is not None and first.within(session.problem, unit):
        best, high = first, len(np.unique(first.candidate)) - 1
    share = np.zeros(len(dual.phi)) if dual.open_share is None else dual.open_share
    for _ in range(params.tables):
        if low > high or limit.over:
            break
        at = (low + high) // 2
        found = interchange(instance, dual.phi, share, at, limit, session.parameters.of(InterchangeParameters))
        if found is not None and found.within(session.problem, unit):
            best, high = found, len(np.unique(found.candidate)) - 1
        else:
            low = at + 1
    return best
