"""What a family of generated instances is: a source problem with a known answer, and the table that it becomes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, Literal, TypeVar

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import integer
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import PatternMask, Suppression
from kanon_milp.problem.table import Table

Answer = Literal["yes", "no"]
ANSWERS: tuple[Answer, ...] = ("yes", "no")
MOST_CELLS = 20_000_000
FEW_COLUMNS = 10  # up to which all patterns are allowed, where a mask loses nothing
Groups = Sequence[Sequence[int]]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Generated:
    """A generated problem with a known answer.

    frame: values as text; columns that are not quasi_identifiers are sensitive. patterns: allowed ones, each a list of
    keep and *; None: all. sides: arguments of `Problem` such as cost_bound, groups and objective. optimum: of the
    objective, None where there is no table (the answer is no). reason: who says so. groups: rows (from 0) of a table
    that attains it, by group; None where there is none, or none is known. source_problem: the source problem in words.
    read_back: from groups to the solution of the source problem that they stand for, in words; raises ValueError for
    groups that stand for none.
    """

    title: str
    frame: pl.DataFrame
    quasi_identifiers: tuple[str, ...]
    privacy: tuple[Requirement, ...]
    optimum: Fraction | int | None
    reason: str
    sensitive: tuple[str, ...] = ()
    patterns: tuple[tuple[str, ...], ...] | None = None
    sides: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[tuple[int, ...], ...] | None = None
    source_problem: str = ""
    read_back: Callable[[Groups], str] | None = None

    def problem(self) -> Problem:
        """The problem, as `solve` takes it."""
        table = Table.from_frame(self.frame, self.quasi_identifiers, self.sensitive, source=self.title)
        recoding = Suppression() if self.patterns is None else PatternMask([list(each) for each in self.patterns])
        sides = dict(self.sides)
        if "groups" in sides:
            sides["min_groups"] = sides["max_groups"] = sides.pop("groups")
        return Problem(table, self.privacy, recoding, **sides)


@dataclass(frozen=True, eq=False)
class GeneratedColumns:
    """A generated table whose minimum quasi-identifier is known: the fewest columns that tell all rows apart.

    frame: values as text. optimum: number of columns, None where the answer is no. at_most: so many columns are asked
    for. chosen: a minimum quasi-identifier, by names. reason, source_problem: as in `Generated`. read_back: from names
    of columns to the solution of the source problem; raises ValueError for columns that stand for none.
    """

    title: str
    frame: pl.DataFrame
    optimum: int | None
    at_most: int
    reason: str
    chosen: tuple[str, ...] | None
    source_problem: str
    read_back: Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class SizedFamily(Generic[T]):
    """A way to make instances of any size.

    name: on the command line. about: one line. source: paper and theorem. size: what the size means, default and
    smallest one. make: from a size, a source of random numbers and the answer. own_no: whether the answer no has a
    source problem of its own; else it is the known optimum that is to be beaten. largest: size, and why it is the
    largest; None for any.
    """

    name: str
    about: str
    source: str
    size: str
    default: int
    smallest: int
    make: Callable[[int, random.Random, Answer], T]
    own_no: bool = False
    largest: int | None = None

    def made(self, size: int | None, seed: int, answer: Answer) -> T:
        """What `make` gives for a size, None for the default one. Raises InputError for one that is too small or too
        large."""
        size = self.default if size is None else size
        if size < self.smallest:
            raise InputError(f"{self.name}: the size must be at least {self.smallest} ({self.size}), found {size}")
        if self.largest is not None and size > self.largest:
            raise InputError(
                f"{self.name}: the size must be at most {self.largest}, found {size}: each of 2^m patterns of m "
                "columns may be needed, or all solutions of the source problem are tried"
            )
        draw = source_of(self.name, size, seed, answer)
        return self.make(size, draw, answer if self.own_no else "yes")


@dataclass(frozen=True)
class Family(SizedFamily[Generated]):
    """Problems with a known answer."""

    def generate(self, size: int | None = None, seed: int = 0, answer: Answer = "yes") -> Generated:
        """An instance: with the answer no, one that is infeasible. Raises InputError for a size that is too small."""
        found = self.made(size, seed, answer)
        if answer == "yes" or self.own_no:
            return found
        present: Fraction | int = 0 if found.optimum is None else found.optimum
        if not present:
            raise InputError(f"{self.name}: nothing is below an optimum of 0; choose another size or seed")
        sides = {**found.sides, "cost_bound": present - 1}
        reason = f"one suppression fewer than the optimum {present}, which is known: {found.reason}"
        return replace(found, optimum=None, reason=reason, sides=sides, groups=None)


@dataclass(frozen=True)
class ColumnFamily(SizedFamily[GeneratedColumns]):
    """Tables whose minimum quasi-identifier is known."""

    def generate(self, size: int | None = None, seed: int = 0, answer: Answer = "yes") -> GeneratedColumns:
        """A table: with the answer no, one that has no quasi-identifier of `at_most` columns. Raises InputError for a
        size that is too small."""
        return self.made(size, seed, answer)


def source_of(name: str, size: int, seed: int, answer: Answer) -> random.Random:
    """Random numbers, the same for the same arguments. Raises InputError for a seed below 0."""
    return random.Random(f"{name}-{size}-{integer(seed, 'seed', least=0)}-{answer}")


def refuse_large(rows: int, columns: int) -> None:
    """Raise InputError for too many cells."""
    if rows * columns > MOST_CELLS:
        raise InputError(f"a generated table has at most {MOST_CELLS:,} cells; choose a smaller size")


def text_frame(rows: Sequence[Sequence[object]], columns: Sequence[str]) -> pl.DataFrame:
    """Rows as a data frame of text. Raises InputError for too many cells."""
    refuse_large(len(rows), len(columns))
    data = {name: [str(row[j]) for row in rows] for j, name in enumerate(columns)}
    return pl.DataFrame(data, schema=dict.fromkeys(columns, pl.String))


def masked(patterns: Sequence[Sequence[int]], width: int) -> tuple[tuple[str, ...], ...] | None:
    """The patterns that keep these columns alone, each once, and the fully suppressed one; None, all patterns, where
    there are few columns."""
    if width <= FEW_COLUMNS:
        return None
    kept = dict.fromkeys([frozenset[int](), *map(frozenset, patterns)])
    return tuple(tuple("keep" if j in each else "*" for j in range(width)) for each in kept)


def columns(letter: str, number: int) -> tuple[str, ...]:
    """Names of so many columns: a letter and a number from 1."""
    return tuple(f"{letter}{j}" for j in range(1, number + 1))
