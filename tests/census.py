"""Generated tables that look like a census: tests of large tables need no data that a fresh clone does not have."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import polars as pl

import kanon_milp as km
from kanon_milp.studies.generators import synthetic_microdata

Q8 = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
ROWS = 3_000  # the largest table that tests ask for


@functools.cache
def _all() -> pl.DataFrame:
    return synthetic_microdata(ROWS, seed=1)


def census(rows: int) -> pl.DataFrame:
    """The first so many rows, always the same: skewed columns `Q8`, and `disease`."""
    assert rows <= ROWS
    return _all().head(rows)


def census_problem(rows: int, k: int, columns: Sequence[str] = Q8) -> km.Problem:
    """k-anonymity of the first rows by suppression."""
    return km.Problem(km.Table.from_frame(census(rows).select(columns), columns), [km.KAnonymity(k)])
