"""Lists of different lengths as arrays, against plain lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.presolve.ragged import Ragged, split_evenly, stable_order

lists = st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6)


def read(ragged: Ragged[np.int64]) -> list[list[int]]:
    assert ragged.indptr.dtype == np.int64
    assert ragged.lists == len(ragged.lengths) == len(ragged.each())
    return [each.tolist() for each in ragged.each()]


@given(lists, lists, st.data())
def test_as_plain_lists(first: list[list[int]], second: list[list[int]], data: st.DataObject) -> None:
    ragged: Ragged[np.int64] = Ragged.of(first)
    assert read(ragged) == first
    assert ragged.lengths.tolist() == [len(each) for each in first]
    assert ragged.list_of_value().tolist() == [s for s, each in enumerate(first) for _ in each]
    assert read(ragged.joined(Ragged.of(second), Ragged.of(first))) == first + second + first
    order = data.draw(st.lists(st.sampled_from(range(len(first))))) if first else []
    assert read(ragged.taken(np.array(order, dtype=np.int64))) == [first[s] for s in order]
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(first), max_size=len(first))), dtype=bool)
    assert read(ragged.subset(keep)) == [each for each, kept in zip(first, keep, strict=True) if kept]
    assert ragged.values[ragged.of_kept(keep)].tolist() == ragged.subset(keep).values.tolist()


@given(lists)
def test_transposed(given_lists: list[list[int]]) -> None:
    ragged: Ragged[np.int32] = Ragged.of(given_lists, np.int32)
    assert ragged.values.dtype == np.int32
    holders, places = ragged.transposed(6)
    assert read(holders) == [[s for s, each in enumerate(given_lists) for x in each if x == i] for i in range(6)]
    assert ragged.values[places].tolist() == [i for i, held in enumerate(holders.lengths.tolist()) for _ in range(held)]


@pytest.mark.parametrize("numbers", [1, 7, 1 << 16, (1 << 16) + 1, 1 << 20, 1 << 31, 1 << 33])
@pytest.mark.parametrize("count", [0, 1, 2000])
def test_numbers_are_ordered_as_by_a_stable_sort(numbers: int, count: int) -> None:
    values = np.random.default_rng(count).integers(0, numbers, count)
    values[count // 2 :] = values[: count - count // 2]
    assert stable_order(values, numbers).tolist() == np.argsort(values, kind="stable").tolist()


@pytest.mark.parametrize("most", [1, 3, 10, 1000])
def test_parts_of_lists_have_about_the_same_number_of_values(most: int) -> None:
    lengths = np.random.default_rng(most).integers(1, 20, 50)
    parts = split_evenly(np.arange(50), lengths, most)
    assert np.concatenate(parts).tolist() == list(range(50))
    assert all(len(part) and lengths[part].sum() < most + 20 for part in parts)
    assert not split_evenly(np.arange(0), lengths[:0], most)
