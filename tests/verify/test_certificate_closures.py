"""The checker's sum over closed sets, against its sum over level vectors, which shares nothing with it but φ."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.bounds import certified_instance, certify, lagrangian
from kanon_milp.verify import closures
from kanon_milp.verify.definitions import Need
from kanon_milp.verify.dual import Below, Charge, ChargedLimits, LevelVectors, PackingCut, Released, dual_value
from kanon_milp.verify.group_costs import CodedLimits
from kanon_milp.verify.rank_one import RankOneCut


@st.composite
def columns(draw: st.DrawFn, rows: int) -> tuple[Released, list[int]]:
    """A column of nested labels, with what its levels cost, or each of its labels."""
    height, values = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    levels = [list(range(values))]
    for _ in range(height - 1):
        parent = draw(st.lists(st.integers(0, max(levels[-1])), min_size=values, max_size=values))
        levels.append([parent[label] for label in levels[-1]])
    levels.append([0] * values)
    held = draw(st.lists(st.integers(0, values - 1), min_size=rows, max_size=rows))
    labels = np.array([[h * values + level[value] for value in held] for h, level in enumerate(levels)])
    rise = draw(st.lists(st.integers(0, 3), min_size=height, max_size=height))
    if draw(st.booleans()):
        return Released(labels, (height + 1) * values), [0, *np.cumsum(rise).tolist()]
    losses = np.zeros_like(labels)
    for h in range(1, height + 1):
        for label in np.unique(labels[h]).tolist():
            here = labels[h] == label
            losses[h, here] = losses[h - 1, here].max() + draw(st.integers(0, 2))
    return Released(labels, (height + 1) * values, losses), [0] * (height + 1)


def some_rows(draw: Any, rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(sorted(draw(st.sets(st.integers(0, rows - 1), min_size=1))), dtype=np.int64)


def drawn_limits(draw: Any, released: Sequence[Released], denominator: int) -> ChargedLimits:
    """Shares and different values of one attribute, and charges of some sets of rows, at all level vectors that release
    these alike and no others."""
    count, values = released[0].of_row.shape[1], draw(st.integers(1, 3))
    of_row = np.array(draw(st.lists(st.integers(0, values - 1), min_size=count, max_size=count)), np.int64)
    upper = np.array([[draw(st.integers(1, 3)), 3] for _ in range(values)], np.int64).T
    lower = np.array([[draw(st.integers(0, 1)), 4] for _ in range(values)], np.int64).T
    shares = np.bincount(of_row, minlength=values).astype(np.int64)
    closeness = draw(st.sampled_from([None, Fraction(1, 4)]))
    limits = CodedLimits(of_row, upper, lower, draw(st.integers(1, 2)), shares, closeness)
    sets: dict[bytes, list[tuple[tuple[int, ...], int]]] = {}
    for levels in itertools.product(*(range(each.top + 1) for each in released)):
        labels = np.stack([each.of_row[level] for each, level in zip(released, levels, strict=True)])
        for row in range(count):
            alike = (labels == labels[:, row : row + 1]).all(axis=0)
            if alike.argmax() == row:
                sets.setdefault(alike.tobytes(), []).append((levels, row))
    charged = draw(st.sets(st.sampled_from(sorted(sets)), max_size=3)) if closeness else set()
    theta = draw(st.integers(0, 2 * denominator))
    return ChargedLimits({"s": limits}, [Charge("s", *each, theta) for key in charged for each in sets[key]])


@given(st.data())
def test_closed_sets_are_what_level_vectors_leave(data: st.DataObject) -> None:
    """Every term of the bound is there once, with both kinds of cuts and both readings of full suppression."""
    draw = data.draw
    count = draw(st.integers(1, 9))
    drawn = draw(st.lists(columns(count), min_size=1, max_size=4))
    released, costs = [each for each, _ in drawn], [each for _, each in drawn]
    rows = np.array(draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)), dtype=np.int64)
    denominator = draw(st.integers(1, 8))
    most = sum(cost[-1] + (0 if each.losses is None else int(each.losses.max())) for each, cost in drawn)
    of_rows = st.integers(-2 * denominator, (most + 4) * denominator)
    multipliers = np.array(draw(st.lists(of_rows, min_size=count, max_size=count)), dtype=np.int64)
    strict = Need(draw(st.integers(1, 5)), ())
    exempt = draw(st.sampled_from([strict, Need(1, ())]))
    packing = [
        PackingCut(some_rows(draw, count), draw(st.integers(0, 3 * denominator)))
        for _ in range(draw(st.integers(0, 2)))
    ]
    rank_one = []
    if draw(st.booleans()):
        of = some_rows(draw, count)
        weights = np.array([draw(st.integers(1, 3)) for _ in of], dtype=np.int64)
        rank_one.append(RankOneCut(of, weights, draw(st.integers(1, 4)), draw(st.integers(0, 2 * denominator))))
    top = tuple(each.top for each in released)
    vectors = list(itertools.product(*(range(height + 1) for height in top)))
    listed = LevelVectors(
        np.array(vectors),
        [sum(cost[level] for cost, level in zip(costs, vector, strict=True)) for vector in vectors],
        [exempt if vector == top else strict for vector in vectors],
    )
    below = LevelVectors(np.array([top]), [sum(cost[-1] for cost in costs)], [exempt], Below(costs, strict))
    asked: tuple[Any, Any, Any] = rows, {}, multipliers
    limits = drawn_limits(draw, released, denominator) if draw(st.booleans()) else None
    by_vector = dual_value(released, *asked, listed, denominator, packing, rank_one, limits)
    with patch.object(closures, "AT_ONCE", draw(st.sampled_from([7, 1 << 18]))):
        by_set = dual_value(released, *asked, below, denominator, packing, rank_one, limits)
    # a group below the top that loses as much as at the top is there twice where that asks for fewer rows
    losses = [np.array(cost)[:, None] + (0 if each.losses is None else each.losses) for each, cost in drawn]
    if exempt == strict or all((each[-1] > each[-2]).all() for each in losses):
        assert by_set == by_vector
    else:
        assert by_set >= by_vector


WIDE = 21  # columns of two values: 2^21 level vectors


def wide_problem(seed: int = 0, suppressed_rows: Any = "strict") -> km.Problem:
    draw = np.random.default_rng(seed)
    cells = draw.integers(2, size=(9, WIDE)) * draw.integers(2, size=(9, WIDE))
    frame = pl.DataFrame({f"q{j}": cells[:, j].astype(str).tolist() for j in range(WIDE)})
    weights = {f"q{j}": Fraction(1 + j % 3, 2) for j in range(WIDE)}
    table = km.Table.from_frame(frame, frame.columns)
    return km.Problem(table, [km.KAnonymity(3)], km.Suppression(weights), suppressed_rows=suppressed_rows)


@pytest.mark.full
@pytest.mark.parametrize("suppressed_rows", ["strict", "exempt"])
def test_a_certificate_where_level_vectors_are_too_many(suppressed_rows: str) -> None:
    """It proves the optimum but for what the relaxation leaves, and no more is believed."""
    problem = wide_problem(1, suppressed_rows)
    result = km.solve(problem)
    best = result.require_optimal().exact_objective
    assert best is not None
    proven = result.certify()
    report = km.check_certificate(problem, proven)
    assert report.valid
    assert not report.vacuous
    assert 0 < report.bound <= best
    stated = proven.as_dict()
    higher = stated | {"bound": str(report.bound + Fraction(1, 2))}
    assert "its multipliers prove" in km.check_certificate(problem, higher).problems[0]
    too_high = str(best + 1)
    for row in range(
        0, len(stated["multipliers"]), len(stated["multipliers"]) // 4
    ):  # a row may be worth more, but then its groups cost less
        forged = stated["multipliers"].copy()
        forged[row] += 40 * stated["denominator"]
        answer = km.check_certificate(problem, stated | {"multipliers": forged, "bound": too_high})
        assert not answer.valid
        assert answer.bound <= best
    assert not km.check_certificate(wide_problem(2, suppressed_rows), stated).valid


def test_multipliers_that_leave_too_much_are_refused() -> None:
    """No time is spent on what no proof would need."""
    problem = wide_problem(1)
    stated = certify(problem, lagrangian(certified_instance(problem), iterations=5)).as_dict()
    with patch.object(closures, "MOST_PARTS", 5):
        report = km.check_certificate(problem, stated)
    assert report.problems == ("the multipliers leave too many groups to be checked",)
