"""Roles of columns: what is generalized, what is to be protected, what is never released, and what is kept as it is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import narwhals as nw
import polars as pl

from kanon_milp.errors import InputError, among, counted, nearest, printable
from kanon_milp.problem.arguments import column_name, column_names

Names = Sequence[str] | str | None

SHOWN = 10  # columns named in a message
HEADER_ROW = (
    "has the file a header row? If not, say so (header=False, --no-header), or name its columns (header=[...], "
    "--header a,b,c)"
)
LOOKED_AT = 10_000  # rows
INTEGER = re.compile(r"[+-]?\d{1,9}")
YEAR = re.compile(r"(1[89]|20)\d\d")
MISSING_COUNTS = (
    "and count as one value: the rest of a group may tell what is missing; fill them, or leave these rows out"
)
DATA = re.compile(r"\s*|[+-]?[\d.,:/ -]*\d[\d.,:/ -]*(e[+-]?\d+)?", re.IGNORECASE)  # empty, a number, a date, a time
TEXT_FILE = re.compile(r"\.(csv|tsv|txt|data|dat)(\.gz)?$", re.IGNORECASE)
SEPARATORS = {";": '";"', "\t": "a tab", "|": '"|"', ",": '","'}

_IN_WORDS = {
    "quasi_identifiers": "quasi-identifier",
    "sensitive": "sensitive attribute",
    "identifying": "identifying column",
    "insensitive": "column to keep",
    "unit": "unit of protection",
    "dropped": "column to drop",
    "count": "column of counts",
}


@dataclass(frozen=True)
class Roles:
    """The columns of each role; a column has one role at most, but for a unit that is identifying as well.

    quasi_identifiers: generalized. sensitive: what requirements protect. identifying: never released. insensitive: kept
    as they are. unit: the column, if any, whose different values k counts in place of rows; never released either.
    dropped: not released, though they identify nobody. count: the column, if any, that says how many rows a row stands
    for.
    """

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    identifying: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    count: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        quasi_identifiers: Names,
        sensitive: Names = None,
        identifying: Names = None,
        keep: Names = None,
        unit: str | None = None,
        drop: Names = None,
        count: str | None = None,
    ) -> Roles:
        """The roles as a user names them: one column or several, of unit and count one."""
        words = ("quasi_identifiers", "sensitive", "identifying", "keep")
        named = zip((quasi_identifiers, sensitive, identifying, keep), words, strict=True)
        lists = [() if names is None else column_names(names, word) for names, word in named]
        of_unit = () if unit is None else (column_name(unit, "unit"),)
        of_count = () if count is None else (column_name(count, "count"),)
        dropped = () if drop is None else column_names(drop, "drop")
        quasi, protected, removed, kept = lists
        return cls(quasi, protected, removed, kept, of_unit, dropped, of_count)

    def items(self) -> list[tuple[str, tuple[str, ...]]]:
        """(role, its columns), in this order."""
        return [(field.name, getattr(self, field.name)) for field in fields(self)]

    def check(self, columns: Sequence[str], source: str, doubt: str = "") -> None:
        """Raise InputError for a column that is not there, is named twice, or has two roles.

        doubt: what `header_doubt` says of the table; the names of its columns may then be cells.
        """
        if not self.quasi_identifiers:
            raise InputError(f"{source}: name at least one quasi-identifier")
        there = set(columns)
        role_of: dict[str, str] = {}
        for role, names in self.items():
            for name in names:
                if name not in there:
                    raise _unknown(name, _IN_WORDS[role], columns, source, doubt)
                if role_of.get(name) == role:
                    raise InputError(f'{source}: column "{name}" is named twice as {_IN_WORDS[role]}')
                if name in role_of and (role_of[name], role) != ("identifying", "unit"):
                    both = f"{_IN_WORDS[role_of[name]]} and {_IN_WORDS[role]}"
                    raise InputError(f'{source}: column "{name}" cannot be {both} at once')
                role_of[name] = role
        if self.unit and self.count:
            raise InputError(
                f"{source}: a row of a frequency table does not say whose rows it stands for, so unit and count "
                "exclude each other; give a row for each of a unit's rows, without count"
            )

    def unclassified(self, columns: Sequence[str]) -> list[str]:
        """The columns without a role, which are kept as they are."""
        named = {name for _, names in self.items() for name in names}
        return [name for name in columns if name not in named]


def repeated_warning(names: Sequence[str], keys: pl.DataFrame, source: str) -> str:
    """One line that names columns that identify and whose values stand in several rows each, with the numbers; empty
    where there are none.

    k counts rows, so a group may be all rows of one person. keys: these columns as text.
    """
    told = []
    for name in names:
        present = keys[name].alias("").drop_nulls()
        values = present.n_unique()
        if 0 < values < len(present):
            most = int(present.value_counts()["count"].max())  # type: ignore[arg-type]  # of integers
            shares = f"{counted(len(present), 'row')}, {counted(values, 'value')}, up to {most:,} rows of one"
            told.append(f"{visible(name)} ({shares})")
    if not told:
        return ""
    return printable(
        f"{source}: K COUNTS ROWS, NOT PERSONS, and values of an identifying column are in several rows: "
        f"{some(told)}; a group may be one person. Name the column that tells persons apart as the unit of protection "
        '(unit="...", --unit)'
    )


def header_doubt(names: Sequence[str], frame: nw.DataFrame[Any], source: str, *, has_header: bool = True) -> str:
    """One line that says why the header of a table looks like a row of data, without its cells; empty where it does
    not. names: those that a file or a user has given as text. Only the first rows are looked at. has_header: False
    where the names are not from the table; then, why its first row looks like a header.

    A number, a date or a code as name says so where the values of its column are written alike; years and numbers in
    steps that are alike are names as others are (2019, 2020; 0, 1, 2), unless the values are years. A text says so
    where it is a value of its own column, in two columns or half of them; but not in a line that repeats the header.
    """
    head = frame.head(max(100, min(LOOKED_AT, 1_000_000 // (len(names) or 1))))
    if not has_header:
        return _first_row_doubt([_texts(head, name) for name in names], source)
    stepped = _in_steps([name for name in names if INTEGER.fullmatch(name.strip())])
    cells = {name: _texts(head, name) for name in names if name.strip()}
    titles = [name.strip() for name in cells]
    again = sum(list(row) == titles for row in zip(*cells.values(), strict=False)) if len(titles) > 1 else 0
    alike, held = 0, 0
    for text, column in zip(titles, cells.values(), strict=True):
        values = [each for each in column[:1000] if each]
        most = 0
        if YEAR.fullmatch(text):
            most = sum(YEAR.fullmatch(each) is not None for each in values)
            most *= 4 * most > 3 * len(values)
        elif DATA.fullmatch(text) and text not in stepped:
            most = sum(_form(each, "\\d+") == _form(text, "\\d+") for each in values)
        elif len(re.findall(r"\d", text)) > 1 and len(values) > 1:
            most = all(_form(each) == _form(text) for each in values) * len(values)
        alike += "@" in text or (most > 0 and 2 * most >= len(values))
        held += not DATA.fullmatch(text) and column.count(text) > again
    if not alike and not (held and 2 * held >= min(len(titles), 4)):
        return ""
    counts = [
        f"{alike} of {counted(len(names), 'name')} {'is' if alike == 1 else 'are'} written as data" if alike else "",
        f"{held} of {counted(len(names), 'name')} {'is a value' if held == 1 else 'are values'} of the same column"
        if held
        else "",
    ]
    return f"{source}: the first row looks like data ({', '.join(filter(None, counts))}); {HEADER_ROW}"


def _first_row_doubt(columns: Sequence[Sequence[str]], source: str) -> str:
    """Numbers (dates, times) under a first cell that is none are said to have a name above them."""
    above = 0
    for first, *values in filter(None, columns):
        present = [each for each in values if each]
        above += bool(first) and len(present) > 1 and not DATA.fullmatch(first) and all(map(DATA.fullmatch, present))
    if not above:
        return ""
    return (
        f"{source}: the first row looks like names of columns ({counted(above, 'column')} of numbers below text), and "
        "is taken for data; leave --no-header and --header out (header=True) if it is the header"
    )


def _texts(frame: nw.DataFrame[Any], name: str) -> list[str]:
    """The values of a column as text, blanks around them aside, a missing one as none; nothing where they have no
    text."""
    try:
        return ["" if value is None else str(value).strip() for value in frame.get_column(name).to_list()]
    except Exception:  # whatever backend: values that cannot be used are refused where they are used
        return []


def _in_steps(names: Sequence[str]) -> set[str]:
    """Names that are integers in steps that are alike, as of measurements of one kind."""
    numbers = [int(name) for name in names]
    steps = {after - before for before, after in itertools.pairwise(numbers)}
    alike = len(numbers) > 2 and len(steps) == 1 and steps != {0}
    return {name.strip() for name in names} if alike or numbers in ([0, 1], [1, 2]) else set()


def _form(text: str, digits: str = r"\d") -> str:
    """A text with 9 for digits, and A or a for each letter."""
    form = re.sub(r"[^\W\d_]", lambda found: "A" if found[0].isupper() else "a", text)
    return re.sub(digits, "9", form)


def missing_warning(names: Sequence[str], missing: Sequence[int], source: str) -> str:
    """One line that names sensitive attributes with missing values, and how many each has; empty where none is missing.

    All of them are one value to requirements, and a group in which others have it looks diverse and is not.
    """
    told = [f"{name} ({counted(count, 'value')})" for name, count in zip(names, missing, strict=True) if count]
    if not told:
        return ""
    return printable(f"{source}: values of {some(told)} are missing, {MISSING_COUNTS}")


def spoken(delimiter: str) -> str:
    """A delimiter in words."""
    return SEPARATORS.get(delimiter, f'"{delimiter}"')


def another_delimiter(header: Sequence[str]) -> str:
    """What to say of a file that was read as one column, where its header holds another delimiter; else nothing."""
    held = [mark for mark in SEPARATORS if len(header) == 1 and mark in header[0]]
    if not held:
        return ""
    named = "tab" if held[0] == "\t" else f'"{held[0]}"'
    return f"; its columns seem to be divided by {spoken(held[0])}: name that with --delimiter {named}"


class UnknownColumnError(InputError):
    """A column is not there. column: its name."""

    def __init__(self, said: str, column: str = "") -> None:
        super().__init__(said)
        self.column = column


def _unknown(name: str, role: str, columns: Sequence[str], source: str, doubt: str) -> InputError:
    """The error for a column that is not there.

    What stands in the first line of a file without a header are cells, so columns are not listed where that looks so.
    """
    text = f'{source}: there is no column "{name}" ({role})'
    if not doubt and len(columns) == 1 and " " in columns[0].strip() and TEXT_FILE.search(source):
        doubt = 'are its columns divided by blanks? Then name that with --delimiter " "'
    if doubt:
        text += f" among its {counted(len(columns), 'column')}; {doubt.removeprefix(f'{source}: ')}"
        return UnknownColumnError(text, column=name)
    hint = another_delimiter(columns) or among(name, columns)
    if TEXT_FILE.search(source) and not nearest(name, list(columns)):
        hint += "; if no row names the columns, say --no-header"
    return UnknownColumnError(text + hint, column=name)


def some(texts: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(texts) - SHOWN
    return joined(texts[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def joined(names: Sequence[str]) -> str:
    """Names of columns in a row, each as it is shown."""
    return ", ".join(map(visible, names))


def visible(name: str) -> str:
    """The name of a column; one that nobody would see stands in quotes."""
    return name if name.strip() else f'"{name}"'
