"""Dates and times: hours, days, months, quarters, years, decades; and how those of a column are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import datetime
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import listed, one_of, text
from kanon_milp.problem.generalization.values import Row, Values

Reader = Callable[[str], datetime | None]
ISO = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d)(?::?\d\d.*)?)?\s*", re.ASCII)
TIME = r"(?:[T ]+(\d\d?):\d\d(?::\d\d(?:[.,]\d+)?)?)?"
TIMED = re.compile(rf"(.*?\d){TIME}", re.ASCII | re.DOTALL)
# a date of numbers in another order than that of ISO 8601, perhaps with a time
NUMBERS = re.compile(rf"\s*(\d{{1,4}})([./-])(\d\d?)\2(\d{{4}}|\d\d?){TIME}\s*", re.ASCII)
# forms that such dates may have, by what stands between the numbers: with points the day is first everywhere
FORMS = {
    ".": ("%d.%m.%Y",),
    "/": ("%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d"),
    "-": ("%d-%m-%Y", "%m-%d-%Y"),
}
OF_TIMES = re.compile(r"%-?[HIXcpMSfT]")  # of a form that says how times are written, too


def _day(at: datetime) -> str:
    return f"{at.year:04d}-{at.month:02d}-{at.day:02d}"


# each lies in one of the next
UNITS: dict[str, Callable[[datetime], str]] = {
    "hour": lambda at: f"{_day(at)} {at.hour:02d}h",
    "day": _day,
    "month": lambda at: f"{at.year:04d}-{at.month:02d}",
    "quarter": lambda at: f"{at.year:04d}-Q{(at.month + 2) // 3}",
    "year": lambda at: f"{at.year:04d}",
    "decade": lambda at: f"{at.year // 10 * 10:04d}s",
}
OF_DATES = ("month", "quarter", "year")
# values that are parts of dates: the form, the month that it means, and what can be made of it
PARTS = {
    "month": (re.compile(r"\s*(\d{4})-(\d\d)\s*", re.ASCII), 1),
    "quarter": (re.compile(r"\s*(\d{4})-?Q([1-4])\s*", re.ASCII), 3),
    "year": (re.compile(r"\s*([12]\d{3})()\s*", re.ASCII), 1),
}
HOURS, DAYS, MONTHS = 24, 31, 12
YEAR_DIGITS, MOST_DIGITS = (2, 4), 2
MOSTLY = Fraction(9, 10)  # of the dates: slips such as 31.02.2024 do not make a form unknown


def date_rows(values: Values, levels: Any, form: str | None, missing: str, other: str | None) -> list[Row]:
    """Rows of `Hierarchy.dates`."""
    if form is not None:
        text(form, "format")
    part = _part(values.present) if form is None else None
    read, what = _way(values, form) if part is None else (partial(_read_part, part), f"a {part}")
    known = values.read(read, what, other)
    if levels is not None:
        chosen = (
            [levels] if isinstance(levels, str) else list(listed(levels, "levels", "a list such as ['month', 'year']"))
        )
    elif part is not None:
        chosen = _coarser(part)
    else:
        timed = any((at.hour, at.minute, at.second, at.microsecond) != (0, 0, 0, 0) for at in known.values())
        chosen = ["day", *OF_DATES] if timed else list(OF_DATES)
    if part is not None and (finer := [unit for unit in chosen if unit in list(UNITS)[: list(UNITS).index(part)]]):
        raise InputError(
            f"{values.source}: the values are {part}s, of which no {finer[0]} is known; possible levels are "
            f"{', '.join(_coarser(part))}"
        )
    _check(chosen)
    paths = {
        value: [UNITS[unit](at) for unit in chosen] for value, at in sorted(known.items(), key=lambda pair: pair[1])
    }
    return values.rows(paths, missing, other)


def _coarser(part: str) -> list[str]:
    return list(UNITS)[list(UNITS).index(part) + 1 :]


def _check(levels: list[Any]) -> None:
    order = list(UNITS)
    if not levels:
        raise InputError("levels: name at least one, as in ['month', 'year']")
    for unit in levels:
        if unit == "week":
            raise InputError("levels: weeks lie across the ends of months and years, and levels must nest")
        one_of(unit, order, "levels of dates")
    for fine, coarse in pairwise(levels):
        if order.index(fine) >= order.index(coarse):
            raise InputError(f"levels: no {fine} is a part of a {coarse}; the order is {', '.join(order)}")


def iso_date(value: str) -> datetime | None:
    """A date of ISO 8601, with or without a time: of this only the hour, in the zone in which it is written."""
    found = ISO.fullmatch(value)
    if found is None:
        return None
    year, month, day, hour = (int(part or 0) for part in found.groups())
    try:
        return datetime(year, month, day, hour)
    except ValueError:
        return None


def date_form(values: Collection[str]) -> str | None:
    """The form of `datetime.strptime` in which the dates of numbers among these values are written, times aside, where
    it can be no other one: that of 31.12.2024, or of 31/12/2024 beside 03/04/2024. None where there are none, and where
    it may be one or the other, as of 03/04/2024 alone."""
    found = [parts for value in values if (parts := NUMBERS.fullmatch(value)) is not None]
    between = {parts[2] for parts in found}
    if len(between) != 1:
        return None
    dates = ["".join(parts.group(1, 2, 3, 2, 4)) for parts in found]
    read = {form: sum(_strptime(date, form) is not None for date in dates) for form in FORMS[between.pop()]}
    all_of_them = [form for form, known in read.items() if known == len(dates)]
    forms = all_of_them or [form for form, known in read.items() if known >= MOSTLY * len(dates)]
    return forms[0] if len(forms) == 1 else None


def looks_like_date(value: str) -> bool:
    """Whether a value is a date of numbers in whatever order, perhaps with a time: a day, a month and a year, which has
    two or four digits, at one of the ends. 123-45-6789 is none, nor are 12-34-5678 and 1.2.3."""
    found = NUMBERS.fullmatch(value)
    if found is None:
        return False
    first, _, middle, last, *_ = found.groups()
    return any(
        len(year) in YEAR_DIGITS and any(_is_day(day, month) for day, month in ((a, b), (b, a)))
        for year, a, b in ((last, first, middle), (first, middle, last))
    )


def _is_day(day: str, month: str) -> bool:
    """Whether these can be a day and a month."""
    return len(day) <= MOST_DIGITS and 1 <= int(month) <= MONTHS and 1 <= int(day) <= DAYS


def _part(values: Collection[str]) -> str | None:
    """What most values are where none is a day: months, quarters or years; None where no value is one of them."""
    read = {part: sum(form.fullmatch(value) is not None for value in values) for part, (form, _) in PARTS.items()}
    most = max(read, key=lambda part: read[part])
    no_days = date_form(values) is None and not any(iso_date(value) for value in values)
    return most if read[most] and no_days else None


def _read_part(part: str, value: str) -> datetime | None:
    form, months = PARTS[part]
    found = form.fullmatch(value)
    try:
        return None if found is None else datetime(int(found[1]), months * int(found[2] or 1), 1)
    except ValueError:
        return None


def date_reader(form: str) -> Reader:
    """What reads a date of this form; of one that says nothing of times, with a time, too: of this only the hour."""

    def read(value: str) -> datetime | None:
        text = value.strip()
        at = _strptime(text, form)
        if at is None and not OF_TIMES.search(form) and (found := TIMED.fullmatch(text)) and found[2]:
            at, hour = _strptime(found[1], form), int(found[2])
            at = at.replace(hour=hour) if at is not None and hour < HOURS else None
        return at

    return read


def _way(values: Values, form: str | None) -> tuple[Reader, str]:
    """What reads the dates of a column, and what it reads."""
    if form is not None:
        return date_reader(form), f"a date of the form {form}"
    found = date_form(values.present)
    if found is not None and not any(iso_date(value) for value in values.present):
        return date_reader(found), f"a date of the form {found}"
    return iso_date, (
        "a date such as 2024-03-17 (say how others are written: --dates COLUMN=%m/%d/%Y, `hierarchy --dates ... "
        "--format %m/%d/%Y`, or format=...)"
    )


def _strptime(value: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(value, form)
    except ValueError:
        return None
