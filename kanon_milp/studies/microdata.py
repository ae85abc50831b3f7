"""Synthetic microdata of any size that looks like a census: skewed, dependent, and with ever fewer new row types.

The law of growth: t_in ~ n^e with an exponent e(n) that falls by 0.11 to 0.12 with every factor of ten. The last row of
a table in random order is of a new type with probability u/n, u the types that occur once, so e = n/t_in · u/n =
u/t_in, which can be read off any table. On random subsamples of UCI Adult (the eight columns `QUASI_IDENTIFIERS`) and
here, e between two sizes:

    n      300   to 1,000   to 3,000   to 10,000   to 30,162   to 100,000   to 300,000   to 1,000,000
    Adult          0.97       0.93       0.87        0.80
    here           0.98       0.95       0.89        0.82         0.75         0.69         0.63

Adult is not larger; beyond it the exponent goes on as it did (0.55 from 10^6 to 10^7, where t_in is 797,094). Adult has
18,109 row types, a table of its size here about 19,600.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError, nearest

CHUNK = 1 << 18

QUASI_IDENTIFIERS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
)
SENSITIVE = "disease"
COLUMNS = (*QUASI_IDENTIFIERS, SENSITIVE)
# number of values and exponent of the Zipf law of each column, chosen so that t_in at 30,162 rows is near UCI Adult's
# 18,109; `age` and `sex` are drawn on their own
_ZIPF = {
    "race": (5, 2.9),
    "marital-status": (7, 1.4),
    "education": (16, 1.3),
    "native-country": (41, 3.3),
    "workclass": (7, 2.1),
    "occupation": (14, 0.6),
    "disease": (20, 1.0),
}


def synthetic_microdata(rows: int, seed: int = 0, columns: Sequence[str] = COLUMNS) -> pl.DataFrame:
    """Rows of the asked for `COLUMNS`, all text.

    A value depends on seed, row and column alone: not on how many rows follow or which columns stand beside it.
    """
    _asked(rows, columns)
    parts = [
        _chunk(min(CHUNK, rows - start), number, seed).select(columns)
        for number, start in enumerate(range(0, rows, CHUNK))
    ]
    return pl.concat(parts)


def write_synthetic_microdata(path: str | Path, rows: int, seed: int = 0, columns: Sequence[str] = COLUMNS) -> None:
    """Write `synthetic_microdata(rows, seed, columns)` to a Parquet or CSV file, chunk by chunk, so that memory stays
    small."""
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise InputError(f"{path}: synthetic microdata is written as .parquet or .csv")
    _asked(rows, columns)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".microdata-") as folder:
        for number, start in enumerate(range(0, rows, CHUNK)):
            part = _chunk(min(CHUNK, rows - start), number, seed).select(columns)
            part.write_parquet(Path(folder) / f"{number:06}.parquet")
        scan = pl.scan_parquet(Path(folder) / "*.parquet")
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            if path.suffix == ".parquet":
                scan.sink_parquet(beside)
            else:
                scan.sink_csv(beside)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def _asked(rows: int, columns: Sequence[str]) -> None:
    if rows < 1:
        raise InputError("synthetic microdata need at least one row")
    for name in columns:
        if name not in COLUMNS:
            raise InputError(f'synthetic microdata have no column "{name}"{nearest(name, list(COLUMNS))}')
    if not columns or len(set(columns)) != len(columns):
        raise InputError("synthetic microdata need at least one column, each named once")


def _chunk(rows: int, number: int, seed: int) -> pl.DataFrame:
    """One chunk: always drawn completely, so that shorter tables begin as longer ones do."""
    rng = np.random.default_rng([seed, number])
    # a hidden social position between 0 and 1 makes education, work and marital status depend on each other
    position = rng.random(CHUNK)
    sex = rng.random(CHUNK) < 0.5
    age = np.clip(rng.gamma(4.5, 7.5, CHUNK).astype(np.int64) + 16, 16, 90)
    columns = {
        "sex": _texts(np.array(["female", "male"]), sex.astype(np.int64)),
        "age": _texts(np.array([str(a) for a in range(91)]), age),
    }
    for name, (size, exponent) in _ZIPF.items():
        weights = np.arange(1, size + 1, dtype=float) ** -exponent
        limits = np.cumsum(weights) / weights.sum()
        mixed = (
            0.6 * position + 0.4 * rng.random(CHUNK)
            if name in ("education", "workclass", "occupation")
            else rng.random(CHUNK)
        )
        if name == "marital-status":
            mixed = (mixed + age / 90) / 2
        value = np.minimum(np.searchsorted(limits, mixed), size - 1)
        columns[name] = _texts(np.array([f"{name[:4]}{v}" for v in range(size)]), value)
    return pl.DataFrame({name: column[:rows] for name, column in columns.items()})


def _texts(labels: NDArray[Any], codes: NDArray[Any]) -> pl.Series:
    return pl.Series(labels.tolist(), dtype=pl.String).gather(codes)
