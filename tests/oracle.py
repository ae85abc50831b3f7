"""The brute-force judge: the true optimum of small problems, from plain data, by no code of the package.

A released table is a set of different released rows, each with the input rows that it stands for. The judge
goes through the possible released rows one by one and lets each stand for any set of the input rows it
generalizes (or for none), so it sees every set partition of the input together with every choice of released
rows, two of which never look the same. For each set of rows that is placed and each number of groups it keeps
the least cost; every question about cost and number of groups can be answered from that. About 0.1 s for 9
rows.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from kanon_milp.system.arrays import Ints

Value = str | None
Row = tuple[Value, ...]
Paths = Mapping[Value, Sequence[Value]]
Vector = tuple[int, ...]
Costs = Sequence[Fraction | int] | Mapping[Value, Fraction | int]  # of a column: by level, or by label (0: not named)
SYMBOL = "*"
NEVER = 1 << 60


def optimum(
    rows: Sequence[Row],
    k: int,
    *,
    objective: str = "loss",
    cost_bound: Fraction | int | None = None,
    min_groups: int | None = None,
    max_groups: int | None = None,
    **problem: Any,
) -> Fraction | None:
    """Best objective value, None if infeasible; further parameters as in `cheapest`."""
    by_groups = {
        groups: cost
        for groups, cost in cheapest(rows, k, **problem).items()
        if (cost_bound is None or cost <= cost_bound)
        and (min_groups is None or groups >= min_groups)
        and (max_groups is None or groups <= max_groups)
    }
    if not by_groups:
        return None
    if objective == "loss":
        return min(by_groups.values())
    return Fraction({"min_groups": min, "max_groups": max}[objective](by_groups))


def cheapest(
    rows: Sequence[Row],
    k: int,
    *,
    hierarchies: Mapping[int, Paths] | None = None,
    vectors: Sequence[Vector] | None = None,
    weights: Sequence[Fraction | int] | None = None,
    level_costs: Mapping[int, Costs] | None = None,
    suppressed_rows: str = "strict",
    units: Sequence[str] | None = None,
    requirement: Callable[[tuple[int, ...]], bool] | None = None,
    allowed: Callable[[Row], bool] | None = None,
) -> dict[int, Fraction]:
    """Least cost for each number of groups that a valid released table can have.

    hierarchies: column → value → labels by level, the last one "*"; other columns are kept or suppressed.
    vectors: allowed levels per column (default all). requirement: what else each group (row indices) must
    satisfy. allowed: which released rows there may be.
    suppressed_rows: "exempt" frees the fully suppressed row from k, not from `requirement`. units: whose each row is;
    then k counts different ones.
    """
    n = len(rows)
    costs = released_rows(rows, hierarchies, vectors, weights, level_costs)
    unit = math.lcm(1, *(cost.denominator for by_row in costs.values() for cost in by_row.values()))
    everything = (1 << n) - 1
    subsets_of = all_subsets(n)
    # least[placed rows, groups], in whole multiples of 1/unit
    least = np.full((1 << n, n + 1), NEVER, dtype=np.int64)
    least[0, 0] = 0
    for released, by_row in costs.items():
        if allowed is not None and not allowed(released):
            continue
        exempt = suppressed_rows == "exempt" and all(label == SYMBOL for label in released)
        before = least.copy()
        for block in itertools.chain.from_iterable(
            itertools.combinations(by_row, size) for size in range(1 if exempt else k, len(by_row) + 1)
        ):
            if not block or (requirement is not None and not requirement(block)):
                continue
            if units is not None and not exempt and len({units[i] for i in block}) < k:
                continue
            mask = sum(1 << i for i in block)
            cost = int(sum(by_row[i] for i in block) * unit)
            old = subsets_of[everything & ~mask]
            reached = np.where(before[old, :-1] < NEVER, before[old, :-1] + cost, NEVER)
            least[old | mask, 1:] = np.minimum(least[old | mask, 1:], reached)
    return {groups: Fraction(int(cost), unit) for groups, cost in enumerate(least[everything]) if cost < NEVER}


def released_rows(
    rows: Sequence[Row],
    hierarchies: Mapping[int, Paths] | None = None,
    vectors: Sequence[Vector] | None = None,
    weights: Sequence[Fraction | int] | None = None,
    level_costs: Mapping[int, Costs] | None = None,
) -> dict[Row, dict[int, Fraction]]:
    """Every possible released row → input row that it can stand for → least cost of reading it so."""
    columns = range(len(rows[0]))
    height = [1] * len(columns)
    for column, paths in (hierarchies or {}).items():
        height[column] = len(next(iter(paths.values()))) - 1

    def label(column: int, value: Value, level: int) -> Value:
        path = (hierarchies or {}).get(column, {value: (value, SYMBOL)})[value]
        return path[level]

    def cell_cost(column: int, value: Value, level: int) -> Fraction:
        given = (level_costs or {}).get(column)
        if isinstance(given, Mapping):
            unit_cost = Fraction(given.get(label(column, value, level), 0))
        else:
            unit_cost = Fraction(level, height[column]) if given is None else Fraction(given[level])
        return unit_cost * (1 if weights is None else Fraction(weights[column]))

    if vectors is None:
        vectors = list(itertools.product(*(range(h + 1) for h in height)))
    found: dict[Row, dict[int, Fraction]] = {}
    for vector in vectors:
        for i, row in enumerate(rows):
            cost = sum((cell_cost(c, row[c], vector[c]) for c in columns), Fraction(0))
            by_row = found.setdefault(tuple(label(c, row[c], vector[c]) for c in columns), {})
            by_row[i] = min(cost, by_row.get(i, cost))
    return found


@functools.cache
def all_subsets(n: int) -> list[Ints]:
    """For each set of n bits all its subsets."""
    return [np.array(submasks(mask)) for mask in range(1 << n)]


def submasks(mask: int) -> list[int]:
    """All subsets of a set of bits."""
    found, sub = [mask], mask
    while sub:
        sub = (sub - 1) & mask
        found.append(sub)
    return found
