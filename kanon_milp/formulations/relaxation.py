"""The linear relaxation of a model: its value, and the multipliers of its constraints and variables by their names."""

from __future__ import annotations

import importlib
import math
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import instance_of
from kanon_milp.solvers.highs import as_highs_lp, new_highs
from kanon_milp.solvers.model import check_numbers
from kanon_milp.solvers.pyomo_arrays import to_arrays


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What the linear relaxation of a model says, in floating point.

    objective: the value of the model's active objective, in its own units: no solution of the model is better. Times
    `model.unit` that of `loss` is a loss. values, reduced_costs: by the name of each variable that occurs in the model,
    such as "open[3]". duals: by the name of each constraint, such as "placed[2]": by how much the objective changes for
    one more unit on the right-hand side, as long as the basis stays. Reduced costs likewise are what the objective
    changes by for one more unit of a variable that is 0. Of a relaxation with several optimal bases these are of one.
    """

    objective: float
    values: dict[str, float]
    reduced_costs: dict[str, float]
    duals: dict[str, float]

    def __repr__(self) -> str:
        return f"Relaxation({self.objective:g}, {len(self.values)} variables, {len(self.duals)} constraints)"


def relax(model: pyo.ConcreteModel, *, time_limit: float | None = None) -> Relaxation:
    """Solve the linear relaxation of a model, as built by `build_model` or extended, with HiGHS.

    The model stays unchanged. time_limit: seconds. Raises InputError for a model that is not linear, for a relaxation
    that has no solution or is unbounded, and at the time limit.
    """
    instance_of(model, pyo.ConcreteModel, "model", "a Pyomo model, such as that of build_model(problem)")
    if time_limit is not None and not (type(time_limit) in (int, float) and time_limit > 0):
        raise InputError("time_limit: a number of seconds above 0 is expected")
    arrays = to_arrays(model, names=True)
    check_numbers(arrays.linear)
    linear = replace(arrays.linear, integer=np.zeros_like(arrays.linear.integer))
    highspy, highs = importlib.import_module("highspy"), new_highs()
    if time_limit is not None and math.isfinite(time_limit):
        highs.setOptionValue("time_limit", float(time_limit))
    highs.passModel(as_highs_lp(highspy, linear))
    highspy.Highs.resetGlobalScheduler(True)
    highs.run()
    highspy.Highs.resetGlobalScheduler(True)
    status = highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise InputError(f"the linear relaxation was not solved: {highs.modelStatusToString(status).lower()}")
    found, sign = highs.getSolution(), arrays.sign
    x = np.array(found.col_value)
    duals: dict[str, float] = defaultdict(float)
    for name, value in zip(linear.constraint_names, found.row_dual, strict=True):
        duals[name] += sign * value  # one with two sides is two constraints of the matrix
    return Relaxation(
        sign * linear.value(x),
        dict(zip(linear.variable_names, x.tolist(), strict=True)),
        {name: sign * cost for name, cost in zip(linear.variable_names, found.col_dual, strict=True)},
        dict(duals),
    )
