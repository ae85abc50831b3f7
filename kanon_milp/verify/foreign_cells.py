"""What the cells of another tool may stand for: `20-39`, `[20, 40[`, `(20,40]`, `>=20`, `{a, b}`, `130**`, `2024-Q1`.

A cell can be read in several ways: `20,39` is a set of two numbers, or an interval. It stands for what the first
reading says in which all original values of its rows lie.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from kanon_milp.verify.numbers import number_in

Value = str | None
End = Fraction | str  # a number, or a date as text of ISO 8601
Meaning = Callable[[], Collection[str]]

DIGITS = r"\d{1,300}"
NUMBER = rf"[+-]?(?:{DIGITS}(?:\.(?:{DIGITS})?)?|\.{DIGITS})(?:[eE][+-]?\d{{1,2}})?"
DAY = r"\d{4}-\d\d-\d\d(?:[T ]\d\d(?::\d\d)*(?:\.\d+)?)?"
ENDLESS = r"[+-]?(?:inf(?:inity)?|∞)"
END = rf"(?:{DAY}|{NUMBER})"
OPENING, CLOSING = r"[\[\](]", r"[\[\])]"

DATE = re.compile(DAY)
BRACKETS = re.compile(
    rf"({OPENING})\s*({END}|{ENDLESS})?\s*(?:[,;:~]|\.\.|\sto\s)\s*({END}|{ENDLESS})?\s*({CLOSING})", re.IGNORECASE
)
COMPARED = re.compile(rf"(>=|=>|≥|<=|=<|≤|>|<)\s*({END})")
AND_MORE = re.compile(rf"({END})\s*\+")
RANGE = re.compile(rf"({END})\s*(?:-|–|—|~|:|,|\.\.|\sto\s)\s*({END})")
MEMBERS = re.compile(r"\s*[,;|~]\s*")
PART_OF_DATE = re.compile(r"(\d{4})(?:(s)|-(\d\d)|-Q([1-4]))?")


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
        numbers = [(number, value) for value in self._values if (number := number_in(value)) is not None]
        self._numbers = sorted(numbers)
        self._ends = [number for number, _ in self._numbers]
        dates = [(value.strip().replace("T", " "), value) for value in self._values if DATE.fullmatch(value.strip())]
        self._dates = sorted(dates)

    def stands_for(self, cell: Value, originals: Collection[Value]) -> Stands | None:
        """What a cell stands for, of whose rows these are the original values; None where it is no cell of them."""
        if cell is None or None in originals:
            return None
        for number, meaning in enumerate(self._readings(cell.strip())):
            found = set(meaning())
            if found.issuperset(originals):
                kept = number == 0 and len(set(originals)) == 1
                return Stands(tuple(value for value in self._values if value in found), kept)
        return None

    def outside(self, cell: Value, originals: Collection[Value]) -> set[Value]:
        """The original values that do not lie in a cell, by the reading in which most of them do."""
        rest = set(originals)
        for meaning in () if cell is None else self._readings(cell.strip()):
            rest = min(rest, set(originals).difference(meaning()), key=len)
        return rest

    def _readings(self, cell: str) -> Iterator[Meaning]:
        """The readings of a cell, the first of which is the value itself."""
        yield lambda: self._same(cell)
        inner = cell[1:-1] if cell[:1] + cell[-1:] in ("{}", "[]", "()") else ""
        if inner and cell[0] == "{":
            yield lambda: self._members(inner)
        if found := BRACKETS.fullmatch(cell):
            opening, low, high, closing = found.groups()
            yield lambda: self._between(_end(low), _end(high), opening == "[", closing == "]")
        if found := COMPARED.fullmatch(cell):
            sign, end = found.groups()
            with_end = sign not in "<>"
            low, high = (end, None) if set(sign) & set(">≥") else (None, end)
            yield lambda: self._between(_end(low), _end(high), with_end, with_end)
        if found := AND_MORE.fullmatch(cell):
            least = found[1]
            yield lambda: self._between(_end(least), None, True, True)
        if inner and cell[0] != "{":
            yield lambda: self._members(inner)
        yield lambda: self._members(cell)
        if found := RANGE.fullmatch(cell):
            low, high = found.groups()
            yield lambda: self._between(_end(low), _end(high), True, True)
        if DATE.fullmatch(cell):
            yield lambda: self._between(_end(cell), _end(cell), True, True)
        if "*" in cell:
            yield lambda: self._masked(cell)
        if cell and not cell.strip("*"):
            yield lambda: self._values
        if found := PART_OF_DATE.fullmatch(cell):
            year, decade, month, quarter = found.groups()
            months = [month] if month else [f"{3 * int(quarter) - at:02d}" for at in (2, 1, 0)] if quarter else [""]
            begins = tuple(year[:3] if decade else f"{year}-{each}" for each in months)
            yield lambda: [value for date, value in self._dates if date.startswith(begins)]

    def _same(self, cell: str) -> list[str]:
        number = number_in(cell)
        if number is not None:
            return self._between(number, number, True, True)
        return self._stripped.get(cell, [])

    def _members(self, cell: str) -> list[str]:
        found: list[str] = []
        for member in _split(cell):
            found += self._stripped.get(member.strip(), [])
            number = number_in(member)
            found += [] if number is None else self._between(number, number, True, True)
        return found

    def _between(self, low: End | None, high: End | None, with_low: bool, with_high: bool) -> list[str]:
        """Values from `low` to `high`, None: without an end."""
        if isinstance(low, str) or isinstance(high, str):
            return self._dated(low, high, with_low, with_high)
        ends = self._ends
        start = 0 if low is None else (bisect_left if with_low else bisect_right)(ends, low)
        stop = len(ends) if high is None else (bisect_right if with_high else bisect_left)(ends, high)
        return [value for _, value in self._numbers[start:stop]]

    def _dated(self, low: End | None, high: End | None, with_low: bool, with_high: bool) -> list[str]:
        if isinstance(low, Fraction) or isinstance(high, Fraction):
            return []

        def inside(date: str) -> bool:  # an end without a time is the entire day
            above = low is None or date[: len(low)] > low or (with_low and date[: len(low)] == low)
            return above and (high is None or date[: len(high)] < high or (with_high and date[: len(high)] == high))

        return [value for date, value in self._dates if inside(date)]

    def _masked(self, cell: str) -> list[str]:
        """Values of which * hides characters, one each; a single one at the end also any number of them."""
        shape = re.compile("".join("." if each == "*" else re.escape(each) for each in cell), re.DOTALL)
        begins = cell[:-1] if cell.endswith("*") and cell.count("*") == 1 else None
        return [
            value
            for value in self._values
            if shape.fullmatch(value) or (begins is not None and value.startswith(begins))
        ]


def covering_level(path_of: Callable[[Value], Sequence[Value]], values: Sequence[Value]) -> int:
    """The least level above 0 at which all of these values have one label. path_of: labels of a value by level."""
    first, *others = (path_of(value) for value in values)
    return next(level for level in range(1, len(first)) if all(path[level] == first[level] for path in others))


def kind_of_cell(cell: Value) -> str:
    """What a cell looks like, without a word of it: "an interval", "a set", ..., or "" for a text that is none of
    these."""
    text = "" if cell is None else cell.strip()
    for kind, looks_so in (
        ("a number", number_in(text) is not None),
        ("a date", DATE.fullmatch(text)),
        ("an interval", any(form.fullmatch(text) for form in (BRACKETS, COMPARED, AND_MORE, RANGE))),
        ("a part of a date", PART_OF_DATE.fullmatch(text)),
        ("a value of which * hides a part", "*" in text and text.strip("*")),
        ("a set", text[:1] + text[-1:] in ("{}", "[]", "()") or len(_split(text)) > 1),
    ):
        if looks_so:
            return kind
    return ""


def _split(cell: str) -> list[str]:
    """The members of a set; those that hold a comma stand in double quotes."""
    if '"' in cell:
        try:
            return next(csv.reader([cell], skipinitialspace=True, strict=True), [])
        except csv.Error:
            return []
    return [each.strip("'") for each in MEMBERS.split(cell.strip())]


def _end(text: str | None) -> End | None:
    """An end of an interval; None where it has none."""
    if text is None or re.fullmatch(ENDLESS, text, re.IGNORECASE):
        return None
    if DATE.fullmatch(text):
        return text.replace("T", " ")
    return Fraction(text)
