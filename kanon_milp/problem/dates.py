"""Dates and times: hours, days, months, quarters, years, decades; and how those of a column are written."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from kanon_milp.errors import InputError, KanonWarning, counted, printable
from kanon_milp.problem.arguments import listed, one_of, text
from kanon_milp.problem.generalization import Made, Values

Reader = Callable[[str], datetime | None]
ISO_FORM = "iso"  # the name of the form that needs none of `datetime.strptime`
ISO = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d)(?::?\d\d.*)?)?\s*", re.ASCII)
TIME = r"(?:[T ]+(\d\d?):\d\d(?::\d\d(?:[.,]\d+)?)?)?"
TIMED = re.compile(rf"(.*?\d){TIME}", re.ASCII | re.DOTALL)
# a date of numbers in another order than that of ISO 8601, perhaps with a time
NUMBERS = re.compile(rf"\s*(\d{{1,4}})([./-])(\d\d?)\2(\d{{4}}|\d\d?){TIME}\s*", re.ASCII)
# forms that such dates may have, by what stands between the numbers: with points the day is first everywhere
FORMS = {".": ("%d.%m.%Y",), "/": ("%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d"), "-": ("%d-%m-%Y", "%m-%d-%Y")}
SHORT_YEARS = {  # the same with years of two digits, which are never taken unasked: the century is not in them
    ".": ("%d.%m.%y",),
    "/": ("%d/%m/%y", "%m/%d/%y", "%y/%m/%d"),
    "-": ("%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
}
SHORT_YEAR = re.compile(r"(?<!%)(?:%%)*%-?y")
OF_TIMES = re.compile(r"%-?[HIXcpMSfT]")  # of a form that says how times are written, too


def _day(at: datetime) -> str:
    return f"{at.year:04d}-{at.month:02d}-{at.day:02d}"


BAND = re.compile(r"([2-9]|[1-9]\d{1,2})years", re.ASCII)  # a level of so many years
# each lies in one of the next
UNITS: dict[str, Callable[[datetime], str]] = {
    "hour": lambda at: f"{_day(at)} {at.hour:02d}h",
    "day": _day,
    "month": lambda at: f"{at.year:04d}-{at.month:02d}",
    "quarter": lambda at: f"{at.year:04d}-Q{(at.month + 2) // 3}",
    "year": lambda at: f"{at.year:04d}",
    "decade": lambda at: f"{at.year // 10 * 10:04d}s",
}
LEVELS = "hour, day, month, quarter, year, 5years (or another number of years), decade"
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


def date_rows(values: Values, levels: Any, form: str | None, missing: str, other: str | None) -> Made:
    """Rows of `Hierarchy.dates`."""
    if form is not None:
        text(form, "format")
    part = _part(values.present) if form is None else form if form in PARTS else None
    read, what, form = _way(values, form) if part is None else (partial(_read_part, part), f"a {part}", part)
    known = values.read(read, what, other)
    if part is None and form != ISO_FORM:
        _tell_moved(values, known, form)
    if levels is not None:
        chosen = (
            [levels] if isinstance(levels, str) else list(listed(levels, "levels", "a list such as ['month', 'year']"))
        )
    elif part is not None:
        chosen = _coarser(part)
    else:
        timed = any((at.hour, at.minute, at.second, at.microsecond) != (0, 0, 0, 0) for at in known.values())
        chosen = ["day", *OF_DATES] if timed else list(OF_DATES)
    _check(chosen)
    if part is not None and (finer := [unit for unit in chosen if unit in list(UNITS)[: list(UNITS).index(part)]]):
        raise InputError(
            f"{values.source}: the values are {part}s, of which no {finer[0]} is known; possible levels are "
            f"{', '.join(_coarser(part))}"
        )
    paths = {
        value: [_unit(unit)(at) for unit in chosen] for value, at in sorted(known.items(), key=lambda pair: pair[1])
    }
    return values.rows(paths, missing, other), {"levels": chosen, "format": form}


def _unit(level: str) -> Callable[[datetime], str]:
    """What names the time of this length in which a date lies."""
    if level in UNITS:
        return UNITS[level]
    years = _years(level)
    return lambda at: f"{(low := at.year // years * years):04d}-{low + years - 1:04d}"


def _years(level: str) -> int:
    """Of a level of so many years; 0 for one within a year."""
    found = BAND.fullmatch(level)
    return int(found[1]) if found else {"year": 1, "decade": 10}.get(level, 0)


def _coarser(part: str) -> list[str]:
    return list(UNITS)[list(UNITS).index(part) + 1 :]


def _check(levels: list[Any]) -> None:
    order = list(UNITS)
    if not levels:
        raise InputError("levels: name at least one, as in ['month', 'year']")
    for unit in levels:
        if unit == "week":
            raise InputError("levels: weeks lie across the ends of months and years, and levels must nest")
        if not (isinstance(unit, str) and BAND.fullmatch(unit)):
            one_of(unit, order, "levels of dates")
    for fine, coarse in pairwise(levels):
        short, long = _years(fine), _years(coarse)
        nested = long > short and long % short == 0 if short else bool(long) or order.index(fine) < order.index(coarse)
        if not nested:
            raise InputError(f"levels: no {fine} is a part of a {coarse}; the order is {LEVELS}")


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
    read, dates = _read_by_form(values, FORMS)
    all_of_them = [form for form, known in read.items() if known == dates]
    forms = all_of_them or [form for form, known in read.items() if known >= MOSTLY * dates]
    return forms[0] if len(forms) == 1 else None


def possible_forms(values: Collection[str]) -> list[str]:
    """The forms that nearly all dates of numbers among these values may have, times aside, those with a year of two
    digits, too; none where they are written with different signs between the numbers."""
    read, dates = _read_by_form(values, {sign: forms + SHORT_YEARS[sign] for sign, forms in FORMS.items()})
    most = [form for form, known in read.items() if known >= MOSTLY * dates]
    return [form for form in most if read[form] == max(read.values())]


def _read_by_form(values: Collection[str], forms: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, int], int]:
    """How many of the dates of numbers among these values each form reads, and how many there are; no form where
    different signs are between the numbers."""
    found = [parts for value in values if (parts := NUMBERS.fullmatch(value)) is not None]
    between = {parts[2] for parts in found}
    dates = ["".join(parts.group(1, 2, 3, 2, 4)) for parts in found]
    possible = forms[between.pop()] if len(between) == 1 else ()
    return {form: sum(_strptime(date, form) is not None for date in dates) for form in possible}, len(dates)


def asked_form(values: Collection[str]) -> str:
    """What to write behind --dates COLUMN= to say the form of such dates, all that it may be."""
    return _asked(possible_forms(values))


def _asked(possible: list[str]) -> str:
    return " or --dates COLUMN=".join(possible or ["%d/%m/%Y (day first)", "%m/%d/%Y"])


def looks_like_date(value: str) -> bool:
    """Whether a value is a date of numbers in whatever order, perhaps with a time: a day, a month and a year, which has
    two or four digits, at one of the ends. 123-45-6789 is none, nor are 12-34-5678 and 1.2.3."""
    found = NUMBERS.fullmatch(value)
    if found is None:
        return False
    first, _, middle, last, *_ = found.groups()
    return any(
        len(year) in YEAR_DIGITS and len(day) <= MOST_DIGITS and 1 <= int(month) <= MONTHS and 1 <= int(day) <= DAYS
        for year, a, b in ((last, first, middle), (first, middle, last))
        for day, month in ((a, b), (b, a))
    )


def _part(values: Collection[str]) -> str | None:
    """What most values are where none is a day: months, quarters or years; None where no value is one of them."""
    read = {part: sum(form.fullmatch(value) is not None for value in values) for part, (form, _) in PARTS.items()}
    most = max(read, key=lambda part: read[part])
    no_days = read[most] and not any(iso_date(value) for value in values) and date_form(values) is None
    return most if no_days else None


def _read_part(part: str, value: str) -> datetime | None:
    form, months = PARTS[part]
    found = form.fullmatch(value)
    try:
        return None if found is None else datetime(int(found[1]), months * int(found[2] or 1), 1)
    except ValueError:
        return None


def date_reader(form: str) -> Reader:
    """What reads a date of this form; of one that says nothing of times, with a time, too: of this only the hour. With
    years of two digits (%y) no date lies after today: 31.12.68 is one of 1968."""

    written, today = _reader_as_written(form), date.today()
    if not SHORT_YEAR.search(form):
        return written

    def read(value: str) -> datetime | None:
        at = written(value)
        if at is None or at.date() <= today:
            return at
        return at.replace(year=at.year - 100)  # before 2069, so that no 29 February is lost

    return read


def _reader_as_written(form: str) -> Reader:
    """The same, with years of two digits as `datetime.strptime` has them: from 1969 to 2068."""

    def read(value: str) -> datetime | None:
        text = value.strip()
        at = _strptime(text, form)
        if at is None and not OF_TIMES.search(form) and (found := TIMED.fullmatch(text)) and found[2]:
            at, hour = _strptime(found[1], form), int(found[2])
            at = at.replace(hour=hour) if at is not None and hour < HOURS else None
        return at

    return read


def _tell_moved(values: Values, known: Mapping[str, datetime], form: str) -> None:
    """Warn of dates with years of two digits that were taken for those of the century before."""
    written = _reader_as_written(form)
    moved = [value for value, at in known.items() if SHORT_YEAR.search(form) and written(value) != at]
    if moved:
        rows, verb = sum(values.counts[value] for value in moved), "is" if len(moved) == 1 else "are"
        message = (
            f"{values.source}: {counted(len(moved), 'value')} in {counted(rows, 'row')} would lie after today if years "
            f"of two digits (%y) were of this century, and {verb} read as dates of the "
            "previous one; if that is wrong, write years with four digits"
        )
        warnings.warn(printable(message), KanonWarning, stacklevel=4)


def _way(values: Values, form: str | None) -> tuple[Reader, str, str]:
    """What reads the dates, what these are in words, and their form."""
    if form == ISO_FORM:
        return iso_date, "a date such as 2024-03-17", form
    if form is not None:
        read, others = date_reader(form), ""
        if not any(map(read, values.present)) and (possible := possible_forms(values.present)):
            others = f", as they are of the form {' or '.join(possible)}"
        return read, f"a date of the form {form}{others}", form
    found = None if any(iso_date(value) for value in values.present) else date_form(values.present)
    if found is not None:
        return date_reader(found), f"a date of the form {found}", found
    possible = possible_forms(values.present)
    said = (
        f"a date such as 2024-03-17 (say how others are written: --dates COLUMN={_asked(possible)}, "
        f"`hierarchy --dates ... --format {(possible or ['%m/%d/%Y'])[0]}`, or format=...)"
    )
    return iso_date, said, ISO_FORM


def _strptime(value: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(value, form)
    except ValueError:
        return None
