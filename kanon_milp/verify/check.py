"""Verification of a released table against its original and against what a problem asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError
from kanon_milp.privacy import Requirement
from kanon_milp.problem import Problem, SuppressedRows
from kanon_milp.recoding import Hierarchies, PatternMask, Recoding, Suppression
from kanon_milp.table import SYMBOL, CsvFormat, Missing, Table, default_delimiter, read_frame, read_table
from kanon_milp.verify.cells import check_cells
from kanon_milp.verify.frames import classes, compare_shape, open_released, text_columns
from kanon_milp.verify.groups import Grouping
from kanon_milp.verify.report import Report


def verify(problem: Problem, anonymized: Any, partition: Sequence[int] | None = None) -> Report:
    """Check a released table exactly: shape, each cell, mask, cost, requirements and side constraints.

    anonymized: a data frame of any kind that narwhals knows, rows in the order of the original.
    partition: a group id per row, for a table that comes with its groups; then each of them must have one
    released row and satisfy every requirement, and so must the groups of equal released rows.
    Raises InputError where the two cannot be compared at all (no such quasi-identifier, no rows, partition of
    another length). A released table that is wrong gives violations.
    """
    demands = Demands(
        problem.table,
        problem.recoding,
        tuple(problem.privacy),
        problem.suppressed_rows,
        problem.exact_cost_bound,
        problem.min_groups,
        problem.max_groups,
    )
    return examine(demands, anonymized, partition)


def verify_files(
    original: str | Path,
    anonymized: str | Path,
    quasi_identifiers: Sequence[str] | str,
    sensitive: Sequence[str] | str | None = None,
    *,
    privacy: Sequence[Requirement] = (),
    mask: str | Path | None = None,
    hierarchies: str | Path | None = None,
    suppressed_rows: SuppressedRows = "strict",
    symbol: str = SYMBOL,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Missing = "value",
) -> Report:
    """Check an anonymized file, by whatever tool it was made, against the original file.

    privacy: requirements to check; without any, the report says what holds. mask: CSV file of patterns.
    hierarchies: folder with COLUMN.csv files. symbol: what stands in the anonymized file for a suppressed
    value. delimiter, encoding: of all CSV files. Raises InputError for files that cannot be read or do not
    belong together.
    """
    table = read_table(
        original,
        quasi_identifiers,
        sensitive,
        delimiter=delimiter,
        encoding=encoding,
        missing=missing,
        symbol=symbol,
    )
    path = Path(anonymized)
    frame = read_frame(path, CsvFormat(delimiter or default_delimiter(path), encoding))
    recoding = _read_recoding(table, mask, hierarchies, table.csv)
    if privacy:
        return verify(Problem(table, privacy, recoding, suppressed_rows=suppressed_rows), frame)
    return examine(Demands(table, recoding, (), suppressed_rows), frame)


@dataclass(frozen=True, eq=False)
class Demands:
    """What a released table is checked for: a problem without an objective, possibly without requirements."""

    table: Table
    recoding: Recoding
    privacy: tuple[Requirement, ...]
    suppressed_rows: SuppressedRows
    cost_bound: Fraction | None = None
    min_groups: int | None = None
    max_groups: int | None = None


def examine(demands: Demands, anonymized: Any, partition: Sequence[int] | None = None) -> Report:
    """Check a released table; parameters and errors as in `verify`."""
    table = demands.table
    frame = open_released(anonymized, table)
    violations = compare_shape(table, frame)
    released = text_columns(frame, table.quasi_identifiers)
    sensitive = text_columns(frame, table.sensitive)
    cost = None
    if released.height == table.n:
        cost, illegal = check_cells(table, demands.recoding, released)
        violations += illegal

    symbols = released.select((pl.all() == table.symbol).fill_null(value=False))
    per_row = symbols.sum_horizontal().to_numpy()
    suppressed = per_row == table.m
    of_row, _ = classes(released)
    groups = Grouping.build(of_row, suppressed, sensitive, "groups")
    blocks = None
    if partition is not None:
        block_of_row = _blocks(partition, released.height)
        blocks = Grouping.build(block_of_row, suppressed, sensitive, "groups of the partition")
        violations += _mixed_blocks(block_of_row, of_row)
    for requirement in demands.privacy:
        for grouping in (groups, blocks):
            if grouping is not None:
                violations += grouping.check(requirement, exempt=demands.suppressed_rows == "exempt")
    violations += _side_constraints(demands, cost, len(groups.size))
    return Report(
        violations=tuple(violations),
        n=released.height,
        m=table.m,
        cost=cost,
        suppressed_cells=int(per_row.sum()),
        fully_suppressed_rows=int(suppressed.sum()),
        suppressed_rows=demands.suppressed_rows,
        privacy=tuple(requirement.describe() for requirement in demands.privacy),
        released=groups.facts,
        partition=None if blocks is None else blocks.facts,
    )


def _blocks(partition: Sequence[int], rows: int) -> NDArray[np.int64]:
    if len(partition) != rows:
        raise InputError(f"the partition names a group for {len(partition)} rows, the anonymized table has {rows}")
    try:
        ids = np.asarray(partition, dtype=np.int64)
    except (TypeError, ValueError):
        raise InputError("the partition must name a group by a whole number for each row") from None
    return classes(pl.DataFrame({"group": ids}))[0]


def _mixed_blocks(block_of_row: NDArray[np.int64], of_row: NDArray[np.int64]) -> list[str]:
    """Each group of a partition must have one released row."""
    blocks = np.unique(np.column_stack([block_of_row, of_row]), axis=0)[:, 0]
    mixed = int((np.bincount(blocks) > 1).sum())
    return [f"in {mixed} groups of the partition the released rows differ"] if mixed else []


def _side_constraints(demands: Demands, cost: Fraction | None, groups: int) -> list[str]:
    found = []
    if demands.cost_bound is not None and cost is not None and cost > demands.cost_bound:
        found.append(f"the cost {cost} is larger than the bound {demands.cost_bound}")
    if demands.min_groups is not None and groups < demands.min_groups:
        found.append(f"there are {groups} groups, at least {demands.min_groups} are asked for")
    if demands.max_groups is not None and groups > demands.max_groups:
        found.append(f"there are {groups} groups, at most {demands.max_groups} are asked for")
    return found


def _read_recoding(table: Table, mask: str | Path | None, hierarchies: str | Path | None, fmt: CsvFormat) -> Recoding:
    patterns = None if mask is None else PatternMask.read(mask, fmt=fmt)
    if hierarchies is not None:
        return Hierarchies.read(hierarchies, table.quasi_identifiers, mask=patterns, fmt=fmt)
    return Suppression() if patterns is None else patterns
