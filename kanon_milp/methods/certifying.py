"""The strongest certificate that there is for a problem: of the sizes of groups, or of all that is required of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import InputError
from kanon_milp.problem.problem import Problem
from kanon_milp.verify.certificate import check_certificate

if TYPE_CHECKING:
    from kanon_milp.bounds import Certificate, DualPoint

Floats = NDArray[np.float64]

SECONDS = 60.0  # at most, for multipliers that a session has not computed, and for those under requirements


def certify_problem(problem: Problem, dual: DualPoint | None, required: Floats | None = None) -> Certificate:
    """The certificate that proves most; what it claims is what its checker makes of it.

    dual: multipliers of the Lagrangian bound, None where there are none yet. required: float64, those of the bound
    under requirements, over the row types that are split by what these are about. Raises InputError where the loss is
    not what is minimized.
    """
    from kanon_milp.bounds import certified_instance, certify, lagrangian

    if dual is None:
        dual = lagrangian(certified_instance(problem), seconds=SECONDS)
    found = certify(problem, dual)
    if problem.attributes:
        with suppress(InputError):  # a row without a candidate, or numbers of more than 64 bits
            better = _under_requirements(problem, dual, required, found)
            return found if better is None else better
    return found


def _under_requirements(
    problem: Problem, dual: DualPoint, required: Floats | None, sizes: Certificate
) -> Certificate | None:
    """That of the bound under requirements, None where it proves no more."""
    from kanon_milp.bounds.required import required_bound
    from kanon_milp.bounds.required_certificate import certify_required, first_multipliers, required_instance

    instance = required_instance(problem)
    if instance is None:
        return None
    known = required is not None and len(required) == instance.types.count
    start = required if known else first_multipliers(instance, dual)
    point = required_bound(instance, start, seconds=SECONDS, small=False)
    found = certify_required(problem, instance, point)
    if found.bound < sizes.bound:
        return None
    # the checker knows less of some requirements, and may see more of some groups
    proven = check_certificate(problem, found).bound
    return replace(found, bound=proven) if proven > sizes.bound else None
