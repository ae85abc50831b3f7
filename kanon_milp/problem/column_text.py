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
    column = series.to_polars().alias("")
    merged = series.dtype == nw.Object and column.dtype.is_temporal()
    if merged and column.drop_nulls().n_unique() < series.drop_nulls().n_unique():
        raise TypeError
    return column
