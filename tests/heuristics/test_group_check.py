"""The exact check of groups: what is looked at value by value, and what only where the group has rows."""

from __future__ import annotations

import random

import numpy as np
import polars as pl

import kanon_milp as km
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.mondrian import Part, divide
from kanon_milp.presolve.instance import prepare
from kanon_milp.system.limit import Limit


def problem_of(rows: int, privacy: list[km.Requirement], unit: bool) -> km.Problem:
    draw = random.Random(rows)
    frame = pl.DataFrame(
        {
            "age": [draw.randrange(90) for _ in range(rows)],
            "ill": [str(draw.randrange(5)) for _ in range(rows)],
            "who": [str(draw.randrange(rows // 2)) for _ in range(rows)],
        }
    )
    table = km.Table.from_frame(frame, "age", "ill", unit="who" if unit else None)
    return km.Problem(table, privacy)


def test_few_of_many_joint_values_are_judged_as_all_are() -> None:
    draw, found = np.random.default_rng(1), set()
    for privacy in ([km.KAnonymity(4), km.LDiversity(2)], [km.KAnonymity(3), km.PSensitivity(2)]):
        instance = prepare(problem_of(400, privacy, unit=True))
        check, other, types = GroupCheck(instance), GroupCheck(instance), instance.types
        for _ in range(200):
            members = draw.choice(types.count, size=draw.integers(1, 12), replace=False)
            rows = draw.integers(0, types.counts[members] + 1)
            held = check.accepts(None, members, rows)
            assert held == other.holds(None, other.by_value(members, rows))
            found.add(held)
    assert found == {True, False}


class Steps(Limit):
    """A limit after some looks at it."""

    left_looks = 40

    @property
    def over(self) -> bool:
        Steps.left_looks -= 1
        return Steps.left_looks < 0


def test_mondrian_cut_short_has_parts_of_about_equally_many_rows() -> None:
    instance = prepare(problem_of(4000, [km.KAnonymity(2)], unit=False))
    whole = Part(np.arange(instance.types.count), instance.types.counts.copy())
    parts = list(divide(instance, whole, GroupCheck(instance), Steps(), relaxed=True))
    sizes = [int(part.rows.sum()) for part in parts]
    assert sum(sizes) == 4000
    assert len(sizes) > 30
    assert max(sizes) <= 3 * min(sizes)
