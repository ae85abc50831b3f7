"""Distinct rows of a table as a certificate counts them: in order, with the values they hold, and as a hash."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from kanon_milp.verify.cells import ColumnRule
from kanon_milp.verify.dual import Held
from kanon_milp.verify.plain import KeyedTable


def distinct(frame: pl.DataFrame) -> pl.DataFrame:
    """Distinct rows as c0, c1, ... with their number of copies, sorted, missing values last."""
    names = [f"c{j}" for j in range(frame.width)]
    renamed = frame.rename(dict(zip(frame.columns, names, strict=True)))
    return renamed.group_by(names).agg(pl.len().alias("rows")).sort(names, nulls_last=True)


def table_hash(table: KeyedTable, values: Sequence[str]) -> str:
    """Hash of the quasi-identifiers and the columns whose values may be asked about, whatever the order of the rows."""
    names = [*table.quasi_identifiers, *values]
    rows = distinct(table.keys[names])
    return _hash(itertools.chain([names], ([rows, *values] for *values, rows in rows.iter_rows())))


def hierarchy_hash(rule: ColumnRule) -> str | None:
    """Hash of a hierarchy without its top; None where cells are kept or suppressed."""
    if rule.paths is None:
        return None
    paths = (list(path[:-1]) for path in rule.paths.values())
    return _hash(sorted(paths, key=lambda path: (path[0] is None, path[0] or "")))


def _hash(lines: Iterable[Sequence[object]]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def held_values(table: KeyedTable, types: pl.DataFrame, attribute: str) -> Held:
    """Which sensitive values the distinct rows hold, and how often."""
    keys = [name for name in types.columns if name != "rows"]
    pairs = distinct(table.keys[[*table.quasi_identifiers, attribute]])
    value = f"c{len(keys)}"
    found = pairs.join(types.select(keys).with_row_index("row"), on=keys, nulls_equal=True, how="left")
    values = found[value].unique(maintain_order=True).to_list()
    number = {each: position for position, each in enumerate(values)}
    return Held(
        found["row"].to_numpy().astype(np.int64),
        np.array([number[each] for each in found[value]], dtype=np.int64),
        found["rows"].to_numpy().astype(np.int64),
        values,
    )
