"""What kernels do with arrays: sorting, growing, draws by weight, rows that are alike, own logarithms and powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kanon_milp.kernels.alike import group_alike
from kanon_milp.kernels.elementary import exp, exponentials, log, power
from kanon_milp.kernels.growing import doubled
from kanon_milp.kernels.moves import alias_tables
from kanon_milp.kernels.sorting import sort_stably


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
@given(keys=st.lists(st.integers(-5, 5), max_size=70))
def test_equal_keys_keep_their_order(dtype: type, keys: list[int]) -> None:
    array: NDArray[Any] = np.array(keys, dtype)
    order, other = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    sort_stably(array, len(keys), order, other)
    assert order.tolist() == np.argsort(array, kind="stable").tolist()


def test_longer_arrays_begin_with_what_was_there() -> None:
    longer = doubled(np.arange(5))
    assert longer.dtype == np.int64
    assert len(longer) == 10
    assert longer[:5].tolist() == [0, 1, 2, 3, 4]
    assert doubled(np.arange(5) / 2)[:5].tolist() == [0, 0.5, 1, 1.5, 2]
    rows = doubled(np.arange(12).reshape(4, 3))
    assert rows.shape == (8, 3)
    assert rows[:4].tolist() == np.arange(12).reshape(4, 3).tolist()


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=30).filter(lambda weights: sum(weights) > 1e-3))
def test_alias_tables_draw_by_weight(weights: list[float]) -> None:
    """Each is drawn by itself, or as the alias of another one."""
    weight = np.array(weights)
    chance, alias = alias_tables(weight)
    assert ((chance >= 0) & (chance <= 1)).all()
    drawn = chance + np.bincount(alias, weights=1 - chance, minlength=len(weight))
    assert np.allclose(drawn / len(weight), weight / weight.sum(), atol=1e-12)


COLUMNS, CODES = 3, 4


@given(
    st.lists(st.tuples(*[st.integers(0, CODES - 1)] * COLUMNS, st.integers(1, 3)), min_size=1, max_size=20),
    st.sets(st.integers(0, COLUMNS - 1)),
    st.lists(st.integers(0, 1), min_size=COLUMNS * CODES, max_size=COLUMNS * CODES), st.integers(1, 5), st.data(),
)  # fmt: skip
def test_groups_have_the_same_labels(
    types: list[tuple[int, ...]], used: set[int], label: list[int], least: int, data: st.DataObject
) -> None:
    codes, rows = np.array([each[:-1] for each in types], np.int64), np.array([each[-1] for each in types], np.int64)
    active = sorted(data.draw(st.sets(st.integers(0, len(types) - 1))))
    mixed = np.array([0, 5])[label]  # labels of different columns collide
    slots = 1 << (2 * len(types)).bit_length()
    stamp, first = np.zeros(slots, np.int64), np.full(slots, -1, np.int64)
    group, size, begin, members = (np.empty(len(types), np.int64) for _ in range(4))
    for number in (1, 2):  # what is left of one question does not matter to the next
        entries, groups = group_alike(
            codes, np.array(sorted(used), np.int64), np.array(sorted(used), np.int64) * CODES, np.array(label), mixed,
            np.array(active, np.int64), rows, least, number, stamp, first, group, size, begin, members,
        )  # fmt: skip
        found = np.split(members[:entries], size[1:groups]) if groups else []
        expected: dict[tuple[int, ...], list[int]] = {}
        for i in active:
            expected.setdefault(tuple(label[j * CODES + types[i][j]] for j in sorted(used)), []).append(i)
        large = [each for each in expected.values() if sum(types[i][-1] for i in each) >= least]
        assert [each.tolist() for each in found] == large


@given(st.floats(5e-324, 1e308))
def test_logarithms(x: float) -> None:
    assert log(x) == pytest.approx(math.log(x), rel=2e-12, abs=1e-300)


@given(st.floats(1e-300, 1e-3), st.sampled_from([-1.0, 1.0]))
def test_logarithms_near_1(away: float, sign: float) -> None:
    assert log(1.0 + sign * away) == pytest.approx(math.log(1.0 + sign * away), rel=2e-12, abs=1e-300)


@given(st.floats(-690, 690))
def test_exponentials(x: float) -> None:
    assert exp(x) == pytest.approx(math.exp(x), rel=1e-12)
    assert exponentials(np.array([x, 0.0, -1e9])).tolist() == [exp(x), 1.0, 0.0]


@given(st.floats(1e-9, 1e9), st.floats(-8, 8))
def test_powers(base: float, exponent: float) -> None:
    assert power(base, exponent) == pytest.approx(base**exponent, rel=1e-9)


def test_what_has_no_logarithm() -> None:
    assert [log(0.0), log(-1.0)] == [-math.inf, -math.inf]
    assert all(map(math.isnan, (log(math.inf), log(math.nan))))
    assert exp(-math.inf) == exp(math.nan) == 0.0
