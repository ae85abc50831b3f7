"""What each released cell may be, at which level it stands, and what the table's cells cost together.

A label can stand at more than one level of a path when it names the same values there. A row is then read at
the cheapest level vector that the mask allows. A label that names other values at two levels is told apart by its text
(`unambiguous`), or by its column: one that holds the labels of a single level as the hierarchy has them, the symbol
aside, is read as such (`ColumnRule.unambiguous`).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, counted
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Ints
from kanon_milp.verify.numbers import exact, ncp
from kanon_milp.verify.tables import Original, RecodingData, classes, list_rows, tally

Levels = tuple[int, ...]
Paths = Mapping[Label, tuple[Label, ...]]


def check_paths(paths: Mapping[Label, Sequence[Label]], where: str) -> None:
    """Raises InputError that says which rule is broken at which level; labels of the user's are not shown.

    where: beginning of the message, such as the column and the hierarchy.
    """
    if not paths:
        raise InputError(f"{where}: the hierarchy has no values")
    heights = {len(path) for path in paths.values()}
    if len(heights) > 1 or min(heights) < 2:
        raise InputError(f"{where}: every value needs the same number of levels, at least two")
    if any(path[0] != value for value, path in paths.items()):
        raise InputError(f"{where}: level 0 of a value must be the value itself")
    if len({path[-1] for path in paths.values()}) > 1:
        raise InputError(f"{where}: the values have no common top: the last level must be one label for all")
    top = next(iter(paths.values()))[-1]
    parents: dict[tuple[int, Label], Label] = {}
    for path in paths.values():
        for level, label in enumerate(path[:-1]):
            if label == top:
                raise InputError(f"{where}: the label of the top stands in level {level} too")
            if level and label is None:
                raise InputError(f"{where}: a label of level {level} is missing")
            if parents.setdefault((level, label), path[level + 1]) != path[level + 1]:
                raise InputError(
                    f"{where}: levels are not nested: a label of level {level} lies in two of level {level + 1}"
                )


def unambiguous(paths: Mapping[Label, Sequence[Label]]) -> dict[Label, tuple[Label, ...]]:
    """The paths with labels that each stand for one set of values.

    Where a label stands for other values than at the lowest of its levels, ` (level h)` is added, h being the first
    level at which it stands for these; again and again until no label of the hierarchy, and none that was renamed
    before, reads so. Levels are gone through from below, the labels of a level in the order of their characters.
    """
    height = len(next(iter(paths.values()))) - 1
    below: list[dict[Label, set[Label]]] = [defaultdict(set) for _ in range(height)]
    for value, path in paths.items():
        for level in range(height):
            below[level][path[level]].add(value)
    used = {label for each in below for label in each}
    texts: dict[Label, list[tuple[set[Label], str]]] = defaultdict(list)  # of renamed labels: values, and the text
    lowest: dict[Label, set[Label]] = {}
    renamed: dict[tuple[int, Label], str] = {}
    for level in range(height):
        for label in sorted(each for each in below[level] if each is not None):
            values = below[level][label]
            if lowest.setdefault(label, values) == values:
                continue
            text = next((text for same, text in texts[label] if same == values), None)
            if text is None:
                ending = f" (level {level})"
                text = label + ending
                while text in used:
                    text += ending
                used.add(text)
                texts[label].append((values, text))
            renamed[level, label] = text
    return {
        value: (*(renamed.get((level, label), label) for level, label in enumerate(path[:-1])), path[-1])
        for value, path in paths.items()
    }


def costs_of_labels(given: Any, paths: Paths, values: Sequence[Label], name: str) -> dict[Label, Fraction]:
    """What each label costs. given: labels with their costs, or "ncp". paths: of each value, the symbol last. values:
    those of the table. Raises InputError where a label has no cost, or costs more than the one above it."""
    where = f'costs of column "{name}"'
    if given == "ncp":
        share, under = ncp(values), defaultdict[Label, set[Label]](set)
        for value in values:
            for label in paths[value]:
                under[label].add(value)
        return {label: share(list(each)) for label, each in under.items()}
    if isinstance(given, str):
        raise InputError(f'{where}: a mapping from labels to their costs is expected, or "ncp"')
    symbol = next(iter(paths.values()))[-1]
    named = {symbol if label == "*" else label: exact(cost, where) for label, cost in given.items()}
    found: dict[Label, Fraction] = {}
    for path in paths.values():
        for label in path[1:]:
            if label not in named and label not in paths:
                raise InputError(f"{where}: a label has no cost")
            found[label] = named.get(label, Fraction(0))
        found[path[0]] = named.get(path[0], Fraction(0))
        costs = [found[label] for label in path]
        if costs[0] != 0 or any(low > high for low, high in itertools.pairwise(costs)):
            raise InputError(f"{where}: values must cost 0, and no label more than the one above it")
    return found


@dataclass(frozen=True, repr=False)
class ColumnRule:
    """What a cell of one column may become.

    paths: original value → its labels by level, each for one set of values, the symbol last; None where cells are kept
    or suppressed. costs: loss of a cell at each level, as far as it does not depend on the label. published: the paths
    as the hierarchy has them, where some of its labels are the same for other values. label_costs: loss of a cell by
    what it is released as, where that is how costs were given; then `costs` are 0.
    """

    name: str
    symbol: str
    paths: Paths | None
    costs: tuple[Fraction, ...]
    published: Paths | None = None
    label_costs: Mapping[Label, Fraction] | None = None

    @classmethod
    def of(cls, table: Original, recoding: RecodingData, name: str, domain: pl.Series) -> ColumnRule:
        """Check what a recoding says of a column; raises InputError. domain: all cells of the original column."""
        published, paths, height = None, None, 1
        if (hierarchy := recoding.hierarchies.get(name)) is not None:
            check_paths(hierarchy.paths, f'column "{name}": {hierarchy.source}')
            paths = unambiguous(hierarchy.paths)
            number, distinct = classes(table.keys[[name]])
            for position, value in enumerate(distinct[name]):
                path = paths.get(value, ())
                if not path or table.symbol in path[:-1]:
                    row = list_rows(np.flatnonzero(number == position)[:1])
                    what = "has the symbol below the top in" if path else "is not covered by"
                    raise InputError(f'{table.source}: column "{name}", {row}: the value {what} {hierarchy.source}')
            # the top stands for the table's symbol
            published = {value: (*path[:-1], table.symbol) for value, path in hierarchy.paths.items()}
            paths = {value: (*path[:-1], table.symbol) for value, path in paths.items()}
            height = len(next(iter(paths.values()))) - 1
        weight = exact(recoding.weights.get(name, 1), f'weight of column "{name}"')
        given = recoding.level_costs.get(name)
        every = getattr(recoding, "costs", {})  # what has no such entry has costs of levels
        of_labels = every if isinstance(every, str) else every.get(name)
        if of_labels is not None:
            values = classes(domain.to_frame(name))[1][name].to_list()
            known = {value: (value, table.symbol) for value in values} if paths is None else paths
            losses = {label: weight * cost for label, cost in costs_of_labels(of_labels, known, values, name).items()}
            return cls(name, table.symbol, paths, (Fraction(0),) * (height + 1), published, losses)
        costs = (
            [Fraction(level, height) for level in range(height + 1)]
            if given is None
            else [exact(cost, f'level cost of column "{name}"') for cost in given]
        )
        if len(costs) != height + 1:
            raise InputError(
                f'level costs of column "{name}": levels 0 to {height} need {height + 1} costs, not {len(costs)}'
            )
        weighted = tuple(weight * cost for cost in costs)
        return cls(name, table.symbol, paths, weighted, None if published == paths else published)

    @property
    def height(self) -> int:
        """Highest level."""
        return len(self.costs) - 1

    def path(self, original: Label) -> tuple[Label, ...]:
        """What the original value is released as at each level."""
        return (original, self.symbol) if self.paths is None else self.paths[original]

    def labels(self, original: pl.Series) -> list[pl.Series]:
        """By level what original values are released as."""
        if self.paths is None:
            return [original.alias(""), pl.repeat(self.symbol, len(original), dtype=pl.String, eager=True)]
        return _labels(original, self.paths)

    def stands(self, original: pl.Series, released: pl.Series) -> pl.DataFrame:
        """A column of truth values for each level: whether the original values are released so at it."""
        by_level, released = self.labels(original), released.alias("")  # no name: it may look like a pattern to polars
        return pl.DataFrame({str(level): labels.eq_missing(released) for level, labels in enumerate(by_level)})

    def unambiguous(self, original: pl.Series, released: pl.Series) -> pl.Series:
        """A released column, as text, with labels that each stand for one set of values: where these do not account for
        all cells, and all but the suppressed ones are what the hierarchy calls the values at one level, each as there.
        """
        if self.published is None or self.stands(original, released).select(pl.any_horizontal(pl.all()).all()).item():
            return released
        released = released.alias("")
        suppressed = (released == self.symbol).fill_null(value=False)
        for published, labels in zip(_labels(original, self.published)[:-1], self.labels(original), strict=False):
            if (suppressed | released.eq_missing(published)).all():
                return labels.zip_with(~suppressed, released)
        return released


@dataclass(frozen=True, eq=False)
class Rules:
    """What all released rows may become: a rule per quasi-identifier, and the level vectors that the mask allows.

    allowed: in the order of the quasi-identifiers; None if all are.
    """

    columns: tuple[ColumnRule, ...]
    allowed: frozenset[Levels] | None

    @classmethod
    def of(cls, table: Original, recoding: RecodingData, original: Original | None = None) -> Rules:
        """Check a recoding against a table; raises InputError. original: the table before rows were dropped."""
        keys = (original or table).keys
        columns = tuple(ColumnRule.of(table, recoding, name, keys[name]) for name in table.quasi_identifiers)
        return cls(columns, _allowed_vectors(recoding, columns))

    def unambiguous(self, table: Original, released: pl.DataFrame) -> pl.DataFrame:
        """The released quasi-identifiers with labels that each stand for one set of values, rows as in the table."""
        if released.height != table.keys.height:
            return pl.DataFrame({rule.name: released[rule.name] for rule in self.columns})
        return pl.DataFrame(
            {rule.name: rule.unambiguous(table.keys[rule.name], released[rule.name]) for rule in self.columns}
        )

    def allow(self, readings: Sequence[Levels]) -> bool:
        """Whether a row whose cells can stand at these levels can be read as the mask allows."""
        return self.allowed is None or not self.allowed.isdisjoint(itertools.product(*readings))

    def cheapest(self, reading: Sequence[Levels]) -> tuple[Fraction | None, bool]:
        """Cost of the cheapest level vector that reads so (None: there is none); whether the mask allows it."""
        vectors = list(itertools.product(*reading))
        matching = vectors if self.allowed is None else [vector for vector in vectors if vector in self.allowed]
        return min(map(self.cost, matching or vectors), default=None), bool(matching)

    @property
    def suppressed(self) -> Fraction:
        """Loss of a fully suppressed row."""
        of_labels = (each.label_costs[each.symbol] for each in self.columns if each.label_costs is not None)
        return self.cost([rule.height for rule in self.columns]) + sum(of_labels)

    def label_cost(self, released: pl.DataFrame, weights: Ints) -> Fraction:
        """Loss of all released cells of the columns whose costs depend on labels."""
        total = Fraction(0)
        for rule in self.columns:
            if rule.label_costs is not None:
                number, labels = classes(released[[rule.name]])
                for label, rows in zip(labels[rule.name], tally(number, weights).tolist(), strict=True):
                    total += rows * rule.label_costs[label]
        return total

    def cost(self, vector: Sequence[int]) -> Fraction:
        """Loss of a row at a level vector, without what depends on labels."""
        return sum((rule.costs[level] for rule, level in zip(self.columns, vector, strict=True)), Fraction(0))


@dataclass(frozen=True, eq=False)
class Readings:
    """At which levels each released cell can stand.

    kind_of_row: int64 (n,), rows with the same number have the same readings. kinds: those readings, one set of levels
    per quasi-identifier.
    """

    kind_of_row: Ints
    kinds: tuple[tuple[Levels, ...], ...]


def check_cells(table: Original, rules: Rules, released: pl.DataFrame) -> tuple[Fraction | None, list[str], Readings]:
    """Check each released cell and each row's level vector.

    released: the quasi-identifiers as text, row by row as in the table.
    Returns the loss, Σ over cells of weight · cost of level or label (None where a cell has no legal reading), the
    violations, and how the cells read.
    """
    violations: list[str] = []
    option_of_row: dict[str, Ints] = {}
    options: list[list[Levels]] = []
    for rule in rules.columns:
        option_of_row[rule.name], levels = sets_of_levels(rule.stands(table.keys[rule.name], released[rule.name]))
        options.append(levels)
        if () in levels:
            rows = np.flatnonzero(option_of_row[rule.name] == levels.index(()))
            legal = "the symbol" if rule.paths is None else "a label of its hierarchy"
            violations.append(f'column "{rule.name}": not the original value, not {legal}: {list_rows(rows)}')
    kind_of_row, kinds = classes(pl.DataFrame(option_of_row))
    readings = tuple(
        tuple(levels[option] for levels, option in zip(options, choice, strict=True)) for choice in kinds.rows()
    )
    loss: Fraction | None = Fraction(0)
    outside: list[int] = []
    for kind, (reading, rows_of_kind) in enumerate(
        zip(readings, tally(kind_of_row, table.weights).tolist(), strict=True)
    ):
        cost, matches = rules.cheapest(reading)
        loss = None if cost is None or loss is None else loss + rows_of_kind * cost
        if cost is not None and not matches:
            outside.append(kind)
    if loss is not None:
        loss += rules.label_cost(released, table.weights)
    if outside:
        rows = np.flatnonzero(np.isin(kind_of_row, outside))
        violations.append(f"a released row matches no pattern of the mask: {list_rows(rows)}")
    return loss, violations, Readings(kind_of_row, readings)


def sets_of_levels(stands: pl.DataFrame) -> tuple[Ints, list[Levels]]:
    """Per row the number of its set of levels, and the distinct sets in that order. stands: as `ColumnRule.stands`."""
    number, distinct = classes(stands)
    return number, [tuple(level for level, stand in enumerate(row) if stand) for row in distinct.iter_rows()]


def _labels(original: pl.Series, paths: Paths) -> list[pl.Series]:
    number, distinct = classes(original.to_frame("value"))
    by_level = zip(*(paths[value] for value in distinct["value"]), strict=True)
    return [pl.Series(labels, dtype=pl.String).gather(number) for labels in by_level]


def _allowed_vectors(recoding: RecodingData, rules: Sequence[ColumnRule]) -> frozenset[Levels] | None:
    """The level vectors of the mask in the order of the quasi-identifiers; None if all are allowed."""
    # a pattern mask is a mask itself
    mask: Any = recoding if hasattr(recoding, "patterns") else getattr(recoding, "mask", None)
    if mask is None:
        return None
    header = [rule.name for rule in rules] if mask.columns is None else list(mask.columns)
    vectors = set()
    for number, pattern in enumerate(mask.patterns, 1):
        if not isinstance(pattern, Mapping) and len(pattern) != len(header):
            raise InputError(
                f"{mask.source}: pattern {number} has {counted(len(pattern), 'cell')}, expected {len(header)}"
            )
        cells = pattern if isinstance(pattern, Mapping) else dict(zip(header, pattern, strict=True))
        if set(cells) != {rule.name for rule in rules}:
            raise InputError(f"{mask.source}: pattern {number} must name each quasi-identifier once")
        vectors.add(tuple(_mask_level(cells[rule.name], rule, mask.source, number) for rule in rules))
    return frozenset(vectors)


def _mask_level(given: str | int, rule: ColumnRule, source: str, number: int) -> int:
    cell = "" if isinstance(given, int) and given > rule.height else str(given)
    if cell in ("keep", "□"):
        return 0
    if cell in ("*", "⋆", rule.symbol):
        return rule.height
    digits = cell.lstrip("0") or "0"
    # Python makes no number of thousands of digits
    if cell.isascii() and cell.isdigit() and len(digits) <= len(str(rule.height)) and int(digits) <= rule.height:
        return int(digits)
    where = f'{source}: pattern {number}, column "{rule.name}"'
    raise InputError(f"{where}: neither keep nor * nor a level from 0 to {rule.height}")
