"""The columns of a table: what values they have, which role they may play, and what a hierarchy makes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.problem.hierarchies import Hierarchy, Label
from kanon_milp.problem.role_guess import (
    FEW,
    PER_CLASS,
    Kind,
    Role,
    code_width,
    guess,
    how_sensitive,
    how_surely,
    how_well_known,
    is_code,
    is_unit,
    marks_of_missing,
    may_be_classes,
    members,
    read_values,
    tells_persons,
)
from kanon_milp.problem.roles import Roles
from kanon_milp.system.arrays import Ints

EXAMPLES = 3


@dataclass(frozen=True)
class LevelLabels:
    """One level. labels: how many occur in the column. smallest, largest: rows of the label with the fewest, and with
    the most. alone: rows whose label no other row has. examples: some labels; none of level 0, which are cells.
    """

    level: int
    labels: int
    smallest: int
    largest: int
    alone: int
    examples: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "examples": list(self.examples)}


def describe_labels(hierarchy: Hierarchy, column: pl.Series) -> tuple[LevelLabels, ...]:
    """Each level of a hierarchy over a column, which is text; values that it does not cover are left out."""
    values, rows = column.alias("").value_counts(name="rows").get_columns()
    known = dict(zip(values.to_list(), rows.to_list(), strict=True))
    counts: Mapping[Label, int] = {value: known[value] for value in hierarchy.paths if value in known}
    found = []
    for level in range(hierarchy.height + 1):
        under: dict[Label, int] = {}
        for value, count in counts.items():
            label = hierarchy.paths[value][level]
            under[label] = under.get(label, 0) + count
        sizes = list(under.values()) or [0]
        examples = tuple(str(label) for label in list(under)[:EXAMPLES]) if level else ()
        found.append(LevelLabels(level, len(under), min(sizes), max(sizes), sizes.count(1), examples))
    return tuple(found)


@dataclass(frozen=True)
class Column:
    """One column. kind: of its values, as far as they are not missing. distinct: different values, missing ones aside.
    missing: rows without a value. unique: rows whose value no other row has. role: the one that was named, or what is
    proposed (`proposed`), "none" where that is for you to say, "drop" where too many columns are left for a first
    attempt. span: largest minus least value of a column of numbers, or of dates in years. most: rows with the value
    that most have, of `rows`. code: how many digits each value has, where it is a code such as a zip code. note: how
    values were read, where that is not plain. marks: values that look as if they stood for a missing one, such as NA.
    same_as: another quasi-identifier that says the same of each row, for which this one is dropped.
    persons: whether it tells persons apart (`tells_persons`). members_of: the column of households within which it
    numbers the persons, so that each row is one person; neither column tells persons apart by itself.
    """

    name: str
    kind: Kind
    distinct: int
    missing: int
    unique: int
    role: Role
    proposed: bool
    span: Fraction | None = None
    most: int = 0
    rows: int = 0
    code: int | None = None
    note: str = ""
    marks: tuple[str, ...] = ()
    same_as: str = ""
    persons: bool = False
    members_of: str = ""

    def as_dict(self, rows: int) -> dict[str, Any]:
        """As plain data, with shares of the rows."""
        return {
            "name": self.name,
            "kind": self.kind,
            "distinct": self.distinct,
            "missing": self.missing,
            "missing_share": self.missing / rows,
            "unique": self.unique,
            "unique_share": self.unique / rows,
            "role": self.role,
            "proposed": self.proposed,
        }


def column_of(values: pl.Series, name: str, given: Roles, weights: Ints | None = None) -> Column:
    """What is to be said of a column. values: its text, null where it is missing. given: the roles that were named.
    weights: how many rows each row stands for, 1 by default."""
    held = pl.DataFrame({"value": values, "rows": np.ones(len(values), np.int64) if weights is None else weights})
    rows = int(held["rows"].sum())
    counts = held.drop_nulls("value").group_by("value", maintain_order=True).agg(pl.col("rows").sum())
    distinct, present = counts.height, int(counts["rows"].sum())
    unique = int((counts["rows"] == 1).sum())
    values_alone = counts[counts.columns[0]]
    read, marks = read_values(values_alone), marks_of_missing(values_alone)
    width, zeros = code_width(values_alone)
    code = width if is_code(name, width, zeros=zeros) else None
    missing = rows - present + counts.filter(pl.nth(0).is_in(marks))["rows"].sum()
    most = max([missing, *counts["rows"].to_list()])  # what is missing counts as a value
    named: dict[Role, tuple[str, ...]] = {
        "quasi-identifier": given.quasi_identifiers,
        "sensitive": given.sensitive,
        "identifying": given.identifying,
        "keep": given.insensitive,
        "drop": given.dropped,
        "unit": given.unit,
        "count": given.count,
    }
    role = next((role for role, names in reversed(named.items()) if name in names), None)
    proposed = role is None
    if role is None:
        role = guess(name, read, present, distinct)
        if distinct + (present < rows) < FEW:
            role = "keep"
        elif role == "sensitive" and given.sensitive:
            role = "quasi-identifier"
        if role in ("quasi-identifier", "drop") and given.quasi_identifiers:
            role = "none"
    persons = tells_persons(name, lambda: read, present, distinct)
    about = (distinct, rows - present, unique, role, proposed)
    return Column(name, read.kind, *about, read.span, most, rows, code, read.note, marks, persons=persons)


def with_members(columns: Sequence[Column], texts: pl.DataFrame) -> tuple[Column, ...]:
    """The columns, with what is known of those that number the persons of households. texts: the table."""
    found = members(texts.columns, lambda names: texts[names])
    return tuple(
        replace(
            each,
            role="identifying" if each.proposed else each.role,
            persons=False,
            members_of=found.get(each.name, ""),
        )
        if each.name in found or each.name in found.values()
        else each
        for each in columns
    )


def with_unit(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns; where no unit of protection is named, one that tells persons apart, and has several rows of some, is
    proposed as it: of several one that is surely called so, then one of most values."""
    candidates = [
        each
        for each in columns
        if each.proposed
        and each.persons
        and is_unit(each.name)
        and not (each.missing or each.marks)  # whose rows these are is not known
        and each.distinct < each.rows
    ]
    if not candidates or any(each.role in ("unit", "count") for each in columns):
        return tuple(columns)
    unit = max(candidates, key=lambda each: (how_surely(each.name), each.distinct))
    return tuple(replace(each, role="unit") if each is unit else each for each in columns)


def sensitive_candidates(columns: Sequence[Column]) -> list[str]:
    """Columns without a named role that may be sensitive, by their name or by what they hold: a few classes, nothing
    that others are known to know."""
    return [
        each.name
        for each in columns
        if each.proposed
        and each.role in ("sensitive", "quasi-identifier", "drop", "none")
        and (how_sensitive(each.name) or may_be_classes(each.name, each.kind, each.rows - each.missing, each.distinct))
    ]


def with_sensitive(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns, with at most one that is sensitive by a guess, unless some are named so or called so.

    Those that others may know as well (religion) compete with the last column, where tables have what they are about,
    if that has a few values. One of which no value has more than half of the rows, so that it can be protected, comes
    first, then one by its name.
    """
    if any(each.role == "sensitive" and (not each.proposed or how_sensitive(each.name) == 2) for each in columns):
        return tuple(columns)
    candidates = [each for each in columns if each.role == "sensitive"]
    if columns[-1].role == "quasi-identifier" and columns[-1].name in sensitive_candidates(columns):
        candidates.append(columns[-1])
    chosen = min(candidates, key=lambda each: (2 * each.most > each.rows, each.role != "sensitive"), default=None)
    named = any(each.role == "quasi-identifier" and not each.proposed for each in columns)
    other: Role = "none" if named else "quasi-identifier"
    return tuple(
        replace(each, role="sensitive" if each is chosen else other) if each in candidates else each for each in columns
    )


def without_repeated(columns: Sequence[Column], texts: pl.DataFrame) -> tuple[Column, ...]:
    """The columns; one that is proposed as a quasi-identifier, and says of each row what another one says (a code
    beside its words), is to be dropped. texts: the table."""
    found: dict[str, Column] = {each.name: each for each in columns}
    quasi = [each for each in columns if each.role == "quasi-identifier" and each.distinct * PER_CLASS <= each.rows]
    alike: dict[tuple[int, bytes], list[Column]] = {}
    for each in quasi:
        alike.setdefault((each.distinct, _partition(texts[each.name])), []).append(each)
    for group in alike.values():
        later_first = group[::-1]
        for each in sorted(later_first, key=lambda each: (not is_unit(each.name), each.kind == "text")):
            other = next((other for other in group if other is not each and not found[other.name].same_as), None)
            if each.proposed and other is not None:
                found[each.name] = replace(each, role="drop", same_as=other.name)
    return tuple(found.values())


def _partition(values: pl.Series) -> bytes:
    """A digest that two columns share where they divide the rows in the same way: of the first row alike, row by row.
    What is missing is alike."""
    rows = values.alias("values").to_frame().with_row_index("row")
    first = rows.select(pl.col("row").first().over("values")).to_series().to_numpy()
    return hashlib.sha256(first.tobytes()).digest()


def with_at_most(most: int, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns, of which at most so many are proposed as quasi-identifiers, those first that are called as what
    others know of a person; the rest is to be dropped. Where none is proposed or named, what is sensitive by its name
    is proposed instead."""
    if not any(each.role == "quasi-identifier" for each in columns):
        columns = [
            replace(each, role="quasi-identifier") if each.proposed and each.role == "sensitive" else each
            for each in columns
        ]
    guessed = [each.name for each in columns if each.proposed and each.role == "quasi-identifier"]
    first = sorted(guessed, key=lambda name: -how_well_known(name))[:most]
    dropped = set(guessed) - set(first)
    return tuple(replace(each, role="drop") if each.name in dropped else each for each in columns)
