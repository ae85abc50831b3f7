"""Tables with a known optimum, and the papers' hardness reductions as instances."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import integer
from kanon_milp.studies.microdata import COLUMNS, synthetic_microdata

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


def full_product_optimum(domain_sizes: Sequence[int], k: int) -> int:
    """The optimum of `full_product` under all patterns: n·q with q the fewest columns whose sizes multiply to at
    least k."""
    n = 1
    for size in domain_sizes:
        n *= size
    if k > n:
        raise InputError(f"k = {k} is larger than the number of rows ({n})")
    covered = 1
    for q, size in enumerate(sorted(domain_sizes, reverse=True)):
        if covered >= k:
            return n * q
        covered *= size
    return n * len(domain_sizes)


@dataclass(frozen=True)
class Decision:
    """A decision instance of pattern-guided k-anonymity: is there a table with at most s suppressions?"""

    frame: pl.DataFrame
    patterns: tuple[tuple[str, ...], ...]
    k: int
    s: int


def three_set_cover(sets: Sequence[Sequence[str]], universe: Sequence[str], h: int) -> Decision:
    """3-Set Cover as pattern-guided 3-anonymity with two patterns and three columns (Pattern-guided paper, Theorem 1).

    A yes-instance exactly if at most h of the sets (three elements each) cover the universe.
    """
    if any(len(set(members)) != 3 or len(members) != 3 for members in sets):
        raise InputError("three_set_cover needs sets of three different elements")
    if not universe or len(set(universe)) != len(universe):
        raise InputError("three_set_cover needs a universe of at least one element, each named once")
    if not set(universe).issuperset(element for members in sets for element in members):
        raise InputError("three_set_cover needs sets of elements of the universe")
    unique = itertools.count()
    rows = [[f"u{u}", f"own{next(unique)}", f"own{next(unique)}"] for u in universe for _ in range(2)]
    rows += [[f"u{u}", f"S{i}", f"S{i}"] for i, members in enumerate(sets) for u in members]
    patterns = (("keep", "*", "*"), ("*", "keep", "keep"))
    return Decision(_frame(rows), patterns, 3, 4 * len(universe) + 3 * len(sets) + 3 * h)


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
