"""What a point that is no table says of the next model is enough to rule it out there; a repair decides no more anew
than what is near what is scarce, and no more candidates than it may."""

from __future__ import annotations

import numpy as np
import pytest
from census import Q8, census, census_problem
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

import kanon_milp as km
from kanon_milp.bounds.condensed import Condensed, condense
from kanon_milp.formulations.row_assignment import place_rows
from kanon_milp.methods.core_problem import _Point, _refined, held, near
from kanon_milp.presolve.instance import prepare
from kanon_milp.solvers.model import LinearModel


def solved(model: LinearModel) -> OptimizeResult:
    """By SciPy's solver, with every variable integer."""
    rows = LinearConstraint(model.A, model.constraint_lower, model.constraint_upper)
    return milp(
        model.c, constraints=rows, bounds=Bounds(model.lower, model.upper), integrality=np.ones(model.variables, int)
    )


@pytest.mark.full
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


@pytest.fixture(scope="module")
def condensed() -> Condensed:
    """Nothing but complete suppression is ample."""
    instance = prepare(census_problem(60, 3, Q8[1:6]))
    ample = instance.candidates.support == instance.types.counts.sum()
    return condense(instance, ample, np.zeros(instance.types.count, dtype=bool))


def test_the_candidates_that_share_row_types_are_decided_anew(condensed: Condensed) -> None:
    scarce = np.zeros(condensed.instance.candidates.count, dtype=bool)
    scarce[condensed.candidates[0]] = True
    types = set(condensed.row_type[condensed.candidate == 0].tolist())
    competing = {
        g for i, g in zip(condensed.row_type.tolist(), condensed.candidate.tolist(), strict=True) if i in types
    }
    found = near(condensed, scarce, len(competing))
    assert found is not None
    assert set(np.flatnonzero(found).tolist()) == competing
    assert near(condensed, scarce, len(competing) - 1) is None


def test_the_others_are_as_they_were(condensed: Condensed) -> None:
    draw = np.random.default_rng(0)
    opened = draw.random(condensed.instance.candidates.count) < 0.5
    free = draw.random(len(condensed.candidates)) < 0.3
    model, before = held(condensed, opened, free), condensed.model()
    first = len(condensed.pair) + len(condensed.supply)
    fixed = opened[condensed.candidates]
    assert model.lower[first:].tolist() == np.where(free, 0.0, fixed).tolist()
    assert model.upper[first:].tolist() == np.where(free, 1.0, fixed).tolist()
    assert (model.upper[:first] == before.upper[:first]).all()
