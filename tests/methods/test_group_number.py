"""As few or as many groups as a cost bound allows, against brute force."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from effort import examples
from oracle import optimum
from present import present
from strategies import drawn_case

import kanon_milp as km
from kanon_milp.methods import direct, group_number


@pytest.mark.parametrize("seed", range(examples(200, 5)))
def test_bound_and_optimum_are_those_of_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the cost bound allows no table at all."""
    monkeypatch.setattr(direct, "LARGE", 0)
    bounds: list[tuple[int, int | None]] = []
    made = group_number.group_number

    def seen(*given: object) -> object:
        number, table = made(*given)  # type: ignore[arg-type]
        bounds.append((number, None if table is None else len(np.unique(table.candidate))))
        return number, table

    monkeypatch.setattr(group_number, "group_number", seen)
    draw = Random(f"fewest-{seed}")
    case = drawn_case(draw, (3, 9), sides=False)
    least = optimum(case.rows, case.k, **case.judged())
    if least is None:
        return
    most = least + Fraction(draw.randint(-1, 6))
    if most < 0:
        return
    fewest = seed % 2 == 0
    case = replace(case, sides={"objective": "min_groups" if fewest else "max_groups", "cost_bound": most})
    best = optimum(case.rows, case.k, **case.judged())
    found = km.solve(case.problem(), method="milp")
    for number, groups in bounds[:1]:  # others are of smaller problems, to say what is in conflict
        if best is None:
            assert groups is None
        else:
            between = (number, best, best if groups is None else groups)
            assert list(between) == sorted(between, reverse=not fewest)
    assert found.proof == ("infeasible" if best is None else "optimal")
    assert best is None or present(found.exact_objective) == best
