"""Groups of a released table: sizes, what they say of sensitive attributes, which requirements they meet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.privacy import Group, KAnonymity, Requirement
from kanon_milp.verify.frames import classes, list_rows

Value = str | None


@dataclass(frozen=True)
class SensitiveFacts:
    """The strongest that holds in every group for one sensitive attribute.

    p: fewest distinct values in a group (p-sensitivity). l: least size / largest count of a value (frequency
    l-diversity).
    t: largest distance ½ Σ |share in the group - share in the table| (t-closeness with equal ground
    distance). A missing value counts as a value of its own.
    """

    p: int
    l: Fraction  # noqa: E741  (the papers' letter)
    t: Fraction


@dataclass(frozen=True)
class GroupFacts:
    """What holds for a set of groups.

    k_strict: size of the smallest group. k_exempt: of the smallest one that is not fully suppressed, None if
    there is none.
    sensitive: per sensitive attribute what holds in every group.
    """

    groups: int
    k_strict: int
    k_exempt: int | None
    mean_group: Fraction
    largest_group: int
    sensitive: Mapping[str, SensitiveFacts]


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rows in groups, numbered from 0.

    of_row: int64 (n,), the group of each row. size: int64 (groups,). suppressed: bool (groups,), whether each
    of the group's cells is the symbol. sensitive: the sensitive attributes as text, row by row. title: what a
    group is, for messages.
    """

    of_row: NDArray[np.int64]
    size: NDArray[np.int64]
    suppressed: NDArray[np.bool_]
    sensitive: pl.DataFrame
    title: str

    @classmethod
    def build(
        cls,
        of_row: NDArray[np.int64],
        suppressed_rows: NDArray[np.bool_],
        sensitive: pl.DataFrame,
        title: str,
    ) -> Grouping:
        """Collect rows into groups. suppressed_rows: bool (n,), whether the row is fully suppressed."""
        size = np.bincount(of_row)
        suppressed = np.bincount(of_row[suppressed_rows], minlength=len(size)) == size
        return cls(of_row, size, suppressed, sensitive, title)

    @property
    def facts(self) -> GroupFacts:
        """Sizes and the strongest that holds for each sensitive attribute."""
        visible = self.size[~self.suppressed]
        return GroupFacts(
            groups=len(self.size),
            k_strict=int(self.size.min()),
            k_exempt=int(visible.min()) if visible.size else None,
            mean_group=Fraction(len(self.of_row), len(self.size)),
            largest_group=int(self.size.max()),
            sensitive={name: self._sensitive_facts(name) for name in self.sensitive.columns},
        )

    def check(self, requirement: Requirement, exempt: bool) -> list[str]:
        """Check a requirement in every group; fully suppressed rows that are exempt need no k partners."""
        if isinstance(requirement, KAnonymity):
            small = self.size < int(requirement.k)
            failing = np.flatnonzero(small & ~self.suppressed if exempt else small)
            what = f"fewer than k = {int(requirement.k)} rows"
        else:
            groups = self._groups()
            failing = np.array([g for g, group in enumerate(groups) if not requirement.holds(group)], dtype=np.int64)
            parameters = ", ".join(f"{name} = {value}" for name, value in requirement.describe().items())
            what = f"not {requirement.name} ({parameters})"
        if not failing.size:
            return []
        rows = list_rows(np.flatnonzero(self.of_row == failing[0]))
        return [f"{len(failing)} of {len(self.size)} {self.title} have {what}; the first is {rows}"]

    def _sensitive_facts(self, name: str) -> SensitiveFacts:
        value_of_row, _ = classes(self.sensitive.select(name))
        in_table = np.bincount(value_of_row)
        pairs, count = np.unique(self.of_row * len(in_table) + value_of_row, return_counts=True)
        group, value = pairs // len(in_table), pairs % len(in_table)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        n, size = len(self.of_row), self.size
        # n·S·Σ_σ |N_σ/S - r_σ/n| in whole numbers: absent values add r_σ·S each, and all r_σ·S add up to n·S
        expected = in_table[value] * size[group]
        distance = n * size + np.add.reduceat(np.abs(n * count - expected) - expected, starts)
        return SensitiveFacts(
            p=int(np.add.reduceat(np.ones_like(count), starts).min()),
            l=_extreme(min, size, np.maximum.reduceat(count, starts)),
            t=_extreme(max, distance, 2 * n * size),
        )

    def _groups(self) -> list[Group]:
        counts: list[dict[str, dict[Value, int]]] = [
            {name: {} for name in self.sensitive.columns} for _ in range(len(self.size))
        ]
        for name in self.sensitive.columns:
            tally: defaultdict[tuple[int, Value], int] = defaultdict(int)
            for number, value in zip(self.of_row.tolist(), self.sensitive[name].to_list(), strict=True):
                tally[number, value] += 1
            for (number, value), rows in tally.items():
                counts[number][name][value] = rows
        return [Group(int(size), found) for size, found in zip(self.size, counts, strict=True)]


def _extreme(
    choose: Callable[..., Fraction], numerators: NDArray[np.int64], denominators: NDArray[np.int64]
) -> Fraction:
    ratios = set(zip(numerators.tolist(), denominators.tolist(), strict=True))
    return choose(Fraction(above, below) for above, below in ratios)
