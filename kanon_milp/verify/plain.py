"""What the verifier takes: plain data. Whoever has these fields can be asked about, and nothing else of it is used."""
# ruff: noqa: D102  (each class says what its fields are)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import narwhals as nw
import polars as pl

from kanon_milp.problem.records import Label

SuppressedRows = Literal["strict", "exempt"]
SUPPRESSED_ROWS: tuple[SuppressedRows, ...] = ("strict", "exempt")

Cells = Literal["labels", "intervals"]
CELLS: tuple[Cells, ...] = ("labels", "intervals")

MissingKeys = Literal["own", "match"]
MISSING_KEYS: tuple[MissingKeys, ...] = ("own", "match")


class Roles(Protocol):
    """Which columns are quasi-identifying, which sensitive."""

    @property
    def quasi_identifiers(self) -> Sequence[str]: ...
    @property
    def sensitive(self) -> Sequence[str]: ...


class Rows(Roles, Protocol):
    """A table with roles. identifying: columns that must not be released. frame: its rows as they came. It may have a
    `unit`, too: the identifying column whose different values are counted in place of rows."""

    @property
    def identifying(self) -> Sequence[str]: ...

    @property
    def frame(self) -> nw.DataFrame[Any]: ...


class TableData(Rows, Protocol):
    """The same with what messages call it. symbol: what stands in the place of a suppressed value."""

    @property
    def source(self) -> str: ...
    @property
    def symbol(self) -> str: ...


class KeyedTable(Protocol):
    """A table of which the quasi-identifiers and sensitive attributes are at hand as text, in `keys`."""

    @property
    def keys(self) -> pl.DataFrame: ...
    @property
    def quasi_identifiers(self) -> Sequence[str]: ...
    @property
    def source(self) -> str: ...
    @property
    def symbol(self) -> str: ...


class SensitiveTable(KeyedTable, Protocol):
    """The same with its sensitive attributes named."""

    @property
    def sensitive(self) -> Sequence[str]: ...


class HierarchyData(Protocol):
    """paths: original value → its labels by level, the value first and the top last."""

    @property
    def paths(self) -> Mapping[Label, Sequence[Label]]: ...
    @property
    def source(self) -> str: ...


class RecodingData(Protocol):
    """Hierarchies, weights and level costs by column. A mask is in `mask`, or it is itself what has `patterns`."""

    @property
    def hierarchies(self) -> Mapping[str, HierarchyData]: ...
    @property
    def weights(self) -> Mapping[str, Any]: ...
    @property
    def level_costs(self) -> Mapping[str, Sequence[Any]]: ...


class ProblemData(Protocol):
    """What is asked for. privacy: the requirements as the user gave them."""

    @property
    def table(self) -> TableData: ...
    @property
    def privacy(self) -> Any: ...
    @property
    def recoding(self) -> RecodingData: ...
    @property
    def suppressed_rows(self) -> SuppressedRows: ...
    @property
    def cost_bound(self) -> Any: ...
    @property
    def min_groups(self) -> int | None: ...
    @property
    def max_groups(self) -> int | None: ...


class BoundProblem(Protocol):
    """What a certificate is about. requirements: each about the sensitive attributes that it means, which it names."""

    @property
    def table(self) -> TableData: ...
    @property
    def requirements(self) -> Any: ...
    @property
    def recoding(self) -> RecodingData: ...
    @property
    def suppressed_rows(self) -> SuppressedRows: ...


@dataclass(frozen=True, eq=False)
class Question:
    """A problem without requirements: whether a table is legal, and what holds in it."""

    table: TableData
    recoding: RecodingData
    suppressed_rows: SuppressedRows = "strict"
    privacy: tuple[()] = ()
    cost_bound: None = None
    min_groups: None = None
    max_groups: None = None
