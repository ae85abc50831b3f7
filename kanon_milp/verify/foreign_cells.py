"""What the cells of another tool may stand for: `20-39`, `[20, 40[`, `(1,5;2,5]`, `>=20`, `{a, b}`, `130**`, `11/1994`.

A cell can be read in several ways: `20,39` is a set of two numbers, an interval, or a number with a decimal comma. It
stands for what the first reading says in which all original values of its rows lie.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import itemgetter

from kanon_milp.verify.numbers import numberings, numbers_in

Value = str | None
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

    values: tuple[Value, ...]
    kept: bool


class Domain:
    """The distinct original values of a column, and what cells say of them. None, a missing value, lies in no cell."""

    def __init__(self, values: Collection[Value]) -> None:
        self._values = [value for value in values if value is not None]
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

    def stands_for(self, cell: Value, originals: Collection[Value]) -> Stands | None:
        """What a cell stands for, of whose rows these are the original values; None where it is no cell of them."""
        if cell is None or None in originals:
            return None
        for is_value, meaning in self._readings(cell.strip()):
            found = set(meaning())
            if found.issuperset(originals):
                kept = is_value and len(set(originals)) == 1
                return Stands(tuple(value for value in self._values if value in found), kept)
        return None

    def is_value(self, cell: Value) -> bool:
        """Whether a cell is one of the values, however it is written."""
        return cell is not None and any(own and meaning() for own, meaning in self._readings(cell.strip()))

    def outside(self, cell: Value, originals: Collection[Value]) -> set[Value]:
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
    """Values from one number to another."""
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


def covering_level(path_of: Callable[[Value], Sequence[Value]], values: Sequence[Value]) -> int:
    """The least level above 0 at which all of these values have one label. path_of: labels of a value by level."""
    first, *others = (path_of(value) for value in values)
    return next(level for level in range(1, len(first)) if all(path[level] == first[level] for path in others))


def kind_of_cell(cell: Value) -> str:
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
    """The number of a month of which this is the name, or its beginning; 0 for none."""
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
