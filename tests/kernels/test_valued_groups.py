"""The cheapest groups of any size, and of each, under requirements: against all groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.tree_subproblem import (
    FloatSubproblems,
    IntSubproblems,
    TreeArrays,
    ValuedCandidates,
    ValuedRows,
    cheapest_of_size,
    compose,
    compose_star,
    fewest_rows,
    floored,
    floored_float,
    most_rows,
    select,
)
from kanon_milp.kernels.valued_groups import (
    add_negative_rows,
    cheapest_by_size,
    cheapest_negative,
    cheapest_of_candidate,
    choose_rows,
    lowest_size,
    take_groups,
)

NEVER = 1 << 60
GRAIN = 8
SCALE: dict[type, int] = {np.int64: 8, np.float64: 1}  # of costs, so that all slopes are whole numbers
# own values and numbers of children of the nodes: a star, two levels, a line
SHAPES = {
    "star": ([0, 1, 2, -1], [0, 0, 0, 3]),
    "levels": ([0, 1, -1, 2, -1], [0, 0, 2, 0, 2]),
    "line": ([0, 1, 2], [0, 1, 1]),
}


class Case(NamedTuple):
    """A relaxation with limits and shares in eighths, weights 0 to 2; two candidates over five row types."""

    shape: str
    limits: list[tuple[int, int]]
    shares: list[int]
    weights: list[int]
    closeness: int
    presence: int
    counts: list[int]
    multipliers: list[int]
    value: list[int]
    cost: list[int]
    least: list[int]
    thetas: list[int]
    covers: list[list[int]]

    def tree(self, kind: type) -> TreeArrays[Any]:
        """As arrays."""
        own, children = (np.array(each) for each in SHAPES[self.shape])
        grain = GRAIN if kind is np.int64 else 1
        parts = np.array([[low, 8, high, 8] for low, high in self.limits])
        everything = np.array([[0, 1, 1, 1]] * len(own))
        of_value = np.where((own >= 0)[:, None], parts, everything)
        grid: Any = np.ascontiguousarray(of_value[:, [0, 2]] * grain / of_value[:, [1, 3]], kind)
        convex = self.presence > 0 and self.limits == [(0, 8)] * len(own) and not any(self.thetas)
        return TreeArrays(
            own, children, of_value, everything, grid, np.array([[0, grain]] * len(own), kind),
            (np.array(self.shares) * grain / 8).astype(kind), (np.array(self.weights) * grain).astype(kind),
            kind(self.closeness * grain / 8), self.presence, convex, kind(grain), kind(1 if grain > 1 else 2.0**-40),
            kind(0), kind(0 if grain > 1 else 1e-9), self.shape == "star",
        )  # fmt: skip

    def subproblems(self, kind: type) -> Any:
        """In floating point or integers."""
        rank, scale = np.array(self.value), SCALE[kind]
        covers = [sorted(cover, key=lambda i: (rank[i], -self.multipliers[i])) for cover in self.covers]
        cells = [np.unique(rank[cover], return_index=True) for cover in covers]
        candidates: Any = ValuedCandidates(
            np.cumsum([0, *map(len, covers)]), np.concatenate(covers).astype(np.int32),
            np.cumsum([0, *(len(values) for values, _ in cells)]), np.concatenate([values for values, _ in cells]),
            np.concatenate([[*at, len(cover)] for (_, at), cover in zip(cells, covers, strict=True)]),
            np.array(self.cost, kind) * scale, np.array(self.least),
            np.array([sum(self.counts[i] for i in cover) for cover in covers]), np.array(self.thetas, kind) * scale,
        )  # fmt: skip
        rows: Any = ValuedRows(np.array(self.counts, kind), np.array(self.multipliers, kind) * scale, rank)
        return (IntSubproblems if kind is np.int64 else FloatSubproblems)(self.tree(kind), candidates, rows)

    def groups(self, g: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """All allowed groups of a candidate, as rows of each type of its cover, and what each costs."""
        own, children = SHAPES[self.shape]
        cover = self.covers[g]
        for rows in itertools.product(*(range(self.counts[i] + 1) for i in cover)):
            size, held = sum(rows), [0] * len(own)
            of_value = [sum(x for x, i in zip(rows, cover, strict=True) if self.value[i] == v) for v in range(3)]
            if not size or sum(x > 0 for x in of_value) < self.presence:
                continue
            far, good, stack = 0.0, True, list[int]()
            for v in range(len(own)):
                if own[v] >= 0:
                    low, high = self.limits[v]
                    good = good and low * size <= 8 * of_value[own[v]] <= high * size
                held[v] = of_value[own[v]] if own[v] >= 0 else 0
                for _ in range(children[v]):
                    held[v] += stack.pop()
                stack.append(held[v])
                # the root has no edge above it
                far += self.weights[v] * abs(held[v] - self.shares[v] * size / 8) if v < len(own) - 1 else 0
            if good:
                value = sum(x * (self.cost[g] - self.multipliers[i]) for x, i in zip(rows, cover, strict=True))
                yield rows, value + self.thetas[g] * (far - self.closeness * size / 8)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Limits and charges, or different values."""
    shape = draw(st.sampled_from(list(SHAPES)))
    nodes = len(SHAPES[shape][0])
    number = st.integers(0, 8)
    limited, charged = draw(st.booleans()), draw(st.booleans())
    limits = [(0, 8)] * nodes
    if limited:
        limits = [(draw(st.integers(0, 2)), draw(st.integers(3, 8))) for _ in range(nodes)]
    presence = 1 if charged or shape != "star" else draw(st.integers(1, 3))
    members = st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True)
    weights = [draw(st.integers(0, 2)) for _ in range(nodes - 1)] + [0]
    return Case(
        shape, limits, [draw(number) for _ in range(nodes)], weights, draw(number), presence,
        draw(st.lists(st.integers(1, 2), min_size=5, max_size=5)),
        draw(st.lists(st.integers(-5, 9), min_size=5, max_size=5)),
        draw(st.lists(st.integers(0, 2), min_size=5, max_size=5)),
        draw(st.lists(st.integers(0, 9), min_size=2, max_size=2)),
        draw(st.lists(st.integers(1, 3), min_size=2, max_size=2)),
        [draw(st.integers(0, 6)) if charged else 0 for _ in range(2)], [draw(members), draw(members)],
    )  # fmt: skip


def cheapest(case: Case, g: int, scale: int = 1) -> float:
    """φ times `scale` by brute force, no less than all rows with a negative reduced cost."""
    allowed = [cost for rows, cost in case.groups(g) if sum(rows) >= case.least[g]]
    below = sum(case.counts[i] * min(case.cost[g] - case.multipliers[i], 0) for i in case.covers[g])
    return scale * max(min(allowed, default=math.inf), below)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@given(case=cases())
def test_the_cheapest_group_of_a_candidate(kind: type, case: Case) -> None:
    s = case.subproblems(kind)
    for g in range(2):
        select(s, g)
        for near in (1, 4):
            possible = cheapest_of_candidate(s, near, 100, True)
            phi = cheapest(case, g, SCALE[kind])
            assert possible == math.isfinite(phi)
            if not possible:
                continue
            # in integers rounded down
            assert s.value == pytest.approx(phi if kind is np.float64 else max(math.floor(phi), s.below))
            # a size that is not convex has h below H
            if s.most >= s.fewest and not s.convex:
                values = {}
                for size in range(s.fewest, s.most + 1):
                    if cheapest_of_size(s, size, False):
                        values[size] = s.value
                assert lowest_size(s, min(max(near, s.fewest), s.most))
                assert s.value == pytest.approx(min(values.values()))
            # few tries give a bound below
            assert cheapest_of_candidate(s, near, 1, True)
            assert s.value <= phi + 1e-9


@given(case=cases())
def test_negative_groups_and_their_rows(case: Case) -> None:
    s = case.subproblems(np.float64)
    sizes, phi = np.zeros(2, np.int64), np.zeros(2)
    for g in range(2):
        select(s, g)
        if s.most < s.fewest:
            continue
        for near in (1, 4):
            some = cheapest_negative(s, near, 100)
            assert s.value == pytest.approx(min(cheapest(case, g), 0.0), abs=1e-9)
            assert some or s.value == 0
        phi[g], sizes[g] = s.value, s.size
        add_negative_rows(s)
        assert s.below <= phi[g] + 1e-9
    pairs = len(s.members)
    rows, excess, average = np.zeros(5), np.ones(2), np.full(pairs + 1, 0.5)
    ascending = np.concatenate([np.sort(np.asarray(s.members)[a:b]) for a, b in [s.indptr[:2], s.indptr[1:]]])
    wanted = (phi < 0).view(np.uint8)
    take_groups(s, wanted, sizes, rows, excess, ascending, average)
    assert rows.sum() == pytest.approx(sizes[phi < 0].sum())
    assert (excess[phi >= 0] == 0).all()
    assert (average[:-1] - 0.5).sum() == pytest.approx(0.5 * rows.sum())
    for g in np.flatnonzero(phi < 0).tolist():
        select(s, g)
        choose_rows(s, sizes[g])
        before = s.value
        far = excess[g]
        s.theta = s.theta + 1
        choose_rows(s, sizes[g])
        # a subgradient of a concave function
        assert s.value <= before + far + 1e-6


@given(case=cases())
def test_all_candidates_in_integers(case: Case) -> None:
    s = case.subproblems(np.int64)
    phi, some, sizes, groups = np.empty((4, 2), np.int64)
    sizes[:] = case.least
    cheapest_by_size(s, 100, NEVER, True, phi, sizes, groups)
    cheapest_by_size(s, 100, NEVER, False, some, sizes, groups)
    for g in range(2):
        least = cheapest(case, g, SCALE[np.int64])
        if not math.isfinite(least):
            assert phi[g] == NEVER
            continue
        select(s, g)
        add_negative_rows(s)
        assert phi[g] == max(math.floor(least), s.below)
        assert min(some[g], 0) == min(max(math.floor(least), s.below), 0)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@given(case=cases())
def test_the_cheapest_group_of_each_size(kind: type, case: Case) -> None:
    s, scale = case.subproblems(kind), SCALE[kind]
    for g in range(2):
        select(s, g)
        least = dict[int, float]()
        for rows, cost in case.groups(g):
            least[sum(rows)] = min(cost, least.get(sum(rows), math.inf))
        for size in range(1, s.most + 1):
            for way in (compose, compose_star, cheapest_of_size) if s.star else (compose, cheapest_of_size):
                assert way(s, size, True) == (size in least)
                if size not in least:
                    continue
                value = s.value / float(s.grain) / scale
                assert value == pytest.approx(least[size], abs=1e-9)
                types, amounts = np.asarray(s.chosen)[: s.entries], np.asarray(s.chosen_amounts)[: s.entries]
                assert amounts.sum() == size * s.grain
                assert (np.bincount(types, amounts, 5) <= np.array(case.counts) * float(s.grain)).all()
                assert way(s, size, False)
                assert s.value / float(s.grain) / scale <= value + 1e-9


@given(st.integers(-(2**40), 2**40), st.integers(1, 2**20), st.integers(0, 5000))
def test_quotients_are_rounded_down(a: int, b: int, size: int) -> None:
    assert floored(a, b) == a // b
    assert floored_float(a / 3, b / 7) == (a / 3) // (b / 7)
    assert fewest_rows(min(abs(a), b), b, size) == math.ceil(min(abs(a), b) * size / b)
    assert most_rows(min(abs(a), b), b, size) == min(abs(a), b) * size // b
