"""Columns of data frames of any kind as text, which is what values are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.problem.csv_files import NoTextError, text_of


def as_text(frame: nw.DataFrame[Any], names: Sequence[str], source: str) -> pl.DataFrame:
    """These columns as text, null where a value is missing; raises InputError for values that have no text."""
    columns: dict[str, pl.Series] = {}
    for name in names:
        try:
            columns[name] = text_of(_to_polars(frame[name]))
        except NoTextError as error:
            raise InputError(
                f'{source}: column "{name}" holds {error} values; '
                "only text, numbers, dates, times and truth values can be used"
            ) from None
        except pl.exceptions.PanicException:  # no Exception of Python's
            raise InputError(
                f'{source}: column "{name}" holds {getattr(frame.to_native()[name], "type", "unknown")} values, which '
                "cannot be used; make them text"
            ) from None
        except Exception as error:  # whatever backend: its own message may quote cells
            raise InputError(
                f'{source}: column "{name}" holds values of several kinds ({type(error).__name__}); make them all text'
            ) from None
    return pl.DataFrame(columns)


def _to_polars(series: nw.Series[Any]) -> pl.Series:
    """Raises TypeError for objects of which different ones become the same: times with a time zone and without one."""
    if (spelled := _spelled(series)) is not None:
        return spelled
    column = series.to_polars().alias("")
    merged = series.dtype == nw.Object and column.dtype.is_temporal()
    if merged and column.drop_nulls().n_unique() < series.drop_nulls().n_unique():
        raise TypeError
    return column


def _spelled(series: nw.Series[Any]) -> pl.Series | None:
    """Intervals and periods of pandas, such as `pd.cut` makes, as pandas writes them: (20, 30], 2024-01, 2024Q1. None
    for other values, which polars knows itself."""
    if not series.implementation.is_pandas_like():
        return None
    first = series.drop_nulls().head(1).to_list()
    if not first or not _is_of_pandas(first[0]):
        return None
    missing, values = series.is_null().to_list(), series.to_list()
    if not all(gone or _is_of_pandas(value) for value, gone in zip(values, missing, strict=True)):
        return None
    return pl.Series(
        [None if gone else str(value) for value, gone in zip(values, missing, strict=True)], dtype=pl.String
    )


def _is_of_pandas(value: object) -> bool:
    return type(value).__name__ in ("Interval", "Period") and type(value).__module__.startswith("pandas")
