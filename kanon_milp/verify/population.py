"""Journalist risk: how many rows of a population match each released row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from kanon_milp.errors import counted
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.cells import ColumnRule, Rules
from kanon_milp.verify.definitions import PopulationRule
from kanon_milp.verify.numbers import in_words
from kanon_milp.verify.tables import classes, list_rows


def check_population(rule: PopulationRule, rules: Rules, released: pl.DataFrame) -> tuple[list[str], int]:
    """What speaks against journalist risk in a released table, and how many rows of the population match a released row
    at least. released: text, labels that each stand for one set of values."""
    of_row, distinct = classes(released)
    among = _matching(rule, rules, distinct)
    failing = np.flatnonzero(among * rule.risk.numerator < rule.risk.denominator)
    if not failing.size:
        return [], int(among.min())
    rows = list_rows(np.flatnonzero(of_row == failing[0]))
    verb = "matches" if len(failing) == 1 else "match"
    return [
        f"{len(failing)} of {counted(len(among), 'different released row')} {verb} fewer rows of the population than a "
        f"journalist risk of {in_words(rule.risk)} needs; the first is {rows}"
    ], int(among.min())


def _matching(rule: PopulationRule, rules: Rules, distinct: pl.DataFrame) -> Ints:
    """How many rows of the population match each released row, int64."""
    matched: list[dict[Label, Flags]] = []
    for column in rules.columns:
        number, values = classes(rule.people[[column.name]])
        called = [_called(column, value) for value in values[column.name].to_list()]
        matched.append(
            {
                label: np.array([label in labels for labels in called], dtype=bool)[number]
                for label in distinct[column.name].unique().to_list()
            }
        )
    found = []
    for row in distinct.rows():
        match = np.ones(len(rule.counts), dtype=bool)
        for by_label, label in zip(matched, row, strict=True):
            match &= by_label[label]
        found.append(int(rule.counts[match].sum()))
    return np.array(found, dtype=np.int64)


def _called(column: ColumnRule, value: Label) -> set[Label]:
    """What a value of the population may be released as; suppressed alone where a hierarchy lacks it. The symbol in the
    population is no value."""
    labels = (value,) if column.paths is None else column.paths.get(value, ())[:-1]
    return {*(label for label in labels if label != column.symbol), column.symbol}


class Matched:
    """The distinct rows of a table, and what is asked of the populations that their labels are matched by.

    columns: the rules of the quasi-identifiers. types: their values in the distinct rows, column by column.
    """

    def __init__(self, asked: Sequence[PopulationRule], columns: Sequence[ColumnRule], types: pl.DataFrame) -> None:
        self._asked = [(rule.risk, rule.counts, list[Ints]()) for rule in asked]
        self._rows: list[Ints] = []  # by column the label of each distinct row at each level
        for column, values in zip(columns, types.get_columns(), strict=True):
            number: dict[Label, int] = {}
            paths = {value: [number.setdefault(label, len(number)) for label in column.path(value)] for value in values}
            self._rows.append(np.array([paths[value] for value in values], dtype=np.int64).T)
            for rule, (_, _, people) in zip(asked, self._asked, strict=True):
                people.append(_numbered(column, rule.people[column.name].to_list(), number))

    def enough(self, levels: Sequence[int]) -> Flags:
        """Of each distinct row, whether as many rows of each population as are asked for match what these levels
        release of it."""
        found = np.ones(self._rows[0].shape[1], dtype=bool)
        for risk, counts, people in self._asked:
            size = len(found)
            number, fits = np.zeros(size + len(counts), dtype=np.int64), np.ones(len(counts), dtype=bool)
            for ours, theirs, level in zip(self._rows, people, levels, strict=True):
                labels = np.concatenate([ours[level], theirs[level]])
                fits &= theirs[level] >= 0
                _, number = np.unique(np.column_stack([number, labels]), axis=0, return_inverse=True)
                number = number.reshape(-1)
            among = np.zeros(int(number.max()) + 1, dtype=np.int64)
            np.add.at(among, number[size:][fits], counts[fits])
            # 1/risk rows or more
            found &= among[number[:size]] * risk.numerator >= risk.denominator
        return found


def _numbered(column: ColumnRule, values: Sequence[Label], number: Mapping[Label, int]) -> Ints:
    """Of each value of a population the number of its label at each level; -1 where no row of the table has that."""
    top, known = column.height, {}
    for value in set(values):
        path = (value,) if column.paths is None else column.paths.get(value, ())[:-1]
        labels = [-1 if label == column.symbol else number.get(label, -1) for label in path]
        known[value] = [*labels, *[-1] * (top - len(labels)), number[column.symbol]]
    return np.array([known[value] for value in values], dtype=np.int64).T
