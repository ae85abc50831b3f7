"""Journalist risk: how many rows of a population match each released row."""

from __future__ import annotations

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
