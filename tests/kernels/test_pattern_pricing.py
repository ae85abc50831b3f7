"""Candidates priced level vector by level vector, against a dictionary of their covers and Python's integers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.pattern_pricing import cheapest_vectors, price_vectors
from kanon_milp.system.arrays import Ints

KINDS = pytest.mark.parametrize("kind", [np.int64, np.float64])
COLUMNS, CLASSES = 3, 3  # the last class has one label

tables = st.lists(st.tuples(*[st.integers(0, 3)] * COLUMNS), min_size=1, max_size=12)


def labels_of(table: list[tuple[int, ...]]) -> Any:
    """int32 (columns, classes, t), nested: 4 values, 2 halves, all."""
    return np.array([[[value >> c for value in column] for c in range(CLASSES)] for column in zip(*table, strict=True)])


def told_apart(label: Any, columns: range) -> tuple[Any, list[tuple[int, ...]]]:
    choices = list(itertools.product(range(CLASSES), repeat=len(columns)))
    rows = [np.stack([label[j, c] for j, c in zip(columns, choice, strict=True)]) for choice in choices]
    return np.array([np.unique(row, axis=1, return_inverse=True)[1].reshape(-1) for row in rows], np.int32), choices


def arguments(label: Any, seed: int) -> tuple[Any, ...]:
    """Halves, level vectors in any order, and their classes."""
    (first, ones), (second, others) = told_apart(label, range(1)), told_apart(label, range(1, COLUMNS))
    both = list(itertools.product(range(len(ones)), range(len(others))))
    np.random.default_rng(seed).shuffle(both)
    classes = np.array([(*ones[a], *others[b]) for a, b in both], np.int32)
    return first, second, *(np.array(each, np.int64) for each in zip(*both, strict=True)), classes


def cheapest_group(cover: list[int], w: int, least: int, counts: Ints, lam: Ints) -> tuple[int, dict[int, int]] | None:
    """φ and the rows of each type, by Python's integers; None for too few rows."""
    rows = [i for i in cover for _ in range(int(counts[i]))]
    if len(rows) < least:
        return None
    taken = [i for at, i in enumerate(rows) if at < least or lam[i] > w]
    return sum(w - int(lam[i]) for i in taken), {i: taken.count(i) for i in taken}


def no_labels(kind: Any) -> tuple[Any, ...]:
    """Costs are those of level vectors."""
    return np.zeros((0, 0), kind), np.zeros((0, 0), kind), np.zeros((0, 0, 0), np.int32)


@KINDS
@given(tables, st.data())
def test_sums_and_lists_are_those_of_all_closed_candidates(
    kind: Any, table: list[tuple[int, ...]], data: st.DataObject
) -> None:
    label, t = labels_of(table).astype(np.int32), len(table)
    numbers = st.lists(st.integers(1, 3), min_size=t, max_size=t)
    counts = np.array(data.draw(numbers), np.int64)
    lam = -np.sort(-np.array(data.draw(st.lists(st.integers(-5, 30), min_size=t, max_size=t)), np.int64))
    *halves, classes = arguments(label, data.draw(st.integers(0, 3)))
    cost, least = 5 * classes.sum(axis=1, dtype=np.int64), np.array(data.draw(st.sampled_from([1, 2, 5])), np.int64)
    always = data.draw(st.sampled_from([-1, int(cost.argmax())]))
    threshold, margin = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 12))
    least = np.full(len(cost), least)
    added, below = data.draw(st.sampled_from([0, 0, 3, -4])), np.empty(len(cost), kind)
    first, second, of_first, of_second = halves
    lost, lost_too, cheaper = no_labels(kind)
    vectors, phi, indptr, members = price_vectors(
        first, second, of_first, of_second, lost, lost_too, label, cheaper, classes, always, True, cost.astype(kind),
        least.astype(kind), counts.astype(kind), lam.astype(kind), kind(added), kind(threshold), kind(margin), True,
        below,
    )  # fmt: skip
    found = {
        (int(v), int(members[begin])): (int(value), members[begin:end].tolist())
        for v, value, (begin, end) in zip(vectors, phi, itertools.pairwise(indptr.tolist()), strict=True)
    }
    expected, sums = {}, np.zeros(len(cost), np.int64)
    for v, choice in enumerate(classes.tolist()):
        covers: dict[tuple[int, ...], list[int]] = {}
        for i in range(t):
            covers.setdefault(tuple(int(label[j, c, i]) for j, c in enumerate(choice)), []).append(i)
        for cover in covers.values():
            group = cheapest_group(cover, int(cost[v]), int(least[v]), counts, lam)
            closed = all(c == 0 or len({int(label[j, c - 1, i]) for i in cover}) > 1 for j, c in enumerate(choice))
            if group is None or not (closed or v == always):
                continue
            sums[v] += min(group[0] + added, 0)
            if group[0] + added < threshold:
                expected[v, cover[0]] = (
                    group[0] + added,
                    cover,
                    set(group[1]),
                    {i for i in cover if cost[v] - lam[i] < margin},
                )
    assert below.tolist() == sums.tolist()
    assert found.keys() == expected.keys()
    for key, (value, listed) in found.items():
        exact, cover, group_types, near = expected[key]
        assert value == exact
        assert listed == sorted(set(listed))
        assert group_types | near <= set(listed) <= set(cover)


@given(tables, st.integers(1, 4), st.data())
def test_each_row_type_finds_the_first_vector_with_enough_like_it(
    table: list[tuple[int, ...]], least: int, data: st.DataObject
) -> None:
    label, t = labels_of(table).astype(np.int32), len(table)
    counts = np.array(data.draw(st.lists(st.integers(1, 3), min_size=t, max_size=t)), np.int64)
    first, second, of_first, of_second, classes = arguments(label, 0)
    found, sizes = np.full(t, -1, np.int64), np.full(len(classes), least, np.int64)
    nothing = np.zeros((0, 0), np.int64)
    missing = cheapest_vectors(
        first, second, of_first, of_second, nothing, nothing, np.arange(len(classes)), sizes, counts, found
    )
    at = [[label[range(COLUMNS), choice, i].tolist() for choice in classes] for i in range(t)]
    for i in range(t):
        enough = [v for v in range(len(classes)) if sum(counts[o] for o in range(t) if at[o][v] == at[i][v]) >= least]
        assert found[i] == (enough[0] if enough else -1)
    assert missing == (found < 0).sum()
