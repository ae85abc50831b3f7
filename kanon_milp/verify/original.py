"""The original table as the verifier reads it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.verify.frames import text_columns
from kanon_milp.verify.plain import TableData


@dataclass(frozen=True, eq=False)
class Original:
    """Rows, roles, and the columns that have a role as text.

    keys: quasi-identifiers, then sensitive attributes and the unit of protection, every value as text, null where
    missing.
    """

    frame: nw.DataFrame[Any]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    keys: pl.DataFrame = field(repr=False)
    source: str = "table"
    symbol: str = "*"
    identifying: tuple[str, ...] = ()
    unit: str | None = None
    is_released: bool = False

    @classmethod
    def of(cls, table: TableData) -> Original:
        """Read the columns that have a role anew from the rows as they came."""
        quasi, sensitive = tuple(table.quasi_identifiers), tuple(table.sensitive)
        unit: str | None = getattr(table, "unit", None)
        keys = text_columns(table.frame, [*quasi, *sensitive, *([] if unit is None else [unit])])
        return cls(table.frame, quasi, sensitive, keys, table.source, table.symbol, tuple(table.identifying), unit)

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of protection where some unit has several rows; else rows are counted."""
        several = self.unit is not None and self.keys[self.unit].alias("").n_unique() < self.n
        return (self.unit,) if several and self.unit is not None else ()

    def taken(self, rows: NDArray[np.int64], row_id: str) -> Original:
        """These of its rows, in this order. row_id: the column that they were found by; it may be released."""
        others = tuple(name for name in self.identifying if name != row_id)
        return replace(self, frame=self.frame[rows.tolist()], keys=self.keys[rows], identifying=others)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @property
    def m(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.quasi_identifiers)
