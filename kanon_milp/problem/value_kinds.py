"""Of what kind the values of a column are, whatever they were stored as."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import polars as pl

from kanon_milp.problem.column_numbers import SAY_WHICH, numbers_of
from kanon_milp.problem.generalization.dates import asked_form, date_form, date_reader, iso_date, looks_like_date

Kind = Literal["none", "integer", "decimal", "date", "timestamp", "true/false", "text"]
MOSTLY = Fraction(9, 10)  # of the distinct values: a few that are "?" or "unknown" do not make a column text
CODE = re.compile(r"\s*0\d+\s*")  # of a zip code and the like; no number is written so
MARKS = frozenset(["na", "n/a", "#n/a", "<na>", "nan", "null", "(null)", "?", "-", "--", "."])
WITH_COMMA = "numbers are read with a decimal comma"
UNCLEAR_DATE = "it looks like dates whose form is not clear; say how they are written, as in --dates COLUMN="
DIGITS = re.compile(r"[0-9]+")
LETTERS_AND_DIGITS = re.compile(r"(?=.*\d)(?=.*[^\W\d_])\S+")  # of a number of a person or a part: P12, K-07, C39.2
TRUTH = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})


def code_width(distinct: pl.Series) -> tuple[int | None, bool]:
    """The number of digits, where nearly all of the distinct values are as many digits and nothing else (None where
    they are not), and whether some begin with 0."""
    digits = [value.strip() for value in distinct.to_list() if DIGITS.fullmatch(value.strip())]
    widths = {len(value) for value in digits}
    if len(widths) != 1 or len(digits) < MOSTLY * distinct.len():
        return None, False
    return widths.pop(), any(value.startswith("0") for value in digits)


@dataclass(frozen=True)
class Reading:
    """What the values of a column are read as. span: largest minus least, of numbers, and of dates in years. note: how
    they were read, or why they were not, where that is not plain; no value is in it. coded: whether nearly all are
    words of letters and digits, or digits that no number has."""

    kind: Kind
    span: Fraction | None = None
    note: str = ""
    coded: bool = False


def marks_of_missing(distinct: pl.Series) -> tuple[str, ...]:
    """The values that stand for a missing one in many files, such as NA, as they are written."""
    return tuple(sorted({text for value in distinct.to_list() if (text := value.strip()).lower() in MARKS}))


def read_values(distinct: pl.Series) -> Reading:
    """The kind of most of the distinct values, those aside that seem to stand for a missing one."""
    marks = marks_of_missing(distinct)
    values = [value for value in distinct.to_list() if value.strip() not in marks]
    if not values:
        return Reading("text" if marks else "none")
    if any({value.strip().lower() for value in values} <= words for words in TRUTH):
        return Reading("true/false")
    most = MOSTLY * len(values)
    if any(CODE.fullmatch(value) for value in values):
        return Reading("text", coded=True)
    found = numbers_of(values)
    numbers = list(found.of.values())
    if len(numbers) >= most and not found.doubt:
        integral = all(each.denominator == 1 for each in numbers)
        note = WITH_COMMA if found.commas else ""
        return Reading("integer" if integral else "decimal", max(numbers) - min(numbers), note)
    form = date_form(values)
    ways = [(iso_date, ""), *([] if form is None else [(date_reader(form), f"dates are read as {form}")])]
    for read_date, note in ways:
        years = [at.year for value in values if (at := read_date(value)) is not None]
        if len(years) >= most:
            timed = any("T" in value or " " in value.strip() for value in values)
            return Reading("timestamp" if timed else "date", Fraction(max(years) - min(years)), note)
    if sum(map(looks_like_date, values)) >= most:
        return Reading("text", None, UNCLEAR_DATE + asked_form(values))
    if found.doubt and len(numbers) >= most:
        return Reading("text", None, found.doubt + SAY_WHICH * (found.otherwise is not None))
    return Reading(
        "text", coded=sum(LETTERS_AND_DIGITS.fullmatch(value.strip()) is not None for value in values) >= most
    )
