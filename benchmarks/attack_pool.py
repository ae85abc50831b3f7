"""What makes an optimal table less telling: a table drawn from a pool of near-optimal ones, and larger groups.

Small random tables with suppression of cells, by brute force over everything, so that all figures are exact: all tables
that can be released, and all originals that can lie behind a released one. The attacker knows how the table was chosen,
the values of each column, k and the loss that was allowed; an original is ruled out if the table could not have been
chosen for it. He may still find some originals likelier than others, which is not measured.

    python benchmarks/attack_pool.py --tables 40
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, combinations_with_replacement, compress, islice, product

import numpy as np

from kanon_milp.system.arrays import Ints

MOST_ORIGINALS = 200_000  # original tables behind a released one; tables with more are left out, and counted
BLOCK = 4_096  # original tables at once
Row = tuple[int, ...]  # released: -1 where suppressed


@cache
def partitions(rows: int, k: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """All ways to divide so many rows into groups of at least k."""

    def divided(left: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if not left:
            yield ()
            return
        first, *others = left
        for size in range(k - 1, len(others) + 1):
            for more in combinations(others, size):
                rest = tuple(each for each in others if each not in more)
                yield from (((first, *more), *others_) for others_ in divided(rest))

    return tuple(divided(tuple(range(rows))))


def least_losses(tables: Ints, k: int) -> Ints:
    """Of each table the least number of suppressed cells, int64 (tables,). tables: int64 (tables, rows, columns)."""
    rows = tables.shape[1]
    every = partitions(rows, k)
    groups = {group for each in every for group in each}
    cost = {}
    for group in groups:
        held = tables[:, group, :]
        cost[group] = len(group) * (held != held[:, :1, :]).any(axis=1).sum(axis=1)
    found: Ints = np.min([sum(cost[group] for group in each) for each in every], axis=0)
    return found


def released_tables(table: Ints, k: int, most: int) -> list[tuple[Row, ...]]:
    """All different k-anonymous tables of a table with so many suppressed cells at most, also with more cells
    suppressed than the groups need. table: int64 (rows, columns)."""
    columns = table.shape[1]
    patterns = list(product((False, True), repeat=columns))
    found = set()
    for groups in partitions(len(table), k):
        needed = [tuple((table[list(g)] != table[g[0]]).any(axis=0)) for g in groups]
        choices = [[p for p in patterns if all(a >= b for a, b in zip(p, n, strict=True))] for n in needed]
        for chosen in product(*choices):
            if sum(len(g) * sum(p) for g, p in zip(groups, chosen, strict=True)) <= most:
                rows: list[Row] = [()] * len(table)
                for group, pattern in zip(groups, chosen, strict=True):
                    for row in group:
                        kept = zip(table[row].tolist(), pattern, strict=True)
                        rows[row] = tuple(-1 if suppressed else value for value, suppressed in kept)
                found.add(tuple(rows))
    return sorted(found)


def originals(released: tuple[Row, ...], values: int) -> tuple[list[list[tuple[Row, ...]]], list[int]]:
    """Of each group all that its rows can have been, in any order; and how many rows it has."""
    groups = sorted(set(released))
    sizes = [released.count(row) for row in groups]
    found = []
    for row, size in zip(groups, sizes, strict=True):
        possible = list(product(*(range(values) if cell < 0 else (cell,) for cell in row)))
        found.append(list(combinations_with_replacement(possible, size)))
    return found, sizes


@dataclass
class Figures:
    """Sums over released tables. suppressed: share of cells; ruled_out: share of the original tables that the released
    one stands for; rows: share of rows in groups of whose originals one is ruled out at least; certain: share of
    groups with something suppressed in which some row is certain to have some suppressed value. left_out: tables with
    too many originals."""

    tables: int = 0
    left_out: int = 0
    suppressed: float = 0.0
    ruled_out: float = 0.0
    rows: float = 0.0
    certain: float = 0.0

    def add(self, released: tuple[Row, ...], values: int, k: int, allowed: int) -> None:
        """Attack a table that was chosen from those with at most so many more suppressed cells than the best."""
        per_group, sizes = originals(released, values)
        every = math.prod(len(each) for each in per_group)
        if every > MOST_ORIGINALS:
            self.left_out += 1
            return
        loss = sum(cell < 0 for row in released for cell in row)
        tables = (list(each) for each in product(*per_group))
        able = 0
        seen: list[set[Row]] = [set() for _ in sizes]  # originals that some row of a group can have
        always: list[set[tuple[int, int]] | None] = [None] * len(sizes)  # column and value that some row always has
        while block := list(islice(tables, BLOCK)):
            rows = np.array([[row for group in each for row in group] for each in block])
            possible = loss - least_losses(rows, k) <= allowed
            able += int(possible.sum())
            for each in compress(block, possible):
                for at, group in enumerate(each):
                    seen[at].update(group)
                    there = {(j, value) for row in group for j, value in enumerate(row)}
                    known = always[at]
                    always[at] = there if known is None else known & there
        groups = sorted(set(released))
        changed = [row for row in groups if min(row) < 0]
        refined = [
            size
            for row, size, some in zip(groups, sizes, seen, strict=True)
            if len(some) < values ** sum(cell < 0 for cell in row)
        ]
        certain = [
            row
            for row, known in zip(groups, always, strict=True)
            if known and any(row[column] < 0 for column, _ in known)
        ]
        self.tables += 1
        self.suppressed += loss / (len(released) * len(released[0]))
        self.ruled_out += 1 - able / every
        self.rows += sum(refined) / len(released)
        self.certain += len(certain) / max(len(changed), 1)

    def line(self, how: str) -> str:
        """A row of the table in the docs."""
        sums = (self.suppressed, self.ruled_out, self.rows, self.certain)
        shares = " | ".join(f"{100 * each / max(self.tables, 1):.1f}" for each in sums)
        return f"| {how} | {shares} | {self.tables} |"


def measure(tables: int, rows: int, columns: int, values: int, draws: int, seed: int) -> list[str]:
    """The table in the docs."""
    draw = np.random.default_rng(seed)
    ways = [(2, 0), (2, 2), (2, 4), (3, 0), (3, 2), (3, 4)]
    found = {way: Figures() for way in ways}
    for _ in range(tables):
        table = draw.integers(values, size=(rows, columns))
        for k, allowed in ways:
            best = int(least_losses(table[None], k)[0])
            pool = released_tables(table, k, best + allowed)
            for at in draw.choice(len(pool), size=min(draws, len(pool)), replace=False):
                found[k, allowed].add(pool[at], values, k, allowed)
    header = "how the table was chosen | suppressed % | ruled out % | rows refined % | certain % | tables"
    lines = [f"| {header} |", "| --- | --: | --: | --: | --: | --: |"]
    for (k, allowed), figures in found.items():
        how = "one of the best" if not allowed else f"any with up to {allowed} more suppressed cells"
        lines.append(figures.line(f"k = {k}: {how}"))
        if figures.left_out:
            lines.append(f"<!-- left out: {figures.left_out} -->")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("tables", 40), ("rows", 6), ("columns", 4), ("values", 2), ("draws", 3), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    print("\n".join(measure(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
