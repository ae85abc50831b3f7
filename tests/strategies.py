"""Random small problems, as plain data that both the package and the brute-force judge understand."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.bounds import type_sets
from kanon_milp.bounds.packing_cuts import TypeSets
from kanon_milp.presolve.instance import Instance
from kanon_milp.verify.tables import SuppressedRows


@dataclass(frozen=True)
class Case:
    """rows: tuples of values. Everything else as in tests/oracle.py; `sides` are objective and side constraints."""

    rows: tuple[tuple[str | None, ...], ...]
    k: int
    vectors: tuple[tuple[int, ...], ...] | None
    weights: tuple[Fraction, ...]
    hierarchies: dict[int, dict[str | None, tuple[str | None, ...]]]
    level_costs: dict[int, tuple[Fraction, ...]]
    suppressed_rows: SuppressedRows
    sides: dict[str, Any]

    @property
    def names(self) -> list[str]:
        return [f"q{j}" for j in range(len(self.rows[0]))]

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
                {names[j]: costs for j, costs in self.level_costs.items()},
                mask,
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


VALUES = ("a", "b", "c", "d")
# three nested levels above the values; the missing value has a place of its own
PATHS: dict[str | None, tuple[str | None, ...]] = {
    "a": ("a", "ab", "abcd", "*"),
    "b": ("b", "ab", "abcd", "*"),
    "c": ("c", "c", "abcd", "*"),
    "d": ("d", "d?", "abcd", "*"),
    None: (None, "none", "none", "*"),
}


@st.composite
def cases(draw: st.DrawFn, max_rows: int = 8, max_columns: int = 3, sides: bool = True) -> Case:
    """Small tables with any combination of mask, weights, hierarchies, side constraints and readings."""
    m = draw(st.integers(1, max_columns))
    value = st.sampled_from((*VALUES[: draw(st.integers(1, 4))], None) if draw(st.booleans()) else VALUES[:3])
    rows = tuple(draw(st.lists(st.tuples(*[value] * m), min_size=1, max_size=max_rows)))
    k = draw(st.sampled_from([k for k in (2, 3, 4, 1) if k <= len(rows)]))
    with_hierarchy = draw(st.lists(st.integers(0, m - 1), unique=True, max_size=m)) if draw(st.booleans()) else []
    heights = [3 if j in with_hierarchy else 1 for j in range(m)]
    everything = list(itertools.product(*(range(h + 1) for h in heights)))
    vectors = None
    if draw(st.booleans()):
        vectors = tuple(draw(st.lists(st.sampled_from(everything), min_size=1, max_size=6, unique=True)))
    weight = st.sampled_from([Fraction(1), Fraction(0), Fraction(2), Fraction(1, 2), Fraction(7, 3)])
    weights = tuple(draw(weight) for _ in range(m))
    costs: st.SearchStrategy[tuple[Fraction | int, ...]] = st.sampled_from(
        [(0, 1, 2, 3), (0, 0, Fraction(1, 3), 1), (0, Fraction(1, 4), Fraction(1, 4), 5)]
    )
    level_costs = {j: tuple(Fraction(cost) for cost in draw(costs)) for j in with_hierarchy if draw(st.booleans())}
    extra: dict[str, Any] = {}
    if sides:
        if draw(st.booleans()):
            extra["cost_bound"] = draw(st.integers(0, len(rows) * m))
        if draw(st.booleans()):
            extra["min_groups"] = draw(st.integers(1, 4))
        if draw(st.booleans()):
            extra["max_groups"] = draw(st.integers(extra.get("min_groups", 1), 5))
        extra["objective"] = draw(st.sampled_from(["loss", "loss", "min_groups", "max_groups"]))
    return Case(
        rows,
        k,
        vectors,
        weights,
        dict.fromkeys(with_hierarchy, PATHS),
        level_costs,
        draw(st.sampled_from(["strict", "exempt"])),
        extra,
    )


def drawn_sets(data: st.DataObject, count: int, largest: int) -> tuple[TypeSets, np.ndarray[Any, np.dtype[np.int64]]]:
    """Up to three sets of `count` row types, and a multiplier for each."""
    sets = data.draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1), max_size=3))
    charges = data.draw(st.lists(st.integers(0, largest), min_size=len(sets), max_size=len(sets)))
    return type_sets(sets), np.array(charges, dtype=np.int64)


def covered(instance: Instance) -> bool:
    """Whether each row type has a candidate."""
    return set(instance.candidates.members.tolist()) == set(range(instance.types.count))


def few_vectors(draw: st.DrawFn, case: Case, most: int) -> Case:
    """The same case with few enough level vectors that its rows have at most so many released tables; that of full
    suppression is among them, so that most problems have a solution."""
    rows, columns = len(case.rows), range(len(case.rows[0]))
    heights = tuple(len(next(iter(case.hierarchies[c].values()))) - 1 if c in case.hierarchies else 1 for c in columns)
    vectors = case.vectors or tuple(itertools.product(*(range(height + 1) for height in heights)))
    number = max(v for v in range(1, len(vectors) + 1) if v**rows <= most)
    if number == len(vectors):
        return case
    chosen = draw(st.permutations(vectors))[:number]
    return replace(case, vectors=tuple({heights: None, **dict.fromkeys(chosen)})[:number])
