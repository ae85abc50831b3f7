"""Dates and times: hours, days, months, quarters, years, decades."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import listed, one_of, text
from kanon_milp.problem.generalization.values import Row, Values

ISO = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d)(?::?\d\d.*)?)?\s*", re.ASCII)


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


def date_rows(values: Values, levels: Any, form: str | None, missing: str, other: str | None) -> list[Row]:
    """Rows of `Hierarchy.dates`."""
    if form is not None:
        text(form, "format")
    if form is None:
        known = values.read(
            iso_date,
            "a date such as 2024-03-17 (another form needs its name: format=..., or `hierarchy --dates --format`)",
            other,
        )
    else:
        known = values.read(lambda value: _read(value, form), f"a date of the form {form}", other)
    if levels is None:
        timed = any((at.hour, at.minute, at.second, at.microsecond) != (0, 0, 0, 0) for at in known.values())
        chosen = ["day", *OF_DATES] if timed else list(OF_DATES)
    else:
        chosen = (
            [levels] if isinstance(levels, str) else list(listed(levels, "levels", "a list such as ['month', 'year']"))
        )
    _check(chosen)
    paths = {
        value: [UNITS[unit](at) for unit in chosen] for value, at in sorted(known.items(), key=lambda pair: pair[1])
    }
    return values.rows(paths, missing, other)


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


def _read(value: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(value.strip(), form)
    except ValueError:
        return None
