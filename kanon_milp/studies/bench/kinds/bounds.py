"""The kind "bound": a lower bound on the loss, within the time limit.

sizes: multipliers that know sizes of groups alone. required: with requirements about sensitive attributes inside the
subproblems, from the multipliers of the first, which get a sixth of the time. relaxation: the optimum of the linear
relaxation of the strong formulation, by HiGHS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from kanon_milp.bounds import lagrangian, proven_bound, round_dual
from kanon_milp.bounds.lagrangian_bound import proven_required, required_bound
from kanon_milp.formulations import get_formulation
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import SolverOptions, StopReason, get
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.studies.bench.measured import Measured, Teller, facts
from kanon_milp.studies.bench.sources import problem_of
from kanon_milp.studies.bench.statistics import MEASURED
from kanon_milp.system.clock import Clock

FIRST_SHARE = 1 / 6


def run(task: Mapping[str, Any], tell: Teller) -> Measured:
    """Presolve before the clock starts; the bound is proven in exact arithmetic, but for that of the relaxation."""
    problem = problem_of(task["source"])
    prepared = presolve(problem, Clock(), merge=True)
    instance, seconds = prepared.instance, task["time_limit"]
    unit, said = instance.levels.unit, ""
    tell.ready()
    proven: Fraction | int | None
    if task["method"] == "relaxation":
        proven = _relaxation(instance, seconds)
    elif task["method"] == "sizes":
        proven = proven_bound(instance, round_dual(lagrangian(instance, seconds=seconds)))
    else:
        start = lagrangian(instance, seconds=FIRST_SHARE * seconds).multipliers
        point = required_bound(instance, start, seconds=(1 - FIRST_SHARE) * seconds)
        proven = proven_required(instance, point)
        said = f"{point.evaluations} iterations"
    bound = None if proven is None else proven * unit
    tell.point(None, None if bound is None else float(bound))
    tell.done()
    return Measured(
        MEASURED,
        proof="none" if bound is None else "bound",
        bound=bound,
        message=said,
        problem=facts(problem, prepared.row_types),
        sizes={"candidates": instance.candidates.count, "pairs": instance.candidates.pairs},
    )


def _relaxation(instance: Instance, seconds: float) -> Fraction | None:
    """The optimal value of the linear relaxation, None where it takes longer."""
    linear = to_arrays(get_formulation("strong").build(instance)).linear
    relaxed = replace(linear, integer=np.zeros_like(linear.integer))
    answer = get("highs").solve(relaxed, SolverOptions(time_limit=seconds))
    if answer.stop_reason is not StopReason.OPTIMAL or answer.objective is None:
        return None
    return Fraction(answer.objective) - Fraction(1, 10**6) * max(1, round(abs(answer.objective)))
