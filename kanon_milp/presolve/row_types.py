"""The row-type compressor: distinct rows with their multiplicities, and the way back to the rows.

Tables may be larger than memory: files are read piece by piece, databases count for themselves.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import polars.selectors as cs

from kanon_milp.errors import FileWarning, InputError, printable
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.problem.column_values import as_text, mixed_key
from kanon_milp.problem.counts import counted_rows
from kanon_milp.problem.csv_files import CsvFormat, with_missing
from kanon_milp.problem.databases import Database, asked_query
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.roles import LOOKED_AT, Roles, header_doubt
from kanon_milp.problem.table import in_kind, open_frame, read_with_format, scan_frame
from kanon_milp.system.arrays import Ints, Ints32


@dataclass(frozen=True, eq=False, repr=False)
class RowTypes:
    """Row types of a table (Homogeneity paper, section 2), ordered by their codes, so independent of the row order.

    names, sensitive: the quasi-identifiers and sensitive attributes.
    domains: per quasi-identifier, then per sensitive attribute, its sorted distinct values, None (missing) last.
    codes: int32 (t_in, m), positions in the domains. counts: int64 (t_in,), multiplicities n_i.
    star_type: int32 (t_in*,), row type of each distinct (quasi-identifier, sensitive) tuple, ascending;
    star_codes: int32 (t_in*, number of sensitive attributes); star_counts: int64 (t_in*,), multiplicities n_iσ.
    split: whether each (quasi-identifier, sensitive) tuple is a row type of its own (`split_by`). kind: the library of
    the user's own data frame.
    """

    names: tuple[str, ...]
    sensitive: tuple[str, ...]
    domains: tuple[tuple[Label, ...], ...]
    codes: Ints32
    counts: Ints
    star_type: Ints32
    star_codes: Ints32
    star_counts: Ints
    split: bool = False
    kind: nw.Implementation = nw.Implementation.POLARS

    def __repr__(self) -> str:
        """Numbers and names, and no value of a domain."""
        return printable(
            f"<RowTypes: {self.n} rows, {self.count} row types of {', '.join(self.names)}; {self.star_count} with the "
            f"sensitive {', '.join(self.sensitive) or 'attributes (none)'}>"
        )

    @property
    def count(self) -> int:
        """Number t_in of row types."""
        return len(self.counts)

    @property
    def star_count(self) -> int:
        """Number t_in* of distinct (quasi-identifier, sensitive) tuples."""
        return len(self.star_counts)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def summary(self) -> dict[str, object]:
        """Numbers of rows, row types and values as plain data, with sizes of classes and the unique rows."""
        return {
            "n": self.n,
            "m": len(self.names),
            "t_in": self.count,
            "t_in_star": self.star_count,
            "class_sizes": {
                "min": int(self.counts.min()),
                "mean": float(self.counts.mean()),
                "max": int(self.counts.max()),
                "unique": int((self.counts == 1).sum()),
            },
            "domains": {n: len(d) for n, d in zip((*self.names, *self.sensitive), self.domains, strict=True)},
        }

    def frame(self) -> pl.DataFrame:
        """The row types as text, one row each, in order, as a data frame of polars."""
        codes = np.hstack([self.codes, self.star_codes]) if self.split else self.codes
        return pl.DataFrame(
            {
                name: pl.Series(domain, dtype=pl.String).gather(codes[:, j])
                for j, (name, domain) in enumerate(zip(self.by, self.domains, strict=False))
            }
        )

    def to_frame(self) -> Any:
        """The same as `frame`, in the user's own kind of data frame."""
        return in_kind(self.frame(), self.kind)

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that tell row types apart."""
        return (*self.names, *self.sensitive) if self.split else self.names

    def split_by(self, attributes: Sequence[str]) -> RowTypes:
        """One row type for each distinct tuple of quasi-identifiers and these sensitive attributes.

        These are the t_in* types of the Homogeneity paper (section 4.3) where all sensitive attributes are named; what
        a requirement asks of SA values can be stated over them.
        """
        at = [self.sensitive.index(name) for name in attributes]
        domains = [self.domains[len(self.names) + j] for j in at]
        key = mixed_key(
            [self.star_type, *(self.star_codes[:, j] for j in at)], [self.count, *(len(domain) for domain in domains)]
        )
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        counts = np.zeros(len(first), dtype=np.int64)
        np.add.at(counts, inverse, self.star_counts)
        return RowTypes(
            names=self.names,
            sensitive=tuple(attributes),
            domains=(*self.domains[: len(self.names)], *domains),
            codes=self.codes[self.star_type[first]],
            counts=counts,
            star_type=np.arange(len(first), dtype=np.int32),
            star_codes=self.star_codes[first][:, at],
            star_counts=counts,
            split=True,
            kind=self.kind,
        )

    def type_of_rows(self, frame: pl.DataFrame | pl.LazyFrame) -> Ints32:
        """Row type of each row of the table that was compressed, int32 (n,), in row order."""
        by = [f"c{j}" for j in range(len(self.by))]
        types = self.frame().rename(dict(zip(self.by, by, strict=True))).with_row_index("number").lazy()
        rows = frame.lazy().select(column(name, at).cast(pl.String) for name, at in zip(self.by, by, strict=True))
        joined = rows.join(types, on=by, how="left", nulls_equal=True, maintain_order="left")
        found = joined.select("number").collect(engine="streaming").to_series()
        return found.to_numpy().astype(np.int32)


def compress(
    frame: Any,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    rows: pl.Series | None = None,
) -> RowTypes:
    """Count the distinct rows of a table.

    frame: a data frame of any kind that narwhals knows; a lazy one of polars may be larger than memory.
    quasi_identifiers: default: all columns that are not sensitive. rows: how many rows each row of a data frame stands
    for, if they are counted already. Raises InputError for columns that the table does not have, and for one without
    rows.
    """
    opened = None if isinstance(frame, pl.DataFrame | pl.LazyFrame) else open_frame(frame, "compress")[0]
    columns = frame.collect_schema().names() if opened is None else opened.columns
    if quasi_identifiers is None:
        quasi_identifiers = [name for name in columns if name not in sensitive]
    roles = Roles.of(quasi_identifiers, sensitive)
    roles.check(columns, "compress")
    quasi_identifiers, sensitive = roles.quasi_identifiers, roles.sensitive
    names = [*quasi_identifiers, *sensitive]
    if opened is not None:
        frame = as_text(opened, names, "compress")
    by = [f"c{j}" for j in range(len(names))]
    chosen = frame.lazy().select(column(name, at) for name, at in zip(names, by, strict=True))
    schema = chosen.collect_schema()
    counted = pl.len() if rows is None else pl.col("rows").sum()
    if rows is not None:
        chosen = chosen.collect().with_columns(rows.alias("rows")).lazy()
    groups = chosen.group_by(by).agg(counted.alias("rows")).collect(engine="streaming")
    if not groups.height:
        raise InputError("the table has no rows")
    # floats are cast after the grouping: values that look alike as text are one value
    cast = [pl.col(at).fill_nan(None) if schema[at].is_float() else pl.col(at) for at in by]
    groups = groups.with_columns(each.cast(pl.String) for each in cast)
    domains, encoded = _encode(groups, by)
    counts = groups["rows"].to_numpy().astype(np.int64)
    key = mixed_key(encoded, [max(len(d), 1) for d in domains])
    order = np.argsort(key)
    new_star = np.flatnonzero(np.diff(key[order], prepend=-1))
    order_star = order[new_star]
    codes = np.array([column[order_star] for column in encoded]).T  # column by column, as it will be read
    counts = np.add.reduceat(counts[order], new_star)
    m = len(quasi_identifiers)
    if sensitive:
        changed = (codes[1:, :m] != codes[:-1, :m]).any(axis=1)
        first = np.flatnonzero(np.concatenate([[True], changed]))
    else:
        first = np.arange(len(codes))
    return RowTypes(
        names=tuple(quasi_identifiers),
        sensitive=tuple(sensitive),
        domains=domains,
        codes=codes[:, :m] if len(first) == len(codes) else codes[first, :m],
        counts=np.add.reduceat(counts, first),
        star_type=np.repeat(np.arange(len(first), dtype=np.int32), np.diff(first, append=len(codes))),
        star_codes=codes[:, m:],
        star_counts=counts,
        kind=nw.Implementation.POLARS if opened is None else opened.implementation,
    )


def column(name: str, alias: str) -> pl.Expr:
    """A column under another name; `pl.col` would read names such as * and ^a.*$ as patterns of names."""
    return cs.by_name(name).as_expr().alias(alias)


def rows_by_type(type_of_row: Ints32, types: int) -> tuple[Ints, Ints]:
    """Invert `type_of_rows`: (indptr (types+1,), rows (n,)); rows of type i are rows[indptr[i]:indptr[i+1]],
    ascending."""
    order = np.argsort(type_of_row, kind="stable")
    return indptr_of(np.bincount(type_of_row, minlength=types)), order.astype(np.int64)


def _encode(groups: pl.DataFrame, names: Sequence[str]) -> tuple[tuple[tuple[Label, ...], ...], list[Ints32]]:
    """Per column its sorted distinct values, None last, and each row's position among them; columns in parallel."""
    values = groups.select(pl.col(name).drop_nulls().unique().sort().implode() for name in names)
    texts = [values[name][0] for name in names]
    kinds = [pl.Enum(column) for column in texts]
    codes = groups.select(
        pl.col(name).cast(kind).to_physical().cast(pl.Int32).fill_null(len(column))
        for name, kind, column in zip(names, kinds, texts, strict=True)
    )
    domains = tuple(
        (*column.to_list(), None) if groups[name].null_count() else tuple(column.to_list())
        for name, column in zip(names, texts, strict=True)
    )
    return domains, [codes[name].to_numpy() for name in names]


def row_types(
    source: Path | Database,
    roles: Roles | None,
    *,
    query: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing_values: Sequence[str] = (),
    header: bool | Sequence[str] = True,
) -> RowTypes:
    """The row types of a file, or of what a query of a database returns. roles: None for all columns;
    with a column of counts the table is read at once. Other parameters as in `read_table`.

    Raises InputError for what cannot be read, and for columns that are not there.
    """
    asked = asked_query(source, query)
    fmt = CsvFormat.asked(source, delimiter, encoding, missing_values, header)
    if roles is not None and roles.count:
        every, _ = read_with_format(source, fmt, query)
        roles.check(every.columns, str(source))
        counted, counts, left_out = counted_rows(nw.from_native(every, eager_only=True), roles.count, str(source))
        if left_out:
            warnings.warn(left_out, FileWarning, stacklevel=2)
        return compress(counted.to_native(), roles.quasi_identifiers, roles.sensitive, pl.Series(counts))
    if isinstance(source, Database):
        columns = list(source.columns(asked))
        roles = Roles.of(columns) if roles is None else roles
        roles.check(columns, str(source))
        types, rows = source.row_types(asked, [*roles.quasi_identifiers, *roles.sensitive])
        return compress(with_missing(types, fmt), roles.quasi_identifiers, roles.sensitive, rows)
    frame = scan_frame(source, fmt)
    columns = frame.collect_schema().names()
    head = nw.from_native(frame.head(LOOKED_AT).collect(), eager_only=True)
    doubt = header_doubt(columns, head, str(source), has_header=header is True)
    if doubt:
        warnings.warn(doubt, FileWarning, stacklevel=2)
    roles = Roles.of(columns) if roles is None else roles
    roles.check(columns, str(source), doubt)
    return compress(frame, roles.quasi_identifiers, roles.sensitive)
