"""Tables that are generated: with a known optimum, and synthetic microdata that look like a census.

Microdata are skewed, dependent, and have ever fewer new row types. The law of growth: t_in ~ n^e with an exponent e(n)
that falls by 0.11 to 0.12 with every factor of ten. The last row of a table in random order is of a new type with
probability u/n, u the types that occur once, so e = n/t_in · u/n = u/t_in, which can be read off any table. On random
subsamples of UCI Adult (the eight columns `QUASI_IDENTIFIERS`) and here, e between two sizes:

    n      300   to 1,000   to 3,000   to 10,000   to 30,162   to 100,000   to 300,000   to 1,000,000
    Adult          0.97       0.93       0.87        0.80
    here           0.98       0.95       0.89        0.82         0.75         0.69         0.63

Adult is not larger; beyond it the exponent goes on as it did (0.55 from 10^6 to 10^7, where t_in is 797,094). Adult has
18,109 row types, a table of its size here about 19,600.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError, nearest
from kanon_milp.problem.arguments import integer

CHUNK = 1 << 18

QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
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


MOST_CELLS = 20_000_000
MOST_MICRODATA = 200_000_000  # made in columns: 10^7 rows take half a minute


def tight_example(m: int) -> pl.DataFrame:
    """The table of the Pattern-guided paper, Theorem 3: for k = m its optimum is m².

    k rows with 1 in every column; for each column i, k-1 rows with 1 elsewhere and a value of their own in column i.

    The paper says that its greedy heuristic (Algorithm 1) pays (m-1)·m² under all 2^m patterns. That holds for m = 2
    only: from m = 3 on, suppressing two columns i and j makes 2(k-1) ≥ k of the rows alike, which the heuristic takes
    at 2 a row; it pays 2·m·(m-1) for even m and (m-1)·(3m-2) for odd m. It does pay (m-1)·m², with the same optimum,
    under the m+2 patterns that suppress no column, one column or all columns.
    """
    if m < 2:
        raise InputError("tight_example needs m of at least 2")
    _refuse_large(m * m, m)
    rows = [["1"] * m for _ in range(m)]
    own = itertools.count(2)
    for i in range(m):
        for _ in range(m - 1):
            rows.append(["1"] * i + [str(next(own))] + ["1"] * (m - i - 1))
    return _frame(rows)


def full_product(domain_sizes: Sequence[int]) -> pl.DataFrame:
    """Each combination of the domains exactly once, like UCI's Nursery data without its class."""
    if not domain_sizes or min(domain_sizes) < 1:
        raise InputError("full_product needs at least one domain, each of at least one value")
    _refuse_large(math.prod(domain_sizes), len(domain_sizes))
    return _frame([[str(v) for v in row] for row in itertools.product(*(range(size) for size in domain_sizes))])


def random_table(rows: int, columns: int, domain: int, seed: int = 0) -> pl.DataFrame:
    """Independent uniform values 0, ..., domain-1."""
    if rows < 1 or columns < 1 or domain < 1:
        raise InputError("random_table needs at least one row, one column and one value")
    _refuse_large(rows, columns)
    rng = random.Random(seed)
    return _frame([[str(rng.randrange(domain)) for _ in range(columns)] for _ in range(rows)])


def microdata(rows: int, seed: int = 0, columns: Sequence[str] = COLUMNS) -> pl.DataFrame:
    """Census-like rows (`synthetic_microdata`) of the asked for columns."""
    rows, seed = integer(rows, "microdata: rows"), integer(seed, "microdata: seed", least=0)
    _refuse_large(rows, len(columns), MOST_MICRODATA)
    return synthetic_microdata(rows, seed, columns)


def _refuse_large(rows: int, columns: int, most: int = MOST_CELLS) -> None:
    """Most tables are made cell by cell."""
    if rows * columns > most:
        raise InputError(f"a generated table of this kind has at most {most:,} cells")


def _frame(rows: list[list[str]]) -> pl.DataFrame:
    names = [f"q{j}" for j in range(1, len(rows[0]) + 1)]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


# what model files can name
GENERATORS: dict[str, Callable[..., pl.DataFrame]] = {
    "tight_example": tight_example,
    "full_product": full_product,
    "random_table": random_table,
    "microdata": microdata,
}
