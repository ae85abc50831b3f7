"""What every formulation has: objective and side constraints over the same component names."""

from __future__ import annotations

import pyomo.environ as pyo

from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.expressions import weighted_sum


def add_sets(m: pyo.ConcreteModel, instance: Instance) -> None:
    """ROW_TYPES i, CANDIDATES g and the PAIRS (i, g) where g covers i."""
    candidates = instance.candidates
    m.ROW_TYPES = pyo.RangeSet(0, instance.types.count - 1)
    m.CANDIDATES = pyo.RangeSet(0, candidates.count - 1)
    pairs = zip(candidates.members.tolist(), candidates.candidate_of_pair().tolist(), strict=True)
    m.PAIRS = pyo.Set(dimen=2, initialize=list(pairs), ordered=pyo.Set.InsertionOrder)


def candidates_of_types(instance: Instance) -> list[list[int]]:
    """For each row type the candidates that cover it."""
    found: list[list[int]] = [[] for _ in range(instance.types.count)]
    for g, cover in enumerate(instance.candidates.cover_lists()):
        for i in cover:
            found[i].append(g)
    return found


def add_objective_and_sides(m: pyo.ConcreteModel, instance: Instance) -> None:
    """Objective `loss` or `groups`; rows `cost_bound`, `min_groups`, `max_groups` where the problem has them.

    Loss is counted in units of `Levels.unit`, so that all its coefficients are whole numbers.
    """
    problem = instance.problem
    candidates = instance.candidates
    costs = candidates.cost[candidates.candidate_of_pair()].tolist()
    loss = weighted_sum(costs, list(m.assign.values()))
    groups = pyo.quicksum(m.open[g] for g in m.CANDIDATES)

    # information lost: w_g for every row that candidate g receives
    m.loss = pyo.Objective(expr=loss, sense=pyo.minimize)
    # number t_out of released row types
    if problem.objective != "loss":
        m.loss.deactivate()
        m.groups = pyo.Objective(expr=groups, sense=pyo.minimize if problem.objective == "min_groups" else pyo.maximize)

    # decision version: the loss is at most s
    if instance.cost_bound is not None:
        m.cost_bound = pyo.Constraint(expr=loss <= instance.cost_bound)

    # bounds on the number t_out of released row types
    if problem.min_groups is not None:
        m.min_groups = pyo.Constraint(expr=groups >= problem.min_groups)
    if problem.max_groups is not None:
        m.max_groups = pyo.Constraint(expr=groups <= problem.max_groups)
