"""What is proven about a problem: units, objective of the released table, stop reason, and proof with its backing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo

from kanon_milp.methods.result import Proof
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import SolverAdapter, SolverResult, StopReason
from kanon_milp.solvers.proof import Backing, Grid, close
from kanon_milp.solvers.pyomo_arrays import PyomoArrays
from kanon_milp.solvers.rescaling import rescaled
from kanon_milp.solvers.second_look import precision_size
from kanon_milp.verify import Report


@dataclass(frozen=True, eq=False)
class Scale:
    """How a model's objective relates to the problem's: value = sign · model value · unit.

    grid: where the values of the model's objective lie.
    """

    sign: int
    unit: Fraction
    grid: Grid

    def to_problem(self, value: float | None) -> float | None:
        """A model's (minimized) value in the problem's units."""
        return None if value is None else self.sign * value * float(self.unit)

    def to_model(self, value: Fraction) -> Fraction:
        """A value in the problem's units as the model's."""
        return self.sign * value / self.unit

    def proven(self, bound: float | None) -> Fraction | None:
        """What a bound that a solver claims proves, in the problem's units."""
        safe = self.grid.safe(bound)
        return None if safe is None else self.sign * safe * self.unit

    def exact(self, value: float) -> Fraction:
        """The value of an integral point, computed in floating point, in the problem's units."""
        steps = self.grid.steps
        known = Fraction(round(value * steps), steps) if steps else Fraction(value).limit_denominator(10**9)
        return self.sign * known * self.unit


@dataclass(frozen=True)
class Bound:
    """A bound on the optimum in the problem's units, and what stands behind it."""

    value: Fraction | None = None
    backed_by: tuple[Backing, ...] = ()

    def and_also(self, other: Bound) -> Bound:
        """The higher one of two lower bounds on the loss; everything that stands behind it where they are the same."""
        if self.value is None or (other.value is not None and other.value > self.value):
            return other
        if other.value is None or other.value < self.value:
            return self
        return Bound(self.value, tuple(dict.fromkeys((*self.backed_by, *other.backed_by))))


UNKNOWN = Bound()


@dataclass(frozen=True)
class Verdict:
    """How a run ends: stop reason, proof, the proven bound (of "infeasible", only what stands behind it), a message."""

    reason: str
    proof: Proof
    bound: Bound
    message: str


def scale_of(
    instance: Instance, model: pyo.ConcreteModel, compiled: PyomoArrays, adapter: SolverAdapter, *, own: bool
) -> tuple[PyomoArrays, Scale]:
    """The model as it is handed over, and its scale: our own objectives are whole numbers, a user's is rescaled."""
    linear, step, whole = (compiled.linear, Fraction(1), True) if own else rescaled(compiled.linear)
    unit = instance.levels.unit if model.loss.active else Fraction(1)
    grid = Grid(int(whole), precision_size(adapter, linear))
    return replace(compiled, linear=linear), Scale(compiled.sign, unit * step, grid)


def judge(
    stopped: StopReason, message: str, report: Report, objective: Fraction | None, bound: Bound, scale: Scale
) -> Verdict:
    """Optimal only where incumbent and bound meet and the verifier agrees."""
    if objective is None or not report.ok:
        why = "; ".join(report.violations[:3]) or "its loss cannot be told"
        return Verdict("error", "none", bound, f"the verifier refuses the table: {why}")
    reached, proven = scale.to_model(objective), None if bound.value is None else scale.to_model(bound.value)
    if scale.grid.contradicts(reached, proven):
        said = "the verified table is better than the bound that is claimed; the bound is discarded"
        return Verdict("error", "none", Bound(), _joined(message, said))
    if scale.grid.meets(reached, proven):
        about = "" if scale.grid.steps else _ROUGH
        return Verdict("optimal", "optimal", Bound(objective, bound.backed_by), _joined(message, about))
    reason = stopped.value
    if stopped is StopReason.OPTIMAL:
        reason = "gap_limit"
        if scale.grid.too_fine:
            message = _joined(message, _TOO_FINE)
    return Verdict(reason, "none" if bound.value is None else "bound", bound, message)


_ROUGH = (
    "the objective of this model is not made of whole variables and fractions, so objective and bound meet only up to "
    "a millionth of their size"
)
_TOO_FINE = (
    "the solver says optimal, but the weights differ so much in size that its floating point cannot tell neighbouring "
    "losses apart; weights with fewer digits, or the solver cpsat, which computes exactly, can prove more"
)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def objective_of(
    problem: Problem,
    model: pyo.ConcreteModel,
    compiled: PyomoArrays,
    answer: SolverResult,
    report: Report,
    scale: Scale,
    *,
    own: bool,
) -> Fraction | None:
    """The objective of the released table: recomputed by the verifier, or the model's own where the user changed it."""
    if report.cost is None:
        return None
    if own:
        return report.cost if problem.objective == "loss" else Fraction(report.groups)
    assert answer.x is not None
    value = compiled.linear.value(np.where(compiled.linear.integer, np.round(answer.x), answer.x))
    if model.loss.active and close(value, float(scale.to_model(report.cost))):
        return report.cost
    return scale.exact(value)
