"""The Lagrangian bound: assignment constraints and packing cuts relaxed, a subproblem in closed form per candidate.

    L(λ, μ) = Σ_i n_i λ_i - Σ_S μ_S ⌊N_S/κ_S⌋ + Σ_g min(0, φ_g),
    φ_g = σ_g + min { Σ_i (w_g - λ_i) x_i : Σ_i x_i ≥ κ_g, 0 ≤ x_i ≤ n_i },   σ_g = Σ_{S: C(g) ⊆ S} μ_S

over the row types i that candidate g covers; κ_g is the smallest size of a group, and S are sets of row types with a
packing cut Σ_{g: C(g) ⊆ S} y_g ≤ ⌊N_S/κ_S⌋ (`kanon_milp.bounds.packing_cuts`). L is a lower bound on the loss of every
solution for any λ and any μ ≥ 0: add Σ_i λ_i (n_i - Σ_g x_ig) = 0 and Σ_S μ_S (Σ y_g - ⌊N_S/κ_S⌋) ≤ 0 to the loss; what
is left falls apart into one problem for each candidate, closed (0) or open (φ_g). The subproblems have integral
vertices, so the largest L(λ, 0) is the value of the strong formulation's linear relaxation (Geoffrion 1974).

Where requirements ask for more than a size (p-sensitivity, l-diversity, t-closeness, ...), row types are
(quasi-identifier, sensitive) tuples and κ_g is the smallest size that the requirements imply (`Instance.least`).
Every group that they allow has at least κ_g rows, so L is still a lower bound, of the relaxation that asks for
nothing but these sizes. Side constraints only take solutions away. All values are in units of `Levels.unit`.
"""

from __future__ import annotations

import math
import threading
import time

import numpy as np

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.volume import Ascent, Evaluator
from kanon_milp.errors import InputError, counted
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.call import OnProgress
from kanon_milp.system.arrays import Floats


def lagrangian(
    instance: Instance,
    target: float | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
    *,
    packing_cuts: bool = True,
    threads: int = 1,
) -> DualPoint:
    """Maximize L by the volume algorithm, and keep the average of the open candidates.

    instance: k-anonymity or any other requirements, after viability (the loss is what is bounded). target: a loss in
    units, such as that of a table at hand; it ends as soon as nothing cheaper can exist. seconds, iterations: limits;
    without any it ends when it no longer rises. on_progress: called from time to time with the bound in units.
    packing_cuts: whether to add them. threads: on which large instances are evaluated; the bound is the same on any
    number. Raises InputError where the loss is not the objective, or a row type has no candidate.
    """
    refuse(instance)
    ends = math.inf if seconds is None else time.perf_counter() + seconds
    ascent = Ascent(Evaluator(instance, threads), BoundLimit(ends, interrupt, target, iterations), on_progress)
    ascent.maximize(packing_cuts=packing_cuts)
    return ascent.end()


def evaluate(instance: Instance, multipliers: Floats) -> tuple[float, Floats, Floats]:
    """L(λ, 0), φ (G,) and a subgradient n - Σ_g x (t,) of L at λ, in floating point."""
    found = Evaluator(instance)(np.ascontiguousarray(multipliers, dtype=np.float64), everything=True)
    return found.value, found.phi, found.subgradient


def refuse(instance: Instance) -> None:
    """Raise InputError where there is nothing to bound."""
    if instance.problem.objective != "loss":
        raise InputError(f"the Lagrangian bound is one on the loss; the objective is {instance.problem.objective}")
    covered = np.zeros(instance.types.count, dtype=bool)
    covered[instance.candidates.members] = True
    if not covered.all():
        raise InputError(
            f"no candidate for {counted(int((~covered).sum()), 'row type')}: there is no table, and no bound"
        )
