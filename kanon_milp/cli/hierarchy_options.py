"""The options that make hierarchies from the columns themselves: --numeric age=5,10,20 and the like."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from kanon_milp.errors import InputError
from kanon_milp.problem.column_numbers import DECIMALS
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.recoding_files import Makers

Numeric = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric",
        metavar="AGE=5,10,20",
        help="Numbers as intervals of these widths, a level each; PAY=100,comma says that decimals have a comma.",
    ),
]
Quantiles = Annotated[
    list[str] | None,
    typer.Option("--quantiles", metavar="PAY=16,4", help="Numbers in so many classes of about equally many rows."),
]
Dates = Annotated[
    list[str] | None,
    typer.Option(
        "--dates",
        metavar="BORN",
        help="Dates as month, quarter, year; or as named: BORN=month,decade, and how they are written: BORN=%d.%m.%Y.",
    ),
]
Prefixes = Annotated[
    list[str] | None,
    typer.Option("--prefix", metavar="ZIP=4,2", help="Codes by so many of their first characters."),
]


def makers(
    numeric: list[str] | None, quantiles: list[str] | None, dates: list[str] | None, prefix: list[str] | None
) -> Makers:
    """Column → what makes its hierarchy, from the values of the column and what messages call it."""
    ways: dict[str, tuple[list[str] | None, Callable[[list[str]], Callable[..., Hierarchy]]]] = {
        "--numeric age=5,10,20": (numeric, lambda given: partial(Hierarchy.intervals, **numbers("widths", given))),
        "--quantiles pay=16,4": (quantiles, lambda given: partial(Hierarchy.quantiles, **numbers("counts", given))),
        "--dates born=month,year": (dates, _dates),
        "--prefix zip=4,2": (prefix, lambda given: partial(Hierarchy.prefixes, lengths=whole(given))),
    }
    found: dict[str, Callable[..., Hierarchy]] = {}
    for example, (entries, make) in ways.items():
        for entry in entries or []:
            name, given = _divided(entry, example)
            if name in found:
                raise InputError(f'{example.split()[0]}: column "{name}" has a hierarchy already; name it once')
            found[name] = make(given)
    return found


def numbers(what: str, given: list[str]) -> dict[str, Any]:
    """Widths, or numbers of classes, and what stands before decimals: point or comma."""
    named = [each for each in given if each in DECIMALS]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)}: one word says what stands before the decimals of a column")
    sizes = [each for each in given if each not in DECIMALS]
    return {what: whole(sizes) if what == "counts" else sizes, "decimal": named[0] if named else None}


def _dates(given: list[str]) -> Callable[..., Hierarchy]:
    """Levels, and how dates are written: that with a %."""
    forms = [each for each in given if "%" in each]
    if len(forms) > 1:
        raise InputError(
            "--dates: one form says how the dates of a column are written; one with a comma goes in double quotes, as "
            """in --dates 'born=year,"%B %d, %Y"'"""
        )
    levels = [each for each in given if "%" not in each]
    return partial(Hierarchy.dates, levels=levels or None, format=forms[0] if forms else None)


def split(entry: str) -> list[str]:
    """Entries that commas divide; one that holds a comma stands in double quotes."""
    return [each.strip() for each in next(csv.reader([entry]), [])]


def whole(given: list[str]) -> list[Any]:
    """Integers where these are some; what is none is refused by whoever takes it."""
    return [int(each) if each.isascii() and each.isdigit() and len(each) < 10 else each for each in given]


def _divided(entry: str, example: str) -> tuple[str, list[str]]:
    name, equals, values = entry.rpartition("=")
    if not equals and example.startswith("--dates"):
        return values, []
    if not name or not values:
        raise InputError(f"{example.split(maxsplit=1)[0]} is written COLUMN=VALUES, as in {example}")
    return name, split(values)
