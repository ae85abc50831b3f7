"""Generalization hierarchies of single columns: reading, checking, and the two-level one that suppression is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError, counted, kind_of, printable
from kanon_milp.problem.arguments import file_path, instance_of, listed, text, wrong
from kanon_milp.problem.column_values import Decimal
from kanon_milp.problem.costs import CELLS, Given, cell_costs, level_costs
from kanon_milp.problem.csv_files import csv_text
from kanon_milp.problem.dates import date_rows
from kanon_milp.problem.exact import Number
from kanon_milp.problem.generalization import (
    MISSING,
    OTHER,
    WAYS,
    Made,
    Rule,
    Values,
    group_rows,
    interval_rows,
    order_rows,
    prefix_rows,
    quantile_rows,
)
from kanon_milp.problem.side_files import read_hierarchy_rows
from kanon_milp.problem.table import SYMBOL, Table, in_kind, open_frame
from kanon_milp.system.arrays import Ints32
from kanon_milp.system.files import write_file

Label = str | None


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A domain generalization hierarchy of one column (Bredereck et al., Homogeneity paper, section 4.4).

    paths: for each original value its labels from level 0 (the value itself; None where it is missing) to the top
    (`*`), all of the same length. source: what error messages call it, such as its file. rule: how it was made, where
    it is one of intervals, quantiles, dates or prefixes; then `extended` has labels for other values, too. kind: the
    library of the data frame or series that it was made from, polars where there was none.
    A label may stand for different values at two levels, as the city and the canton Basel do: `released` and `renamed`
    tell them apart.
    Raises InputError that names the entry (or line of a file) and the kind of fault: a path that does not begin with
    its value, paths of different lengths, no common top, and levels that are not nested.
    """

    paths: Mapping[Label, tuple[Label, ...]]
    source: str = "hierarchy"
    rule: Rule | None = None
    kind: nw.Implementation = nw.Implementation.POLARS

    def __post_init__(self) -> None:
        text(self.source, "source of a hierarchy")
        if self.rule is not None:
            instance_of(self.rule, Rule, "rule", "a Rule, or None,")
        if not isinstance(self.paths, Mapping):
            raise wrong(
                self.source, "a mapping from values to their labels, such as {'31': ('31', '30-39', '*')},", self.paths
            )
        if not self.paths:
            raise InputError(f"{self.source}: the hierarchy has no rows")
        entries = ((f"row {number}", value, labels) for number, (value, labels) in enumerate(self.paths.items(), 1))
        object.__setattr__(self, "paths", _nested(entries, self.source))

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Label]], source: str = "hierarchy") -> Hierarchy:
        """Build from rows (value, label at level 1, ..., `*`); row numbers in errors count from 1, without a header.

        Equal rows count once.
        """
        given = listed(rows, source, "a list of rows (value, label, ..., '*')")
        return cls._placed([(f"row {number}", row) for number, row in enumerate(given, 1)], source)

    @classmethod
    def _placed(cls, rows: Sequence[tuple[str, Sequence[Label]]], source: str) -> Hierarchy:
        """Build from rows, each with its place in messages."""
        first: dict[Label, tuple[str, tuple[Label, ...]]] = {}
        for place, row in rows:
            path = _labels(row, f"{source}: {place}")
            if not path:
                raise InputError(f"{source}: {place} has 0 levels, expected at least 2")
            earlier, known = first.setdefault(path[0], (place, path))
            if known != path:
                raise InputError(
                    f"{source}: {earlier} and {place} have the same value in level0 and different labels; each value "
                    "has one row"
                )
        return cls(_nested([(place, value, path) for value, (place, path) in first.items()], source), source)

    @classmethod
    def from_frame(cls, frame: Any, source: str = "hierarchy") -> Hierarchy:
        """Build from a data frame with the columns level0, level1, ..."""
        wrapped, _ = open_frame(frame, source)
        names = list(wrapped.columns)
        expected = [f"level{i}" for i in range(len(names))]
        if names != expected or len(names) < 2:
            wrong = [number for number, pair in enumerate(zip(names, expected, strict=True)) if pair[0] != pair[1]]
            found = f"column {wrong[0] + 1} is not level{wrong[0]}" if wrong else "there is one column"
            raise InputError(f"{source}: the columns must be level0, level1, ... (at least two): {found}")
        columns = [wrapped[name].to_polars().cast(pl.String) for name in names]
        return replace(cls.from_rows(zip(*columns, strict=True), source), kind=wrapped.implementation)

    @classmethod
    def read(cls, path: str | Path, encoding: str | None = None) -> Hierarchy:
        """Read a CSV file with the header level0,level1,..., or one of ARX, without it; an empty level0 stands for
        missing values.

        The delimiter is the file's own: a comma, semicolon, tab or |. Without a header, rows end in one common label.
        """
        path = file_path(path, "path of a hierarchy")
        return cls._placed(read_hierarchy_rows(path, encoding), str(path))

    @classmethod
    def intervals(
        cls,
        column: Any,
        widths: Any,
        *,
        origin: Number = 0,
        below: Number | None = None,
        above: Number | None = None,
        missing: str = MISSING,
        other: str | None = OTHER,
        decimal: Decimal | None = None,
        dashes: bool | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """Numbers as intervals, such as `20-24`, `20-29`, `20-39` of integers and `[20, 22.5[` of decimals.

        column: a series of any data frame, or a list; its values, as text, are level 0. widths: one for each level,
        each a multiple of the one before, which makes levels nest. origin: where an interval begins. below, above:
        bottom and top coding: on each level numbers below the one are `<18`, and those from the other on `>=90`;
        without widths ([]) all other numbers stay as they are. missing: label of
        missing values from level 1 on. other: that of values that are no numbers, of which a warning tells; None
        refuses them. decimal: "point" or "comma", where the column does not tell which of the two stands before its
        decimals: `1,234` may be either, `1.234,50` may not. dashes: whether integers get labels such as `20-24`;
        default: where all of the column are integers from 0 on. Raises InputError for widths that do not nest, and a
        column without numbers, or of which it is not clear what they are.
        """
        values = Values.of(column, source)
        found = interval_rows(values, widths, origin, below, above, missing, other, decimal, dashes)
        return cls._made("numeric", found, missing, other, values)

    @classmethod
    def quantiles(
        cls,
        column: Any,
        counts: Any = None,
        *,
        cuts: Any = None,
        missing: str = MISSING,
        other: str | None = OTHER,
        decimal: Decimal | None = None,
        dashes: bool | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """Numbers in classes of about equally many rows, such as `<25`, `25-36`, `>=37`.

        counts: how many classes at each level, each a multiple of the next ([16, 4]); a number has all of its rows in
        one class, so there may be fewer. The outer labels do not tell the least and the largest number. cuts: in place
        of counts, at each level the numbers at which a class begins ([[20, 25, 37], [25]]). column,
        missing, other, decimal, dashes: as of `intervals`.
        """
        values = Values.of(column, source)
        found = quantile_rows(values, counts, cuts, missing, other, decimal, dashes)
        return cls._made("quantiles", found, missing, other, values)

    @classmethod
    def dates(
        cls,
        column: Any,
        levels: Sequence[str] | str | None = None,
        *,
        format: str | None = None,
        missing: str = MISSING,
        other: str | None = OTHER,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """Dates and times as `2024-03-17`, `2024-03`, `2024-Q1`, `2024`, `2020s`.

        levels: some of hour, day, month, quarter, year, 5years (or another number of years: `2020-2024`) and decade, in
        this order; default: month, quarter and year, and day before them where there are times. format: of
        `datetime.strptime`, for dates that are not written as in ISO 8601 ("iso"); or "month", "quarter", "year" for
        values that are no more than these. Default: what the column tells. column, missing, other: as of `intervals`.
        """
        values = Values.of(column, source)
        found = date_rows(values, levels, format, missing, other)
        return cls._made("dates", found, missing, other, values)

    @classmethod
    def prefixes(
        cls,
        column: Any,
        lengths: Any,
        *,
        length: int | None = None,
        missing: str = MISSING,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """Codes such as zip codes by their first characters: `1305*`, `13***`.

        lengths: the characters that are kept at each level, falling ([4, 2]). length: of a code; a shorter value is
        filled up with `_` first. Default: that of the longest value. column, missing: as of `intervals`.
        """
        values = Values.of(column, source)
        found = prefix_rows(values, lengths, missing, length)
        return cls._made("prefix", found, missing, None, values)

    @classmethod
    def _made(cls, way: str, made: Made, missing: str, other: str | None, values: Values) -> Hierarchy:
        rows, arguments = made
        usual = (("missing", missing, MISSING), ("other", other, None if way == "prefix" else OTHER))
        named = {name: given for name, given, default in usual if given != default}
        found, rule = cls.from_rows(rows, values.source), Rule(way, {**arguments, **named})
        return replace(found, rule=rule, kind=values.kind)

    def extended(self, column: Any) -> Hierarchy:
        """The hierarchy of another column by the same rule: a value has the same labels in both.

        column: as of `intervals`. Raises InputError for a hierarchy that has no rule, as one from a file.
        """
        if self.rule is None:
            raise InputError(
                f"{self.source}: the hierarchy is for the values that it lists, and has no rule for others"
            )
        make = getattr(Hierarchy, WAYS[self.rule.way][0])
        made: Hierarchy = make(column, **self.rule.arguments, source=self.source)
        return made

    @classmethod
    def ordered(
        cls,
        column: Any,
        order: Sequence[Any],
        sizes: Any,
        *,
        missing: str = MISSING,
        other: str | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """Values that have an order, so many neighbours together, such as `9th to 12th`.

        order: all values from the lowest to the highest. sizes: values in a group at each level, each a multiple of the
        one before ([2, 6]). column, missing: as of `intervals`. other: label of values that the order lacks, which are
        refused by default.
        """
        values = Values.of(column, source)
        return replace(cls.from_rows(order_rows(values, order, sizes, missing, other), source), kind=values.kind)

    @classmethod
    def groups(
        cls,
        column: Any,
        groups: Mapping[str, Any],
        *,
        missing: str = MISSING,
        other: str | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """Groups that you name: {"north": ["DK", "SE"], "south": ["IT"]}, or such mappings within mappings, for more
        levels, all of one depth.

        column, missing: as of `intervals`. other: label of values in no group, which are refused by default.
        """
        values = Values.of(column, source)
        return replace(cls.from_rows(group_rows(values, groups, missing, other), source), kind=values.kind)

    def to_frame(self) -> Any:
        """The columns level0, level1, ...: a row a value, as in a file that `read` reads, in the kind of data frame
        that the hierarchy was made from."""
        return in_kind(self._frame(), self.kind)

    def _frame(self) -> pl.DataFrame:
        rows = list(self.paths.values())
        return pl.DataFrame(rows, schema={f"level{i}": pl.String for i in range(self.height + 1)}, orient="row")

    def write(self, path: str | Path) -> None:
        """Write the CSV file that `read` and the folder of `--hierarchies` take; the file appears whole or not at
        all."""
        content = csv_text(self._frame(), ",").encode()
        write_file(file_path(path, "path of a hierarchy"), lambda file: file.write(content))

    def __eq__(self, other: object) -> bool:
        """Whether each value has the same labels at each level; in which order they stand, and `source`, play no
        part."""
        return self.paths == other.paths if isinstance(other, Hierarchy) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.paths.values()))

    def __repr__(self) -> str:
        """Shape and name, and no label: those of level 0 are values of the table."""
        return printable(f"<Hierarchy {self.source}: {counted(len(self.paths), 'value')}, levels 0 to {self.height}>")

    @property
    def height(self) -> int:
        """Highest level; level 0 is the original value."""
        return len(next(iter(self.paths.values()))) - 1

    @cached_property
    def renamed(self) -> Mapping[tuple[int, str], str]:
        """(level, label) → what cell-level recoding releases in its place: `Basel (level 1)` for the canton Basel.

        A label stands for the same values at each level, or keeps its text at the lowest one only: where it stands for
        other values at a higher level h, ` (level h)` is added there, until no other label reads so. Of several that
        are renamed at a level the first one of the alphabet comes first.
        """
        values: dict[tuple[int, str], list[int]] = {}
        for number, path in enumerate(self.paths.values()):
            for level, label in enumerate(path[:-1]):
                if label is not None:
                    values.setdefault((level, label), []).append(number)
        taken = {label for _, label in values}
        found: dict[tuple[int, str], str] = {}
        meanings: dict[str, dict[tuple[int, ...], str]] = {}
        for (level, label), numbers in sorted(values.items()):
            known = meanings.setdefault(label, {})
            text = known.get(tuple(numbers), label)
            if known and tuple(numbers) not in known:
                while text in taken:
                    text += f" (level {level})"
                taken.add(text)
            known[tuple(numbers)] = text
            if text != label:
                found[level, label] = text
        return found

    @cached_property
    def released(self) -> Mapping[Label, tuple[Label, ...]]:
        """`paths` with the labels that cell-level recoding releases: each tells which values it stands for."""
        if not self.renamed:
            return self.paths
        return {
            value: tuple(
                label if label is None else self.renamed.get((level, label), label) for level, label in enumerate(path)
            )
            for value, path in self.paths.items()
        }


def _nested(entries: Iterable[tuple[str, Label, Sequence[Label]]], source: str) -> dict[Label, tuple[Label, ...]]:
    """The paths of a hierarchy, checked. entries: place in messages, value, and its labels."""
    paths: dict[Label, tuple[Label, ...]] = {}
    parent: dict[tuple[int, Label], tuple[Label, str]] = {}
    height = -1
    for place, value, labels in entries:
        where = f"{source}: {place}"
        path = _labels(labels, where)
        _label(value, where)
        if path and path[0] != value:
            raise InputError(f"{where}: the labels of a value begin with the value itself (level0), these do not")
        height = len(path) if height < 0 else height
        _check_path(path, height, parent, where)
        paths[value] = path
        for level in range(1, len(path) - 1):
            parent.setdefault((level, path[level]), (path[level + 1], place))
    return paths


def _labels(labels: object, where: str) -> tuple[Label, ...]:
    path = listed(labels, where, "a list of labels from the value itself to '*'")
    for label in path:
        _label(label, where)
    return path


def _label(label: object, where: str) -> None:
    if not isinstance(label, str | None):
        raise InputError(f"{where}: a label is a {kind_of(label)}; values are compared as text, so write it as text")


def _check_path(
    path: tuple[Label, ...], height: int, parent: Mapping[tuple[int, Label], tuple[Label, str]], where: str
) -> None:
    """Check one path against those before it. height: levels that it should have."""
    if len(path) < 2 or len(path) != height:
        raise InputError(f"{where} has {len(path)} levels, expected {max(height, 2)}")
    if path[-1] != SYMBOL:
        raise InputError(f'{where}: the last level must be "{SYMBOL}"')
    for level, label in enumerate(path[:-1]):
        if label == SYMBOL:
            raise InputError(f'{where}: "{SYMBOL}" may stand in the last level only, found in level{level}')
        if level and label is None:
            raise InputError(f"{where}: level{level} is empty")
        if level and (level, label) in parent and parent[level, label][0] != path[level + 1]:
            raise InputError(
                f'{where}: levels are not nested: the label "{label}" of level{level} lies in another label of '
                f"level{level + 1} than in {parent[level, label][1]}"
            )


def check_cover(hierarchy: Hierarchy, name: str, domain: Sequence[Label], table: Table) -> None:
    """Raise InputError for a value of a column that its hierarchy does not have. domain: the distinct values."""
    missing = {value for value in domain if value not in hierarchy.paths}
    if not missing:
        return
    row, first = next((row, each) for row, each in enumerate(table.column(name).to_list(), 1) if each in missing)
    way_out = "add a row with an empty level0" if first is None else "add this value to level0"
    raise InputError(
        f'{table.source}: column "{name}", row {row}: the value ({kind_of(first)}) is not covered by '
        f"{hierarchy.source}; {way_out} ({counted(len(missing), 'value')} {'is' if len(missing) == 1 else 'are'} not "
        "covered)"
    )


@dataclass(frozen=True, eq=False, repr=False)
class ColumnLevels:
    """One column's hierarchy over the values that occur in the table.

    labels: all labels that can be released, the original values (in domain order) first; no two alike.
    label_of: int32 (height+1, domain size): label id that a value gets at a level.
    published: of the labels that are renamed, by their ids, the text that the hierarchy has.
    costs: unit cost of each level, per cell; where it depends on the label, the least of the level.
    cell_costs: then of each level the cost of each value's label; else None.
    """

    name: str
    labels: tuple[Label, ...]
    label_of: Ints32
    costs: tuple[Fraction, ...]
    published: Mapping[int, str] = field(default_factory=dict)
    cell_costs: CELLS | None = None

    @property
    def height(self) -> int:
        """Highest level."""
        return len(self.label_of) - 1

    def as_published(self, level: NDArray[np.int16], codes: Ints32) -> ColumnLevels:
        """With labels as the hierarchy has them, for a column that has one level below the top, of full-domain
        recoding. level, codes: of released cells, which level, and which value. The labels stay renamed where the
        column could be read otherwise: if at another level all values are called the same, or if all cells are what a
        column of several levels may hold, too."""
        below = np.unique(level[level < self.height])
        if not self.published or len(below) != 1:
            return self
        codes = np.unique(codes[level == below[0]])
        ids = self.label_of[:-1, codes].tolist()
        called = [[self.published.get(label, self.labels[label]) for label in each] for each in ids]
        here, wanted = ids[below[0]], called[below[0]]
        otherwise = any(each != here and words == wanted for each, words in zip(ids, called, strict=True))
        told = zip(*([self.labels[label] for label in each] for each in ids), strict=True)
        if otherwise or all(word in labels for word, labels in zip(wanted, told, strict=True)):
            return self
        words = dict(zip(here, wanted, strict=True))
        return replace(self, labels=tuple(words.get(at, label) for at, label in enumerate(self.labels)))


def column_levels(
    name: str,
    domain: Sequence[Label],
    hierarchy: Hierarchy | None,
    costs: Given | None,
    weight: Fraction,
    symbol: str,
) -> ColumnLevels:
    """Apply a hierarchy (None: keep or suppress) to the domain of a column; default unit cost level/height, times
    weight."""
    published: dict[int, str] = {}
    if hierarchy is None:
        labels: tuple[Label, ...] = (*domain, symbol)
        label_of = np.array([range(len(domain)), [len(domain)] * len(domain)], dtype=np.int32)
    else:
        ids: dict[Label, int] = {value: i for i, value in enumerate(domain)}
        released = hierarchy.released
        label_of = np.empty((hierarchy.height + 1, len(domain)), dtype=np.int32)
        for position, value in enumerate(domain):
            for level, label in enumerate((*released[value][:-1], symbol)):
                label_of[level, position] = ids.setdefault(label, len(ids))
        if label_of[:-1].size and (label_of[:-1] == ids[symbol]).any():
            raise InputError(
                f'{hierarchy.source}: the suppression symbol "{symbol}" is a label below the top; choose another symbol'
            )
        labels = tuple(ids)
        published = {ids[text]: label for (_, label), text in hierarchy.renamed.items() if text in ids}
    if isinstance(costs, Mapping | str):
        paths = {value: (value, SYMBOL) for value in domain} if hierarchy is None else hierarchy.released
        cells = tuple(tuple(weight * cost for cost in level) for level in cell_costs(costs, domain, paths, name))
        return ColumnLevels(name, labels, label_of, tuple(map(min, cells)), published, cells)
    of_level = level_costs(costs, len(label_of) - 1, name)
    return ColumnLevels(name, labels, label_of, tuple(weight * cost for cost in of_level), published)
