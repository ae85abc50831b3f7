"""The ILP of the pattern-guided paper as printed: integer x, weak link, all instances of all patterns."""

from __future__ import annotations

import pyomo.environ as pyo

from kanon_milp.errors import InputError
from kanon_milp.formulations.parts import add_objective_and_sides, add_sets, candidates_of_types
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.expressions import weighted_sum
from kanon_milp.problem.privacy import KAnonymity


def build_textbook(instance: Instance) -> pyo.ConcreteModel:
    """Equations (1)-(4) of Bredereck, Nichterlein, Niedermeier 2013.

    x[i,j] of the paper is `assign[i, g]` with g the instance of pattern j that covers i; u[j,l] is `unused[g]`, and
    `open` is
    its complement. It is the baseline of every benchmark and has the same optimum as the strong formulation.
    """
    requirements = instance.problem.requirements
    (requirement,) = requirements if len(requirements) == 1 else (None,)
    if not isinstance(requirement, KAnonymity) or requirement.quasi_identifiers is not None:
        raise InputError("the textbook formulation is defined for k-anonymity alone; use the strong one")
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    n_i, n = instance.types.counts.tolist(), instance.types.n
    exempt = instance.exempt
    covers = instance.candidates.cover_lists()

    m.assign = pyo.Var(m.PAIRS, domain=pyo.NonNegativeIntegers)
    m.unused = pyo.Var(m.CANDIDATES, domain=pyo.Binary)
    m.open = pyo.Expression(m.CANDIDATES, rule=lambda m, g: 1 - m.unused[g])

    # (2)  Σ_i c(i,j,l) · x[i,j] ≤ (1 - u[j,l]) · n
    @m.Constraint(m.CANDIDATES)
    def used(m: pyo.ConcreteModel, g: int) -> object:
        xs = [m.assign[i, g] for i in covers[g]]
        return (None, weighted_sum([1] * len(xs) + [n], [*xs, m.unused[g]]), n)

    # (3)  Σ_i c(i,j,l) · x[i,j] + k · u[j,l] ≥ k   (1 in place of k where fully suppressed rows are exempt)
    @m.Constraint(m.CANDIDATES)
    def size(m: pyo.ConcreteModel, g: int) -> object:
        least = 1 if exempt[g] else requirement.k
        xs = [m.assign[i, g] for i in covers[g]]
        return (least, weighted_sum([1] * len(xs) + [least], [*xs, m.unused[g]]), None)

    # (4)  Σ_j x[i,j] = n_i
    candidates_of = candidates_of_types(instance)

    @m.Constraint(m.ROW_TYPES)
    def placed(m: pyo.ConcreteModel, i: int) -> object:
        gs = candidates_of[i]
        return weighted_sum([1] * len(gs), [m.assign[i, g] for g in gs]) == n_i[i]

    # (1)  min Σ_i Σ_j x[i,j] · ω_j
    add_objective_and_sides(m, instance)
    return m
