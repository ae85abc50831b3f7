"""Of what kind the values of a column are, whatever they were stored as."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

import polars as pl

from kanon_milp.problem.generalization.dates import iso_date
from kanon_milp.problem.generalization.values import number

Kind = Literal["none", "integer", "decimal", "date", "timestamp", "true/false", "text"]
MOSTLY = Fraction(9, 10)  # of the distinct values: a few that are "?" or "unknown" do not make a column text
CODE = re.compile(r"\s*0\d+\s*")  # of a zip code and the like; no number is written so
DIGITS = re.compile(r"[0-9]+")
TRUTH = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})


def code_width(distinct: pl.Series) -> tuple[int | None, bool]:
    """The number of digits, where nearly all of the distinct values are as many digits and nothing else (None where
    they are not), and whether some begin with 0."""
    digits = [value.strip() for value in distinct.to_list() if DIGITS.fullmatch(value.strip())]
    widths = {len(value) for value in digits}
    if len(widths) != 1 or len(digits) < MOSTLY * distinct.len():
        return None, False
    return widths.pop(), any(value.startswith("0") for value in digits)


def kind_of_values(distinct: pl.Series) -> tuple[Kind, Fraction | None]:
    """The kind of most of the distinct values, and the largest minus the least: of numbers, and of dates in years."""
    values = distinct.to_list()
    if not values:
        return "none", None
    if any({value.strip().lower() for value in values} <= words for words in TRUTH):
        return "true/false", None
    if any(CODE.fullmatch(value) for value in values):
        return "text", None
    numbers = [found for value in values if (found := number(value)) is not None]
    if len(numbers) >= MOSTLY * len(values):
        integral = all(each.denominator == 1 for each in numbers)
        return "integer" if integral else "decimal", max(numbers) - min(numbers)
    years = [at.year for value in values if (at := iso_date(value)) is not None]
    if len(years) >= MOSTLY * len(values):
        timed = any("T" in value or " " in value.strip() for value in values)
        return "timestamp" if timed else "date", Fraction(max(years) - min(years))
    return "text", None
