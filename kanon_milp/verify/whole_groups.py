"""Tables with a cost of whole groups: each cell and the loss recomputed from the original rows, exactly.

Microaggregation: a released cell is the centre of its group's original values, rounded to as many decimals as the
released column has, and the loss is that around the exact centres. Boxes: the original value lies in the released
cell, and the loss is the NCP of the cells. Groups are those of rows that are released alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Ints
from kanon_milp.verify.cells import ColumnRule, Rules
from kanon_milp.verify.foreign import read_foreign
from kanon_milp.verify.numbers import exact, ncp, numberings, numbers_in, ranged
from kanon_milp.verify.tables import Original, list_rows

T = TypeVar("T")
PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
DIGITS = 15  # significant ones, which floating point keeps and other tools write
COMPUTED = Fraction(1, 2**50)  # of a number with more of them: what floating point leaves open
POWERS = {"sse": 2, "l1": 1}


@dataclass(frozen=True, eq=False)
class GroupLoss:
    """The loss of a table, what all rows as one group would lose, and what is wrong with its cells."""

    loss: Fraction | None
    total: Fraction | None
    violations: tuple[str, ...] = ()
    suppressed: pl.DataFrame | None = field(default=None, repr=False)


def is_of_groups(recoding: object) -> bool:
    """Whether a recoding is one of whole groups."""
    return getattr(recoding, "kind", None) in ("microaggregation", "boxes")


def check_groups(table: Original, recoding: Any, released: pl.DataFrame, of_row: Ints, bound: Any) -> GroupLoss:
    """Check a table row by row against its original. released: the quasi-identifiers as text. of_row: int64 (n,), group
    of each row. bound: the table as costs of the user's making take it. Raises InputError for an original whose columns
    are no numbers, where these are needed."""
    if table.count is not None:
        raise InputError(f"{table.source}: a recoding of entire groups is not for a frequency table; leave count out")
    if recoding.kind == "boxes":
        return _boxes(table, recoding, released)
    if recoding.cost not in POWERS:
        return _by_its_own_code(released, of_row, recoding.bound_to(bound))
    weights, centre, power = recoding.weights, recoding.center, POWERS[recoding.cost]
    order = np.argsort(of_row, kind="stable")
    groups = [each.tolist() for each in np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1)]
    columns = {name: numbers_of_column(table, name) for name in table.quasi_identifiers}
    scale = {name: exact(weights.get(name, 1), f'weight of column "{name}"') for name in columns}
    if recoding.standardize:
        varied = {name: variation(column, power) for name, column in columns.items()}
        scale = {name: weight / varied[name] if varied[name] else Fraction(0) for name, weight in scale.items()}
    centres = {name: _centres(column, groups, centre) for name, column in columns.items()}
    cells = {name: _each_once(numbers_in, released[name].to_list()) for name in columns}
    violations = []
    if centre == "member":
        centres, wrong = _members(columns, cells, groups)
        if wrong:
            violations.append(f"the released values are those of no row of the group: {list_rows(np.array(wrong))}")
    else:
        for name, column_cells in cells.items():
            wrong = _far(column_cells, centres[name], groups)
            if wrong:
                what = f"not the {centre} of the group, to the decimals that the column has"
                violations.append(f'column "{name}": {what}: {list_rows(np.array(wrong))}')
    best = "mean" if power == 2 else "median"
    everyone = [list(range(table.n))]
    loss, total = Fraction(0), Fraction(0)
    for name, column in columns.items():
        loss += scale[name] * _around(column, groups, centres[name], power)
        total += scale[name] * _around(column, everyone, _centres(column, everyone, best), power)
    return GroupLoss(None if violations else loss, total, tuple(violations))


def own_cost(recoding: object) -> tuple[str, ...]:
    """The cost of the user's making, which only its own code can judge."""
    cost = getattr(recoding, "cost", None) if is_of_groups(recoding) else None
    return () if cost is None or cost in POWERS else (f'group cost "{cost}"',)


def _by_its_own_code(released: pl.DataFrame, of_row: Ints, cost: Any) -> GroupLoss:
    """What a cost of the user's making says of these groups, and that they are released as it says."""
    expected = cost.release(of_row)
    violations = []
    for name in released.columns:
        texts = expected[name].cast(pl.String)
        wrong = np.flatnonzero(~released[name].eq_missing(texts).to_numpy())
        if len(wrong):
            violations.append(f'column "{name}": not what the group is released as: {list_rows(wrong)}')
    return GroupLoss(None if violations else cost.of_partition(of_row), cost.total(), tuple(violations))


def _boxes(table: Original, recoding: Any, released: pl.DataFrame) -> GroupLoss:
    rules = Rules.of(table, recoding)
    found = read_foreign(table, rules, released, _of_box)
    weights = {name: exact(recoding.weights.get(name, 1), f'weight of column "{name}"') for name in found.lost}
    total = table.n * sum(weights.values(), Fraction(0))
    loss = sum((weights[name] * lost for name, lost in found.lost.items()), Fraction(0))
    return GroupLoss(None if found.violations else loss, total, found.violations, found.suppressed)


def _of_box(rule: ColumnRule, values: Sequence[Label]) -> Callable[[Sequence[Label]], Fraction]:
    """NCP of a label or an interval; of a set what it has beside one value, as a share of all values beside one."""
    numbers = ranged(values)
    if rule.paths is not None or (len(numbers) == len(values) and len(set(numbers.values())) > 1):
        return ncp(values)
    return lambda some: Fraction(len(some) - 1, len(values) - 1) if len(some) > 1 else Fraction(0)


def numbers_of_column(table: Original, name: str) -> list[Fraction]:
    """The numbers of a column, row by row."""
    values = table.keys[name].to_list()
    if table.frame.schema[name].is_numeric() and all(value is not None and PLAIN.fullmatch(value) for value in values):
        return _each_once(Fraction, values)
    ways = numberings([value for value in dict.fromkeys(values) if value is not None])
    if len(ways) != 1 or any(value not in ways[0] for value in values):
        raise InputError(f'{table.source}: column "{name}": not all values are numbers of which it is clear which')
    return [ways[0][value] for value in values]


def variation(column: Sequence[Fraction], power: int) -> Fraction:
    """The variance of the sample, or the mean absolute deviation around the median."""
    everyone = [list(range(len(column)))]
    if power == 2:
        return _around(column, everyone, _centres(column, everyone, "mean"), 2) / max(len(column) - 1, 1)
    return _around(column, everyone, _centres(column, everyone, "median"), 1) / len(column)


def _centres(column: Sequence[Fraction], groups: Sequence[Sequence[int]], centre: str) -> list[Fraction]:
    found, (numbers, unit) = [], _integers(column)
    for rows in groups:
        inside = [numbers[row] for row in rows]
        if centre == "mean":
            found.append(Fraction(sum(inside), len(inside) * unit))
        else:
            inside.sort()
            found.append(Fraction(inside[(len(inside) - 1) // 2] + inside[len(inside) // 2], 2 * unit))
    return found


def _around(
    column: Sequence[Fraction], groups: Sequence[Sequence[int]], centres: Sequence[Fraction], power: int
) -> Fraction:
    total, (numbers, unit) = Fraction(0), _integers(column)
    for rows, centre in zip(groups, centres, strict=True):
        at = centre * unit
        a, b = at.numerator, at.denominator
        total += Fraction(sum(abs(numbers[row] * b - a) ** power for row in rows), b**power)
    around: Fraction = total / unit**power
    return around


def _integers(column: Sequence[Fraction]) -> tuple[list[int], int]:
    """The numbers as integral multiples of 1/unit, and the unit: sums of fractions take many times as long."""
    unit = math.lcm(*{number.denominator for number in column})
    return [int(number * unit) if unit > 1 else number.numerator for number in column], unit


def _each_once(read: Callable[[Any], T], cells: Sequence[Any]) -> list[T]:
    """What is read from each cell; cells that are alike are read once, and give the same object."""
    known: dict[Any, T] = {}
    for cell in cells:
        if cell not in known:
            known[cell] = read(cell)
    return [known[cell] for cell in cells]


def _far(cells: Sequence[list[Fraction]], centres: Sequence[Fraction], groups: Sequence[Sequence[int]]) -> list[int]:
    """The rows whose cells are not their centres, rounded to as many decimals as the column has or to 15 significant
    digits. A cell with more of these may come from floating point, and be off by 2^-50 of the centre."""
    different = {id(each): each for each in cells}
    half = Fraction(1, 2 * 10 ** max((_decimals(number) for each in different.values() for number in each), default=0))
    wrong = []
    for rows, centre in zip(groups, centres, strict=True):
        near = {
            cell: any(_is_near(number, centre, half) for number in different[cell])
            for cell in {id(cells[row]) for row in rows}
        }
        wrong += [row for row in rows if not near[id(cells[row])]]
    return sorted(wrong)


def _is_near(number: Fraction, centre: Fraction, half: Fraction) -> bool:
    """Whether a number is a centre as `_far` has it. half: of the last decimal of the column."""
    size, apart = max(abs(number), abs(centre)), abs(number - centre)
    if apart <= half:
        return True
    exponent = len(str(size.numerator)) - len(str(size.denominator))
    exponent -= size < Fraction(10) ** exponent
    last = Fraction(10) ** (exponent - DIGITS + 1)
    return apart <= (COMPUTED * abs(centre) if number % last else last / 2)


def _decimals(number: Fraction) -> int:
    """How many a decimal number has."""
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives)


def _members(
    columns: Mapping[str, Sequence[Fraction]],
    cells: Mapping[str, Sequence[list[Fraction]]],
    groups: Sequence[Sequence[int]],
) -> tuple[dict[str, list[Fraction]], list[int]]:
    """Of each group the values of the row of it that it is released as, and the rows where there is none."""
    found: dict[str, list[Fraction]] = {name: [] for name in columns}
    wrong: list[int] = []
    for rows in groups:
        assert all(cells[name][a] == cells[name][b] for name in cells for a, b in pairwise(rows))
        inside = (row for row in rows if all(columns[name][row] in cells[name][rows[0]] for name in columns))
        member = next(inside, None)
        wrong += list(rows) if member is None else []
        for name, column in columns.items():
            found[name].append(column[rows[0] if member is None else member])
    return found, sorted(wrong)
