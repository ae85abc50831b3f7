"""A command line for a table of which only the columns are known, and what to know before it is run: something to begin
with, not an advice."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from kanon_milp.errors import counted, printable
from kanon_milp.methods.result import Result
from kanon_milp.problem.column_values import as_text
from kanon_milp.problem.generalization import written
from kanon_milp.problem.recoding import MAX_LEVEL_VECTORS
from kanon_milp.problem.role_guess import LOUD, how_sensitive, nearly_unique
from kanon_milp.problem.roles import MISSING_COUNTS, joined, some, visible
from kanon_milp.studies.columns import Column, column_of, sensitive_candidates

MOST_VECTORS = 1 << 14  # level vectors that a first attempt should not exceed
# and pairs of a row type and a level vector: with three times as many, and hierarchies, all of Adult took three minutes
MOST_PAIRS = 1 << 24
ROLES: dict[str, tuple[str, ...]] = {
    "--identifying": ("identifying",),
    "--qi": ("quasi-identifier",),
    "--sensitive": ("sensitive",),
    "--keep": ("keep",),
    "--drop": ("drop",),
    "--unit": ("unit",),
    "--count": ("count",),
}
ARGUMENTS = {
    **{"--identifying": "identifying", "--qi": "quasi_identifiers", "--sensitive": "sensitive"},
    **{"--keep": "keep", "--drop": "drop"},
}
SECONDS = 60  # of a first attempt
WITHOUT_CANDIDATES = "greedy"  # method of one with too many level vectors to list
DIVERSITY = 2  # that is asked for where there is a sensitive column ...
CLOSENESS = "0.2"  # ... and this where that is more than any table has
FOLDER = "released"
OF_SPAN = Fraction(3, 5)  # of the largest minus the least value: the widest level at most
DECADE, YEARS_OF_DECADE = "decade", 10
CUT_SHORT = frozenset({"time_limit", "interrupted", "node_limit", "iteration_limit", "gap_limit"})
MOST_OPTIONS = 2
MOST_VALUES = 20_000  # of a column that is looked through for a hint
OF_DECADE, OF_YEAR = re.compile(r"\d{4}s"), re.compile(r"\d{4}")  # labels
MANY = 8  # distinct values from which a hierarchy is proposed for numbers


@dataclass(frozen=True)
class Proposal:
    """A first attempt. roles: option and columns. levels: column, option and levels of those that get a hierarchy.
    symbol: of suppression, "" where the usual one does. method: "" where the usual one can list the level vectors."""

    roles: tuple[tuple[str, tuple[str, ...]], ...]
    k: int
    protection: tuple[str, str] | None
    levels: tuple[tuple[str, str, tuple[str, ...]], ...]
    symbol: str = ""
    method: str = ""

    def options(self, source: str, query: str | None, reading: Sequence[str]) -> list[str]:
        """The options of `kanon-milp solve` for a file or a database. reading: those that say how it is read."""
        found = ["--data", source, *([] if query is None else ["--query", query])]
        for option, names in self.roles:
            found += [option, listing(names)]
        found += ["--k", str(self.k), *(self.protection or ())]
        for name, option, values in self.levels:
            found += [option, f"{name}={','.join(values)}"]
        found += ["--symbol", self.symbol] if self.symbol else []
        found += ["--method", self.method] if self.method else []
        return [*found, *reading, "--time-limit", str(SECONDS), "--out", FOLDER, "--report", f"{FOLDER}/report.html"]

    def call(self) -> str:
        """The same in Python, for a data frame that is called `frame`."""
        given = [
            f"{option[2:]}={names[0]!r}" if option in ("--unit", "--count") else f"{ARGUMENTS[option]}={list(names)!r}"
            for option, names in self.roles
        ]
        given += [f"symbol={self.symbol!r}"] if self.symbol else []
        privacy = [f"km.KAnonymity({self.k})"]
        if self.protection is not None:
            option, value = self.protection
            privacy.append(f"km.LDiversity({value})" if option == "--l" else f'km.TCloseness("{value}")')
        made = [f"{name!r}: {_made(name, option, values)}" for name, option, values in self.levels]
        recoding = [f"km.Hierarchies({{{', '.join(made)}}})"] if made else []
        problem = ", ".join(["table", f"[{', '.join(privacy)}]", *recoding])
        method = f"method={self.method!r}, " if self.method else ""
        return (
            f"table = km.Table.from_frame(frame, {', '.join(given)})\n"
            f"result = km.solve(km.Problem({problem}), {method}time_limit={SECONDS})"
        )


def _made(name: str, option: str, values: Sequence[str]) -> str:
    way = {"--numeric": "intervals", "--dates": "dates", "--prefix": "prefixes"}[option]
    levels = list(values) if option == "--dates" else [int(each) if each.isdigit() else each for each in values]
    return f"km.Hierarchy.{way}(table.column({name!r}), {levels!r})"


def propose(columns: Sequence[Column], k: int, classes: int, symbol: str = "") -> Proposal:
    """A first attempt. Numbers, dates and codes get levels, all that are good for them or only one, as long as these
    are not too many together. k: at most, if the table has so many rows. classes: of rows that are alike."""
    quasi = [each for each in columns if each.role == "quasi-identifier"]
    named = ((option, tuple(each.name for each in columns if each.role in roles)) for option, roles in ROLES.items())
    protection = None
    if any(each.role == "sensitive" for each in columns):
        protection = ("--t", CLOSENESS) if uneven(columns) else ("--l", str(DIVERSITY))
    levels = []
    vectors, most = 2 ** len(quasi), min(MOST_VECTORS, MOST_PAIRS // max(classes, 1))
    for each in sorted(quasi, key=lambda each: -each.distinct):
        option, ways = _levels(each)
        for values in ways:
            more = vectors * (len(values) + 2) // 2
            if more <= most:
                levels.append((each.name, option, tuple(values)))
                vectors = more
                break
    k = max(1, min([k, *(each.distinct if each.role == "unit" else each.rows for each in columns)]))
    method = WITHOUT_CANDIDATES if vectors > MAX_LEVEL_VECTORS else ""
    return Proposal(tuple(each for each in named if each[1]), k, protection, tuple(levels), symbol, method)


def uneven(columns: Sequence[Column]) -> list[str]:
    """The sensitive columns in which one value is too frequent for l-diversity."""
    return [each.name for each in columns if each.role == "sensitive" and DIVERSITY * each.most > each.rows]


def protection_notes(columns: Sequence[Column]) -> list[str]:
    """What to say of how the command protects sensitive columns; nothing where it asks for l-diversity."""
    if not any(each.role == "sensitive" for each in columns):
        return [f"no column is protected: name sensitive ones (--sensitive), and ask for --l 2 or --t {CLOSENESS}"]
    names = uneven(columns)
    if not names:
        return []
    none = f"no table is {DIVERSITY}-diverse; the command asks for --t {CLOSENESS}"
    return [f"{', '.join(names)}: more than half of the rows have one value, so {none}"]


def sensitive_notes(columns: Sequence[Column]) -> list[str]:
    """What to say of sensitive columns: of one by a guess, how it came about, and which others may be; and of missing
    values."""
    sparse = [each.name for each in columns if each.role == "sensitive" and (each.missing or each.marks)]
    notes = [f"{joined(sparse)}: values are missing, {MISSING_COUNTS}"] if sparse else []
    guessed = [each.name for each in columns if each.proposed and each.role == "sensitive"]
    if not guessed:
        return notes
    how = (
        f"for {'its name' if len(guessed) == 1 else 'their names'}"
        if all(map(how_sensitive, guessed))
        else "as it is the last column and has few values"
    )
    others = [] if how_sensitive(guessed[0]) == 2 else [n for n in sensitive_candidates(columns) if n not in guessed]
    named = f" ({joined(others)}?)" if others else ""
    return [f"{joined(guessed)}: taken as sensitive {how}; confirm it with --sensitive, or name another{named}", *notes]


def identifying_notes(columns: Sequence[Column]) -> list[str]:
    """What to say of columns that are likely identifiers, and of those that somebody keeps and that tell rows apart."""
    likely = [each.name for each in columns if each.proposed and each.role in ("identifying", "unit")]
    kept = [
        each.name
        for each in columns
        if not each.proposed and each.role == "keep" and nearly_unique(each.rows - each.missing, each.distinct)
    ]
    how = "by their names, or as almost every row has its own value"
    told = {f"{LOUD}, {how}": likely, "kept, though almost every row has its own value": kept}
    return [f"{what}: {joined(names)}" for what, names in told.items() if names]


def unnamed_notes(columns: Sequence[Column]) -> list[str]:
    """What to say of columns without a role: where quasi-identifiers are named, no others are guessed."""
    unnamed = [each for each in columns if each.role == "none"]
    if not unnamed:
        return []
    telling = [each.name for each in unnamed if nearly_unique(each.rows - each.missing, each.distinct)]
    names = some([each.name for each in unnamed])
    told = f"; almost every row has its own value in {some(telling)}" if telling else ""
    return [
        f"the command releases {names} unchanged, as no role is named{told}; say what they are by --qi, --sensitive, "
        "--identifying, or --keep"
    ]


def reading_notes(columns: Sequence[Column], *, marks_are_read: bool) -> list[str]:
    """What to say of how values are read: of dates and decimals that are written in several ways, of missing values,
    and of columns that repeat others. marks_are_read: whether the command reads those marks as missing."""
    named = [each for each in columns if each.proposed or each.role in ("quasi-identifier", "sensitive")]
    read = [f"{visible(each.name)}: {each.note}" for each in named if each.note and each.role != "keep"]
    read += [
        f"{visible(each.name)} says the same of each row as {visible(each.same_as)}, and is left out"
        for each in columns
        if each.same_as
    ]
    if marks := marks_in(columns):
        names = joined([each.name for each in columns if each.marks])
        option = f"--missing-values {shlex.quote(','.join(marks))}"
        look = "look" if len(marks) > 1 else "looks"
        how = f"the command reads it so ({option})" if marks_are_read else "make them null in the data frame"
        read.append(f"{names}: {','.join(marks)} {look} like missing values; {how}")
    return read


def repeated_notes(columns: Sequence[Column]) -> list[str]:
    """What to say of columns that tell persons apart, or that somebody names as identifying, with values that stand in
    several rows, where no unit of protection is named."""
    unit = next((each for each in columns if each.role == "unit"), None)
    if unit is not None and not unit.proposed:
        return []
    numbered = {each.members_of: each.name for each in columns if each.members_of}
    notes = [
        f"{visible(name)} numbers the persons of each {visible(household)}, so each row is one person, and k counts "
        f"persons; --unit {shell_word(listing([household]))} counts households"
        for household, name in numbered.items()
        if unit is None
    ]
    for each in columns if unit is None else [unit]:
        if each.members_of or each.name in numbered:
            continue
        told = each.persons or (each.role == "identifying" and not each.proposed)
        if told and 0 < each.distinct < each.rows - each.missing:
            option = f"--unit {shell_word(listing([each.name]))}"
            way = f"if each value is one person, run this and the command with {option}"
            if unit is not None:
                way = f"judging by its name, the command counts these values instead ({option})"
            few = counted(each.distinct, "different value")
            rows, most = counted(each.rows - each.missing, "row"), counted(each.most, "row")
            notes.append(
                f"K COUNTS ROWS, NOT PERSONS: {visible(each.name)} has only {few} in {rows}, and one of them in "
                f"{most}, so all rows of a group may be one person's; {way}"
            )
    return notes


def marks_in(columns: Sequence[Column]) -> list[str]:
    """What looks as if it stood for a missing value in any of the columns."""
    return list(dict.fromkeys(mark for each in columns for mark in each.marks))


def suppressed_everywhere(result: Result) -> str:
    """One line that names the columns which are suppressed in every row, and the way out; empty where none is."""
    names = result.suppressed_columns
    if not names:
        return ""
    ways = ["more time"] if not result.is_optimal and result.stop_reason in CUT_SHORT else []
    if result.problem.recoding.mask is not None:
        ways.append("other patterns")
    else:
        options = list(islice(filter(None, (_option(result, name) for name in names)), MOST_OPTIONS))
        without = [
            name
            for name in names
            if name not in result.problem.recoding.hierarchies and result.problem.table.column(name).n_unique() > 2
        ]  # between two values and suppression lies nothing
        of_some = "" if without == list(names) else f" of {joined(without)}"
        ways += options or ([f"hierarchies{of_some} (--hierarchies)"] if without else ["a higher --weight"])
    return f"{', '.join(names)} ({result.problem.table.symbol} in every row); {' or '.join(ways)} may keep more"


def _option(result: Result, name: str) -> str:
    """What gives the column coarser levels than it has; empty where that is for its owner to say."""
    table, hierarchy = result.problem.table, result.problem.recoding.hierarchies.get(name)
    if table.column(name).n_unique() > MOST_VALUES:
        return ""
    column = column_of(as_text(table.frame, [name], table.source)[name].alias(""), name, table.roles)
    option, paths = coarse_levels(column), () if hierarchy is None else hierarchy.paths.values()
    between = {path[-2] for path in paths if len(path) > 2}
    shape = OF_DECADE if option.endswith("decade") else OF_YEAR
    of_dates = column.kind in ("date", "timestamp") and not any(shape.fullmatch(label or "") for label in between)
    return option if not between or of_dates else ""


def coarse_levels(column: Column) -> str:
    """An option that gives a column its coarsest levels that are proposed; empty where there is none."""
    option, ways = _levels(column)
    if not ways:
        return ""
    last = ways[0][-1]
    return f"{option} {column.name}={'year,decade' if last == DECADE else last}"


def _levels(column: Column) -> tuple[str, list[list[str]]]:
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
        # of two digits one is left, in both ways
        return "--prefix", _all_or_one([*dict.fromkeys([str(column.code - 1), str(column.code // 2)])])
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


def listing(names: Sequence[str]) -> str:
    """Names as options that take several read them: one with a comma or a quote in it stands in double quotes."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(names)  # which quotes names that hold either
    return written.getvalue()[:-2]


def shell_word(text: str) -> str:
    """A text as a shell takes it, in characters that a terminal shows: what steers one is written as in $'\\x1b'."""
    if printable(text) == text:
        return shlex.quote(text)
    return "$'" + "".join(map(_shell_character, text)) + "'"


def _shell_character(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if printable(character) == character:
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))
