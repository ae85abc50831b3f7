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
TRUTH = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})


def kind_of_values(distinct: pl.Series) -> tuple[Kind, Fraction | None]:
    """The kind of most of the distinct values, and of numbers the largest minus the least."""
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
    if sum(iso_date(value) is not None for value in values) >= MOSTLY * len(values):
        return "timestamp" if any("T" in value or " " in value.strip() for value in values) else "date", None
    return "text", None
