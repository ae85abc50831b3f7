"""What the levels of a hierarchy make of a column: labels and the rows under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from kanon_milp.problem.hierarchies import Hierarchy, Label

EXAMPLES = 3


@dataclass(frozen=True)
class LevelLabels:
    """One level. labels: how many occur in the column. smallest, largest: rows of the label with the fewest, and with
    the most. alone: rows whose label no other row has. examples: some labels; none of level 0, which are cells.
    """

    level: int
    labels: int
    smallest: int
    largest: int
    alone: int
    examples: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "examples": list(self.examples)}


def describe_labels(hierarchy: Hierarchy, column: pl.Series) -> tuple[LevelLabels, ...]:
    """Each level of a hierarchy over a column, which is text; values that it does not cover are left out."""
    values, rows = column.alias("").value_counts(name="rows").get_columns()
    known = dict(zip(values.to_list(), rows.to_list(), strict=True))
    counts: Mapping[Label, int] = {value: known[value] for value in hierarchy.paths if value in known}
    found = []
    for level in range(hierarchy.height + 1):
        under: dict[Label, int] = {}
        for value, count in counts.items():
            label = hierarchy.paths[value][level]
            under[label] = under.get(label, 0) + count
        sizes = list(under.values()) or [0]
        examples = tuple(str(label) for label in list(under)[:EXAMPLES]) if level else ()
        found.append(LevelLabels(level, len(under), min(sizes), max(sizes), sizes.count(1), examples))
    return tuple(found)
