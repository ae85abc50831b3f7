"""The mixed integer program of Liang and Yuan 2013 for t-closeness as printed (proof of Theorem 9)."""

from __future__ import annotations

import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.formulations.strong import (
    add_objective_and_sides,
    add_sets,
    add_values,
    block_names,
    candidates_of_types,
)
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy import TCloseness
from kanon_milp.problem.privacy.t_closeness import declare_flows
from kanon_milp.solvers.adapter import Setting


def build_liang_yuan(instance: Instance) -> pyo.ConcreteModel:
    """(6), (7) and the transport constraints of Liang, Yuan 2013, proof of Theorem 9, over all candidates.

    x(v*, v, s) of the paper is `assign[i, g]`, with i the pair (v, s) and g the generalized v*; g(v*, i, j) is `flow`
    in the block of the requirement, without those from values that no row of v* has, which are 0. There is no variable
    that says whether a group is there: the constraints hold for one without rows as well. So `open[g]` is an expression
    without a value, and numbers of groups cannot be stated. The optimum is that of the strong formulation.
    """
    problem = instance.problem
    if not all(type(requirement) is TCloseness for requirement in problem.requirements):
        raise InputError("the formulation liang_yuan is defined for t-closeness alone; use the strong one")
    if problem.objective != "loss" or problem.min_groups is not None or problem.most_groups is not None:
        raise InputError(
            "the formulation liang_yuan has no variables for groups and cannot state their number; use the strong one"
        )
    m = pyo.ConcreteModel(name=problem.name)
    add_sets(m, instance)
    n = instance.types.counts.tolist()
    m.assign = pyo.Var(
        m.PAIRS, domain=pyo.NonNegativeIntegers, doc="x(v*,v,s): rows with values v and s that are generalized to v*"
    )
    m.open = pyo.Expression(m.CANDIDATES, doc="there are no variables for groups")

    # (6)  Σ_v* x(v*,v,s) = r_vs
    candidates_of = candidates_of_types(instance)

    @m.Constraint(m.ROW_TYPES, doc="every row is generalized to one v*")
    def placed(m: pyo.ConcreteModel, i: int) -> object:
        return sum(m.assign[i, g] for g in candidates_of[i]) == n[i]

    for requirement, name in zip(problem.requirements, block_names(problem.requirements), strict=True):
        assert isinstance(requirement, TCloseness)
        m.add_component(name, pyo.Block(doc=requirement.spelled))
        (limits,) = requirement.relaxations(instance.table_group)
        assert limits.emd is not None
        declare_flows(m.component(name), m, instance, requirement.attributes, limits.emd.space, limits.emd.t)
        add_values(requirement, m.component(name), instance)

    # (7)  min Σ C_v* · x(v*,v,s)
    add_objective_and_sides(m, instance)
    return m


def trust_liang_yuan(_instance: Instance) -> tuple[Setting, ...]:
    """The flows are continuous, and may be fractional where all rows are integers."""
    return (Setting.MIXED,)
