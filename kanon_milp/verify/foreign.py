"""Tables of other tools: cells that are intervals, sets or prefixes of the values that they came from.

Such as `20-39`, `[20, 40[`, `(1,5;2,5]`, `>=20`, `{a, b}`, `130**`, `11/1994`. A cell can be read in several ways:
`20,39` is a set of two numbers, an interval, or a number with a decimal comma. It stands for what the first reading
says in which all original values of its rows lie.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError, kind_of
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.cells import ColumnRule, Rules
from kanon_milp.verify.numbers import ncp, numberings, numbers_in
from kanon_milp.verify.tables import Original, classes, list_rows, tally, text_columns

End = Fraction | str  # a number, or a date as text of ISO 8601: a day, or what begins one, such as a month or a year
Meaning = Callable[[], Collection[str]]
Interval = tuple[End | None, End | None, bool, bool]  # from, to, and whether the ends are in it

ENDLESS = re.compile(r"[+-]?(?:inf(?:inity)?|∞)", re.IGNORECASE)
BRACKETS = re.compile(r"([\[\](])(.*)([\[\])])", re.DOTALL)
BETWEEN = re.compile(r"\s*(?:\.\.\.?|[,;:~–—-]|\b(?:to|bis)\b)\s*", re.IGNORECASE)
DASHES = "-–—"
LONGEST = 1000  # characters of an interval
COMPARED = re.compile(r"(>=|=>|≥|<=|=<|≤|>|<)\s*(.+)")
AND_MORE = re.compile(r"(.+?)\s*\+")
MEMBERS, OTHER_MEMBERS = re.compile(r"\s*[,;|~]\s*"), re.compile(r"\s*[;|~]\s*")
ORDERS = (0, 1)  # of day and month in dates without dots: the day first, or the month

TIME = r"(?:[T ]\s*(\d{1,2}(?::\d\d)+(?:\.\d+)?))?"
YEAR_FIRST = re.compile(rf"(\d{{4}})([-/])(\d\d?)\2(\d\d?){TIME}", re.ASCII)
YEAR_LAST = re.compile(rf"(\d\d?)([./-])\s?(\d\d?)\2\s?(\d{{4}}){TIME}", re.ASCII)
MONTH_NAMED = re.compile(rf"(?:(\d\d?)[. -]\s?)?([^\W\d_]{{3,9}})[. -]\s?(\d{{4}}){TIME}")
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
GERMAN = {"mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
MONTH = re.compile(r"(\d{4})[-/](\d\d?)|(\d\d?)[./-](\d{4})", re.ASCII)
QUARTER = re.compile(r"(\d{4})[-/ ]?Q([1-4])|Q([1-4])[-/ ]?(\d{4})", re.ASCII)
DECADE = re.compile(r"(\d{3})0(?:s|er)", re.ASCII)
YEAR = re.compile(r"\d{4}", re.ASCII)


@dataclass(frozen=True)
class Stands:
    """What a cell stands for. values: of the column, in its order. kept: it is the one original value of its rows,
    written otherwise; where several are written alike, such as 1 and 1.0, the cell tells less than they did."""

    values: tuple[Label, ...]
    kept: bool


class Domain:
    """The distinct original values of a column, and what cells say of them. None, a missing value, lies in no cell."""

    def __init__(self, values: Collection[Label]) -> None:
        self._values = [value for value in values if value is not None]
        self._place: dict[Label, int] = {value: place for place, value in enumerate(self._values)}
        self._stripped: dict[str, list[str]] = {}
        for value in self._values:
            self._stripped.setdefault(value.strip(), []).append(value)
        # in each way in which the column may be read; each value as it may be, where it is written in several ways
        ways = numberings(self._values) or [{value: found[0] for value in self._values if (found := numbers_in(value))}]
        self._numbers = [sorted((number, value) for value, number in way.items()) for way in ways]
        # all dates of a column have one order of day and month
        read = [sorted((date, value) for value in self._values for date in _dates(value.strip(), [s])) for s in ORDERS]
        most = max(map(len, read))
        self._calendars = [dates for at, dates in enumerate(read) if len(dates) == most and dates not in read[:at]]
        self._orders = ORDERS if read[0] == read[1] else [order for order in ORDERS if len(read[order]) == most]

    def stands_for(self, cell: Label, originals: Collection[Label]) -> Stands | None:
        """What a cell stands for, of whose rows these are the original values; None where it is no cell of them."""
        if cell is None or None in originals:
            return None
        for is_value, meaning in self._readings(cell.strip()):
            found = set(meaning())
            if found.issuperset(originals):
                kept = is_value and len(set(originals)) == 1
                return Stands(tuple(sorted(found, key=self._place.__getitem__)), kept)
        return None

    def is_value(self, cell: Label) -> bool:
        """Whether a cell is one of the values, however it is written."""
        return cell is not None and any(own and meaning() for own, meaning in self._readings(cell.strip()))

    def outside(self, cell: Label, originals: Collection[Label]) -> set[Label]:
        """The original values that do not lie in a cell, by the reading in which most of them do."""
        rest = set(originals)
        for _, meaning in () if cell is None else self._readings(cell.strip()):
            rest = min(rest, set(originals).difference(meaning()), key=len)
        return rest

    def _readings(self, cell: str) -> Iterator[tuple[bool, Meaning]]:
        """The readings of a cell, and whether each is as a value of its own: those come first."""
        yield True, lambda: self._stripped.get(cell, [])
        for number in numbers_in(cell):
            yield from ((True, partial(_numbered, numbers, number, number, True, True)) for numbers in self._numbers)
        for date in _dates(cell, self._orders):
            for dates in self._calendars:
                yield True, partial(_on, dates, date)
                yield False, partial(_beginning, dates, (date,))
        inner = cell[1:-1] if cell[:1] + cell[-1:] in ("{}", "[]", "()") else ""
        if inner and cell[0] == "{":
            yield from self._sets(inner)
        for interval in _marked_intervals(cell, self._orders):
            yield from ((False, each) for each in self._between(*interval))
        if inner and cell[0] != "{":
            yield from self._sets(inner)
        yield from self._sets(cell)
        for interval in _intervals(cell, self._orders):
            yield from ((False, each) for each in self._between(*interval))
        if "*" in cell:
            yield False, partial(self._masked, cell)
        if cell and not cell.strip("*"):
            yield False, lambda: self._values
        if beginnings := _part_of_date(cell):
            for dates in self._calendars:
                yield False, partial(_beginning, dates, beginnings)
        if found := DECADE.fullmatch(cell):
            first = Fraction(f"{found[1]}0")
            yield from ((False, each) for each in self._between(first, first + 9, True, True))

    def _sets(self, cell: str) -> Iterator[tuple[bool, Meaning]]:
        """As a set; with decimal commas where another sign stands between the members."""
        yield False, partial(self._members, cell, MEMBERS)
        if "," in cell and OTHER_MEMBERS.search(cell):
            yield False, partial(self._members, cell, OTHER_MEMBERS)

    def _members(self, cell: str, between: re.Pattern[str]) -> list[str]:
        found: list[str] = []
        for member in (each.strip() for each in _split(cell, between)):
            found += self._stripped.get(member, [])
            for number in numbers_in(member):
                found += [v for numbers in self._numbers for v in _numbered(numbers, number, number, True, True)]
            for date in (*_dates(member, self._orders), *_part_of_date(member)):
                found += [value for dates in self._calendars for value in _beginning(dates, (date,))]
        return found

    def _between(self, low: End | None, high: End | None, with_low: bool, with_high: bool) -> Iterator[Meaning]:
        """How values from `low` to `high` can be meant, None: without an end; once for each way to read the column."""
        if isinstance(low, str) or isinstance(high, str):
            if not (isinstance(low, Fraction) or isinstance(high, Fraction)):
                yield from (partial(_dated, dates, low, high, with_low, with_high) for dates in self._calendars)
            return
        yield from (partial(_numbered, numbers, low, high, with_low, with_high) for numbers in self._numbers)

    def _masked(self, cell: str) -> list[str]:
        """Values of which * hides characters, one each; a single one at the end also any number of them."""
        shape = re.compile("".join("." if each == "*" else re.escape(each) for each in cell), re.DOTALL)
        begins = cell[:-1] if cell.endswith("*") and cell.count("*") == 1 else None
        return [
            value
            for value in self._values
            if shape.fullmatch(value) or (begins is not None and value.startswith(begins))
        ]


def _numbered(
    numbers: Sequence[tuple[Fraction, str]],
    low: Fraction | None,
    high: Fraction | None,
    with_low: bool,
    with_high: bool,
) -> list[str]:
    number = itemgetter(0)
    start = 0 if low is None else (bisect_left if with_low else bisect_right)(numbers, low, key=number)
    stop = len(numbers) if high is None else (bisect_right if with_high else bisect_left)(numbers, high, key=number)
    return [value for _, value in numbers[start:stop]]


def _dated(
    dates: Sequence[tuple[str, str]], low: str | None, high: str | None, with_low: bool, with_high: bool
) -> list[str]:
    """Values from one day to another. An end without a time is the entire day, and so is a month or a year."""

    def inside(date: str) -> bool:
        first, last = date if low is None else date[: len(low)], date if high is None else date[: len(high)]
        if high is not None and len(date) < len(high):
            last += "~"  # a month, of which the last day counts
        above = low is None or first > low or (with_low and first == low)
        return above and (high is None or last < high or (with_high and last == high))

    return [value for date, value in dates if inside(date)]


def _on(dates: Sequence[tuple[str, str]], day: str) -> list[str]:
    return [value for date, value in dates if date == day]


def _beginning(dates: Sequence[tuple[str, str]], beginnings: tuple[str, ...]) -> list[str]:
    return [value for date, value in dates if date.startswith(beginnings)]


def covering_level(path_of: Callable[[Label], Sequence[Label]], values: Sequence[Label]) -> int:
    """The least level above 0 at which all of these values have one label. path_of: labels of a value by level."""
    first, *others = (path_of(value) for value in values)
    return next(level for level in range(1, len(first)) if all(path[level] == first[level] for path in others))


def kind_of_cell(cell: Label) -> str:
    """What a cell looks like, without a word of it: "an interval", "a set", ..., or "" for a text that is none of
    these."""
    text = "" if cell is None else cell.strip()
    for kind, looks_so in (
        ("a number", numbers_in(text)),
        ("a date", any(_day(text, order) for order in ORDERS)),
        ("a part of a date", _part_of_date(text)),
        ("an interval", any(map(any, (_marked_intervals(text, ORDERS), _intervals(text, ORDERS))))),
        ("a value of which * hides a part", "*" in text and text.strip("*")),
        ("a set", text[:1] + text[-1:] in ("{}", "[]", "()") or len(_split(text)) > 1),
    ):
        if looks_so:
            return kind
    return ""


def _split(cell: str, between: re.Pattern[str] = MEMBERS) -> list[str]:
    """The members of a set; those that hold what stands between them are in double quotes."""
    if '"' in cell:
        try:
            return next(csv.reader([cell], skipinitialspace=True, strict=True), [])
        except csv.Error:
            return []
    return [each.strip("'") for each in between.split(cell.strip())]


def _marked_intervals(text: str, orders: Sequence[int]) -> Iterator[Interval]:
    """What a cell with brackets or a sign of comparison may mean: `[20, 40[`, `>=20`, `20+`."""
    if found := BRACKETS.fullmatch(text):
        opening, inner, closing = found.groups()
        for low, high in _ends(inner, orders, open_ends=True):
            yield low, high, opening == "[", closing == "]"
    if found := COMPARED.fullmatch(text):
        sign, end = found.groups()
        with_end = sign not in "<>"
        for each in _ends_at(end, orders):
            low, high = (each, None) if set(sign) & set(">≥") else (None, each)
            yield low, high, with_end, with_end
    if found := AND_MORE.fullmatch(text):
        yield from ((least, None, True, True) for least in _ends_at(found[1], orders))


def _intervals(text: str, orders: Sequence[int]) -> Iterator[Interval]:
    """What a cell with two ends may mean: `20-39`, `11/1994 - 02/1995`; both ends are in it."""
    yield from ((low, high, True, True) for low, high in _ends(text, orders, open_ends=False))


def _ends(text: str, orders: Sequence[int], *, open_ends: bool) -> Iterator[tuple[End | None, End | None]]:
    """Both ends of an interval, by each sign that may stand between them. open_ends: one or both may be left out, or be
    an infinity."""
    for sign in BETWEEN.finditer(text) if len(text) <= LONGEST else ():
        parts = text[: sign.start()].strip(), text[sign.end() :].strip()
        endless = open_ends and sign[0].strip() not in DASHES
        for order in orders:  # in which both ends are written
            low, high = (
                [None] if open_ends and (ENDLESS.fullmatch(part) or (endless and not part)) else _end(part, order)
                for part in parts
            )
            yield from ((a, b) for a in low for b in high if a is None or b is None or type(a) is type(b))


def _ends_at(text: str, orders: Sequence[int]) -> list[End | None]:
    return [end for order in orders for end in _end(text, order)]


def _end(text: str, order: int) -> list[End | None]:
    """What an end of an interval may be: a number, a day, a month or a year."""
    return [*numbers_in(text), *_dates(text, [order]), *([text] if YEAR.fullmatch(text) else ())]


def _dates(text: str, orders: Sequence[int]) -> list[str]:
    """The days or months that a date may mean, as ISO 8601 writes them: 03/04/1994 may be in April, or in March."""
    month = _part_of_date(text) if not YEAR.fullmatch(text) else ()
    days = [day for order in orders if (day := _day(text, order))]
    return list(dict.fromkeys([*days, *(each for each in month if len(month) == 1 and len(each) == len("1994-11"))]))


def _day(text: str, order: int) -> str:
    """A date as ISO 8601 writes it, or ""."""
    if found := YEAR_FIRST.fullmatch(text):
        year, _, month, day, time = found.groups()
    elif found := YEAR_LAST.fullmatch(text):
        day, dot, month, year, time = found.groups()
        day, month = (month, day) if order and dot != "." else (day, month)
    elif (found := MONTH_NAMED.fullmatch(text)) and found[1]:
        day, name, year, time = found.groups()
        month = _month(name)
    else:
        return ""
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return ""
    return f"{year}-{int(month):02}-{int(day):02}" + (f" {time:0>5}" if time else "")


def _month(name: str) -> str:
    short = name.lower()[:3]
    short = GERMAN.get(short, short)
    return str(MONTHS.index(short) + 1) if short in MONTHS else "0"


def _part_of_date(text: str) -> tuple[str, ...]:
    """How the days begin that a cell stands for, which is a year, a decade, a quarter or a month; () for another."""
    if YEAR.fullmatch(text):
        return (text,)
    if found := DECADE.fullmatch(text):
        return (found[1],)
    if found := QUARTER.fullmatch(text):
        year, quarter = found[1] or found[4], int(found[2] or found[3])
        return tuple(f"{year}-{3 * quarter - at:02}" for at in (2, 1, 0))
    month = 0
    if found := MONTH.fullmatch(text):
        year, month = found[1] or found[4], int(found[2] or found[3])
    elif (found := MONTH_NAMED.fullmatch(text)) and not found[1] and not found[4]:
        year, month = found[3], int(_month(found[2]))
    return (f"{year}-{month:02}",) if 1 <= month <= 12 else ()


@dataclass(frozen=True, eq=False, repr=False)
class ForeignTable:
    """A released table of another tool, read cell by cell.

    suppressed: of each cell whether it is; see `suppressed_cells`. recoded: the quasi-identifiers as text, with each
    cell of another kind as the least general label of the recoding, above the value itself, that covers what the cell
    stands for. Rows that are released alike are equal in it. generalized: cells that are neither the value nor
    suppressed. lost: Σ of the NCP of each column's cells. penalty: mean NCP of the cells (Xu et al. 2006), from 0 to
    1. violations: cells in which the original value does not lie.
    """

    suppressed: pl.DataFrame
    recoded: pl.DataFrame
    generalized: int
    lost: Mapping[str, Fraction]
    penalty: Fraction | None
    violations: tuple[str, ...]


Penalty = Callable[[Sequence[Label]], Fraction]


def _ncp(_rule: ColumnRule, values: Sequence[Label]) -> Penalty:
    return ncp(values)


def read_foreign(
    table: Original,
    rules: Rules,
    released: pl.DataFrame,
    penalty: Callable[[ColumnRule, Sequence[Label]], Penalty] = _ncp,
) -> ForeignTable:
    """Read the quasi-identifiers of another tool's table, row by row as in the original.

    penalty: of a column with these values, what a cell loses that stands for some of them. Raises InputError for a
    mask, which speaks of levels that such cells do not have.
    """
    if rules.allowed is not None:
        raise InputError("a pattern mask speaks of levels, and the cells of another tool have none; leave the mask out")
    suppressed = suppressed_cells(table.keys, released, table.symbol)
    released = rules.unambiguous(table, with_symbol(released, suppressed, table.symbol))
    violations: list[str] = []
    recoded: dict[str, pl.Series] = {}
    generalized, lost = 0, dict[str, Fraction]()
    for rule in rules.columns:
        before, after = table.keys[rule.name].alias(""), released[rule.name].alias("")
        read = _read_column(rule, before, after, table.weights, penalty)
        recoded[rule.name], wrong, cells, lost[rule.name] = read
        generalized += cells
        if wrong.size:
            violations.append(_explained(rule.name, before, after, wrong))
    cells = table.n * released.width
    known = None if violations or not cells else sum(lost.values(), Fraction(0)) / cells
    return ForeignTable(suppressed, pl.DataFrame(recoded), generalized, lost, known, tuple(violations))


def _explained(name: str, original: pl.Series, released: pl.Series, rows: NDArray[np.intp]) -> str:
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


def rewritten(table: Original, released: nw.DataFrame[Any]) -> list[str]:
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


def _read_column(
    rule: ColumnRule,
    original: pl.Series,
    released: pl.Series,
    weights: Ints,
    penalty_in: Callable[[ColumnRule, Sequence[Label]], Penalty],
) -> tuple[pl.Series, NDArray[np.intp], int, Fraction]:
    """The cells of a column as labels of the recoding, the rows in which the original value does not lie in the cell,
    how many cells are neither the value nor suppressed, and Σ of NCP.

    A cell is read in one way in all its rows: as a label of the recoding, or as a cell of another tool.
    """
    pair_of_row, pairs = classes(pl.DataFrame({"original": original, "released": released}))
    rows, before = tally(pair_of_row, weights, pairs.height), pairs["original"].to_list()
    values = list(dict.fromkeys(before))
    stands = rule.stands(pairs["original"], pairs["released"]).to_numpy()
    as_label: Flags = np.any(stands, axis=1)
    domain, penalty_of = Domain([] if as_label.all() else values), penalty_in(rule, values)
    cell_of_pair, cells = classes(pairs[["released"]])
    labels, wrong = before.copy(), np.zeros(len(before), dtype=bool)
    generalized, penalty = 0, Fraction(0)
    by_cell = np.split(np.argsort(cell_of_pair, kind="stable"), np.cumsum(np.bincount(cell_of_pair))[:-1])
    for c in np.unique(cell_of_pair[~as_label]).tolist():
        cell, at = cells["released"][c], by_cell[c]
        originals = {before[i] for i in at}
        found = domain.stands_for(cell, originals)
        if found is None:
            no_label = {before[i] for i in at if not as_label[i]}
            outside = min(no_label, domain.outside(cell, originals), key=len)
            wrong[at] = [before[i] in outside for i in at]
            continue
        as_label[at] = False
        if not found.kept:
            level = covering_level(rule.path, found.values)
            for i in at:
                labels[i] = rule.path(before[i])[level]
            generalized += int(rows[at].sum())
            penalty += int(rows[at].sum()) * penalty_of(found.values)
    lowest = stands.argmax(axis=1)
    rows_of_label: dict[tuple[int, Label], int] = defaultdict(int)
    for i in np.flatnonzero(as_label & (lowest > 0)).tolist():
        labels[i] = pairs["released"][i]
        rows_of_label[int(lowest[i]), labels[i]] += int(rows[i])
    for (level, label), number in rows_of_label.items():
        generalized += number if label != rule.symbol else 0
        penalty += number * penalty_of([each for each in values if rule.path(each)[level] == label])
    recoded = pl.Series(labels, dtype=pl.String).gather(pair_of_row)
    return recoded, np.flatnonzero(wrong[pair_of_row]), generalized, penalty
