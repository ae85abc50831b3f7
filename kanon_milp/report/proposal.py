"""A command line for a table of which only the columns are known: something to begin with, not an advice."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from kanon_milp.problem.generalization.values import written

MOST_VECTORS = 1 << 14  # level vectors that a first attempt should not exceed
# and pairs of a row type and a level vector: with three times as many, and hierarchies, all of Adult took three minutes
MOST_PAIRS = 1 << 24
ROLES = {
    "--identifying": ("identifying", "drop"),
    "--qi": ("quasi-identifier",),
    "--sensitive": ("sensitive",),
    "--keep": ("keep",),
}
SECONDS = 60  # of a first attempt
DIVERSITY = 2  # that is asked for where there is a sensitive column ...
CLOSENESS = "0.2"  # ... and this where that is more than any table has
FOLDER = "released"
OF_SPAN = Fraction(3, 5)  # of the largest minus the least value: the widest level at most
DECADE, YEARS_OF_DECADE = "decade", 10
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
    @property
    def code(self) -> int | None: ...  # noqa: D102
    @property
    def most(self) -> int: ...  # noqa: D102
    @property
    def rows(self) -> int: ...  # noqa: D102


def proposed_options(
    source: str,
    columns: Sequence[Known],
    k: int,
    classes: int,
    reading: Sequence[str],
    query: str | None = None,
) -> list[str]:
    """The options of `kanon-milp solve`. Numbers, dates and codes get levels, all that are good for them or only one,
    as long as these are not too many together. classes: of rows that are alike."""
    quasi = [each for each in columns if each.role == "quasi-identifier"]
    found = ["--data", source, *([] if query is None else ["--query", query])]
    for option, roles in ROLES.items():
        names = [quoted(each.name) for each in columns if each.role in roles]
        found += [option, ",".join(names)] if names else []
    found += ["--k", str(k)]
    if any(each.role == "sensitive" for each in columns):
        found += ["--t", CLOSENESS] if uneven(columns) else ["--l", str(DIVERSITY)]
    vectors, most = 2 ** len(quasi), min(MOST_VECTORS, MOST_PAIRS // max(classes, 1))
    for each in sorted(quasi, key=lambda each: -each.distinct):
        option, ways = _levels(each)
        for values in ways:
            more = vectors * (len(values) + 2) // 2
            if more <= most:
                found += [option, f"{each.name}={','.join(values)}"]
                vectors = more
                break
    return [*found, *reading, "--time-limit", str(SECONDS), "--out", FOLDER, "--report", f"{FOLDER}/report.html"]


def uneven(columns: Sequence[Known]) -> list[str]:
    """The sensitive columns in which one value is too frequent for l-diversity."""
    return [each.name for each in columns if each.role == "sensitive" and DIVERSITY * each.most > each.rows]


def protection_notes(columns: Sequence[Known]) -> list[str]:
    """What to say of how the command protects sensitive columns; nothing where it asks for l-diversity."""
    if not any(each.role == "sensitive" for each in columns):
        return [f"no column is protected: name sensitive ones (--sensitive), and ask for --l 2 or --t {CLOSENESS}"]
    names = uneven(columns)
    if not names:
        return []
    none = f"no table is {DIVERSITY}-diverse; the command asks for --t {CLOSENESS}"
    return [f"{', '.join(names)}: more than half of the rows have one value, so {none}"]


def coarse_levels(column: Known) -> str:
    """An option that gives a column its coarsest levels that are proposed; empty where there is none."""
    option, ways = _levels(column)
    if not ways:
        return ""
    last = ways[0][-1]
    return f"{option} {column.name}={'year,decade' if last == DECADE else last}"


def _levels(column: Known) -> tuple[str, list[list[str]]]:
    """Option, and the levels between the values and suppression, all of them first, then fewer; none where cells are
    better kept or suppressed."""
    if column.kind in ("date", "timestamp"):
        levels = ["day"] * (column.kind == "timestamp") + ["month", "quarter", "year"]
        if (
            column.span is not None and column.span * OF_SPAN >= YEARS_OF_DECADE
        ):  # years alone would leave few rows each
            return "--dates", [[*levels, DECADE], ["year", DECADE], [DECADE]]
        return "--dates", _all_or_one(levels)
    if column.code is not None and column.distinct >= MANY:
        return "--prefix", _all_or_one([str(column.code - 1), str(column.code // 2)])
    if column.kind in ("integer", "decimal") and column.distinct >= MANY and column.span:
        return "--numeric", _all_or_one([*map(written, _widths(column.span, integral=column.kind == "integer"))])
    return "", []


def _all_or_one(levels: list[str]) -> list[list[str]]:
    return [levels, levels[len(levels) // 2 :][:1]]


def _widths(span: Fraction, *, integral: bool) -> list[Fraction]:
    """Three round widths that nest, the widest at most `OF_SPAN`."""
    most = span * OF_SPAN
    unit = Fraction(1)
    while unit * 200 <= most:
        unit *= 10
    while unit * 20 > most:
        unit /= 10
    widths = next(each for each in ((25, 50, 100), (10, 20, 40), (5, 10, 20)) if unit * each[-1] <= most)
    found = [unit * width for width in widths]
    return [width for width in found if not integral or (width.denominator == 1 and width > 1)] or [Fraction(2)]


def quoted(name: str) -> str:
    """A name as options that take several read it."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\n') else name
