"""The ILP of the pattern-guided paper as printed: integer x, weak link, all instances of all patterns."""

from __future__ import annotations

import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.formulations.strong import add_objective_and_sides, add_sets, candidates_of_types
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy.base import is_size_only


def build_textbook(instance: Instance) -> pyo.ConcreteModel:
    """Equations (1)-(4) of Bredereck, Nichterlein, Niedermeier 2013.

    x[i,j] of the paper is `assign[i, g]` with g the instance of pattern j that covers i; u[j,l] is `unused[g]`, and
    `open` is its complement. It is the baseline of every benchmark and has the same optimum as the strong formulation.
    """
    requirements = instance.problem.requirements
    if len(requirements) != 1 or not is_size_only(requirements[0]):
        raise InputError("the textbook formulation is defined for k-anonymity of rows alone; use the strong one")
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    n_i, n = instance.types.counts.tolist(), instance.types.n
    least = instance.least.tolist()
    cover = instance.candidates.cover_lists()

    m.assign = pyo.Var(m.PAIRS, domain=pyo.NonNegativeIntegers, doc="x[i,j]: rows of type i that a candidate receives")
    m.unused = pyo.Var(m.CANDIDATES, domain=pyo.Binary, doc="u[j,l]: whether a candidate is not used")
    m.open = pyo.Expression(m.CANDIDATES, rule=lambda m, g: 1 - m.unused[g], doc="1 - u[j,l]")

    # (2)  Σ_i c(i,j,l) · x[i,j] ≤ (1 - u[j,l]) · n
    @m.Constraint(m.CANDIDATES, doc="only a candidate that is used receives rows")
    def used(m: pyo.ConcreteModel, g: int) -> object:
        return sum(m.assign[i, g] for i in cover[g]) <= (1 - m.unused[g]) * n

    # (3)  Σ_i c(i,j,l) · x[i,j] + k · u[j,l] ≥ k   (1 in place of k where fully suppressed rows are exempt)
    @m.Constraint(m.CANDIDATES, doc="a candidate that is used receives at least k rows (one where it is exempt)")
    def size(m: pyo.ConcreteModel, g: int) -> object:
        return sum(m.assign[i, g] for i in cover[g]) + least[g] * m.unused[g] >= least[g]

    # (4)  Σ_j x[i,j] = n_i
    candidates_of = candidates_of_types(instance)

    @m.Constraint(m.ROW_TYPES, doc="every row goes to one candidate")
    def placed(m: pyo.ConcreteModel, i: int) -> object:
        return sum(m.assign[i, g] for g in candidates_of[i]) == n_i[i]

    # (1)  min Σ_i Σ_j x[i,j] · ω_j
    add_objective_and_sides(m, instance)
    return m
