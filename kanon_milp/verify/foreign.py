"""Tables of other tools: cells that are intervals, sets or prefixes of the values that they came from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError, kind_of
from kanon_milp.verify.cells import ColumnRule, Rules, Value
from kanon_milp.verify.foreign_cells import Domain, Stands, covering_level, kind_of_cell
from kanon_milp.verify.frames import classes, list_rows, text_columns
from kanon_milp.verify.numbers import ranged
from kanon_milp.verify.plain import KeyedTable, Rows


@dataclass(frozen=True, eq=False, repr=False)
class ForeignTable:
    """A released table of another tool, read cell by cell.

    suppressed: of each cell whether it is; see `suppressed_cells`. recoded: the quasi-identifiers as text, with each
    cell of another kind as the least general label of the recoding, above the value itself, that covers what the cell
    stands for. Rows that are released alike are equal in it. generalized: cells that are neither the value nor
    suppressed. penalty: mean NCP of the cells (Xu et al. 2006), from 0 to 1. violations: cells in which the original
    value does not lie.
    """

    suppressed: pl.DataFrame
    recoded: pl.DataFrame
    generalized: int
    penalty: Fraction | None
    violations: tuple[str, ...]


def read_foreign(table: KeyedTable, rules: Rules, released: pl.DataFrame) -> ForeignTable:
    """Read the quasi-identifiers of another tool's table, row by row as in the original.

    Raises InputError for a mask, which speaks of levels that such cells do not have.
    """
    if rules.allowed is not None:
        raise InputError("a pattern mask speaks of levels, and the cells of another tool have none; leave the mask out")
    suppressed = suppressed_cells(table.keys, released, table.symbol)
    released = rules.as_told_apart(table, with_symbol(released, suppressed, table.symbol))
    violations: list[str] = []
    recoded: dict[str, pl.Series] = {}
    generalized, penalty = 0, Fraction(0)
    for rule in rules.columns:
        column = _Column.of(rule, table.keys[rule.name].alias(""), released[rule.name].alias(""))
        recoded[rule.name] = column.recoded
        generalized += column.generalized
        penalty += column.penalty
        if column.wrong.any():
            rows = np.flatnonzero(column.wrong.to_numpy())
            violations.append(_blamed(rule.name, table.keys[rule.name].alias(""), released[rule.name].alias(""), rows))
    cells = released.height * released.width
    known = None if violations or not cells else penalty / cells
    return ForeignTable(suppressed, pl.DataFrame(recoded), generalized, known, tuple(violations))


def _blamed(name: str, original: pl.Series, released: pl.Series, rows: NDArray[np.intp]) -> str:
    """What is wrong with the cells of these rows, of what kind the first one is, and what to do."""
    cell = released[int(rows[0])]
    kind = kind_of_cell(cell)
    if not (kind or cell is None or (original == cell).any()):
        way_out = (
            "write a value, an interval such as 20-39, a set such as {a, b}, a prefix such as 130**, or suppress it; "
            "what stands for a missing value is named by --missing-values"
        )
    elif 2 * len(rows) > released.len() > 2:
        way_out = "are the rows in the order of the original? (--id names a column by which they are matched)"
    else:
        way_out = "mend the cell, or suppress it"
    what = f"{'the first is' if len(rows) > 1 else 'it is'} {kind or kind_of(cell)}"
    where = f'column "{name}": the original value does not lie in the released cell: {list_rows(rows)}'
    return f"{where}; {what}; {way_out}"


def rewritten(table: Rows, released: nw.DataFrame[Any]) -> list[str]:
    """The columns beside the quasi-identifiers in which each cell that differs from the original is the same number or
    date, written otherwise."""
    names = [name for name in table.frame.columns if name in released.columns]
    names = [name for name in names if name not in table.quasi_identifiers]
    before, after = text_columns(table.frame, names), text_columns(released, names)
    found = []
    for name in names:
        pairs = pl.DataFrame([before[name].alias("before"), after[name].alias("after")]).unique()
        differing = pairs.filter(pl.col("before").ne_missing(pl.col("after"))).rows()
        if differing and all(Domain([cell]).is_value(other) for cell, other in differing):
            found.append(name)
    return found


def suppressed_cells(original: pl.DataFrame, released: pl.DataFrame, symbol: str) -> pl.DataFrame:
    """Of each released cell whether it is suppressed: it is the symbol; or it is missing in a column where some missing
    ones stand for values that were there, as sdcMicro suppresses. A column may hold both, which tell rows apart."""
    columns = {}
    for name in released.columns:
        after = released[name].alias("")
        found = (after == symbol).fill_null(value=not symbol)  # without a symbol, missing cells are suppressed
        if original.height == released.height:
            before = original[name].alias("")
            left_out = after.is_null()
            found = found | left_out if (left_out & before.is_not_null()).any() else found
        columns[name] = found
    return pl.DataFrame(columns)  # by name: a list would rename a column without one


def with_symbol(released: pl.DataFrame, suppressed: pl.DataFrame, symbol: str) -> pl.DataFrame:
    """The released cells, the suppressed ones as the symbol: how they are read, not how rows are told apart."""
    columns = {}
    for name in released.columns:
        gone = suppressed[name].alias("")
        columns[name] = released[name].alias("").set(gone, symbol) if gone.any() else released[name]
    return pl.DataFrame(columns)


@dataclass(frozen=True, eq=False, repr=False)
class _Column:
    """One column, read. wrong: bool (n,), whether the original value does not lie in the cell. penalty: Σ of NCP."""

    recoded: pl.Series
    wrong: pl.Series
    generalized: int
    penalty: Fraction

    @classmethod
    def of(cls, rule: ColumnRule, original: pl.Series, released: pl.Series) -> _Column:
        pair_of_row, pairs = classes(pl.DataFrame({"original": original, "released": released}))
        rows = np.bincount(pair_of_row, minlength=pairs.height).tolist()
        originals: dict[Value, set[Value]] = defaultdict(set)
        for before, after in pairs.iter_rows():
            originals[after].add(before)
        values = list(dict.fromkeys(original.to_list()))
        meanings = _Meanings(rule, values)
        labels: list[Value] = []
        wrong: list[bool] = []
        generalized, penalty = 0, Fraction(0)
        for (before, after), count in zip(pairs.iter_rows(), rows, strict=True):
            levels = rule.levels(before, after)
            own = all(rule.levels(each, after) for each in originals[after])
            stands = None if own else meanings.foreign(after, originals[after])
            levels = levels if stands is None else ()
            wrong.append(not own and stands is None and meanings.outside(before, after, originals[after]))
            if levels:
                labels.append(after)
                generalized += count if 0 not in levels and after != rule.symbol else 0
                penalty += count * meanings.penalty(meanings.under(before, levels[0]))
            elif stands is None or stands.kept:
                labels.append(before)
            else:
                labels.append(rule.path(before)[covering_level(rule.path, stands.values)])
                generalized += count
                penalty += count * meanings.penalty(stands.values)
        at = pl.Series(pair_of_row)
        return cls(pl.Series(labels, dtype=pl.String).gather(at), pl.Series(wrong).gather(at), generalized, penalty)


class _Meanings:
    """What labels and cells of a column stand for. values: the distinct original ones."""

    def __init__(self, rule: ColumnRule, values: list[Value]) -> None:
        self._rule, self._values, self._domain = rule, values, Domain(values)
        self._foreign: dict[Value, Stands | None] = {}
        self._outside: dict[Value, set[Value]] = {}
        self._under: dict[tuple[int, Value], list[Value]] = {}
        self._numbers = ranged(values)
        numbers = list(self._numbers.values()) if len(self._numbers) == len(values) else [Fraction(0)]
        self._span = max(numbers) - min(numbers)

    def foreign(self, cell: Value, originals: set[Value]) -> Stands | None:
        """What a cell of another tool stands for."""
        if cell not in self._foreign:
            self._foreign[cell] = self._domain.stands_for(cell, originals)
        return self._foreign[cell]

    def outside(self, value: Value, cell: Value, originals: set[Value]) -> bool:
        """Whether an original value does not lie in a cell, which does not hold all of these.

        A cell is read in one way in all its rows: as a label of the recoding, or as one of another tool.
        """
        if cell not in self._outside:
            as_label = {each for each in originals if not self._rule.levels(each, cell)}
            self._outside[cell] = min(as_label, self._domain.outside(cell, originals), key=len)
        return value in self._outside[cell]

    def under(self, value: Value, level: int) -> list[Value]:
        """The values that have the same label at a level."""
        if level == 0:
            return [value]
        label = self._rule.path(value)[level]
        if (level, label) not in self._under:
            self._under[level, label] = [each for each in self._values if self._rule.path(each)[level] == label]
        return self._under[level, label]

    def penalty(self, values: list[Value] | tuple[Value, ...]) -> Fraction:
        """NCP of a cell that stands for these values: their share of the range, or of the number of values."""
        if len(values) < 2:
            return Fraction(0)
        if not self._span:
            return Fraction(len(values), len(self._values))
        numbers = [self._numbers[value] for value in values if value is not None]
        return (max(numbers) - min(numbers)) / self._span
