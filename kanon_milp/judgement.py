"""What a solver's answer proves about a problem: units, objective of the released table, stop reason and proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo

from kanon_milp.compilation import Compiled
from kanon_milp.instance import Instance
from kanon_milp.problem import Problem
from kanon_milp.proof import close, contradicts, meets
from kanon_milp.result import Proof
from kanon_milp.solvers import SolverResult, StopReason
from kanon_milp.verify import Report


@dataclass(frozen=True, eq=False)
class Scale:
    """How a model's objective relates to the problem's: value = sign · model value · unit.

    integral: whether the objective of every integral point is a whole number in the model's units.
    """

    sign: int
    unit: Fraction
    integral: bool

    def to_problem(self, value: float | None) -> float | None:
        """A model's (minimized) value in the problem's units."""
        return None if value is None else self.sign * value * float(self.unit)

    def exact(self, bound: float | None) -> Fraction | None:
        """A model's safe bound in the problem's units."""
        if bound is None:
            return None
        whole = Fraction(round(bound)) if self.integral else Fraction(bound).limit_denominator(10**9)
        return self.sign * whole * self.unit

    def to_model(self, value: Fraction) -> float:
        """A value in the problem's units as the model's."""
        return self.sign * float(value / self.unit)


def scale_of(instance: Instance, model: pyo.ConcreteModel, compiled: Compiled, *, own: bool) -> Scale:
    """Our own objectives are whole numbers; a user's is only if all of its variables and coefficients are."""
    linear = compiled.linear
    whole = bool((linear.c == np.round(linear.c)).all()) and linear.offset == round(linear.offset)
    integral = own or (whole and bool(linear.integer[linear.c != 0].all()))
    return Scale(compiled.sign, instance.levels.unit if model.loss.active else Fraction(1), integral)


def judge(
    stopped: StopReason, message: str, report: Report, objective: Fraction | None, bound: float | None, scale: Scale
) -> tuple[str, Proof, Fraction | None, str]:
    """Stop reason, proof, bound and message: optimal only where incumbent and bound meet and the verifier agrees."""
    exact_bound = scale.exact(bound)
    if objective is None or not report.ok:
        return "error", "none", exact_bound, "the verifier refuses the table"
    reached = scale.to_model(objective)
    if contradicts(reached, bound, integral=scale.integral):
        return (
            "error",
            "none",
            None,
            "the verified table is better than the bound that is claimed; the bound is discarded",
        )
    if meets(reached, bound, integral=scale.integral):
        return "optimal", "optimal", objective, message
    reason = "gap_limit" if stopped is StopReason.OPTIMAL else stopped.value
    return reason, "none" if exact_bound is None else "bound", exact_bound, message


def objective_of(
    problem: Problem,
    model: pyo.ConcreteModel,
    compiled: Compiled,
    answer: SolverResult,
    report: Report,
    scale: Scale,
    *,
    own: bool,
) -> Fraction | None:
    """The objective of the released table: recomputed by the verifier, or the model's own where the user changed it."""
    assert answer.x is not None
    if report.cost is None:
        return None
    if own:
        return report.cost if problem.objective == "loss" else Fraction(report.groups)
    value = compiled.linear.value(np.where(compiled.linear.integer, np.round(answer.x), answer.x))
    if model.loss.active and close(value, scale.to_model(report.cost)):
        return report.cost
    return scale.exact(value)
