"""A command line for a table of which only the columns are known: something to begin with, not an advice."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from kanon_milp.problem.generalization.values import written

MOST_VECTORS = 1 << 14  # level vectors that a first attempt should not exceed
ROLES = {"identifying": "--identifying", "quasi-identifier": "--qi", "sensitive": "--sensitive", "keep": "--keep"}
MANY = 8  # distinct values from which a hierarchy is proposed for numbers


class Known(Protocol):
    """What is known of a column; see `Column` of `report.inspection`."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def distinct(self) -> int: ...  # noqa: D102
    @property
    def role(self) -> str: ...  # noqa: D102
    @property
    def span(self) -> Fraction | None: ...  # noqa: D102


def proposed_options(
    source: str, columns: Sequence[Known], k: int, delimiter: str | None, encoding: str, query: str | None = None
) -> list[str]:
    """The options of `kanon-milp solve`. Numbers and dates get levels as long as these are not too many together."""
    quasi = [each for each in columns if each.role == "quasi-identifier"]
    found = ["--data", source, *([] if query is None else ["--query", query])]
    for role, option in ROLES.items():
        names = [_quoted(each.name) for each in columns if each.role == role]
        found += [option, ",".join(names)] if names else []
    found += ["--k", str(k)]
    vectors = 2 ** len(quasi)
    for each in sorted(quasi, key=lambda each: -each.distinct):
        levels = _levels(each)
        if levels is not None and vectors * levels[2] // 2 <= MOST_VECTORS:
            found += [levels[0], f"{each.name}{levels[1]}"]
            vectors = vectors * levels[2] // 2
    if delimiter is not None:
        found += ["--delimiter", delimiter]
    if encoding != "utf-8":
        found += ["--encoding", encoding]
    return [*found, "--out", "released"]


def _levels(column: Known) -> tuple[str, str, int] | None:
    """Option, its values, and how many levels the hierarchy has; None where cells are better kept or suppressed."""
    if column.kind == "date":
        return "--dates", "=month,quarter,year", 5
    if column.kind == "timestamp":
        return "--dates", "=day,month,quarter,year", 6
    if column.kind in ("integer", "decimal") and column.distinct >= MANY and column.span:
        widths = _widths(column.span, integral=column.kind == "integer")
        return "--numeric", "=" + ",".join(map(written, widths)), len(widths) + 2
    return None


def _widths(span: Fraction, *, integral: bool) -> list[Fraction]:
    """Three round widths that nest, the widest at most 3/5 of the span."""
    most = span * Fraction(3, 5)
    unit = Fraction(1)
    while unit * 200 <= most:
        unit *= 10
    while unit * 20 > most:
        unit /= 10
    widths = next(each for each in ((25, 50, 100), (10, 20, 40), (5, 10, 20)) if unit * each[-1] <= most)
    found = [unit * width for width in widths]
    return [width for width in found if not integral or (width.denominator == 1 and width > 1)] or [Fraction(2)]


def _quoted(name: str) -> str:
    """A name as options that take several read it."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\n') else name
