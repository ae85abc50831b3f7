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
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kanon_milp.bounds import lagrangian
from kanon_milp.bounds.closure_pricing import pricing_of
from kanon_milp.bounds.dual import DualPoint, ExactDual, prove, round_dual
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.errors import InputError
from kanon_milp.heuristics.interchange import InterchangeParameters, interchange
from kanon_milp.heuristics.splitting import split_groups
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import too_many_to_list
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("group_number")
@dataclass(frozen=True)
class GroupNumberParams:
    """Bound and table of as few or as many groups as possible. Tuned on the first 1,000 rows of Adult, k = 5."""

    rounds: int = number(8, "of the bound, at most", least=1)
    iterations: int = number(300, "iterations of the bound in each round", least=1)
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

    def proven(number: int) -> int | None:
        nonlocal dual
        limited = replace(instance, problem=_limited(instance.problem, number))
        seconds = None if math.isinf(limit.left) else max(limit.left, 0.0)
        dual = lagrangian(
            limited, seconds=seconds, iterations=params.iterations, interrupt=limit.interrupt, packing_cuts=False,
            threads=session.options.threads, params=session.parameters,
        )  # fmt: skip
        exact = round_dual(dual)
        try:
            value = prove(limited, exact).value
        except InputError:  # numbers of more than 64 bits
            return None
        limits = PackingCuts.of(limited, exact.sets).limits
        return _number(limited, value, exact, limits, most, fewest=fewest)

    best = _newton(proven, best, at, instance.types.n, params.rounds, limit, fewest=fewest)
    assert dual is not None
    return best, _table(session, dual, best, first, limit)


def priced_number(session: Session, best: int, limit: Limit) -> int:
    """The same number where candidates are priced instead of listed; by sets of rows only that of as few groups.

    best: what is known of it. session: of any candidates.
    """
    problem, types, tuned = session.problem, session.prepared.before.types, session.parameters
    fewest, bound, start = problem.objective == "min_groups", problem.exact_cost_bound, None
    if bound is None or not too_many_to_list(_limited(problem, 1), types):
        return best

    def proven(number: int) -> int | None:
        nonlocal start
        source = pricing_of(_limited(problem, number), types, tuned, limit)
        ascent = PricedAscent(source, session.options.threads, tuned, start)
        while not (ascent.stalled or limit.over):
            ascent.rise(limit)
        start, exact = ascent.multipliers, round_dual(ascent.best)
        try:
            value = Fraction(source.exact(exact), exact.denominator)
        except InputError:  # the same, or the limit
            return None
        most = math.floor(bound / source.levels.unit)
        return _number(source.root, value, exact, source.limits, most, fewest=fewest)

    rounds = tuned.of(GroupNumberParams).rounds
    return _newton(proven, best, best, types.n, rounds, limit, fewest=fewest)


def _newton(
    proven: Callable[[int], int | None], best: int, at: int, rows: int, rounds: int, limit: Limit, *, fewest: bool
) -> int:
    """What is proven at last by the best multipliers for one number of groups after the other, each of which is what
    the one before has proven. best: what is known. at: the first of them."""
    for _ in range(rounds):
        found, before = proven(max(at, 1)), best
        if found is not None:
            best = max(best, found) if fewest else min(best, found)
        if (best == before and at == before) or not 1 <= best <= rows or limit.over:
            break
        at = best
    return best


def _limited(problem: Problem, number: int) -> Problem:
    """The least loss of at most so many groups, or of at least so many where many are asked for."""
    fewest = problem.objective == "min_groups"
    free = replace(problem, objective="loss", cost_bound=None, min_groups=None, max_groups=None)
    return replace(free, max_groups=number) if fewest else replace(free, min_groups=number)


def _number(
    instance: Instance, value: Fraction, exact: ExactDual, limits: Ints, most: int, *, fewest: bool
) -> int | None:
    """How many groups a table has at least, or at most, that loses no more, in integers; None where nothing is known.

    value: of a point with a largest, or a least number of groups. limits: of its sets, as of `PackingCuts`.
    """
    # what a requirement says of their number as well is left as it is
    chosen = exact.sets.lengths == (instance.types.count if fewest else 0)
    of_groups = Fraction(sum(exact.packing_multipliers[chosen].tolist()), exact.denominator)
    above: Fraction = value + of_groups * sum(limits[chosen].tolist()) - most
    if fewest:
        if of_groups:
            return math.ceil(above / of_groups)
        return None if above <= 0 else instance.types.n + 1
    if of_groups:
        return max(math.floor(-above / of_groups), 0)
    return None if above <= 0 else 0


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
