"""A repair leaves alone what is not near what is scarce, and decides no more candidates than it may."""

from __future__ import annotations

import numpy as np
import pytest
from census import Q8, census_problem

from kanon_milp.bounds.condensed import Condensed, condense
from kanon_milp.methods import condensed_repairs
from kanon_milp.methods.condensed_repairs import held, near
from kanon_milp.presolve.instance import prepare


@pytest.fixture(scope="module")
def condensed() -> Condensed:
    """Nothing but complete suppression is ample; few columns, since all conflicts among the others are looked for."""
    instance = prepare(census_problem(60, 3, Q8[1:6]))
    ample = instance.candidates.support == instance.types.counts.sum()
    return condense(instance, ample, np.zeros(instance.types.count, dtype=bool))


def test_the_candidates_that_share_row_types_are_decided_anew(
    condensed: Condensed, monkeypatch: pytest.MonkeyPatch
) -> None:
    scarce = np.zeros(condensed.instance.candidates.count, dtype=bool)
    scarce[condensed.candidates[0]] = True
    types = set(condensed.row_type[condensed.candidate == 0].tolist())
    competing = {
        g for i, g in zip(condensed.row_type.tolist(), condensed.candidate.tolist(), strict=True) if i in types
    }
    monkeypatch.setattr(condensed_repairs, "NEAR", len(competing))
    found = near(condensed, scarce)
    assert found is not None
    assert set(np.flatnonzero(found).tolist()) == competing
    monkeypatch.setattr(condensed_repairs, "NEAR", len(competing) - 1)
    assert near(condensed, scarce) is None


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
