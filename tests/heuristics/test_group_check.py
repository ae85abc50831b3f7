"""The exact check of groups: what is looked at value by value, and what only where the group has rows."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl

import kanon_milp as km
from kanon_milp.heuristics.group_check import GroupCheck, UnplacedCheck
from kanon_milp.heuristics.mondrian import Part, divide
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Ints
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


def as_required(instance: Instance, rows: Ints) -> bool:
    """What the requirements say of a group of so many rows of each type."""
    problem = instance.problem
    code, values = instance.sensitive_codes(problem.attributes)
    counts = np.bincount(code, weights=rows).astype(int).tolist()
    tuples = {value: count for value, count in zip(values, counts, strict=True) if count}
    group = Group.of(problem.attributes, tuples, instance.table_group)
    return all(requirement.holds(group) for requirement in problem.requirements)


def test_groups_and_what_they_leave_over_are_judged_as_by_the_requirements() -> None:
    draw, found = np.random.default_rng(2), set()
    for ill in (km.LDiversity(2), km.LDiversity(2, form="blocki-williams"), km.TCloseness(Fraction(1, 2))):
        instance = prepare(problem_of(120, [km.KAnonymity(4), ill], unit=True))
        types, holds = instance.types, partial(as_required, instance)

        check, left = UnplacedCheck(instance), types.counts.copy()
        for _ in range(60):
            members = draw.choice(types.count, size=draw.integers(1, 30), replace=False)
            taken = check.most(None, members, left[members])
            rest = left.copy()
            if taken is None:
                rest[members] = 0
                assert not (holds(left - rest) and (holds(rest) or not holds(left) or not rest.any()))
            else:
                rest[members] -= taken
                assert holds(left - rest)
                assert holds(rest) or not holds(left) or not rest.any()
                if draw.random() < 0.3:
                    check.take(members, taken)
                    left = rest
            found.add(taken is None)
    assert found == {True, False}


def test_shares_are_judged_as_by_the_requirements_and_too_few_values_leave_nothing() -> None:
    draw, found = np.random.default_rng(3), set()
    for ill in (
        km.LDiversity(3),
        km.LDiversity(2, form="blocki-williams"),
        km.BetaLikeness("0.8"),
        km.DeltaDisclosure("0.9"),
        km.PSensitivity(2),
    ):
        instance = prepare(problem_of(100, [km.KAnonymity(2), ill], unit=False))
        check, types = UnplacedCheck(instance), instance.types
        blind = UnplacedCheck(instance)
        blind._shares.clear()
        for size in draw.integers(2, 30, size=25).tolist():
            members = draw.choice(types.count, size=size, replace=False)
            rows = np.zeros(types.count, dtype=np.int64)
            rows[members] = types.counts[members]
            holds = as_required(instance, rows)
            assert check.accepts(None, members, rows[members]) == holds
            taken, other = (each.most(None, members, rows[members]) for each in (check, blind))
            assert (taken is None) == (other is None)
            assert taken is None or (taken == other).all()
            found.add((holds, taken is None))
    assert {(True, False), (False, False), (False, True)} <= found


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
