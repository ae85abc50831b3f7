"""Violations of groups, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.limits import FRACTION
from kanon_milp.kernels.rules import Rules, count_in, violation_of

VALUES = 5


def tree_of(random: np.random.Generator) -> list[tuple[int, int]]:
    """Nodes, children before parents: the value of each, -1 for none, and how many children it has."""
    nodes, roots = [], 0
    for v in range(VALUES):
        nodes.append((v, 0))
        roots += 1
        while roots > 1 and random.random() < 0.4:
            joined = int(random.integers(2, roots + 1))
            nodes.append((-1, joined))
            roots -= joined - 1
    return [*nodes, (-1, roots)]


def rows_below(tree: list[tuple[int, int]], counts: list[int]) -> list[int]:
    open_: list[int] = []
    found: list[int] = []
    for value, children in tree:
        inside = counts[value] if value >= 0 else 0
        for _ in range(children):
            inside += open_.pop()
        open_.append(inside)
        found.append(inside)
    return found


@given(st.integers(0, 10_000), st.lists(st.integers(0, 6), min_size=VALUES, max_size=VALUES), st.integers(1, 8))
def test_violation_is_what_each_rule_lacks(seed: int, counts: list[int], least: int) -> None:
    random = np.random.default_rng(seed)
    trees = [tree_of(random) for _ in range(random.integers(3))]
    limited = [(v, *_share(random, 0), *_share(random, 2)) for v in range(VALUES) if random.random() < 0.5]
    presence = [(0, VALUES, int(random.integers(2, 5)))] if random.random() < 0.5 else []
    share: list[int] = []
    weight: list[int] = []
    roots: list[tuple[int, ...]] = []
    end, size, found = -1, sum(counts), Fraction(max(least - sum(counts), 0))
    for tree in trees:
        scale, unit, most = 12, int(random.integers(1, 9)), int(random.integers(60))
        shares, weights = random.integers(13, size=len(tree)).tolist(), random.integers(9, size=len(tree)).tolist()
        end += len(tree)
        roots.append((end, scale, unit, most, -1))
        work = sum(
            q * abs(scale * inside - p * size)
            for p, q, inside in zip(shares, weights, rows_below(tree, counts), strict=True)
        )
        found += max(Fraction(work - most * size, scale * unit), Fraction(0))
        share, weight = share + shares, weight + weights
    for v, low, under, high, over in limited:
        found += max(counts[v] - Fraction(high, over) * size, Fraction(low, under) * size - counts[v], Fraction(0))
    for _, _, wanted in presence:
        found += max(wanted - sum(count > 0 for count in counts), 0)
    rules = Rules(
        np.zeros((2, VALUES), np.int32),
        np.arange(VALUES, dtype=np.int32)[:, None].copy(),
        np.array(limited, np.int64).reshape(-1, 5),
        np.array(presence, np.int64).reshape(-1, 3),
        np.array([value for tree in trees for value, _ in tree], np.int64),
        np.array([children for tree in trees for _, children in tree], np.int64),
        np.array(share, np.int64),
        np.array(weight, np.int64),
        np.array(roots, np.int64).reshape(-1, 5),
    )
    for v, rows in enumerate(counts):
        count_in(rules, 1, v, rows)
    assert np.asarray(rules.counts).tolist() == [[0] * VALUES, counts]
    violation = violation_of(rules, 1, size, least)
    assert violation == pytest.approx(float(found) + FRACTION if found and size else 0.0)
    assert violation_of(rules, 0, 0, least) == violation_of(rules, 1, size, -1) == 0


def _share(random: np.random.Generator, more: int) -> tuple[int, int]:
    """At most a half and at least a quarter times `more`."""
    return more + int(random.integers(3)), 8


def test_a_row_counts_for_each_attribute() -> None:
    nothing = np.zeros(0, np.int64)
    rules = Rules(
        np.zeros((1, 4), np.int32), np.array([[0, 2], [1, 2], [1, 3]], np.int32), nothing.reshape(0, 5),
        nothing.reshape(0, 3), nothing, nothing, nothing, nothing, nothing.reshape(0, 5),
    )  # fmt: skip
    count_in(rules, 0, 1, 3)
    count_in(rules, 0, 2, 1)
    count_in(rules, 0, 1, -1)
    assert np.asarray(rules.counts).tolist() == [[0, 3, 2, 1]]
