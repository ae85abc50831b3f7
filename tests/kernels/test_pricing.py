"""The search for cheapest groups does what a look at all groups does, in floating point and whole numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.kernels import pricing
from kanon_milp.presolve.ragged import Ragged

# their first twelve arguments come as one list
cheapest_groups: Callable[..., Any] = pricing.cheapest_groups
possible_pairs: Callable[..., Any] = pricing.possible_pairs

PLENTY = 1_000_000  # nodes


@dataclass(frozen=True)
class Prices:
    """Candidates, row types and multipliers, all in quarters, so that floating point is exact."""

    covers: list[list[int]]
    cost: list[int]
    least: list[int]
    counts: list[int]
    multipliers: list[int]
    surcharge: list[int]
    rows: list[tuple[list[int], list[int], int]]
    charges: list[int]

    def groups(self, g: int) -> dict[tuple[int, ...], int]:
        """Every group of a candidate, its row types in rising order, each as often as it has rows → value."""
        found = {}
        for copies in itertools.product(*(range(self.counts[i] + 1) for i in self.covers[g])):
            if sum(copies) >= self.least[g]:
                taken = dict(zip(self.covers[g], copies, strict=True))
                value = self.surcharge[g] + sum((self.cost[g] - self.multipliers[i]) * a for i, a in taken.items())
                for (types, weights, d), charge in zip(self.rows, self.charges, strict=True):
                    value += charge * (sum(p * taken.get(i, 0) for i, p in zip(types, weights, strict=True)) // d)
                found[tuple(sorted(i for i, a in taken.items() for _ in range(a)))] = value
        return found

    def closed_form(self, g: int) -> int:
        """The cheapest group where rank-1 cuts are free."""
        return min(Prices(**{**self.__dict__, "rows": [], "charges": []}).groups(g).values(), default=10**6)

    def arguments(self, scalar: Any) -> Any:
        """As the kernels take them."""

        def number(values: list[int]) -> Any:
            whole = np.array(values, dtype=np.int64)
            return whole if scalar is np.int64 else whole / 4

        def count(values: list[int]) -> Any:
            return np.array(values, dtype=scalar)

        return (
            *Ragged.of(self.covers, np.int32), number(self.cost), count(self.least), number(self.surcharge),
            count(self.counts), number(self.multipliers),
            *RankOneCuts.of(self.rows).by_type(len(self.counts)), number(self.charges),
        )  # fmt: skip


@st.composite
def prices(draw: st.DrawFn) -> Prices:
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5).filter(lambda counts: sum(counts) <= 9))
    types = st.integers(0, len(counts) - 1)
    covers = draw(st.lists(st.lists(types, min_size=1, unique=True), min_size=1, max_size=4))
    rows, charges = [], []
    for chosen in draw(st.lists(st.lists(types, min_size=1, unique=True), max_size=4)):
        weights = draw(st.lists(st.integers(1, 4), min_size=len(chosen), max_size=len(chosen)))
        rows.append((chosen, weights, draw(st.integers(1, 5))))
        charges.append(draw(st.integers(0, 9)))

    def some(low: int, high: int, size: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=size, max_size=size))

    return Prices(
        covers, some(0, 12, len(covers)), some(1, 5, len(covers)), counts, some(-6, 18, len(counts)),
        some(0, 6, len(covers)), rows, charges,
    )  # fmt: skip


def split(found: tuple[Any, Any, Any]) -> list[tuple[int, tuple[int, ...]]]:
    """(candidate, row types in rising order) of each group."""
    candidates, sizes, types = found
    assert sizes.sum() == len(types)
    ends = np.cumsum(sizes)
    each = np.split(types, ends[:-1]) if len(ends) else []
    return [(int(g), tuple(sorted(rows.tolist()))) for g, rows in zip(candidates, each, strict=True)]


def in_quarters(values: Any, scalar: Any) -> list[int]:
    scaled = values if scalar is np.int64 else values * 4
    assert (scaled == np.rint(scaled)).all()
    return [int(value) for value in scaled]


def priced(
    case: Prices, scalar: Any, chosen: list[int], below: int, nodes: int
) -> tuple[list[tuple[int, tuple[int, ...]]], list[int], list[bool]]:
    limit = np.int64(below) if scalar is np.int64 else np.float64(below / 4)
    phi, complete, found = cheapest_groups(*case.arguments(scalar), np.array(chosen, dtype=np.int64), limit, nodes)
    return split(found), in_quarters(phi, scalar), complete.tolist()


both = pytest.mark.parametrize("scalar", [np.float64, np.int64])


@both
@given(prices(), st.integers(-20, 40), st.data())
@settings(max_examples=examples(60, 6))
def test_cheapest_groups(scalar: Any, case: Prices, below: int, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(case.covers) - 1), unique=True))
    found, phi, complete = priced(case, scalar, chosen, below, PLENTY)
    assert all(complete)
    cheap = []
    for g, value in zip(chosen, phi, strict=True):
        groups = case.groups(g)
        assert value == min([below, *groups.values()])
        if value < below:
            cheap.append(g)
            assert groups[dict(found)[g]] == value
    assert [g for g, _ in found] == cheap


@both
@given(prices(), st.integers(-10, 40), st.integers(0, 12))
@settings(max_examples=examples(60, 6))
def test_where_the_search_gives_up_the_closed_form_is_left(scalar: Any, case: Prices, below: int, nodes: int) -> None:
    found, phi, complete = priced(case, scalar, list(range(len(case.covers))), below, nodes)
    for g, (value, whole) in enumerate(zip(phi, complete, strict=True)):
        groups = case.groups(g)
        least = min([below, *groups.values()])
        if whole:
            assert value == least
        else:
            assert value == case.closed_form(g) <= least
    for g, rows in found:
        assert case.groups(g)[rows] < below


def limits(case: Prices, data: st.DataObject, scalar: Any) -> tuple[list[int], Any]:
    below = data.draw(st.lists(st.integers(-20, 40), min_size=len(case.covers), max_size=len(case.covers)))
    return below, np.array(below, dtype=np.int64) if scalar is np.int64 else np.array(below) / 4


@both
@given(prices(), st.data())
@settings(max_examples=examples(60, 6))
def test_possible_pairs(scalar: Any, case: Prices, data: st.DataObject) -> None:
    below, array = limits(case, data, scalar)
    expected = [
        any(i in rows and value < below[g] for rows, value in case.groups(g).items())
        for g, cover in enumerate(case.covers)
        for i in cover
    ]
    assert possible_pairs(*case.arguments(scalar), array, PLENTY, PLENTY).tolist() == expected
    # a search that gives up keeps its pair
    hasty = possible_pairs(
        *case.arguments(scalar), array, data.draw(st.integers(0, 3)), data.draw(st.integers(0, 9))
    ).tolist()
    assert all(kept or not needed for kept, needed in zip(hasty, expected, strict=True))


def test_many_groups_outgrow_the_first_arrays() -> None:
    # 200 candidates with 12 rows each in their cheapest groups
    many = Prices([list(range(12))] * 200, [0] * 200, [3] * 200, [1] * 12, [1] * 12, [0] * 200, [], [])
    groups, phi, _ = priced(many, np.int64, list(range(200)), 0, PLENTY)
    assert groups == [(g, tuple(range(12))) for g in range(200)]
    assert phi == [-12] * 200
