"""The judge is judged: by trying every level vector for every row, and by numbers that are known."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest
from oracle import Value, cheapest, optimum

TREE: dict[Value, tuple[Value, ...]] = {
    "a": ("a", "ab", "*"),
    "b": ("b", "ab", "*"),
    "c": ("c", "cd", "*"),
    None: (None, "cd", "*"),
}
CHAIN: dict[Value, tuple[Value, ...]] = {
    "a": ("a", "a", "ab", "*"),
    "b": ("b", "b", "ab", "*"),
    "c": ("c", "c", "c", "*"),
    None: (None, "d", "d", "*"),
}


def try_everything(
    rows: Any,
    k: Any,
    *,
    hierarchies: Any,
    vectors: Any,
    weights: Any,
    level_costs: Any,
    suppressed_rows: Any,
    requirement: Any,
    cost_bound: Any,
    low: Any,
    high: Any,
) -> Any:
    """The optimum of each objective: assign each row each allowed level vector; no pruning, no bookkeeping."""
    values = []
    for choice in itertools.product(vectors, repeat=len(rows)):
        groups, cost = defaultdict(list), Fraction(0)
        for i, (row, vector) in enumerate(zip(rows, choice, strict=True)):
            released = []
            for c, level in enumerate(vector):
                path = hierarchies[c][row[c]] if c in hierarchies else (row[c], "*")
                share = level_costs[c][level] if c in level_costs else Fraction(level, len(path) - 1)
                cost += weights[c] * share
                released.append(path[level])
            groups[tuple(released)].append(i)
        good = all(
            requirement(tuple(group)) and (len(group) >= k or (suppressed_rows == "exempt" and set(released) == {"*"}))
            for released, group in groups.items()
        )
        if good and (cost_bound is None or cost <= cost_bound) and low <= len(groups) <= high:
            values.append((cost, len(groups)))
    if not values:
        return {"loss": None, "min_groups": None, "max_groups": None}
    costs, counts = zip(*values, strict=True)
    return {"loss": min(costs), "min_groups": min(counts), "max_groups": max(counts)}


@pytest.mark.parametrize("seed", range(120))
def test_agrees_with_trying_every_level_vector_for_every_row(seed: Any) -> None:
    draw = random.Random(seed)
    n, m = draw.randint(1, 5), draw.randint(1, 3)
    rows = [tuple(draw.choice(["a", "b", "c", None]) for _ in range(m)) for _ in range(n)]
    hierarchies = {c: draw.choice([TREE, CHAIN]) for c in range(m) if draw.random() < 0.4}
    heights = [len(hierarchies[c]["a"]) - 1 if c in hierarchies else 1 for c in range(m)]
    vectors = list(itertools.product(*(range(h + 1) for h in heights)))
    # at most 8 vectors, so that trying everything stays possible
    vectors = draw.sample(vectors, min(len(vectors), draw.randint(1, 8)))
    weights = [Fraction(draw.randint(0, 4), draw.choice([1, 2, 3])) for _ in range(m)]
    level_costs = {
        c: sorted(Fraction(draw.randint(0, 6), 6) for _ in range(heights[c] + 1))
        for c in hierarchies
        if draw.random() < 0.5
    }
    secret = [draw.randint(0, 1) for _ in rows]
    p = draw.choice([1, 1, 2])
    problem: dict[str, Any] = {
        "hierarchies": hierarchies,
        "vectors": vectors,
        "weights": weights,
        "level_costs": level_costs,
        "suppressed_rows": draw.choice(["strict", "exempt"]),
        "requirement": lambda group: len({secret[i] for i in group}) >= p,
    }
    bound = draw.choice([None, Fraction(draw.randint(0, 12), 2)])
    low, high = draw.choice([None, 2]), draw.choice([None, 1, 3])
    k = draw.randint(1, 3)
    expected = try_everything(rows, k, **problem, cost_bound=bound, low=low or 0, high=high or n)
    for objective in ("loss", "min_groups", "max_groups"):
        found = optimum(rows, k, **problem, objective=objective, cost_bound=bound, min_groups=low, max_groups=high)
        assert found == expected[objective]


def test_blocks_with_the_same_released_row_are_one_group() -> None:
    # two pairs that agree in nothing can only be released as ** each, and then they are one group of four
    rows = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
    assert cheapest(rows, 2) == {1: 8}


def test_full_product_needs_the_fewest_columns_that_reach_k() -> None:
    rows = list(itertools.product("abc", "de"))
    assert optimum(rows, 2) == 6
    assert optimum(rows, 3) == 6
    assert optimum(rows, 4) == 12


def test_nine_rows_with_hierarchies_are_feasible_to_judge() -> None:
    draw = random.Random(1)
    rows = [tuple(draw.choice("abc") for _ in range(3)) for _ in range(9)]
    hierarchies = {0: TREE, 2: CHAIN}
    cost = optimum(rows, 3, hierarchies=hierarchies)
    assert cost is not None
    assert optimum(rows, 3, hierarchies=hierarchies, cost_bound=cost - Fraction(1, 1000)) is None
    assert optimum(rows, 10, hierarchies=hierarchies) is None
