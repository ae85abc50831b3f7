"""The strong formulation: lower-bounded assignment of row types to candidates, each pair linked on its own."""

from __future__ import annotations

import pyomo.environ as pyo

from kanon_milp.expressions import weighted_sum
from kanon_milp.formulations.parts import add_objective_and_sides, add_sets, candidates_of_types
from kanon_milp.instance import Instance

FEW_PATTERNS = 64


def tune_strong(instance: Instance) -> dict[str, dict[str, object]]:
    """Solver options for this formulation.

    Under a mask of few patterns the root LP is nearly integral and simple rounding finds good tables, while the
    sub-MIPs of HiGHS take most of its time (all of Adult, one mask of 10 patterns, k = 25: 23 s without them, no proof
    after 150 s with them). With many patterns they are what finds good tables at all.
    """
    if instance.levels.count > FEW_PATTERNS:
        return {}
    heuristics = ("rins", "rens", "root_reduced_cost")
    return {"highs": {f"mip_heuristic_run_{name}": False for name in heuristics}}


def build_strong(instance: Instance) -> pyo.ConcreteModel:
    """Assignment of row types to candidates with strong links.

    The link rows of one candidate and its size row describe the convex hull of {0} ∪ {Σx ≥ k, 0 ≤ x ≤ n}, so the LP
    bound
    is that of the Lagrangian dual of the assignment rows. Only `open` is binary where every requirement leaves a
    network.
    """
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    n = instance.types.counts.tolist()
    integral = all(requirement.integral for requirement in instance.problem.privacy)
    domain = pyo.NonNegativeReals if integral else pyo.NonNegativeIntegers

    # x[i,g]: how many rows of type i candidate g receives;  y[g]: whether candidate g is used
    m.assign = pyo.Var(m.PAIRS, domain=domain, bounds=lambda _, i, g: (0, n[i]))
    m.open = pyo.Var(m.CANDIDATES, domain=pyo.Binary)

    # every row goes somewhere: Σ_g x[i,g] = n_i
    candidates_of = candidates_of_types(instance)

    @m.Constraint(m.ROW_TYPES)
    def placed(m: pyo.ConcreteModel, i: int) -> object:
        gs = candidates_of[i]
        return weighted_sum([1] * len(gs), [m.assign[i, g] for g in gs]) == n[i]

    # and only to an open candidate: x[i,g] ≤ n_i · y[g]
    @m.Constraint(m.PAIRS)
    def linked(m: pyo.ConcreteModel, i: int, g: int) -> object:
        return m.assign[i, g] <= n[i] * m.open[g]

    # what each open group must have
    for requirement in instance.problem.privacy:
        m.add_component(requirement.name, pyo.Block())
        requirement.declare(m.component(requirement.name), m, instance)

    add_objective_and_sides(m, instance)
    return m
