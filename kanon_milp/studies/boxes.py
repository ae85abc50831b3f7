"""Groups as boxes: each cell as narrow as the group's own values allow, whatever the recoding is."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.methods.result import Result
from kanon_milp.problem.arguments import instance_of
from kanon_milp.problem.column_numbers import numbers_of
from kanon_milp.problem.generalization.values import written
from kanon_milp.problem.hierarchies import Label


def boxes(result: Result) -> Any:
    """The groups of a result with intervals and sets for cells, as Mondrian is published (LeFevre et al. 2006): `20-39`
    of integers, `[20, 22.5]` of decimals, `{a, b}` of texts; one value as itself, suppressed where one is missing.

    The groups of a method that divides the rows first are those before some of them were released alike (`parts`).
    Rows of a group are alike, so what is required of groups holds; the cells are none of the recoding's labels. Such
    tables are compared by NCP, and verified with `verify(..., cells="intervals")`. A data frame of the user's own kind.
    Raises InputError where the result has no table.
    """
    instance_of(result, Result, "boxes", "the result of solve")
    if result.groups is None:
        raise InputError("boxes: the result has no table")
    table, groups = result.problem.table, result.groups if result.parts is None else result.parts
    columns = {}
    for name in table.quasi_identifiers:
        cells = (
            pl.DataFrame({"group": groups, "value": table.column(name)}).group_by("group").agg(pl.col("value").unique())
        )
        values = table.column(name).unique().to_list()
        numbers = numbers_of(values, "point" if table.frame.schema[name].is_numeric() else None)
        known = {} if numbers.doubt else numbers.of
        label = {group: _box(values, known, table.symbol) for group, values in cells.rows()}
        columns[name] = pl.Series(name, [label[group] for group in groups.tolist()], dtype=pl.String)
    return table.released(columns)


def _box(values: list[Label], numbers: Mapping[str, Fraction], symbol: str) -> Label:
    """The narrowest cell that holds these values. numbers: of the values that are some."""
    if len(values) == 1:
        return values[0]
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return symbol
    known = [numbers[value] for value in present if value in numbers]
    if len(known) < len(present):
        return "{" + ", ".join(sorted(map(_quoted, present))) + "}"
    low, high = min(known), max(known)
    if low >= 0 and all(each.denominator == 1 for each in known):
        return f"{written(low)}-{written(high)}"
    return f"[{written(low)}, {written(high)}]"


def _quoted(value: str) -> str:
    """A member of a set; in double quotes where it could be read as several."""
    return '"' + value.replace('"', '""') + '"' if set(value) & set(',;|~"{}') or value != value.strip() else value
