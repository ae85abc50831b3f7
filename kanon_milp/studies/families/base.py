"""What a family of generated instances is: a source problem with a known answer, and the table that it becomes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, nearest
from kanon_milp.problem.arguments import integer
from kanon_milp.problem.exact import exact_parameter
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import PatternMask, Suppression
from kanon_milp.problem.table import Table
from kanon_milp.studies.families.source_problems import read_source
from kanon_milp.system.arrays import Ints

Answer = Literal["yes", "no", "imperfect"]
ANSWERS: tuple[Answer, ...] = ("yes", "no", "imperfect")
ATTEMPTS = 500  # until a source problem without a solution is drawn
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
    groups that stand for none. answer: to the source problem; "imperfect" where it has no perfect solution, and the
    best one is known.
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
    answer: Answer = "yes"

    @property
    def group_of_row(self) -> Ints | None:
        """The number of each row's group, int64 (n,)."""
        if self.groups is None:
            return None
        found = np.zeros(self.frame.height, dtype=np.int64)
        for number, rows in enumerate(self.groups):
            found[list(rows)] = number
        return found

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
class Parameter:
    """A number that a theorem leaves open.

    about: which numbers it allows, in words, and the default. default: None where it is drawn. fits: whether the
    theorem allows a number.
    """

    name: str
    about: str
    default: Fraction | None
    fits: Callable[[Fraction], bool]

    def read(self, value: object, family: str) -> Fraction:
        """A number as it was given. Raises InputError for one that the theorem does not allow."""
        number = exact_parameter(value, f"{family}: {self.name}")
        if not self.fits(number):
            raise InputError(f"{family}: {self.name} must be {self.about}, found {number}")
        return number


@dataclass(frozen=True)
class Asked:
    """What somebody asks of a family beside size and seed.

    answer: None for what the source problem's answer is, and yes where it is drawn. source: a source problem of one's
    own, as `source_problems.read_source` takes it. parameters: numbers that the theorem leaves open, by name.
    """

    answer: Answer | None = None
    source: object = None
    parameters: Mapping[str, object] = field(default_factory=dict)


NOTHING = Asked()


@dataclass(frozen=True)
class SizedFamily(Generic[T]):
    """A way to make instances of any size.

    name: on the command line. about: one line. source: paper and theorem. size: what the size means, default and
    smallest one. make: a source problem of a size, from random numbers and the answer. own_no: whether the answer no
    has a source problem of its own; else it is the known optimum that is to be beaten. largest: size, and why it is the
    largest; None for any. reads: which kind of source problem of one's own it takes, empty for none. of_source: from
    that and the answer that was asked for. build: the instance of a source problem, with the parameters by name; None
    where `make` and `of_source` give it themselves. imperfect: whether the optimum is known also where the source
    problem has no perfect solution.
    """

    name: str
    about: str
    source: str
    size: str
    default: int
    smallest: int
    make: Callable[..., Any]
    own_no: bool = False
    largest: int | None = None
    reads: str = ""
    of_source: Callable[..., Any] | None = None
    build: Callable[..., T] | None = None
    parameters: tuple[Parameter, ...] = ()
    imperfect: bool = False

    def made(self, size: int | None, seed: int, asked: Asked) -> T:
        """What `make` gives for a size, None for the default one, or `of_source`. Raises InputError for a size that is
        too small or too large, and for what this family does not take."""
        if asked.answer == "imperfect" and not self.imperfect:
            raise InputError(f"{self.name}: the optimum is known for perfect solutions alone; the answer is yes or no")
        numbers = self._numbers(asked.parameters)
        if asked.source is not None:
            if self.of_source is None:
                raise InputError(f"{self.name}: this family takes no source problem of your own")
            if size is not None:
                raise InputError(f"{self.name}: give a size or a source problem of your own, not both")
            return self._built(numbers, self.of_source, read_source(asked.source, self.reads), asked.answer)
        size = self.default if size is None else size
        if size < self.smallest:
            raise InputError(f"{self.name}: the size must be at least {self.smallest} ({self.size}), found {size}")
        if self.largest is not None and size > self.largest:
            raise InputError(
                f"{self.name}: the size must be at most {self.largest}, found {size}: each of 2^m patterns of m "
                "columns may be needed, or all solutions of the source problem are tried"
            )
        answer = asked.answer or "yes"
        draw = source_of(self.name, size, seed, answer)
        return self._built(numbers, self.make, size, draw, answer if self.own_no else "yes")

    def _built(self, numbers: Mapping[str, object], make: Callable[..., Any], *given: object) -> T:
        try:
            found: T = make(*given, **numbers) if self.build is None else self.build(make(*given), **numbers)
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None
        return found

    def _numbers(self, given: Mapping[str, object]) -> dict[str, Fraction | None]:
        known = {each.name: each for each in self.parameters}
        for name in given:
            if name not in known:
                raise InputError(
                    f"{self.name}: there is no parameter {name}{nearest(name, list(known))}; "
                    + (f"there are {', '.join(known)}" if known else "there is none")
                )
        return {
            name: each.read(given[name], self.name) if name in given else each.default for name, each in known.items()
        }


@dataclass(frozen=True)
class Family(SizedFamily[Generated]):
    """Problems with a known answer."""

    def generate(self, size: int | None = None, seed: int = 0, asked: Asked = NOTHING) -> Generated:
        """An instance: with the answer no, one that is infeasible. Raises InputError for a size that is too small."""
        found = self.made(size, seed, asked)
        if asked.answer != "no" or self.own_no:
            return found
        present: Fraction | int = 0 if found.optimum is None else found.optimum
        if not present:
            raise InputError(f"{self.name}: nothing is below an optimum of 0; choose another size or seed")
        return replace(
            found,
            answer="no",
            optimum=None,
            reason=f"one suppression fewer than the optimum {present}, which is known: {found.reason}",
            sides={**found.sides, "cost_bound": present - 1},
            groups=None,
            source_problem=f"{found.source_problem}, with a loss of at most {present - 1}",
        )


@dataclass(frozen=True)
class ColumnFamily(SizedFamily[GeneratedColumns]):
    """Tables whose minimum quasi-identifier is known."""

    def generate(self, size: int | None = None, seed: int = 0, asked: Asked = NOTHING) -> GeneratedColumns:
        """A table: with the answer no, one that has no quasi-identifier of `at_most` columns. Raises InputError for a
        size that is too small."""
        return self.made(size, seed, asked)


def listed(names: Sequence[str], parts: Iterable[Iterable[int]]) -> str:
    """The parts of a solution by the names that a source problem of one's own has; empty without names."""
    if not names:
        return ""
    return ": " + "; ".join(" ".join(names[number] for number in part) for part in parts)


def settled(asked: Answer | None, *, perfect: bool, otherwise: Answer) -> Answer:
    """The answer of a source problem that was solved. Raises InputError where another one was asked for.

    otherwise: what it is without a perfect solution where nothing was asked for.
    """
    if asked is None:
        return "yes" if perfect else otherwise
    if (asked == "yes") != perfect:
        has = "has" if perfect else "has not"
        raise InputError(
            f"the answer {asked} was asked for, and the source problem {has} what it asks for; leave it out"
        )
    return asked


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
