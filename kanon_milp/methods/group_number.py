"""As few or as many groups as a cost bound allows (t_out^min, t_out^max): a bound by a multiplier of their number, and
a table by interchange or by splitting groups.

With λ, and a multiplier μ of the number of groups, A(λ, μ) = Σ n_i λ_i + Σ_g min(0, φ_g + μ) is no more than what a
table loses, plus μ for each of its groups (`kanon_milp.bounds.packing_cuts`). So a table that loses s at most has
⌈(A - s)/μ⌉ groups or more if μ > 0, and ⌊(s - A)/-μ⌋ or fewer if μ < 0. The best (λ, μ) for tables of at most, or at
least, T groups say so of T: the least loss, as a function of T, is bounded by one that is convex, of which A - μT is a
tangent, and that number is Newton's next T.
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
from kanon_milp.heuristics.splitting import split_groups
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("group_number")
@dataclass(frozen=True)
class GroupNumberParams:
    """Bound and table of as few or as many groups as possible. Tuned on the first 1,000 rows of Adult, k = 5."""

    rounds: int = number(8, "of the bound, at most", least=1)
    iterations: int = number(300, "of it in each of these", least=1)
    tables: int = number(12, "numbers of groups that tables are made for, at most", least=1)


def asks_for_number(session: Session) -> bool:
    """Whether this is for the problem."""
    problem, bounded = session.problem, session.instance.cost_bound is not None
    return problem.objective in ("min_groups", "max_groups") and bounded and problem.separable


def group_number(session: Session, limit: Limit) -> tuple[int, Assignment | None]:
    """No table within the cost bound has fewer groups than this, or more where many are asked for; and one of few or
    many groups, if one is found.

    n + 1, or 0 where many are asked for, if there is no such table at all.
    """
    instance, params = session.instance, session.parameters.of(GroupNumberParams)
    most, first, fewest = instance.cost_bound, session.first, session.problem.objective == "min_groups"
    assert most is not None
    every = instance.types.n // int(instance.least.min())
    best = session.problem.min_groups or 1 if fewest else min(session.problem.most_groups or every, every)
    at, dual = best, None
    if fewest and first is not None:
        at = max(best, len(np.unique(first.candidate)))
    for _ in range(params.rounds):
        limited = _limited(instance, max(at, 1), fewest)
        seconds = None if math.isinf(limit.left) else max(limit.left, 0.0)
        dual = lagrangian(
            limited, seconds=seconds, iterations=params.iterations, interrupt=limit.interrupt, packing_cuts=False,
            threads=session.options.threads, params=session.parameters,
        )  # fmt: skip
        proven, before = _proven(limited, round_dual(dual), most), best
        if proven is not None:
            best = max(best, proven) if fewest else min(best, proven)
        if (best == before and at == before) or not 1 <= best <= instance.types.n or limit.over:
            break
        at = best
    assert dual is not None
    return best, _table(session, dual, best, first, limit)


def _limited(instance: Instance, number: int, fewest: bool) -> Instance:
    """The least loss of at most so many groups, or of at least so many, as a problem."""
    free = replace(instance.problem, objective="loss", cost_bound=None, min_groups=None, max_groups=None)
    problem = replace(free, max_groups=number) if fewest else replace(free, min_groups=number)
    return replace(instance, problem=problem)


def _proven(instance: Instance, exact: ExactDual, most: int) -> int | None:
    """How many groups a table has at least, or at most, that loses no more, in integers; None where nothing is known.

    instance: of a largest, or of a least number of groups.
    """
    try:
        proof = prove(instance, exact)
    except InputError:  # numbers of more than 64 bits
        return None
    least, sets = instance.problem.min_groups, exact.sets.lengths
    # what a requirement says of their number as well is left as it is
    chosen = sets == (0 if least is not None else instance.types.count)
    of_groups = Fraction(sum(exact.packing_multipliers[chosen].tolist()), exact.denominator)
    if least is not None:
        spare = most - (proof.value - of_groups * least)
        if of_groups:
            return max(math.floor(spare / of_groups), 0)
        return None if spare >= 0 else 0
    limit = min(instance.problem.most_groups or 0, instance.types.n // int(instance.least.min()))
    short = proof.value + of_groups * limit - most
    if of_groups:
        return math.ceil(short / of_groups)
    return None if short <= 0 else instance.types.n + 1


def _table(session: Session, dual: DualPoint, best: int, first: Assignment | None, limit: Limit) -> Assignment | None:
    """The one of the fewest, or most, groups that is found by bisection."""
    instance, params = session.instance, session.parameters.of(GroupNumberParams)
    fewest, unit, found = session.problem.objective == "min_groups", instance.levels.unit, None
    low, high = (best, instance.types.n // int(instance.least.min())) if fewest else (1, best)
    if first is not None and first.within(session.problem, unit):
        found, groups = first, len(np.unique(first.candidate))
        low, high = (low, groups - 1) if fewest else (groups + 1, high)
    share = np.zeros(len(dual.phi)) if dual.open_share is None else dual.open_share
    for _ in range(params.tables):
        if low > high or limit.over or (first is None and not fewest):
            break
        at = (low + high) // 2
        if fewest:
            made = interchange(instance, dual.phi, share, at, limit, session.parameters.of(InterchangeParameters))
        else:
            assert first is not None
            made = split_groups(instance, first, at, limit)
        good = made is not None and made.within(session.problem, unit)
        found = made if good else found
        groups = at if made is None else len(np.unique(made.candidate))
        if fewest:
            low, high = (low, groups - 1) if good else (at + 1, high)
        else:
            low, high = (max(groups, at) + 1, high) if good else (low, at - 1)
    return found
