"""Random small problems, as plain data that both the package and the brute-force judge understand.

The functions `drawn_...` draw from any `random.Random`: the conformance suite and the campaigns of benchmarks/ give one
of a fixed seed, the strategies one that Hypothesis varies and shrinks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any, TypeVar

import numpy as np
import polars as pl
from hypothesis import strategies as st
from oracle import Costs

import kanon_milp as km
from kanon_milp.bounds import type_sets
from kanon_milp.bounds.packing_cuts import TypeSets
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.reductions import reduce
from kanon_milp.verify.tables import SuppressedRows

Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class Case:
    """rows: tuples of values. Everything else as in tests/oracle.py; `sides` are objective and side constraints."""

    rows: tuple[tuple[str | None, ...], ...]
    k: int
    vectors: tuple[tuple[int, ...], ...] | None
    weights: tuple[Fraction, ...]
    hierarchies: dict[int, dict[str | None, tuple[str | None, ...]]]
    level_costs: dict[int, Costs]
    suppressed_rows: SuppressedRows
    sides: dict[str, Any]

    @property
    def names(self) -> list[str]:
        return [f"q{j}" for j in range(len(self.rows[0]))]

    @property
    def heights(self) -> tuple[int, ...]:
        """The highest level of each column."""
        trees = self.hierarchies
        return tuple(len(next(iter(trees[j].values()))) - 1 if j in trees else 1 for j in range(len(self.rows[0])))

    def table(self) -> km.Table:
        frame = pl.DataFrame(list(self.rows), schema=dict.fromkeys(self.names, pl.String), orient="row")
        return km.Table.from_frame(frame, self.names)

    def problem(self) -> km.Problem:
        names = self.names
        weights = dict(zip(names, self.weights, strict=True))
        mask = None if self.vectors is None else km.PatternMask(self.vectors, weights)
        recoding: Any
        if self.hierarchies:
            recoding = km.Hierarchies(
                {names[j]: km.Hierarchy(paths) for j, paths in self.hierarchies.items()},
                weights,
                mask=mask,
                costs={names[j]: costs for j, costs in self.level_costs.items()},
            )
        else:
            recoding = mask or km.Suppression(weights)
        return km.Problem(
            self.table(),
            [km.KAnonymity(self.k)],
            recoding,
            suppressed_rows=self.suppressed_rows,
            **self.sides,
        )

    def judged(self) -> dict[str, Any]:
        """Arguments of the oracle."""
        return {
            "vectors": self.vectors,
            "weights": self.weights,
            "hierarchies": self.hierarchies,
            "level_costs": self.level_costs,
            "suppressed_rows": self.suppressed_rows,
            **self.sides,
        }


WEIGHTS = (*(Fraction(1),) * 2, Fraction(0), Fraction(2), Fraction(1, 2), Fraction(7, 3), Fraction(10))
# three nested levels above the values, labels that stay the same on two of them; the missing value has its own
PATHS: dict[str | None, tuple[str | None, ...]] = {
    "a": ("a", "ab", "abcd", "*"),
    "b": ("b", "ab", "abcd", "*"),
    "c": ("c", "c", "abcd", "*"),
    "d": ("d", "d?", "abcd", "*"),
    None: (None, "none", "none", "*"),
}


def one_in(rng: Random, n: int) -> bool:
    """With probability 1/n; what Hypothesis makes smaller is False."""
    return rng.randrange(n) == n - 1


def drawn_case(
    rng: Random, rows: tuple[int, int] = (1, 8), columns: int = 3, *, sides: bool = True, any_k: bool = False
) -> Case:
    """A table with any combination of mask, weights, hierarchies, side constraints and readings.

    rows: least and largest number. columns: the largest number. any_k: k may be more than the rows.
    """
    width = rng.randint(1, columns)
    values: list[str | None] = [*"abcd"[: rng.randint(1, 4)], *([None] if one_in(rng, 3) else [])]
    copied = rng.choice([0, 0, 3, 6])  # tenths of the rows that are like an earlier one
    cells: list[tuple[str | None, ...]] = []
    for _ in range(rng.randint(*rows)):
        again = cells and rng.randrange(10) < copied
        cells.append(rng.choice(cells) if again else tuple(rng.choice(values) for _ in range(width)))
    plain = one_in(rng, 4)
    trees = {c: drawn_tree(rng, values) for c in range(width) if one_in(rng, 2)} if not plain and one_in(rng, 2) else {}
    heights = tuple(len(next(iter(trees[c].values()))) - 1 if c in trees else 1 for c in range(width))
    vectors = None
    if not plain and one_in(rng, 2):
        everything = list(itertools.product(*(range(height + 1) for height in heights)))
        chosen = rng.sample(everything, min(rng.randint(1, 6), len(everything)))
        vectors = tuple(dict.fromkeys([*chosen, *([] if one_in(rng, 4) else [heights])]))  # or few can be solved
    return Case(
        tuple(cells),
        len(cells) + 1 if any_k and one_in(rng, 16) else rng.choice([k for k in (2, 3, 4, 1) if k <= len(cells)]),
        vectors,
        tuple(rng.choice(WEIGHTS) if not plain and one_in(rng, 2) else Fraction(1) for _ in range(width)),
        trees,
        {c: drawn_costs(rng, trees[c]) for c in trees if one_in(rng, 2)},
        rng.choice(["strict", "exempt"]),
        drawn_sides(rng, len(cells), width) if sides and one_in(rng, 2) else {},
    )


def without_label_costs(case: Case) -> Case:
    costs: dict[int, Costs] = {column: each for column, each in case.level_costs.items() if isinstance(each, tuple)}
    return replace(case, level_costs=costs)


def priceable(case: Case) -> Case:
    """Without a mask."""
    return replace(case, vectors=None)


def drawn_tree(rng: Random, values: Sequence[str | None]) -> dict[str | None, tuple[str | None, ...]]:
    """A nested hierarchy: at each level classes of the level below are thrown together."""
    if one_in(rng, 2) and set(values) <= set(PATHS):
        return PATHS
    paths: dict[str | None, list[str | None]] = {value: [value] for value in values}
    class_of = {value: number for number, value in enumerate(values)}
    for level in range(1, rng.randint(2, 4)):
        parent = [rng.randrange(3) for _ in range(max(3, len(values)))]
        class_of = {value: parent[number] for value, number in class_of.items()}
        if len(set(class_of.values())) == 1:  # all would meet below the top
            break
        for value, number in class_of.items():
            paths[value].append(f"level {level}, class {number}")
    return {value: (*path, "*") for value, path in paths.items()}


def drawn_costs(rng: Random, tree: dict[str | None, tuple[str | None, ...]]) -> Costs:
    """Costs that do not fall from level to level: of each level, or of each label above the values."""
    height = len(next(iter(tree.values()))) - 1
    steps = [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(2)]
    if one_in(rng, 2):
        return tuple(itertools.accumulate((rng.choice(steps) for _ in range(height)), initial=Fraction(0)))
    costs = dict.fromkeys(tree, Fraction(0))
    for level in range(1, height + 1):
        below: dict[str | None, Fraction] = {}
        for path in tree.values():
            below[path[level]] = max(below.get(path[level], Fraction(0)), costs[path[level - 1]])
        costs |= {label: cost + rng.choice(steps) for label, cost in below.items() if label not in costs}
    return {label: cost for label, cost in costs.items() if label not in tree}


def drawn_sides(rng: Random, rows: int, columns: int) -> dict[str, Any]:
    """Side constraints and an objective."""
    found: dict[str, Any] = {}
    if one_in(rng, 2):
        found["cost_bound"] = rng.randint(0, rows * columns)
    if one_in(rng, 2):
        found["min_groups"] = rng.randint(1, 4)
    if one_in(rng, 2):
        found["max_groups"] = rng.randint(found.get("min_groups", 1), 5)
    return {**found, "objective": rng.choice(["loss", "loss", "min_groups", "max_groups"])}


def by_hypothesis(draw: Callable[[Random], Drawn]) -> st.SearchStrategy[Drawn]:
    """What a function draws, as Hypothesis varies and shrinks it."""
    return st.randoms(use_true_random=False).map(draw)


def cases(max_rows: int = 8, max_columns: int = 3, sides: bool = True) -> st.SearchStrategy[Case]:
    """Small tables of `drawn_case`."""
    return by_hypothesis(lambda rng: drawn_case(rng, (1, max_rows), max_columns, sides=sides))


def drawn_sets(data: st.DataObject, count: int, largest: int) -> tuple[TypeSets, np.ndarray[Any, np.dtype[np.int64]]]:
    """Up to three sets of `count` row types, and a multiplier for each."""
    sets = data.draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1), max_size=3))
    charges = data.draw(st.lists(st.integers(0, largest), min_size=len(sets), max_size=len(sets)))
    return type_sets(sets), np.array(charges, dtype=np.int64)


def reduced(problem: km.Problem) -> Instance:
    """All candidates of a problem that reductions leave."""
    before = prepare(problem)
    steps = reduce(before)
    return steps[-1].instance if steps else before


def covered(instance: Instance) -> bool:
    """Whether each row type has a candidate."""
    return set(instance.candidates.members.tolist()) == set(range(instance.types.count))


def few_vectors(rng: Random, case: Case, most: int) -> Case:
    """The same case with few enough level vectors that its rows have at most so many released tables; that of full
    suppression is among them, so that most problems have a solution."""
    rows, heights = len(case.rows), case.heights
    vectors = case.vectors or tuple(itertools.product(*(range(height + 1) for height in heights)))
    number = max(v for v in range(1, len(vectors) + 1) if v**rows <= most)
    if number == len(vectors):
        return case
    return replace(case, vectors=tuple(dict.fromkeys([heights, *rng.sample(vectors, number)]))[:number])
