"""Minimal generalization (Bredereck et al. 2012, section 4.4): could an entry of a released table be more specific?

A released table is a minimal generalization with a property if replacing any entry by a more specific value gives a
table without it. Two kinds of replacement are tried: a single cell, whose row then joins the rows that are released
like it now is, or stands alone; and a column of all rows of a group, which then joins another group or stays one.
More specific is a label that stands at a lower level on the path of the original value and keeps the row within the
mask. The property is that all requirements hold and that the number of groups keeps its bounds. Each replacement is
decided exactly; those that change the same groups in the same way are decided together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
import polars as pl

from kanon_milp.errors import UndecidedError, counted
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.cells import ColumnRule, Levels, Readings, Rules, sets_of_levels
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions import MeanRule, PopulationRule, Rule, ValueRule
from kanon_milp.verify.groups import Grouping
from kanon_milp.verify.tables import classes, list_rows, tally


def number(*arrays: Ints) -> tuple[Ints, Ints]:
    """Number the distinct combinations of entries in the order of their first positions.

    Returns the number of each position, and per number its first position.
    """
    joint = np.zeros(len(arrays[0]), dtype=np.int64)
    for array in arrays:
        # numbers stay below the number of positions, so products do not overflow
        _, joint = np.unique(joint * (int(array.max(initial=0)) + 1) + array, return_inverse=True)
    _, first, of = np.unique(joint, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[of], first[order]


class Projection:
    """What the groups look like in some of the columns: rows that look the same there are a class.

    Classes are numbered in the order of their first groups; seen in all columns, each group is the class of its number.
    of_group: the class of each group. size: rows of each class. suppressed: whether all its cells are the symbol.
    """

    def __init__(self, codes: Ints, sizes: Ints, columns: Sequence[int]) -> None:
        """codes: int64 (groups, m), the labels of each group; 0 is the symbol."""
        self.columns = tuple(columns)
        self._codes = codes
        self.of_group, first = number(*(codes[:, j] for j in self.columns))
        self.size = np.bincount(self.of_group, weights=sizes).astype(np.int64)
        self.suppressed = (codes[first][:, self.columns] == 0).all(axis=1)
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
        projection = self.projection
        if column not in projection.columns:
            return np.ones(len(groups), dtype=bool)
        own = projection.of_group[groups]
        left = projection.size[own] - moved
        target = projection.target(column, groups, labels)
        joined = moved + np.where(target >= 0, projection.size[target], 0)
        leaves: Flags = (left == 0) | (left >= self.k)
        joins: Flags = joined >= self.k
        if self.exempt:  # a class with a more specific label is never suppressed
            leaves |= projection.suppressed[own]
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
        for what, changed, concerned in (
            ("alone", values, targets < 0),
            ("without", groups, (self.counts.size[groups] > 1) & ~self.free[groups]),
            ("with", targets, targets >= 0),
        ):
            at = np.flatnonzero(concerned & keeps)
            keeps[at] = self._decide(what, changed[at], values[at])
        return keeps

    def keeps_for_groups(self, groups: Ints, targets: Ints) -> Flags:
        """Whether it holds after a group joins another one (-1: it stays one, with the same rows)."""
        keeps = np.ones(len(groups), dtype=bool)
        joined = np.flatnonzero(targets >= 0)
        keeps[joined] = self._decide("union", groups[joined], targets[joined])
        # with a label that is more specific it is free no more
        stays = np.flatnonzero((targets < 0) & self.free[groups])
        keeps[stays] = self._decide("as it is", groups[stays], groups[stays])
        return keeps

    def _decide(self, what: str, first: Ints, second: Ints) -> Flags:
        """Whether it holds in the groups that a change makes of these pairs; each pair is asked about once."""
        if not len(first):
            return np.ones(0, dtype=bool)
        of, positions = number(first, second)
        keys = [(what, a, b) for a, b in zip(first[positions].tolist(), second[positions].tolist(), strict=True)]
        new = [key for key in keys if key not in self._known]
        if new:
            changed = self.counts.of_groups([self._changed(*key) for key in new])
            self._known.update(zip(new, self.rule.holds(changed).tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=bool)[of]

    def _changed(self, what: str, first: int, second: int) -> dict[int, int]:
        """Code of a joint value → rows, in a group after a change: alone with a value, with or without a row of it, in
        union with another group, or as it is."""
        inside = {} if what == "alone" else self.counts.of_group(first)
        change = {second: -1 if what == "without" else 1}
        if what in ("union", "as it is"):
            change = self.counts.of_group(second) if what == "union" else {}
        for value, rows in change.items():
            inside[value] = inside.get(value, 0) + rows
        return {value: rows for value, rows in inside.items() if rows}


def not_minimal(
    rules: Rules,
    original: pl.DataFrame,
    released: pl.DataFrame,
    readings: Readings,
    groups: Grouping,
    requirements: Sequence[Rule],
    bounds: tuple[int | None, int | None],
    *,
    exempt: bool,
) -> str | None:
    """Say which entries of a released table could be more specific; None if it is a minimal generalization.

    original, released: the quasi-identifiers as text. groups: of equal released rows. requirements, bounds (on the
    number of groups): what the table must keep, and has itself. exempt: fully suppressed rows need no k partners.
    """
    search = _Search(rules, original, released, readings, groups, requirements, exempt, bounds)
    texts = []
    for what, of, look in (("cell", "", search.cells), ("column", " of entire groups", search.columns)):
        found = [(rule.name, *look(j)) for j, rule in enumerate(rules.columns)]
        if number_of := sum(count for _, count, _ in found):
            name, _, rows = min((each for each in found if each[1]), key=lambda each: int(each[2][0]))
            which = f"{counted(number_of, what)}{of}"
            texts.append(f'{which} could be more specific, the first in column "{name}", {list_rows(rows)}')
    return "; ".join(texts) or None


@dataclass(frozen=True, eq=False)
class _Steps:
    """What the cells of one column could be instead, for each distinct pair of original value and released label.

    pair_of_row: int64 (n,). lowest: per pair the lowest level at which the label stands. at: int64 (height, pairs),
    codes of the labels of the original value by level; reading_at: numbers into `levels`, at which each of them stands.
    starts: int64 (pairs + 1,); the more specific labels of a pair are those from starts[i] to starts[i + 1] of label
    (codes) and readings (numbers into `levels`).
    """

    pair_of_row: Ints
    lowest: Ints
    at: Ints
    reading_at: Ints
    levels: list[Levels]
    starts: Ints
    label: Ints
    readings: Ints
    own: Ints  # per pair the code of the released label; that of the symbol is 0

    @classmethod
    def of(cls, rule: ColumnRule, original: pl.Series, released: pl.Series) -> _Steps:
        pair_of_row, pairs = classes(pl.DataFrame({"original": original, "released": released}))
        *labels, symbols = rule.labels(pairs["original"])
        texts = pl.concat([symbols[:1], *(each.alias("") for each in (pairs["released"], *labels))])
        own, *codes = np.split(classes(texts.to_frame("label"))[0][1:], len(labels) + 1)
        at = np.array(codes)
        path = np.vstack([at, np.zeros_like(own)])
        number, levels = sets_of_levels(
            pl.DataFrame({str(level): (path[level] == at).ravel() for level in range(len(path))})
        )
        reading_at = number.reshape(at.shape)
        lowest = (path == own).argmax(axis=0)
        # the labels at lower levels, each once
        first = np.array([~(at[:level] == at[level]).any(axis=0) for level in range(len(at))])
        below = first & (np.arange(len(at))[:, None] < lowest)
        pair, level = np.nonzero(below.T)
        starts = np.concatenate([[0], np.cumsum(below.sum(axis=0))])
        return cls(pair_of_row, lowest, at, reading_at, levels, starts, at[level, pair], reading_at[level, pair], own)


def _enough(k: int, counts: Counts) -> Flags:
    return counts.distinct >= k


class _Search:
    def __init__(
        self,
        rules: Rules,
        original: pl.DataFrame,
        released: pl.DataFrame,
        readings: Readings,
        groups: Grouping,
        requirements: Sequence[Rule],
        exempt: bool,
        bounds: tuple[int | None, int | None],
    ) -> None:
        self.rules, self.readings, self.groups = rules, readings, groups
        fewest, most = bounds
        self.fewest, self.most = fewest or 0, int(groups.size.sum()) if most is None else most
        self.first = np.unique(groups.of_row, return_index=True)[1]
        names = [rule.name for rule in rules.columns]
        self.steps = [_Steps.of(rule, original[rule.name], released[rule.name]) for rule in rules.columns]
        codes = np.column_stack([steps.own[steps.pair_of_row[self.first]] for steps in self.steps])
        self.classes = Projection(codes, groups.size, range(len(names)))
        self.sizes: list[SizeTest] = []
        self.values: list[ValueTest] = []
        for rule in requirements:
            if isinstance(rule, ValueRule):
                self.values.append(ValueTest.of(rule, groups, np.zeros(len(groups.size), dtype=bool)))
            elif isinstance(rule, MeanRule):
                self.most = min(self.most, rule.most_groups(int(groups.size.sum())))
            elif isinstance(rule, PopulationRule):
                raise UndecidedError("is not decided for a population")
            elif rule.unit is None:
                some = None if rule.columns is None else [names.index(name) for name in rule.columns]
                projection = self.classes if some is None else Projection(codes, groups.size, some)
                self.sizes.append(SizeTest(projection, rule.k, exempt))
            elif rule.columns is None:
                units = ValueRule("k_anonymity", (rule.unit,), rule.described, partial(_enough, rule.k))
                self.values.append(ValueTest.of(units, groups, groups.suppressed & exempt))
            else:
                raise UndecidedError("is not decided for units of some of the quasi-identifiers")
        # rows with the same sensitive values, as far as any rule looks at them
        codes_of_row = [test.counts.coding.of_row for test in self.values]
        self.secret = number(*codes_of_row)[0] if codes_of_row else np.zeros_like(groups.of_row)
        self.allowed = cache(self._allowed)

    def cells(self, j: int) -> tuple[int, Ints]:
        """How many single cells of a column can be replaced, and the row of the first."""
        steps = self.steps[j]
        masked = [] if self.rules.allowed is None else [self.readings.kind_of_row]
        of, first = number(self.groups.of_row, steps.pair_of_row, self.secret, *masked)
        rows = tally(of, self.groups.sensitive.weights[0])
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
            good = good[test.keeps_for_rows(group[good], target[good], first[case[good]])]
        free = np.unique(case[good])
        return int(rows[free].sum()), np.sort(first[free])[:1]

    def columns(self, j: int) -> tuple[int, Ints]:
        """In how many groups of at least two rows a column can be replaced in all rows, and the rows of the first."""
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
        return int(free.sum()), np.flatnonzero(of_row == free.argmax())

    def _sizes_keep(self, j: int, group: Ints, label: Ints, moved: Ints, target: Ints) -> Flags:
        """Whether k-anonymity and the bounds on the number of groups survive."""
        count = len(self.groups.size) - (moved == self.groups.size[group]) + (target < 0)
        keeps: Flags = (count >= self.fewest) & (count <= self.most)
        for test in self.sizes:
            keeps &= test.keeps(j, group, label, moved)
        return keeps

    def _legal(self, j: int, rows: Ints, readings: Ints) -> Flags:
        """Whether the mask allows these rows to have a cell of one column read otherwise."""
        if self.rules.allowed is None or not len(rows):
            return np.ones(len(rows), dtype=bool)
        kinds = self.readings.kind_of_row[rows]
        of, first = number(kinds, readings)
        pairs = zip(kinds[first].tolist(), readings[first].tolist(), strict=True)
        answers = [self.allowed(j, kind, reading) for kind, reading in pairs]
        return np.array(answers, dtype=bool)[of]

    def _allowed(self, j: int, kind: int, reading: int) -> bool:
        levels = list(self.readings.kinds[kind])
        levels[j] = self.steps[j].levels[reading]
        return self.rules.allow(levels)
