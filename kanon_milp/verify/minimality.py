"""Minimal generalization (Bredereck et al. 2012, section 4.4): could an entry of a released table be more specific?

A released table is a minimal generalization with a property if replacing any entry by a more specific value gives a
table without it. Two kinds of replacement are tried: a single cell, whose row then joins the rows that are released
like it now is, or stands alone; and a column of all rows of a group, which then joins another group or stays one.
More specific is a label that stands at a lower level on the path of the original value and keeps the row within the
mask. The property is that all requirements hold and that the number of groups keeps its bounds. Each replacement is
decided exactly; those that change the same groups in the same way are decided together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
import polars as pl

from kanon_milp.errors import UndecidedError, counted
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.cells import Levels, Readings, Rules
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions import Rule, SizeRule, ValueRule
from kanon_milp.verify.groups import Grouping
from kanon_milp.verify.tables import classes, list_rows

Inside = dict[int, int]  # code of a joint value → rows


def number(*arrays: Ints) -> tuple[Ints, Ints, Ints]:
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

    def __init__(self, codes: Ints, sizes: Ints, columns: Sequence[int], symbols: Ints) -> None:
        """codes: int64 (groups, m), the labels of each group. symbols: int64 (m,), codes of the symbol."""
        self.columns = tuple(columns)
        self._codes = codes
        self.of_group, first, _ = number(*(codes[:, j] for j in self.columns))
        self.size = np.bincount(self.of_group, weights=sizes).astype(np.int64)
        self.suppressed = np.ones(len(first), dtype=bool)
        for j in self.columns:
            self.suppressed &= codes[first, j] == symbols[j]
        self._lookups: dict[int, tuple[Ints, Ints, Ints]] = {}

    def target(self, column: int, groups: Ints, labels: Ints) -> Ints:
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

    def _key(self, rest: Ints, labels: Ints, column: int) -> Ints:
        return rest * (int(self._codes[:, column].max()) + 1) + labels


@dataclass(frozen=True, eq=False)
class SizeTest:
    """k-anonymity of a projection; exempt: classes that are fully suppressed there need no k rows."""

    projection: Projection
    k: int
    exempt: bool

    def keeps(self, column: int, groups: Ints, labels: Ints, moved: Ints) -> Flags:
        """Whether it holds after so many rows of a group get this label."""
        view = self.projection
        if column not in view.columns:
            return np.ones(len(groups), dtype=bool)
        own = view.of_group[groups]
        left = view.size[own] - moved
        target = view.target(column, groups, labels)
        joined = moved + np.where(target >= 0, view.size[target], 0)
        leaves: Flags = (left == 0) | (left >= self.k)
        joins: Flags = joined >= self.k
        if self.exempt:  # a class with a more specific label is never suppressed
            leaves |= view.suppressed[own]
        return leaves & joins


@dataclass(frozen=True, eq=False)
class ValueTest:
    """A requirement about sensitive values, or different units; it holds in all groups as they are, but for those that
    are free: bool (groups,)."""

    rule: ValueRule
    counts: Counts
    free: Flags
    _known: dict[tuple[str, int, int], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, rule: ValueRule, groups: Grouping, free: Flags) -> ValueTest:
        """The rule and the attributes that it looks at."""
        return cls(rule, groups.counts_of(groups.sensitive.coding(rule.attributes)), free)

    def keeps_for_rows(self, groups: Ints, targets: Ints, rows: Ints) -> Flags:
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

    def keeps_for_groups(self, groups: Ints, targets: Ints) -> Flags:
        """Whether it holds after a group joins another one (-1: it stays one, with the same rows)."""
        keeps = np.ones(len(groups), dtype=bool)
        joined = np.flatnonzero(targets >= 0)
        keeps[joined] = self._decide("union", self._union, groups[joined], targets[joined])
        # with a label that is more specific it is free no more
        stays = np.flatnonzero((targets < 0) & self.free[groups])
        keeps[stays] = self._decide("as it is", self._itself, groups[stays], groups[stays])
        return keeps

    def _decide(self, what: str, change: Callable[[int, int], Inside], first: Ints, second: Ints) -> Flags:
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


@dataclass(frozen=True)
class Property:
    """What a released table must keep: rules, and bounds on the number of groups.

    exempt: fully suppressed rows need no k partners.
    """

    rules: tuple[Rule, ...]
    exempt: bool
    min_groups: int | None = None
    max_groups: int | None = None


@dataclass
class Found:
    """Replacements that keep the property: how many, and the first, in which column and rows (by index)."""

    what: str
    of: str = ""
    count: int = 0
    column: str = ""
    rows: Ints | None = None

    def add(self, count: int, column: str, rows: Ints) -> None:
        """Take note of replacements in one column, the first of them in these rows."""
        self.count += count
        if self.rows is None or rows[0] < self.rows[0]:
            self.column, self.rows = column, rows

    def text(self) -> str:
        """How many, and the first."""
        assert self.rows is not None
        which = f"{counted(self.count, self.what)}{self.of}"
        return f'{which} could be more specific, the first in column "{self.column}", {list_rows(self.rows)}'


def not_minimal(
    rules: Rules, original: pl.DataFrame, released: pl.DataFrame, readings: Readings, groups: Grouping, kept: Property
) -> str | None:
    """Say which entries of a released table could be more specific; None if it is a minimal generalization.

    original, released: the quasi-identifiers as text. groups: of equal released rows. The table must be legal and have
    the property itself.
    """
    search = _Search(rules, original, released, readings, groups, kept)
    cells = Found("cell")
    columns = Found("column", " of entire groups")
    for j in range(len(rules.columns)):
        search.cells(j, cells)
        search.columns(j, columns)
    return "; ".join(found.text() for found in (cells, columns) if found.count) or None


@dataclass(frozen=True, eq=False)
class _Steps:
    """What the cells of one column could be instead, for each distinct pair of original value and released label.

    pair_of_row: int64 (n,). lowest: per pair the lowest level at which the label stands. at: int64 (height, pairs),
    codes of the labels of the original value by level. starts: int64 (pairs + 1,); the more specific labels of a pair
    are those from starts[i] to starts[i + 1] of label (codes) and readings (numbers into `levels`).
    """

    pair_of_row: Ints
    lowest: Ints
    at: Ints
    starts: Ints
    label: Ints
    readings: Ints
    levels: tuple[Levels, ...]
    reading_at: Ints


def _enough(k: int, counts: Counts) -> Flags:
    """Whether groups have so many different units."""
    return counts.distinct >= k


class _Search:
    def __init__(
        self,
        rules: Rules,
        original: pl.DataFrame,
        released: pl.DataFrame,
        readings: Readings,
        groups: Grouping,
        kept: Property,
    ) -> None:
        self.rules, self.readings, self.groups, self.kept = rules, readings, groups, kept
        self.first = np.unique(groups.of_row, return_index=True)[1]
        coded = [self._steps(j, original, released) for j in range(len(rules.columns))]
        self.steps = [steps for steps, _, _ in coded]
        codes = np.column_stack([labels[self.first] for _, labels, _ in coded])
        symbols = np.array([symbol for _, _, symbol in coded])
        everything = range(len(rules.columns))
        self.classes = Projection(codes, groups.size, everything, symbols)
        names = [rule.name for rule in rules.columns]
        self.sizes: list[SizeTest] = []
        self.values: list[ValueTest] = []
        for rule in kept.rules:
            if isinstance(rule, SizeRule) and rule.unit is not None:
                if rule.columns is not None:
                    raise UndecidedError("is not decided for units of some of the quasi-identifiers")
                units = ValueRule("k_anonymity", (rule.unit,), rule.described, partial(_enough, rule.k))
                free = groups.suppressed & kept.exempt
                self.values.append(ValueTest.of(units, groups, free))
            elif isinstance(rule, SizeRule):
                subset = rule.columns
                view = self.classes
                if subset is not None:
                    view = Projection(codes, groups.size, [j for j in everything if names[j] in subset], symbols)
                self.sizes.append(SizeTest(view, rule.k, kept.exempt))
            else:
                self.values.append(ValueTest.of(rule, groups, np.zeros(len(groups.size), dtype=bool)))
        # rows with the same sensitive values, as far as any rule looks at them
        codes_of_row = [test.counts.coding.of_row for test in self.values]
        self.secret = number(*codes_of_row)[0] if codes_of_row else np.zeros_like(groups.of_row)
        self.allowed = cache(self._allowed)

    def cells(self, j: int, found: Found) -> None:
        """Single cells of one column."""
        steps = self.steps[j]
        masked = [] if self.rules.allowed is None else [self.readings.kind_of_row]
        _, first, rows = number(self.groups.of_row, steps.pair_of_row, self.secret, *masked)
        pair = steps.pair_of_row[first]
        # one replacement for each more specific label of a pair
        choices = np.diff(steps.starts)[pair]
        case = np.repeat(np.arange(len(first)), choices)
        within = np.arange(len(case)) - np.repeat(np.cumsum(choices) - choices, choices)
        step = steps.starts[pair][case] + within
        legal = self._legal(j, first[case], steps.readings[step])
        case, step = case[legal], step[legal]
        group, label = self.groups.of_row[first[case]], steps.label[step]
        target = self.classes.target(j, group, label)
        good = np.flatnonzero(self._sizes_keep(j, group, label, np.ones_like(group), target))
        for test in self.values:
            keeps = test.keeps_for_rows(group[good], target[good], first[case[good]])
            good = good[keeps]
        if good.size:
            free = np.unique(case[good])
            found.add(int(rows[free].sum()), self.rules.columns[j].name, first[free].min(keepdims=True))

    def columns(self, j: int, found: Found) -> None:
        """One column of all rows of a group with at least two rows."""
        steps, of_row, size = self.steps[j], self.groups.of_row, self.groups.size
        free = np.zeros(len(size), dtype=bool)
        for level in range(len(steps.at)):
            label_of_row = steps.at[level][steps.pair_of_row]
            group_label = label_of_row[self.first]
            agree = (label_of_row == group_label[of_row]) & (steps.lowest[steps.pair_of_row] > level)
            possible = (np.bincount(of_row[~agree], minlength=len(size)) == 0) & (size > 1) & ~free
            inside = np.flatnonzero(possible[of_row])
            illegal = inside[~self._legal(j, inside, steps.reading_at[level][steps.pair_of_row[inside]])]
            possible[of_row[illegal]] = False
            group = np.flatnonzero(possible)
            target = self.classes.target(j, group, group_label[group])
            good = np.flatnonzero(self._sizes_keep(j, group, group_label[group], size[group], target))
            for test in self.values:
                good = good[test.keeps_for_groups(group[good], target[good])]
            free[group[good]] = True
        if free.any():
            rows = np.flatnonzero(of_row == np.flatnonzero(free)[0])
            found.add(int(free.sum()), self.rules.columns[j].name, rows)

    def _sizes_keep(self, j: int, group: Ints, label: Ints, moved: Ints, target: Ints) -> Flags:
        """Whether k-anonymity and the bounds on the number of groups survive."""
        keeps = np.ones(len(group), dtype=bool)
        for test in self.sizes:
            keeps &= test.keeps(j, group, label, moved)
        count = len(self.groups.size) - (moved == self.groups.size[group]) + (target < 0)
        if self.kept.min_groups is not None:
            keeps &= count >= self.kept.min_groups
        if self.kept.max_groups is not None:
            keeps &= count <= self.kept.max_groups
        return keeps

    def _legal(self, j: int, rows: Ints, readings: Ints) -> Flags:
        """Whether the mask allows these rows to have a cell of one column read otherwise."""
        if self.rules.allowed is None or not len(rows):
            return np.ones(len(rows), dtype=bool)
        kinds = self.readings.kind_of_row[rows]
        of, first, _ = number(kinds, readings)
        pairs = zip(kinds[first].tolist(), readings[first].tolist(), strict=True)
        answers = [self.allowed(j, kind, reading) for kind, reading in pairs]
        return np.array(answers, dtype=bool)[of]

    def _allowed(self, j: int, kind: int, reading: int) -> bool:
        levels = list(self.readings.kinds[kind])
        levels[j] = self.steps[j].levels[reading]
        return self.rules.allow(levels)

    def _steps(self, j: int, original: pl.DataFrame, released: pl.DataFrame) -> tuple[_Steps, Ints, int]:
        """Steps of one column, codes of its released labels row by row, and the code of the symbol."""
        rule = self.rules.columns[j]
        pair_of_row, pairs = classes(pl.DataFrame({"original": original[rule.name], "released": released[rule.name]}))
        codes: dict[str | None, int] = {rule.symbol: 0}
        numbers: dict[Levels, int] = {}
        lowest, at, reading_at, own = [], [], [], []
        label: list[int] = []
        readings: list[int] = []
        starts = [0]
        for before, after in pairs.iter_rows():
            path = rule.path(before)
            own.append(codes.setdefault(after, len(codes)))
            lowest.append(min(rule.levels(before, after)))
            at.append([codes.setdefault(step, len(codes)) for step in path[:-1]])
            reading_at.append([numbers.setdefault(rule.levels(before, step), len(numbers)) for step in path[:-1]])
            below = dict(zip(at[-1][: lowest[-1]], reading_at[-1], strict=False))
            label += below
            readings += below.values()
            starts.append(len(label))
        as_array = {"at": at, "reading_at": reading_at, "label": label, "readings": readings, "starts": starts}
        arrays = {name: np.array(entries, dtype=np.int64).T for name, entries in as_array.items()}
        steps = _Steps(pair_of_row, np.array(lowest), levels=tuple(numbers), **arrays)
        return steps, np.array(own)[pair_of_row], codes[rule.symbol]
