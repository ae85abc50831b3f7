"""What is known of a problem when a solve session ends: the table, the proven bound, and what they prove together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from kanon_milp.methods.extension import Extension, unit_of
from kanon_milp.methods.tracker import PhaseRun, Proof, Trajectory
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import SolverAdapter, SolverResult
from kanon_milp.solvers.checked import precision_size
from kanon_milp.solvers.proof import REGISTERED, Grid, rescaled
from kanon_milp.solvers.pyomo_arrays import PyomoArrays
from kanon_milp.system.arrays import Floats
from kanon_milp.verify import Report

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint


ROUGH = (
    "the objective of this model has continuous variables, or coefficients that are not short fractions, so objective "
    "and bound meet only up to a millionth of their size"
)


@dataclass(frozen=True, eq=False)
class Scale:
    """How a model's objective relates to the problem's: value = sign · model value · unit.

    grid: where the values of the model's objective lie. rough: what is said where they lie on none.
    """

    sign: int
    unit: Fraction
    grid: Grid
    rough: str = ROUGH

    @classmethod
    def of_problem(cls, instance: Instance) -> Scale:
        """That of the problem's own objective: integral in units of the loss, or in numbers of groups."""
        sign = -1 if instance.problem.objective == "max_groups" else 1
        return cls(sign, unit_of(instance, None), Grid())

    def to_problem(self, value: float | None) -> float | None:
        """A model's (minimized) value in the problem's units."""
        return None if value is None else self.sign * value * float(self.unit)

    def to_model(self, value: Fraction) -> Fraction:
        """A value in the problem's units as the model's."""
        return self.sign * value / self.unit

    def refutes(self, objective: Fraction | None, bound: Fraction) -> bool:
        """Whether a verified table of this objective is better than the bound allows, in the problem's units."""
        return objective is not None and self.grid.contradicts(self.to_model(objective), self.to_model(bound))

    def proven(self, bound: float | None) -> Fraction | None:
        """What a bound that a solver claims proves, in the problem's units."""
        safe = self.grid.safe(bound)
        if safe is None:
            return None
        return self.sign * (safe * self.unit if self.grid.steps else _rounded_down(safe * self.unit))

    def exact(self, value: float) -> Fraction:
        """The value of an integral point, computed in floating point, in the problem's units."""
        steps = self.grid.steps
        if steps:
            return self.sign * Fraction(round(value * steps), steps) * self.unit
        known = Fraction(value) * self.unit
        simple = known.limit_denominator(_SIMPLE)
        return self.sign * (simple if abs(simple - known) <= _MEANT * abs(known) else Fraction(f"{float(known):.12g}"))


_SIMPLE = 1000  # denominator of a fraction that a floating-point number is taken for ...
_MEANT = Fraction(1, 10**9)  # ... where it is this near to it, relative to its size
_DIGITS = 12  # of a bound that is no multiple of anything


def _rounded_down(value: Fraction) -> Fraction:
    """The next number below of so many significant digits: more of a floating-point number mean nothing."""
    size = math.floor(math.log10(abs(value))) if value else 0
    step = Fraction(10) ** (size + 1 - _DIGITS)
    return value // step * step


@dataclass(frozen=True)
class Bound:
    """A bound on the optimum in the problem's units, and what it is backed by: "own bound", "solver", ..."""

    value: Fraction | None = None
    backed_by: tuple[str, ...] = ()

    def and_also(self, other: Bound, *, highest: bool = True) -> Bound:
        """The higher one of two bounds, or the lower one where the objective is maximized; backed by both where they
        are the same."""
        if self.value is None or other.value is None:
            return other if self.value is None else self
        if self.value != other.value:
            return other if (other.value > self.value) == highest else self
        return Bound(self.value, tuple(dict.fromkeys((*self.backed_by, *other.backed_by))))


UNKNOWN = Bound()


@dataclass(frozen=True, eq=False)
class Found:
    """A table in the user's own kind of data frame, as the verifier sees it.

    groups: of the released rows, from 1. objective: None where the verifier cannot tell it.
    """

    table: Any
    groups: RowGroups
    report: Report
    objective: Fraction | None


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a solve session ends; what is not given is not known.

    bound: of "infeasible", only what it is backed by. registered: what a bound or a method of the user's own says, kept
    apart, as a table may refute it and leave the rest as it is. size: variables and constraints of the model.
    trajectory: (seconds, incumbent, bound). phases: what ran when. version: of the solver that ran. dual: multipliers
    of the Lagrangian bound; required: float64 (t,), those of the bound under requirements, which a certificate goes on
    from; both over the reduced instance.
    """

    stop_reason: str = "error"
    proof: Proof = "none"
    bound: Bound = UNKNOWN
    registered: Bound = UNKNOWN
    message: str = ""
    found: Found | None = None
    size: tuple[int, int] = (0, 0)
    trajectory: Trajectory = ()
    version: str | None = None
    dual: DualPoint | None = None
    required: Floats | None = None
    phases: tuple[PhaseRun, ...] = ()

    def stopped(self, reason: str, message: str = "") -> Outcome:
        """The same, ended for this reason without a table."""
        proof: Proof = "none" if self.both.value is None else "bound"
        return replace(self, stop_reason=reason, message=message, proof=proof)

    @property
    def both(self) -> Bound:
        """The bound with the registered ones."""
        return self.bound if self.registered.value is None else self.bound.and_also(self.registered)

    def with_registered(self, value: Fraction) -> Outcome:
        """The same, with what registered bounds say of the loss; nothing where that is 0."""
        return replace(self, registered=Bound(value, (REGISTERED,)) if value > 0 else UNKNOWN)

    def infeasible(self, backed_by: tuple[str, ...], message: str) -> Outcome:
        """The same, ended with a proof that there is no table."""
        nothing = Bound(None, backed_by)
        return replace(
            self, stop_reason="infeasible", proof="infeasible", bound=nothing, registered=UNKNOWN, message=message
        )

    def failed(self, message: str) -> Outcome:
        """The same, ended by something that must not happen; nothing is proven."""
        return replace(self, stop_reason="error", proof="none", bound=UNKNOWN, registered=UNKNOWN, message=message)

    def noted(self, note: str) -> Outcome:
        """The same with a note, once."""
        return self if note in self.message else replace(self, message=_joined(self.message, note))

    def with_table(self, found: Found, scale: Scale) -> Outcome:
        """The same with a table; "optimal" only where incumbent and bound meet and the verifier agrees."""
        known = replace(self, found=found)
        if found.objective is None or not found.report.ok:
            why = "; ".join(found.report.violations[:3]) or "its loss is unknown"
            return known.failed(f"the verifier refuses the table: {why}")
        bound = self.both.value
        reached, proven = scale.to_model(found.objective), None if bound is None else scale.to_model(bound)
        if scale.grid.contradicts(reached, proven):
            claimed = self.registered.value
            if claimed is not None and scale.grid.contradicts(reached, scale.to_model(claimed)):
                without = replace(self, registered=UNKNOWN).stopped(
                    self.stop_reason, _joined(self.message, _too_high(self))
                )
                return without.with_table(found, scale)
            return known.failed(
                _joined(self.message, "the verified table is better than the claimed bound; the bound is discarded")
            )
        if scale.grid.meets(reached, proven):
            message = _joined(self.message, "" if scale.grid.steps else scale.rough)
            met = Bound(found.objective, self.both.backed_by)
            return replace(
                known, stop_reason="optimal", proof="optimal", bound=met, registered=UNKNOWN, message=message
            )
        if self.stop_reason != "optimal":
            return known.stopped(self.stop_reason, self.message)
        return known.stopped("gap_limit", _joined(self.message, _TOO_FINE if scale.grid.too_fine else ""))


TOO_HIGH = "the registered bound is above the loss of a verified table, so it is wrong and has been discarded"
METHOD_TOO_HIGH = "the bound of the {} is refuted by a verified table that is better, so it has been discarded"
_TOO_FINE = (
    "the solver says optimal, but the weights differ so much in size that its floating point cannot tell neighbouring "
    "losses apart; weights with fewer digits, or the solver cpsat, which computes exactly, can prove more"
)


def _too_high(outcome: Outcome) -> str:
    """Whose bound a verified table refutes."""
    whose, *_ = outcome.registered.backed_by
    return TOO_HIGH if whose == REGISTERED else METHOD_TOO_HIGH.format(whose)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def scale_of(
    instance: Instance, compiled: PyomoArrays, adapter: SolverAdapter, extension: Extension | None = None, *, own: bool
) -> tuple[PyomoArrays, Scale]:
    """The model as it is handed over, and its scale: our own objectives are integral, a user's is rescaled."""
    linear, step, integral = (compiled.linear, Fraction(1), True) if own else rescaled(compiled.linear)
    grid = Grid(int(integral), precision_size(adapter, linear))
    return replace(compiled, linear=linear), Scale(compiled.sign, unit_of(instance, extension) * step, grid)


def objective_of(
    problem: Problem,
    compiled: PyomoArrays,
    answer: SolverResult,
    report: Report,
    scale: Scale,
    *,
    own: bool,
) -> Fraction | None:
    """The objective of the released table: recomputed by the verifier, or the model's own where the user may have
    changed it, on the grid that its bound is rounded to: terms that break ties are part of both, however small."""
    if own or report.cost is None:
        return verified_objective(problem, report)
    assert answer.x is not None
    return scale.exact(compiled.linear.value(np.where(compiled.linear.integer, np.round(answer.x), answer.x)))


def verified_objective(problem: Problem, report: Report) -> Fraction | None:
    """The problem's objective as the verifier recomputes it; None where it cannot tell the loss."""
    if report.cost is None:
        return None
    if problem.objective == "loss":
        return report.cost
    return Fraction(report.discernibility if problem.objective == "discernibility" else report.groups)
