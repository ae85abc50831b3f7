"""Verification of a released table against its original and against what a problem asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.arguments import by_column, instance_of, listed
from kanon_milp.distances import GroundDistance, HierarchicalDistance
from kanon_milp.errors import InputError, nearest
from kanon_milp.exact import Number
from kanon_milp.privacy import KAnonymity, Requirement, TCloseness
from kanon_milp.problem import Problem, SuppressedRows, expect_problem
from kanon_milp.recoding import Hierarchies, PatternMask, Recoding, Suppression
from kanon_milp.table import SYMBOL, CsvFormat, Missing, Table, default_delimiter, read_frame, read_table
from kanon_milp.verify.cells import Rules, check_cells
from kanon_milp.verify.counts import coded
from kanon_milp.verify.frames import classes, compare_shape, open_released, text_columns
from kanon_milp.verify.groups import Grouping, Sensitive
from kanon_milp.verify.minimality import Property, not_minimal
from kanon_milp.verify.report import Report


def verify(
    problem: Problem,
    anonymized: Any,
    partition: Sequence[int] | None = None,
    *,
    distances: Mapping[str, GroundDistance] | None = None,
) -> Report:
    """Check a released table exactly: shape, each cell, mask, cost, requirements and side constraints.

    anonymized: a data frame of any kind that narwhals knows, rows in the order of the original.
    partition: a group id per row, for a table that comes with its groups; then each of them must have one
    released row and satisfy every requirement, and so must the groups of equal released rows.
    distances: sensitive attribute → a further ground distance for which to report the closeness.
    Raises InputError where the two cannot be compared at all (no such quasi-identifier, no rows, partition of
    another length). A released table that is wrong gives violations.
    """
    expect_problem(problem, "verify")
    demands = Demands(
        problem.table,
        problem.recoding,
        problem.requirements,
        problem.suppressed_rows,
        problem.exact_cost_bound,
        problem.min_groups,
        problem.max_groups,
        by_column({} if distances is None else distances, "distances", _distance),
    )
    return examine(demands, anonymized, partition)


def verify_files(
    original: str | Path,
    anonymized: str | Path,
    quasi_identifiers: Sequence[str] | str,
    sensitive: Sequence[str] | str | None = None,
    *,
    identifying: Sequence[str] | str | None = None,
    keep: Sequence[str] | str | None = None,
    privacy: Requirement | Sequence[Requirement] = (),
    mask: str | Path | None = None,
    hierarchies: str | Path | None = None,
    weights: Mapping[str, Number] | None = None,
    suppressed_rows: SuppressedRows = "strict",
    symbol: str = SYMBOL,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Missing = "value",
    distances: Mapping[str, GroundDistance] | None = None,
) -> Report:
    """Check an anonymized file, by whatever tool it was made, against the original file.

    identifying: columns that must not be in the released table; all others must be there, and unchanged but for the
    quasi-identifiers. keep: insensitive columns; those without a role are named in a warning.
    privacy: requirements to check; without any, the report says what holds. mask: CSV file of patterns.
    weights: column → cost of suppressing one of its cells. hierarchies: folder with COLUMN.csv files; that of a
    sensitive attribute is a ground distance to report, as are distances, sensitive attribute → ground distance.
    symbol: what stands in the anonymized file for a suppressed value. delimiter: of both
    tables. encoding: of all CSV files. Raises InputError for files that cannot be read or do not belong together.
    """
    table = read_table(
        original,
        quasi_identifiers,
        sensitive,
        identifying=identifying,
        keep=keep,
        delimiter=delimiter,
        encoding=encoding,
        missing=missing,
        symbol=symbol,
    )
    path = Path(anonymized)
    frame = read_frame(path, CsvFormat(delimiter or default_delimiter(path), encoding))
    recoding = _read_recoding(table, mask, hierarchies, weights, encoding)
    known = {**_hierarchical(table, hierarchies), **(distances or {})}
    if privacy:
        problem = Problem(table, privacy, recoding, suppressed_rows=suppressed_rows)
        return verify(problem, frame, distances=known)
    return examine(Demands(table, recoding, (), suppressed_rows, distances=known), frame)


@dataclass(frozen=True, eq=False)
class Demands:
    """What a released table is checked for: a problem without an objective, possibly without requirements."""

    table: Table
    recoding: Recoding
    requirements: tuple[Requirement, ...]
    suppressed_rows: SuppressedRows
    cost_bound: Fraction | None = None
    min_groups: int | None = None
    max_groups: int | None = None
    distances: Mapping[str, GroundDistance] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, distance in self.distances.items():
            if name not in self.table.sensitive:
                known = nearest(name, list(self.table.sensitive))
                raise InputError(f'distances: "{name}" is not a sensitive attribute of {self.table.source}{known}')
            # a value that it does not know is an error of whoever asks, not of the released table
            labels, _ = coded(self.table.keys, [name])
            distance.space([label for (label,) in labels], f'{self.table.source}: column "{name}"')


def examine(demands: Demands, anonymized: Any, partition: Sequence[int] | None = None) -> Report:
    """Check a released table; parameters and errors as in `verify`."""
    table, requirements = demands.table, demands.requirements
    exempt = demands.suppressed_rows == "exempt"
    frame = open_released(anonymized, table)
    violations = compare_shape(table, frame)
    released = text_columns(frame, table.quasi_identifiers)
    rules = Rules.of(table, demands.recoding)
    cost, readings = None, None
    if released.height == table.n:
        cost, illegal, readings = check_cells(table, rules, released)
        violations += illegal
    legal = not violations

    symbols = released.select((pl.all() == table.symbol).fill_null(value=False))
    per_row = symbols.sum_horizontal().to_numpy()
    suppressed = per_row == table.m
    of_row, _ = classes(released)
    sensitive = Sensitive(
        text_columns(frame, table.sensitive), table.keys[list(table.sensitive)], _distances(demands), table.source
    )
    groups = Grouping.build(of_row, suppressed, sensitive, "groups")
    unmet = [text for requirement in requirements for text in _check(requirement, groups, released, symbols, exempt)]
    violations += unmet
    blocks = None
    if partition is not None:
        block_of_row = _blocks(partition, released.height)
        same = np.array_equal(block_of_row, of_row)
        blocks = groups if same else Grouping.build(block_of_row, suppressed, sensitive, "groups of the partition")
        if not same:
            violations += _mixed_blocks(block_of_row, of_row)
            for requirement in requirements:
                if not _is_subset(requirement):
                    violations += blocks.check(requirement, exempt=exempt)
    sides = _side_constraints(demands, cost, len(groups.size))
    violations += sides
    minimal, not_minimal_text = None, None
    if legal and readings is not None and requirements:
        kept = Property(requirements, exempt, demands.min_groups, demands.max_groups)
        not_minimal_text = (
            "it does not have what is asked for"
            if unmet or sides
            else not_minimal(rules, table.keys, released, readings, groups, kept)
        )
        minimal = not_minimal_text is None
    return Report(
        violations=tuple(violations),
        n=released.height,
        m=table.m,
        cost=cost,
        suppressed_cells=int(per_row.sum()),
        fully_suppressed_rows=int(suppressed.sum()),
        suppressed_rows=demands.suppressed_rows,
        privacy=tuple(requirement.describe() for requirement in requirements),
        released=groups.facts,
        partition=None if blocks is None else blocks.facts,
        minimal=minimal,
        not_minimal=not_minimal_text,
        groupings=(groups, blocks),
    )


def _distance(value: Any, what: str) -> GroundDistance:
    return instance_of(value, GroundDistance, what, "a ground distance of kanon_milp.distances")


def _is_subset(requirement: Requirement) -> bool:
    return isinstance(requirement, KAnonymity) and requirement.quasi_identifiers is not None


def _check(
    requirement: Requirement, groups: Grouping, released: pl.DataFrame, symbols: pl.DataFrame, exempt: bool
) -> list[str]:
    """Check one requirement in the groups of equal released rows; k-anonymity of some columns in the table of these.

    symbols: whether each released cell is the symbol.
    """
    if not isinstance(requirement, KAnonymity) or requirement.quasi_identifiers is None:
        return groups.check(requirement, exempt=exempt)
    columns = list(requirement.quasi_identifiers)
    of_row, _ = classes(released[columns])
    suppressed = symbols[columns].select(pl.all_horizontal(pl.all())).to_series().to_numpy()
    title = f"groups of rows released alike in {', '.join(columns)}"
    return Grouping.build(of_row, suppressed, groups.sensitive, title).check(requirement, exempt=exempt)


def _distances(demands: Demands) -> dict[str, list[GroundDistance]]:
    """Per sensitive attribute the ground distances given, and those that t-closeness is asked for in."""
    found: dict[str, list[GroundDistance]] = {name: [given] for name, given in demands.distances.items()}
    for requirement in demands.requirements:
        if isinstance(requirement, TCloseness) and isinstance(requirement.distance, GroundDistance):
            for name in requirement.attributes:
                found.setdefault(name, []).append(requirement.distance)
    return found


def _blocks(partition: Sequence[int], rows: int) -> NDArray[np.int64]:
    partition = listed(partition, "partition", "a group for each row")
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


def _read_recoding(
    table: Table,
    mask: str | Path | None,
    hierarchies: str | Path | None,
    weights: Mapping[str, Number] | None,
    encoding: str,
) -> Recoding:
    patterns = None if mask is None else PatternMask.read(mask, weights, encoding)
    if hierarchies is not None and (
        not _hierarchy_files(table.sensitive, hierarchies) or _hierarchy_files(table.quasi_identifiers, hierarchies)
    ):
        return Hierarchies.read(hierarchies, table.quasi_identifiers, weights=weights, mask=patterns, encoding=encoding)
    return Suppression(dict(weights or {})) if patterns is None else patterns


def _hierarchical(table: Table, folder: str | Path | None) -> dict[str, GroundDistance]:
    """The hierarchical distance of each sensitive attribute that has a hierarchy in the folder."""
    files = {} if folder is None else _hierarchy_files(table.sensitive, folder)
    return {name: HierarchicalDistance.read(path, table.csv.encoding) for name, path in files.items()}


def _hierarchy_files(names: Sequence[str], folder: str | Path) -> dict[str, Path]:
    paths = {name: Path(folder) / f"{name}.csv" for name in names}
    return {name: path for name, path in paths.items() if path.is_file()}
