"""The strong formulation: lower-bounded assignment of row types to candidates, each pair linked on its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyomo.environ as pyo

from kanon_milp.errors import is_built_in
from kanon_milp.formulations.components import add_assignment, add_objective_and_sides, add_sets
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.privacy.base import declare_in
from kanon_milp.problem.privacy.cells import Rows, distinct_values
from kanon_milp.solvers.adapter import Setting

FEW_PATTERNS = 64
MOST_NONZEROS = 5  # a pair, of constraints in which sizes of groups are sums; with more of them variables are quicker


def tune_strong(instance: Instance) -> tuple[Setting, ...]:
    """What this formulation tells solvers of an instance.

    Under a mask of few patterns and with a continuous assignment the root LP is nearly integral, and simple rounding
    finds good tables.
    """
    few = instance.levels.count <= FEW_PATTERNS and instance.problem.network
    return (*((Setting.NEARLY_INTEGRAL,) if few else ()), *trust_strong(instance))


def trust_strong(instance: Instance) -> tuple[Setting, ...]:
    """That of it without which an answer is not to be trusted, also of a model that was extended."""
    mixed = any(requirement.has_continuous_variables for requirement in instance.problem.requirements)
    return (Setting.MIXED,) if mixed else ()


def build_strong(instance: Instance) -> pyo.ConcreteModel:
    """Assignment of row types to candidates with strong links.

    For k-anonymity the links of one candidate and its size constraint describe the convex hull of {0} ∪ {Σx ≥ k, 0 ≤ x
    ≤ n}, so the LP bound is that of the Lagrangian dual of the assignment constraints. Only `open` and what
    requirements declare is binary where these leave a network; else `assign` is integer. Row types are
    (quasi-identifier, sensitive) tuples where requirements are about sensitive attributes.
    """
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    requirements = instance.problem.requirements
    add_assignment(m, instance, pyo.NonNegativeReals if instance.problem.network else pyo.NonNegativeIntegers)
    if any(requirement.needs_group_size for requirement in requirements):
        add_sizes(m, instance)

    # what each open group must have
    for requirement, name in zip(requirements, block_names(requirements), strict=True):
        m.add_component(name, pyo.Block(doc=requirement.spelled))
        declare_in(requirement, m.component(name), m, instance)
    add_smallest_size(m, instance)

    add_objective_and_sides(m, instance)
    return m


def add_sizes(m: pyo.ConcreteModel, instance: Instance) -> None:
    """rows[g]: how many rows candidate g receives, S_g: a sum where that makes the model little larger, or a variable.

    HiGHS tries up to a hundred points between those of its relaxation and an inner one, which are far apart where there
    are variables with a wide range, and looks at its time limit only after that (masks of CMC, l = 2, 8,000 pairs: a
    quarter of a minute, a model with sums is solved in one to four seconds).

    The variables are integer by themselves, but declared so: presolve of HiGHS 1.15.1 rounds the bounds of continuous
    variables that it finds to be integer wrongly (https://github.com/ERGO-Code/HiGHS/issues/3274), and a point above
    the optimum looks optimal. A requirement of a user's own always has variables, whose bounds it may read.
    """
    cover, support = instance.candidates.cover_lists(), instance.candidates.support.tolist()
    ours = all(map(is_built_in, instance.problem.requirements))
    if ours and 0 < _nonzeros_of_sums(instance) <= MOST_NONZEROS * instance.candidates.pairs:
        m.rows = pyo.Expression(
            m.CANDIDATES,
            rule=lambda m, g: sum(m.assign[i, g] for i in cover[g]),
            doc="S[g]: number of rows that candidate g receives",
        )
        return
    m.rows = pyo.Var(
        m.CANDIDATES,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, g: (0, support[g]),
        doc="S[g]: number of rows that candidate g receives",
    )

    @m.Constraint(m.CANDIDATES, doc="rows[g] counts the rows that candidate g receives")
    def counted(m: pyo.ConcreteModel, g: int) -> object:
        return sum(m.assign[i, g] for i in cover[g]) == m.rows[g]


def _nonzeros_of_sums(instance: Instance) -> int:
    """Nonzeros of one constraint for each candidate and sensitive value in its cover, with the size as a sum; 0 where
    nothing is required of sensitive values."""
    types = np.bincount(instance.candidates.candidate_of_pair(), minlength=instance.candidates.count)
    return sum(int(types @ distinct_values(instance, (each,))) for each in instance.problem.attributes)


def add_smallest_size(m: pyo.ConcreteModel, instance: Instance) -> None:
    """An open group has at least the κ rows that all requirements together imply, where no k says as much already."""
    stated = max((r.rows_asked for r in instance.problem.requirements if r.exempts and r.separable), default=0)
    least, exempt = instance.least.tolist(), instance.exempt
    rows = Rows(m, instance)
    needed = [g for g in m.CANDIDATES if least[g] > (min(stated, 1) if exempt[g] else stated)]
    if not needed:
        return
    m.SMALL = pyo.Set(
        initialize=needed, ordered=pyo.Set.InsertionOrder, doc="candidates whose groups all have more rows than k"
    )

    @m.Constraint(m.SMALL, doc="an open group has the number of rows that all requirements together imply")
    def smallest_size(m: pyo.ConcreteModel, g: int) -> object:
        return rows.size(g) >= least[g] * m.open[g]


def block_names(requirements: Sequence[Requirement]) -> list[str]:
    """One block a requirement: its name, and from the second of a kind on a number behind it."""
    names: list[str] = []
    for requirement in requirements:
        again = sum(name.split("__")[0] == requirement.name for name in names)
        names.append(f"{requirement.name}__{again + 1}" if again else requirement.name)
    return names
