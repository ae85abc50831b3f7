"""What a replacement in a released table does to its groups, decided for many replacements at once.

Groups are meant by their numbers; a replacement gives some rows of one group another label in one column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions.base import ValueRule
from kanon_milp.verify.groups import Grouping

Indices = NDArray[np.int64]
Inside = dict[int, int]  # code of a joint value → rows


def number(*arrays: Indices) -> tuple[Indices, Indices, Indices]:
    """Number the distinct combinations of entries in the order of their first positions.

    Returns the number of each position, and per number its first position and how many positions it has.
    """
    joint = np.zeros(len(arrays[0]), dtype=np.int64)
    for array in arrays:
        # numbers stay below the number of positions, so products do not overflow
        _, joint = np.unique(joint * (int(array.max(initial=0)) + 1) + array, return_inverse=True)
    _, first, of, count = np.unique(joint, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[of], first[order], count[order]


class Projection:
    """What the groups look like in some of the columns: rows that look the same there are a class.

    Classes are numbered in the order of their first groups; seen in all columns, each group is the class of its number.
    of_group: the class of each group. size: rows of each class. suppressed: whether all its cells are the symbol.
    """

    def __init__(self, codes: Indices, sizes: Indices, columns: Sequence[int], symbols: Indices) -> None:
        """codes: int64 (groups, m), the labels of each group. symbols: int64 (m,), codes of the symbol."""
        self.columns = tuple(columns)
        self._codes = codes
        self.of_group, first, _ = number(*(codes[:, j] for j in self.columns))
        self.size = np.bincount(self.of_group, weights=sizes).astype(np.int64)
        self.suppressed = np.ones(len(first), dtype=bool)
        for j in self.columns:
            self.suppressed &= codes[first, j] == symbols[j]
        self._lookups: dict[int, tuple[Indices, Indices, Indices]] = {}

    def target(self, column: int, groups: Indices, labels: Indices) -> Indices:
        """The class that a group's rows are in with another label in one of the columns; -1 if there is none."""
        if column not in self._lookups:
            others = [self._codes[:, j] for j in self.columns if j != column]
            rest = number(*others)[0] if others else np.zeros(len(self._codes), dtype=np.int64)
            keys, first = np.unique(self._key(rest, self._codes[:, column], column), return_index=True)
            self._lookups[column] = rest, keys, self.of_group[first]
        rest, keys, classes = self._lookups[column]
        # labels that no group has lie outside the range of keys of any rest
        wanted = np.where(labels > self._codes[:, column].max(), -1, self._key(rest[groups], labels, column))
        position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[position] == wanted, classes[position], -1)

    def _key(self, rest: Indices, labels: Indices, column: int) -> Indices:
        return rest * (int(self._codes[:, column].max()) + 1) + labels


@dataclass(frozen=True, eq=False)
class SizeTest:
    """k-anonymity of a projection; exempt: classes that are fully suppressed there need no k rows."""

    projection: Projection
    k: int
    exempt: bool

    def keeps(self, column: int, groups: Indices, labels: Indices, moved: Indices) -> NDArray[np.bool_]:
        """Whether it holds after so many rows of a group get this label."""
        view = self.projection
        if column not in view.columns:
            return np.ones(len(groups), dtype=bool)
        own = view.of_group[groups]
        left = view.size[own] - moved
        target = view.target(column, groups, labels)
        joined = moved + np.where(target >= 0, view.size[target], 0)
        leaves: NDArray[np.bool_] = (left == 0) | (left >= self.k)
        joins: NDArray[np.bool_] = joined >= self.k
        if self.exempt:  # a class with a more specific label is never suppressed
            leaves |= view.suppressed[own]
        return leaves & joins


@dataclass(frozen=True, eq=False)
class ValueTest:
    """A requirement about sensitive values, or different units; it holds in all groups as they are, but for those that
    are free: bool (groups,)."""

    rule: ValueRule
    counts: Counts
    free: NDArray[np.bool_]
    _known: dict[tuple[str, int, int], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, rule: ValueRule, groups: Grouping, free: NDArray[np.bool_]) -> ValueTest:
        """The rule and the attributes that it looks at."""
        return cls(rule, groups.counts_of(groups.sensitive.coding(rule.attributes)), free)

    def keeps_for_rows(self, groups: Indices, targets: Indices, rows: Indices) -> NDArray[np.bool_]:
        """Whether it holds after a row leaves its group for another one (-1: to stand alone)."""
        values = self.counts.coding.of_row[rows]
        keeps = np.ones(len(groups), dtype=bool)
        for what, change, first, second, changes in (
            ("alone", self._alone, values, values, targets < 0),
            ("without", self._without, groups, values, (self.counts.size[groups] > 1) & ~self.free[groups]),
            ("with", self._with, targets, values, targets >= 0),
        ):
            concerned = np.flatnonzero(changes & keeps)
            keeps[concerned] = self._decide(what, change, first[concerned], second[concerned])
        return keeps

    def keeps_for_groups(self, groups: Indices, targets: Indices) -> NDArray[np.bool_]:
        """Whether it holds after a group joins another one (-1: it stays one, with the same rows)."""
        keeps = np.ones(len(groups), dtype=bool)
        joined = np.flatnonzero(targets >= 0)
        keeps[joined] = self._decide("union", self._union, groups[joined], targets[joined])
        # with a label that is more specific it is free no more
        stays = np.flatnonzero((targets < 0) & self.free[groups])
        keeps[stays] = self._decide("as it is", self._itself, groups[stays], groups[stays])
        return keeps

    def _decide(
        self, what: str, change: Callable[[int, int], Inside], first: Indices, second: Indices
    ) -> NDArray[np.bool_]:
        """Whether it holds in the groups that a change makes of these pairs; each pair is asked about once."""
        if not len(first):
            return np.ones(0, dtype=bool)
        of, positions, _ = number(first, second)
        keys = [(what, a, b) for a, b in zip(first[positions].tolist(), second[positions].tolist(), strict=True)]
        new = [key for key in keys if key not in self._known]
        if new:
            changed = self.counts.of_groups([change(a, b) for _, a, b in new])
            self._known.update(zip(new, self.rule.holds(changed).tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=bool)[of]

    def _alone(self, value: int, _value: int) -> Inside:
        return {value: 1}

    def _without(self, group: int, value: int) -> Inside:
        inside = self.counts.of_group(group)
        inside[value] -= 1
        if not inside[value]:
            del inside[value]
        return inside

    def _with(self, group: int, value: int) -> Inside:
        inside = self.counts.of_group(group)
        inside[value] = inside.get(value, 0) + 1
        return inside

    def _itself(self, group: int, _group: int) -> Inside:
        return self.counts.of_group(group)

    def _union(self, left: int, right: int) -> Inside:
        inside = self.counts.of_group(left)
        for value, rows in self.counts.of_group(right).items():
            inside[value] = inside.get(value, 0) + rows
        return inside
