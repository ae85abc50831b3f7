"""How often sensitive values occur in groups: sparse counts, and what follows from them for every group at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from kanon_milp.problem.records import Group, Label
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.verify.numbers import Ratios
from kanon_milp.verify.tables import classes, tally


class Matching:
    """The different rows of some keys, and which of them match: in each key they are alike, or it is missing or
    suppressed in one of the two.

    of_row: int64 (n,), the number of each row among the different ones; size: int64, how many rows match each.
    """

    def __init__(self, released: pl.DataFrame, suppressed: pl.DataFrame, weights: Ints) -> None:
        """released: keys as text. suppressed: of each cell whether it is; missing ones match, too. weights: int64,
        how many rows each row stands for."""
        columns = {name: released[name].alias("").set(suppressed[name].alias(""), None) for name in released.columns}
        self.of_row, distinct = classes(pl.DataFrame(columns))
        coded = [column.alias("").rank("dense").fill_null(0).to_numpy() for column in distinct]
        self._codes = np.array(coded, dtype=np.int64).reshape(len(coded), distinct.height)  # 0: matches any
        self._complete: Flags = np.all(self._codes > 0, axis=0)
        self.size = self.sums(tally(self.of_row, weights)[:, None])[:, 0]

    def sums(self, amounts: Ints) -> Ints:
        """Of amounts of each of the different rows, int64 (rows, q), the sums over those that match each."""
        found = np.where(self._complete[:, None], amounts, 0)
        for row in np.flatnonzero(~self._complete).tolist():
            matches = np.ones(len(amounts), dtype=bool)
            for codes in self._codes:
                if codes[row]:
                    matches &= (codes == codes[row]) | (codes == 0)
            found[row] = amounts[matches].sum(axis=0)
            found[matches & self._complete] += amounts[row]
        return found


@dataclass(frozen=True, eq=False)
class Coding:
    """The joint values of some attributes as numbers.

    names: the attributes. labels: the joint values of the reference by code, in the order of the text, missing last.
    of_row: int64 (n,), the code of each row. known: bool (n,), false where the reference lacks the value (code 0 then).
    total: int64 (len(labels),), rows of the reference with each code. weights: int64 (n,), how many rows each stands
    for.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...] = field(repr=False)
    of_row: Ints
    known: Flags
    total: Ints
    weights: Ints

    @classmethod
    def of(
        cls, names: Sequence[str], held: pl.DataFrame, reference: pl.DataFrame, weights: tuple[Ints, Ints]
    ) -> Coding:
        """held, reference: as text, row by row. weights: of both, how many rows each row stands for."""
        labels, reference_of_row = coded(reference, names, len(weights[1]))
        total = tally(reference_of_row, weights[1], len(labels))
        if held is reference and len(weights[0]) == len(weights[1]):
            return cls(tuple(names), labels, reference_of_row, np.ones(len(weights[0]), dtype=bool), total, weights[0])
        distinct, of_row = coded(held, names, len(weights[0]))
        position = {label: code for code, label in enumerate(labels)}
        code = np.array([position.get(label, -1) for label in distinct], dtype=np.int64)[of_row]
        return cls(tuple(names), labels, np.maximum(code, 0), code >= 0, total, weights[0])


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """How often each joint value of some attributes occurs in each group.

    starts: int64 (groups + 1,); the entries of group g are those from starts[g] to starts[g + 1]. value, count: int64
    (entries,), codes that occur, in rising order, and how often. size: int64 (groups,).
    """

    coding: Coding
    starts: Ints
    value: Ints
    count: Ints
    size: Ints

    @classmethod
    def build(cls, group_of_row: Ints, coding: Coding) -> Counts:
        """Count the joint values in the groups."""
        codes = len(coding.labels)
        pairs, entry = np.unique(group_of_row * codes + coding.of_row, return_inverse=True)
        group, value = pairs // codes, pairs % codes
        size = tally(group_of_row, coding.weights)
        starts = np.searchsorted(group, np.arange(len(size) + 1))
        return cls(coding, starts, value, tally(entry, coding.weights), size)

    @classmethod
    def of_matching(cls, matching: Matching, coding: Coding) -> Counts:
        """Count the joint values among the rows that match each of the different ones."""
        codes = len(coding.labels)
        pairs = tally(matching.of_row * codes + coding.of_row, coding.weights, len(matching.size) * codes)
        found = matching.sums(pairs.reshape(-1, codes))
        group, value = np.nonzero(found)
        starts = np.searchsorted(group, np.arange(len(found) + 1))
        return cls(coding, starts, value, found[group, value], matching.size)

    def of_groups(self, insides: Sequence[Mapping[int, int]]) -> Counts:
        """The same of other groups, each given as code → rows."""
        entries = [sorted(inside.items()) for inside in insides]
        flat = np.array([pair for inside in entries for pair in inside], dtype=np.int64).reshape(-1, 2)
        starts = np.cumsum([0, *map(len, entries)])
        size = np.add.reduceat(flat[:, 1], starts[:-1])
        return replace(self, starts=starts, value=flat[:, 0], count=flat[:, 1], size=size)

    @property
    def labels(self) -> tuple[tuple[Label, ...], ...]:
        """The joint values by code."""
        return self.coding.labels

    @property
    def total(self) -> Ints:
        """int64 (len(labels),), rows of the reference with each code."""
        return self.coding.total

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.size)

    @cached_property
    def n(self) -> int:
        """Number of rows of the reference."""
        return int(self.total.sum())

    @property
    def values(self) -> list[Label]:
        """The values of the one attribute that is counted."""
        return [label for (label,) in self.labels]

    @cached_property
    def group(self) -> Ints:
        """int64 (entries,), the group of each entry."""
        return np.repeat(np.arange(self.groups), np.diff(self.starts))

    @cached_property
    def alike(self) -> tuple[Ints, Ints]:
        """Groups with the same counts: one group of each kind, and per group the number of its kind."""
        number: dict[tuple[bytes, bytes], int] = {}
        kind = np.empty(self.groups, dtype=np.int64)
        first: list[int] = []
        for g, (start, end) in enumerate(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)):
            key = (self.value[start:end].tobytes(), self.count[start:end].tobytes())
            kind[g] = number.setdefault(key, len(number))
            if len(number) > len(first):
                first.append(g)
        return np.array(first, dtype=np.int64), kind

    def of_group(self, g: int) -> dict[int, int]:
        """Code → rows in one group."""
        part = slice(self.starts[g], self.starts[g + 1])
        return dict(zip(self.value[part].tolist(), self.count[part].tolist(), strict=True))

    @cached_property
    def table_group(self) -> Group:
        """The reference as one group."""
        return Group.of(self.coding.names, dict(zip(self.labels, self.total.tolist(), strict=True)))

    def as_group(self, g: int) -> Group:
        """One group as what requirements of the user's are asked about."""
        inside = {self.labels[code]: rows for code, rows in self.of_group(g).items()}
        return Group.of(self.coding.names, inside, self.table_group)

    def every(self, entries: Flags) -> Flags:
        """Per group whether it is true of each of its entries."""
        return np.asarray(np.logical_and.reduceat(entries, self.starts[:-1]), dtype=bool)

    @property
    def distinct(self) -> Ints:
        """Per group the number of different values."""
        return np.diff(self.starts)

    @property
    def frequency(self) -> Ratios:
        """Per group its size / the largest count of a value (frequency l-diversity)."""
        return Ratios(self.size, np.maximum.reduceat(self.count, self.starts[:-1]))

    @property
    def shares(self) -> Ratios:
        """Per group the largest share of a value (α of (α,k)-anonymity)."""
        return Ratios(np.maximum.reduceat(self.count, self.starts[:-1]), self.size)

    @property
    def entry_shares(self) -> Ratios:
        """Per entry the share in the group."""
        return Ratios(self.count, self.size[self.group])

    @property
    def equal_distance(self) -> Ratios:
        """Per group ½ Σ |share in the group - share in the table|."""
        # n·S·Σ_σ |N_σ/S - r_σ/n| in integers: absent values add r_σ·S each, and all r_σ·S add up to n·S
        expected = self.total[self.value] * self.size[self.group]
        surplus = np.abs(self.n * self.count - expected) - expected
        return Ratios(self.n * self.size + np.add.reduceat(surplus, self.starts[:-1]), 2 * self.n * self.size)

    @cached_property
    def gains(self) -> Ratios:
        """Per entry the share in the group / the share in the table, q/p."""
        return Ratios(self.count * self.n, self.size[self.group] * self.total[self.value])

    @cached_property
    def changes(self) -> Ratios:
        """Per entry max(q/p, p/q)."""
        gains = self.gains
        return Ratios(np.maximum(gains.above, gains.below), np.minimum(gains.above, gains.below))

    @cached_property
    def _descending(self) -> tuple[Ints, Ints]:
        """Counts in falling order within each group; and per entry the rows of its group in it and all before it."""
        count = self.count[np.lexsort((-self.count, self.group))]
        running = np.cumsum(count)
        before = running[self.starts[:-1]] - count[self.starts[:-1]]
        return count, running - before[self.group]

    def recursive(self, l: int) -> Ratios:  # noqa: E741
        """Per group r_1 / (r_l + ... + r_m), r_1 ≥ ... ≥ r_m being its counts; for groups of l ≥ 2 values or more."""
        count, through = self._descending
        starts = self.starts[:-1]
        return Ratios(count[starts], self.size - through[starts + l - 2])

    @cached_property
    def entropies(self) -> Floats:
        """Per group ln S - Σ (c/S) ln c, the natural entropy, as floats."""
        terms = np.add.reduceat(self.count * np.log(self.count), self.starts[:-1])
        return np.asarray(np.log(self.size) - terms / self.size, dtype=np.float64)


def coded(sensitive: pl.DataFrame, names: Sequence[str], rows: int) -> tuple[tuple[tuple[Label, ...], ...], Ints]:
    """Joint values in the order of their text, missing last, and int64 (rows,), the position of each row's there."""
    if not names:
        return ((),), np.zeros(rows, dtype=np.int64)
    of_row, distinct = classes(sensitive[list(names)])
    held = distinct.rows()
    order = sorted(range(len(held)), key=lambda i: [(value is None, value or "") for value in held[i]])
    position = np.empty(len(held), dtype=np.int64)
    position[order] = np.arange(len(held))
    return tuple(held[i] for i in order), position[of_row]
