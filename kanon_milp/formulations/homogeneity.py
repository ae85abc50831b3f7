"""The integer programs of the homogeneity paper as printed, Row Assignment (1)-(4) and p-Row Assignment (5)-(9), with
the guess of phase 1 as variables."""

from __future__ import annotations

import numpy as np
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
from kanon_milp.problem.privacy import KAnonymity, LDiversity, PSensitivity, Requirement
from kanon_milp.problem.privacy.instance_data import Rows, cells


def build_homogeneity(instance: Instance) -> pyo.ConcreteModel:
    """(1)-(4) and (5)-(9) of Bredereck, Nichterlein, Niedermeier, Philip 2012, over all candidates.

    g(i, σ, j) of the paper is `assign[i, j]` with i a (quasi-identifier, sensitive) tuple. Algorithm 1 first guesses
    which released rows j there are, and a(i, j); here `open[j]` is that guess, with a(i, j) = open[j]
    where j generalizes i, and a released row that is not there gets no rows. l-diversity is the constraint on relative
    frequencies that the paper adds at the end of section 4.3. The optimum is that of the strong formulation.
    """
    requirements = instance.problem.requirements
    if not all(map(_is_of_paper, requirements)):
        raise InputError(
            "the formulation homogeneity is defined for k-anonymity of rows, p-sensitivity and l-diversity (frequency) "
            "alone; use the strong one"
        )
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    n = instance.types.n
    cover = instance.candidates.cover_lists()
    k = max((int(each.k) for each in requirements if isinstance(each, KAnonymity)), default=1)
    _, alike = np.unique(instance.types.codes, axis=0, return_inverse=True)
    of_row: list[dict[int, list[int]]] = [{} for _ in cover]  # by candidate: row type of the paper → its tuples
    for g, members in enumerate(cover):
        for i in members:
            of_row[g].setdefault(int(alike.ravel()[i]), []).append(i)

    m.assign = pyo.Var(
        m.PAIRS,
        domain=pyo.NonNegativeIntegers,
        bounds=(0, n),
        doc="g(i,σ,j): rows of type i with value σ that released row j receives",
    )
    m.open = pyo.Var(m.CANDIDATES, domain=pyo.Binary, doc="whether released row j is there, so that a(i,j) = 1")

    m.ROWS = pyo.Set(
        dimen=2,
        initialize=[(i, g) for g, rows in enumerate(of_row) for i in rows],
        ordered=pyo.Set.InsertionOrder,
        doc="(i, j) where released row j generalizes the quasi-identifiers of row type i",
    )

    # (1), (5)  a(i,j) · n ≥ Σ_σ g(i,σ,j)
    @m.Constraint(m.ROWS, doc="rows go to a released row that is there")
    def guessed(m: pyo.ConcreteModel, i: int, g: int) -> object:
        return sum(m.assign[each, g] for each in of_row[g][i]) <= n * m.open[g]

    # (2), (6)  Σ_i Σ_σ g(i,σ,j) ≥ k   (1 where fully suppressed rows are exempt)
    @m.Constraint(m.CANDIDATES, doc="a released row is there at least k times")
    def size(m: pyo.ConcreteModel, g: int) -> object:
        return sum(m.assign[i, g] for i in cover[g]) >= (1 if instance.exempt[g] else k) * m.open[g]

    # (3), (7)  Σ_j g(i,σ,j) = n_iσ
    candidates_of, counts = candidates_of_types(instance), instance.types.counts.tolist()

    @m.Constraint(m.ROW_TYPES, doc="every row goes to one released row")
    def placed(m: pyo.ConcreteModel, i: int) -> object:
        return sum(m.assign[i, g] for g in candidates_of[i]) == counts[i]

    for requirement, name in zip(requirements, block_names(requirements), strict=True):
        if not isinstance(requirement, KAnonymity):
            m.add_component(name, pyo.Block(doc=requirement.spelled))
            _declare_values(requirement, m.component(name), m, instance)
            add_values(requirement, m.component(name), instance)

    # (4), (8)  Σ_i Σ_σ Σ_j g(i,σ,j) · ω_j, bounded by s or minimized
    add_objective_and_sides(m, instance)
    return m


def _is_of_paper(requirement: Requirement) -> bool:
    if type(requirement) is KAnonymity:
        return requirement.size_only
    return type(requirement) is PSensitivity or (type(requirement) is LDiversity and requirement.form == "frequency")


def _declare_values(requirement: Requirement, block: pyo.Block, m: pyo.ConcreteModel, instance: Instance) -> None:
    """(9), with sgn as a binary variable, or the relative frequencies of l-diversity."""
    rows = Rows(m, instance, requirement.attributes)
    block.CELLS = cells(rows)
    if isinstance(requirement, LDiversity):
        share = 1 / requirement.exact

        # Σ_i g(i,σ,j) ≤ 1/ℓ · Σ_i Σ_σ' g(i,σ',j)
        @block.Constraint(block.CELLS, doc="no value has more than 1/l of the rows")
        def frequency(_block: pyo.Block, g: int, value: int) -> object:
            return share.denominator * rows.with_value(g, value) <= share.numerator * rows.size(g)

        return
    assert isinstance(requirement, PSensitivity)
    p = int(requirement.p)
    block.sgn = pyo.Var(block.CELLS, domain=pyo.Binary, doc="sgn Σ_i g(i,σ,j): whether j has a row with value σ")

    @block.Constraint(block.CELLS, doc="sgn is 1 only of a positive number")
    def positive(b: pyo.Block, g: int, value: int) -> object:
        return b.sgn[g, value] <= rows.with_value(g, value)

    # (9)  Σ_σ sgn(Σ_i g(i,σ,j)) ≥ p
    @block.Constraint(m.CANDIDATES, doc="a released row has at least p different values")
    def different(b: pyo.Block, g: int) -> object:
        return sum(b.sgn[g, value] for value in rows.values(g)) >= p * m.open[g]
