"""The strongest certificate that there is for a problem: of the sizes of groups, or of all that is required of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_milp.errors import InputError
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Floats
from kanon_milp.system.limit import NO_LIMIT, Limit, Over
from kanon_milp.verify.certificate import check_certificate

if TYPE_CHECKING:
    from kanon_milp.bounds import Certificate, DualPoint


MULTIPLIERS_SHARE = 0.5  # of the time that is left
SECONDS = 60.0  # at most, for multipliers that a session has not computed, and for those under requirements


def certify_problem(
    problem: Problem, dual: DualPoint | None, required: Floats | None = None, limit: Limit = NO_LIMIT
) -> Certificate:
    """The certificate that proves most; what it claims is what its checker makes of it.

    dual: multipliers of the Lagrangian bound, None where there are none yet. required: float64, those of the bound
    under requirements, over the row types that are split by what these are about. Raises InputError where the loss is
    not what is minimized, `Over` where the limit is reached before there is any certificate.
    """
    from kanon_milp.bounds import certified_instance, certify, lagrangian

    if dual is None:
        instance = limit.call(certified_instance, problem)
        dual = lagrangian(instance, seconds=_seconds(limit), interrupt=limit.interrupt)
    found = limit.call(certify, problem, dual)
    if problem.attributes:
        with suppress(InputError, Over):  # a row without a candidate, numbers of more than 64 bits; too late
            better = limit.call(_under_requirements, problem, dual, required, found, limit)
            return found if better is None else better
    return found


def _seconds(limit: Limit) -> float:
    """For multipliers, so that there is time to write down what they prove."""
    return min(SECONDS, MULTIPLIERS_SHARE * limit.left)


def _under_requirements(
    problem: Problem, dual: DualPoint, required: Floats | None, sizes: Certificate, limit: Limit
) -> Certificate | None:
    """That of the bound under requirements, None where it proves no more."""
    from kanon_milp.bounds.certificate import certify_required, first_multipliers, required_instance
    from kanon_milp.bounds.lagrangian_bound import required_bound

    instance = required_instance(problem)
    if instance is None:
        return None
    known = required is not None and len(required) == instance.types.count
    start = required if known else first_multipliers(instance, dual)
    point = required_bound(instance, start, seconds=_seconds(limit), interrupt=limit.interrupt, small=False)
    found = certify_required(problem, instance, point)
    if found.bound < sizes.bound:
        return None
    # the checker knows less of some requirements, and may see more of some groups
    proven = check_certificate(problem, found).bound
    return replace(found, bound=proven) if proven > sizes.bound else None
