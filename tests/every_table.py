"""The judge of several objectives and of pools: every released table of a small problem, one after the other, from
plain data, by no code of the package; and small problems at random."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import polars as pl
from oracle import SYMBOL

import kanon_milp as km

Row = tuple[str, ...]
Vector = tuple[int, ...]
TREE: dict[str, Row] = {"a": ("a", "ab", "*"), "b": ("b", "ab", "*"), "c": ("c", "c?", "*")}


@dataclass(frozen=True)
class Released:
    """A table: released rows in order, the cost of each cell, and the level vectors of its rows."""

    rows: tuple[Row, ...]
    costs: tuple[tuple[Fraction, ...], ...]
    vectors: frozenset[Vector]

    @property
    def loss(self) -> Fraction:
        return sum((cost for row in self.costs for cost in row), Fraction(0))

    def value(self, goal: str, names: Sequence[str]) -> Fraction:
        """What a goal says of it; more groups are smaller, as all goals are minimized here."""
        sizes = Counter(self.rows).values()
        if goal == "loss":
            return self.loss
        if goal == "discernibility":
            return Fraction(sum(size * size for size in sizes))
        if goal in ("groups", "fewer groups"):
            return Fraction(len(sizes) if goal == "fewer groups" else -len(sizes))
        return sum((row[names.index(goal.removeprefix("keep "))] for row in self.costs), Fraction(0))

    def placed(self, originals: Sequence[Row]) -> frozenset[tuple[tuple[Row, Row], int]]:
        """How many rows of which kind are released as what: rows that are alike may be exchanged."""
        return frozenset(Counter(zip(originals, self.rows, strict=True)).items())


def every_table(
    rows: Sequence[Row],
    k: int,
    weights: Sequence[Fraction],
    trees: Mapping[int, Mapping[str, Row]] | None = None,
    vectors: Sequence[Vector] | None = None,
    *,
    exempt: bool = False,
    holds: Callable[[tuple[int, ...]], bool] = lambda _: True,
) -> Iterator[Released]:
    """All k-anonymous tables; trees: column → value → its labels, the last one "*"; holds: of a group's row numbers."""

    def path(j: int, value: str) -> Row:
        return (trees or {}).get(j, {}).get(value, (value, SYMBOL))

    height = [len(path(j, rows[0][j])) - 1 for j in range(len(rows[0]))]
    allowed = vectors or list(itertools.product(*(range(h + 1) for h in height)))
    for chosen in itertools.product(allowed, repeat=len(rows)):
        released = tuple(
            tuple(path(j, value)[vector[j]] for j, value in enumerate(row))
            for row, vector in zip(rows, chosen, strict=True)
        )
        groups: dict[Row, list[int]] = {}
        for number, row in enumerate(released):
            groups.setdefault(row, []).append(number)
        if all(
            (len(group) >= k or (exempt and set(row) == {SYMBOL})) and holds(tuple(group))
            for row, group in groups.items()
        ):
            costs = tuple(
                tuple(weight * Fraction(level, h) for weight, level, h in zip(weights, vector, height, strict=True))
                for vector in chosen
            )
            yield Released(released, costs, frozenset(chosen))


def drawn(draw: Random, rows: int = 5) -> tuple[km.Problem, list[Released]]:
    """A problem of two columns, and all its tables."""
    cells = [(draw.choice("abc"), draw.choice("xy")) for _ in range(rows)]
    weights = [draw.choice([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(0)]) for _ in range(2)]
    tree, k, exempt = draw.random() < 0.5, draw.choice([2, 2, 3]), draw.random() < 0.3
    frame = pl.DataFrame(cells, ["q0", "q1"], orient="row")
    named = dict(zip(frame.columns, weights, strict=True))
    recoding: Any = km.Hierarchies({"q0": TREE}, named) if tree else km.Suppression(named)
    problem = km.Problem(
        km.Table.from_frame(frame, frame.columns),
        km.KAnonymity(k),
        recoding,
        suppressed_rows="exempt" if exempt else "strict",
    )
    return problem, list(every_table(cells, k, weights, {0: TREE} if tree else None, exempt=exempt))
