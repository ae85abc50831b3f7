"""What a point that is no table says of the next model is enough to rule it out there."""

from __future__ import annotations

import numpy as np
import pytest
from census import Q8, census
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

import kanon_milp as km
from kanon_milp.bounds.condensed import condense
from kanon_milp.formulations.row_assignment import place_rows
from kanon_milp.methods.condensed_core import _Point, _refined
from kanon_milp.methods.condensed_repairs import held
from kanon_milp.presolve.instance import prepare
from kanon_milp.solvers.model import LinearModel


def solved(model: LinearModel) -> OptimizeResult:
    """By SciPy's solver, with every variable integer."""
    rows = LinearConstraint(model.A, model.constraint_lower, model.constraint_upper)
    return milp(
        model.c, constraints=rows, bounds=Bounds(model.lower, model.upper), integrality=np.ones(model.variables, int)
    )


@pytest.mark.parametrize(
    ("rows", "k", "seed", "spare"), [(200, 6, 1, 4), (200, 6, 2, 4), (600, 6, 1, 2), (600, 6, 3, 2)]
)
def test_what_is_open_costs_no_less_in_the_next_model_than_in_the_table(
    rows: int, k: int, seed: int, spare: int
) -> None:
    """Ample groups that are too small for it, and rows that several groups count on to fill them up."""
    table = km.Table.from_frame(census(rows).select(Q8), Q8)
    instance = prepare(km.Problem(table, [km.KAnonymity(k)], km.PatternMask.random(Q8, 10, seed)))
    nothing = np.zeros(instance.types.count, dtype=bool)
    first = condense(instance, instance.candidates.support >= spare * k, nothing)
    answer = solved(first.model())
    opened = first.opened(answer.x)
    placed = place_rows(instance, opened)
    assert placed is not None
    cost = float(instance.candidates.cost[instance.candidates.candidate_of_pair()] @ placed.rows)
    assert cost > first.base + answer.fun + 1  # it is no table

    ample, apart = _refined(first, _Point(opened, placed), nothing)
    assert apart.any()
    following = condense(instance, ample, apart)
    assert np.isin(np.flatnonzero(placed.scarce), following.candidates).all()
    model = held(following, opened, np.zeros(len(following.candidates), dtype=bool))
    again = solved(model)
    assert (again.x is None) if placed.short.any() else (model.offset + again.fun >= cost - 1e-6)
