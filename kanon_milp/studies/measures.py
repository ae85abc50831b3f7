"""What a released table costs and protects, column by column, as plain data: numbers of rows, and no cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table
from kanon_milp.studies.metrics import group_sizes, linked_sizes, measure
from kanon_milp.verify import Report
from kanon_milp.verify.foreign import suppressed_cells
from kanon_milp.verify.tables import classes, open_released, text_columns

LARGEST = 24  # values of a column that are counted one by one


def describe_release(problem: Problem, released: Any, report: Report | None) -> dict[str, Any]:
    """The entry `measures` of `result.json`: risk before and after, quality, columns, groups, sensitive attributes.

    released: a table with the rows of the problem's in their order. risk: see `risk`; k is 2 where none is asked for.
    unit_risk: the same over units of protection, see there; None where rows are counted. columns: rows whose cell is
    kept, generalized and suppressed;
    numbers of distinct values before and after; (rows, of which kept) for each of the most frequent values, and for all
    others together. group_sizes: (size, how many groups have it). sensitive: the strongest p, l (frequency), alpha and
    t (equal distance) that hold in every group, from the verifier's report.
    """
    table = problem.table
    names = list(table.quasi_identifiers)
    before, after = table.keys[names], text_columns(open_released(released, table), names)
    k = max((each.k for each in problem.requirements if isinstance(each, KAnonymity)), default=2)
    suppressed = suppressed_cells(before, after, table.symbol)
    return {
        "risk": {"k": k, "before": risk(group_sizes(before), 0, k), "after": risk(*linked_sizes(after, suppressed), k)},
        "unit_risk": None if table.unit is None else _unit_risks(table, before, after, suppressed, k),
        "quality": measure(problem, released).as_dict(),
        "columns": [
            _column(name, before[name].alias("before"), after[name].alias("after"), table.symbol) for name in names
        ],
        "group_sizes": [list(pair) for pair in sorted(Counter(group_sizes(after)).items())],
        "sensitive": [
            {"name": name, "p": held.p, "l": float(held.l), "alpha": float(held.alpha), "t": float(held.t)}
            for name, held in (report.released.sensitive if report is not None else {}).items()
        ],
    }


def risk(sizes: Sequence[int], suppressed_rows: int, k: int) -> dict[str, float | int]:
    """Risks for groups of these sizes, and numbers of their rows that are unique, and in groups of fewer than k.

    suppressed_rows: how many rows there are of which nothing is released, told apart as in `linked_sizes`; all else is
    about the others. highest, average: of the prosecutor, who knows that somebody is in the table, 1/|group| of a row.
    journalist: the highest for somebody who does not know that, marketer: the share of rows that somebody who links all
    of them finds on average, both with the table in place of the population, of which nothing is known here."""
    rows = sum(sizes)
    return {
        "highest": 1 / min(sizes),
        "average": len(sizes) / rows,
        "journalist": 1 / min(sizes),
        "marketer": len(sizes) / rows,
        "unique_rows": sum(size == 1 for size in sizes),
        "rows_below_k": sum(size for size in sizes if size < k),
        "suppressed_rows": suppressed_rows,
        "rows": rows,
        "groups": len(sizes),
        "smallest": min(sizes),
    }


def _unit_risks(
    table: Table, before: pl.DataFrame, after: pl.DataFrame, suppressed: pl.DataFrame, k: int
) -> dict[str, Any]:
    """The entry `unit_risk`: before, and after without rows of which nothing is released, unless these are all."""
    units = table.column(table.roles.unit[0])
    shown = ~suppressed.select(pl.all_horizontal(pl.all()).alias("gone")).to_series()
    if shown.any():
        after, left = after.filter(shown), units.filter(shown)
    else:
        left = units
    return {"unit": table.unit, "k": k, "before": unit_risk(before, units, [k]), "after": unit_risk(after, left, [k])}


def unit_risk(keys: pl.DataFrame, units: pl.Series, ks: Sequence[int]) -> dict[str, Any]:
    """Risks of units of protection, such as patients with several rows each.

    keys: the quasi-identifiers, row by row; units: whose rows these are. Somebody who knows the quasi-identifiers of
    some row of a unit finds it among the different units in that row's group: its risk is 1 / these, in the group of
    its rows that has the fewest. highest, average: of this over units. alone: units with a row in a group of their rows
    alone. smallest: fewest units in a group. below: for each k, as text, units with a row in a group of fewer units.
    """
    of_row = classes(keys)[0]
    number = classes(units.to_frame())[0]
    pairs = np.unique(np.column_stack([of_row, number]), axis=0)
    held = np.bincount(pairs[:, 0])
    worst = np.full(int(number.max()) + 1, len(of_row))
    np.minimum.at(worst, pairs[:, 1], held[pairs[:, 0]])
    return {
        "units": len(worst),
        "highest": float(1 / worst.min()),
        "average": float((1 / worst).mean()),
        "alone": int((worst == 1).sum()),
        "smallest": int(held.min()),
        "below": {str(k): int((worst < k).sum()) for k in ks},
    }


def _column(name: str, before: pl.Series, after: pl.Series, symbol: str) -> dict[str, Any]:
    frame = pl.DataFrame([before, after]).with_columns(
        pl.col("before").eq_missing(pl.col("after")).alias("kept"),
        (pl.col("after") == symbol).fill_null(value=False).alias("suppressed"),
    )
    kept, suppressed = int(frame["kept"].sum()), int(frame["suppressed"].sum())
    values = frame.group_by("before").agg(pl.len().alias("rows"), pl.col("kept").sum()).select("rows", "kept")
    values = values.sort("rows", "kept", descending=True)
    others = values.slice(LARGEST)
    return {
        "name": name,
        "kept": kept,
        "generalized": frame.height - kept - suppressed,
        "suppressed": suppressed,
        "values_before": before.n_unique(),
        "values_after": after.n_unique(),
        "largest_values": [list(row) for row in values.head(LARGEST).rows()],
        "other_values": [int(others["rows"].sum()), int(others["kept"].sum())],
    }
