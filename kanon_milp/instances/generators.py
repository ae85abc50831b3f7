"""Tables with a known optimum, and the papers' hardness reductions as instances."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from kanon_milp.errors import InputError


def tight_example(m: int) -> pl.DataFrame:
    """The table on which the greedy heuristic pays (m-1)·m² and the optimum is m², for k = m (Pattern-guided paper,
    Theorem 3).

    k rows with 1 in every column; for each column i, k-1 rows with 1 elsewhere and a value of their own in column i.
    """
    if m < 2:
        raise InputError("tight_example needs m of at least 2")
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


def three_set_cover(sets: Sequence[Sequence[str]], h: int) -> Decision:
    """3-Set Cover as pattern-guided 3-anonymity with two patterns and three columns (Pattern-guided paper, Theorem 1).

    A yes-instance exactly if h of the sets (three elements each) cover the universe, which is their union.
    """
    if any(len(set(members)) != 3 for members in sets):
        raise InputError("three_set_cover needs sets of three different elements")
    universe = sorted({element for members in sets for element in members})
    unique = itertools.count()
    rows = [[f"u{u}", f"own{next(unique)}", f"own{next(unique)}"] for u in universe for _ in range(2)]
    rows += [[f"u{u}", f"S{i}", f"S{i}"] for i, members in enumerate(sets) for u in members]
    patterns = (("keep", "*", "*"), ("*", "keep", "keep"))
    return Decision(_frame(rows), patterns, 3, 4 * len(universe) + 3 * len(sets) + 3 * h)


def random_table(rows: int, columns: int, domain: int, seed: int = 0) -> pl.DataFrame:
    """Independent uniform values."""
    rng = random.Random(seed)
    return _frame([[str(rng.randrange(domain)) for _ in range(columns)] for _ in range(rows)])


def _frame(rows: list[list[str]]) -> pl.DataFrame:
    names = [f"q{j}" for j in range(1, len(rows[0]) + 1)]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


# what model files can name
GENERATORS: dict[str, Callable[..., pl.DataFrame]] = {
    "tight_example": tight_example,
    "full_product": full_product,
    "random_table": random_table,
}
