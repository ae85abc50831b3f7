"""The verifier's own definitions of requirements: one file each, found by being in this folder.

A file has a `DEFINITION`: the rules over counts that a released table must keep, how a certificate claims it, and what
it asks of a group at least. Nothing but the parameters that the user gave is taken from a requirement; only one of the
user's own making is asked whether it holds.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, own_code, type_in_words
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.ground import Ground, built_in
from kanon_milp.verify.numbers import both, said
from kanon_milp.verify.tables import Original, TableData, classes, tally

EXACT = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")
SEARCHED = 10_000  # sizes tried; the next one is a lower bound as well

# ------------------------------------------------------------------------------------------- of released tables


@dataclass(frozen=True)
class SizeRule:
    """k-anonymity of what is released of some columns; None: of all quasi-identifiers.

    unit: the column whose different values are counted; None: rows are."""

    k: int
    columns: tuple[str, ...] | None = None
    unit: str | None = None

    @property
    def described(self) -> dict[str, object]:
        """Its parameters as plain data."""
        columns = {} if self.columns is None else {"quasi_identifiers": list(self.columns)}
        return {"k": self.k, **columns, **({} if self.unit is None else {"unit": self.unit})}


@dataclass(frozen=True, eq=False)
class ValueRule:
    """What each group's sensitive values must be like.

    attributes: whose joint values are counted. holds: per group, from counts of these. parameters: fractions, and
    plain data. ground: the ground distance, where there is one. own: of a requirement of the user's making, which is
    asked itself, the attributes that it names.
    """

    name: str
    attributes: tuple[str, ...]
    parameters: Mapping[str, object]
    holds: Callable[[Counts], Flags] = field(repr=False)
    ground: Ground | None = None
    own: tuple[str, ...] | None = None

    @property
    def described(self) -> dict[str, object]:
        """Its parameters as plain data."""
        found: dict[str, object] = {}
        for key, value in self.parameters.items():
            found |= both(key, value) if isinstance(value, Fraction) else {key: value}
        return found

    @property
    def text(self) -> str:
        """Such as 'l-diversity (l = 1.5, form = frequency) of "disease"'."""
        given = self.parameters
        parameters = ", ".join(
            f"{key} = {said(given.get(f'{key}_exact', value))}"
            for key, value in given.items()
            if key != "sensitive" and not key.endswith("_exact")
        )
        of = " and ".join(f'"{name}"' for name in (self.attributes if self.own is None else self.own))
        name = self.name if self.own is not None else term(self.name)
        return f"{name} ({parameters})" + (f" of {of}" if of else "")


@dataclass(frozen=True)
class MeanRule:
    """Marketer risk: the mean over the rows of 1/|group| is at most so much; that is groups/rows."""

    risk: Fraction

    @property
    def described(self) -> dict[str, object]:
        """Its parameter as plain data."""
        return both("marketer_risk", self.risk)

    def most_groups(self, rows: int) -> int:
        """So many groups of all rows have it, and no more."""
        return int(self.risk * rows)


@dataclass(frozen=True, eq=False)
class PopulationRule:
    """Journalist risk: each released row matches at least 1/risk rows of a population.

    people: its quasi-identifiers as text. counts: int64, how many rows each of these stands for. described: the
    parameters as plain data.
    """

    risk: Fraction
    people: pl.DataFrame
    counts: Ints
    described: dict[str, object]


Rule = SizeRule | ValueRule | MeanRule | PopulationRule


def attributes_of(requirement: Any, table: Original) -> tuple[str, ...]:
    """The sensitive attributes that a requirement is about, by default all."""
    named = requirement.sensitive
    names = table.sensitive if named is None else (named,) if isinstance(named, str) else tuple(named)
    unknown = [name for name in names if name not in table.sensitive]
    if unknown or not names:
        what = f'"{unknown[0]}" is none of its sensitive attributes' if unknown else "it has no sensitive attribute"
        raise InputError(f"{table.source}: a requirement is about sensitive values, and {what}")
    return names


def of_each(
    name: str, requirement: Any, table: Original, parameters: Mapping[str, object], holds: Callable[[Counts], Flags]
) -> list[ValueRule]:
    """The same rule for each of the sensitive attributes that a requirement is about."""
    return [
        ValueRule(name, (attribute,), {**parameters, "sensitive": attribute}, holds)
        for attribute in attributes_of(requirement, table)
    ]


def rules_of(requirement: Any, table: Original, given: TableData) -> Sequence[Rule]:
    """What a requirement says of a table: one rule for each sensitive attribute that it is about.

    given: the table as the user's own requirements want to see it; these are asked about each kind of group once, and
    see all sensitive attributes where they name none. Raises InputError where it makes no sense.
    """
    known = definition_of(requirement)
    if known is not None:
        return known.rules(requirement, table)

    def judged(bound: Any, group: object) -> bool:
        with own_code(f"{type(bound).__name__}.holds", "return True or False"):
            found = bound.holds(group)
        if not isinstance(found, bool | np.bool_):
            raise InputError(f"{type(bound).__name__}.holds must return True or False, found {type_in_words(found)}")
        return bool(found)

    def rule(bound: Any) -> Rule:
        def holds(counts: Counts) -> Flags:
            first, kind = counts.alike
            return np.array([judged(bound, counts.as_group(g)) for g in first.tolist()], dtype=bool)[kind]

        names = tuple(bound.attributes)
        return ValueRule(str(bound.name), names or table.sensitive, dict(bound.describe()), holds, own=names)

    with own_code(f"{type(requirement).__name__}.bind", "return a tuple of requirements, such as (self,)"):
        found = requirement.bind(given)
    if not isinstance(found, tuple | list) or not found:
        raise InputError(f"{type(requirement).__name__}.bind must return a tuple of requirements, such as (self,)")
    return [rule(bound) for bound in found]


# ------------------------------------------------------------------------------------------------- of certificates


@dataclass(frozen=True)
class Supply:
    """Σ_σ min(N_σ, limit_σ) ≥ need for the rows N_σ by sensitive value that a group is taken from.

    It holds for more rows whenever it holds for fewer. Numbers are integers after multiplication by `scale`: limits and
    need are given so.
    """

    attribute: str
    scale: int
    limits: Mapping[Label, int]
    need: int

    @classmethod
    def of(cls, attribute: str, limits: Mapping[Label, Fraction], need: Fraction | int) -> Supply:
        """From exact numbers."""
        needed = Fraction(need)
        scale = math.lcm(needed.denominator, *(limit.denominator for limit in limits.values()))
        return cls(attribute, scale, {v: int(limit * scale) for v, limit in limits.items()}, int(needed * scale))


@dataclass(frozen=True)
class Limits:
    """What the numbers X_σ of rows by value of one attribute are in every group of S rows.

    lower_σ·S ≤ X_σ ≤ upper_σ·S (0 and 1 where none is given), at least so many different values, and where `closeness`
    is given, ½ Σ |X_σ - p_σ·S| ≤ closeness·S with the shares p_σ of the table. The union of two such groups is one.
    """

    attribute: str
    upper: Mapping[Label, Fraction] = field(default_factory=dict)
    lower: Mapping[Label, Fraction] = field(default_factory=dict)
    different: int = 1
    closeness: Fraction | None = None

    def both(self, other: Limits) -> Limits:
        """What a group within both of them is like."""
        close = [each for each in (self.closeness, other.closeness) if each is not None]
        return Limits(
            self.attribute,
            {v: min(a.get(v, Fraction(1)) for a in (self.upper, other.upper)) for v in {**self.upper, **other.upper}},
            {v: max(a.get(v, Fraction(0)) for a in (self.lower, other.lower)) for v in {**self.lower, **other.lower}},
            max(self.different, other.different),
            min(close, default=None),
        )


@dataclass(frozen=True)
class AtLeast:
    """The smallest size of a group, what the rows it is taken from must supply for a group of κ rows, and limits on its
    values.

    possible: whether the table as one group has what every union of groups has. groups: how many there may be."""

    size: int
    supplies: Callable[[int], list[Supply]] = lambda _: []
    possible: bool = True
    limits: tuple[Limits, ...] = ()
    groups: int | None = None


def different(number: int, attributes: Sequence[str], table: Original) -> AtLeast:
    """So many different values of each attribute."""
    counts = {name: rows_by_value(name, table) for name in attributes}
    return AtLeast(
        number,
        lambda _: [Supply.of(name, dict.fromkeys(found, Fraction(1)), number) for name, found in counts.items()],
        limits=tuple(Limits(name, different=number) for name in attributes),
    )


def within(share: Callable[[int], Fraction], attribute: str, table: Original) -> AtLeast:
    """No value has more than its share. κ: the smallest s that integer numbers of rows make up,
    Σ min(N_σ, ⌊share_σ·s⌋) ≥ s. share: of a value of so many rows of the table."""
    counts = rows_by_value(attribute, table)
    shares = {value: share(rows) for value, rows in counts.items()}
    pairs = [(shares[value].numerator, shares[value].denominator, rows) for value, rows in counts.items()]
    return AtLeast(
        first_size(lambda s: sum(min(rows, a * s // b) for a, b, rows in pairs) >= s, table),
        lambda k: [Supply.of(attribute, {v: share * k for v, share in shares.items()}, k)],
        all(rows <= shares[value] * table.n for value, rows in counts.items()),
        (Limits(attribute, shares),),
    )


def first_size(holds: Callable[[int], bool], table: Original) -> int:
    """The first size of a group for which this holds, or a lower bound on it."""
    last = min(table.n, SEARCHED)
    return next((s for s in range(1, last + 1) if holds(s)), last)


def rows_by_value(attribute: object, table: Original) -> dict[Label, int]:
    """Rows of each value of a sensitive attribute."""
    if attribute not in (*table.sensitive, *table.units):
        raise ValueError
    number, distinct = classes(table.keys[[str(attribute)]])
    return dict(zip(distinct.to_series().to_list(), tally(number, table.weights).tolist(), strict=True))


@dataclass(frozen=True)
class Need:
    """What every group of a released row needs. size: κ. supplies: what the rows must hold that it can stand for."""

    size: int
    supplies: tuple[Supply, ...]


@dataclass(frozen=True)
class GroupNeeds:
    """What groups of fully suppressed rows need, and all others. possible: False only where no table has what is
    asked for, since the table as one group has more of a value than its share, and every union of groups would not.
    limits: by attribute, on the values of every group, also of one that is exempt from k. groups: the largest number
    of them that the requirements leave."""

    exempt: Need
    strict: Need
    possible: bool
    limits: Mapping[str, Limits]
    groups: int | None = None


def group_needs(requirements: Sequence[Mapping[str, Any]], table: Original, suppressed_rows: str) -> GroupNeeds:
    """What the requirements ask of a group at least; fully suppressed rows are exempt from k alone.

    requirements: as `kanon_milp.verify.claims` reads them. Raises InputError for what makes no sense for the table.

    A group of s ≥ κ rows that has a requirement about shares is within them still if it is scaled down to κ rows, so
    the rows it is taken from hold that many: that is a supply, and so is a number of different values.
    """
    needs, others = [], []
    for requirement in requirements:
        definition = by_name()[requirement["name"]]
        try:
            needs.append(definition.least(requirement, table))
        except (ValueError, ZeroDivisionError):
            raise InputError(f"the parameters of {definition.name} cannot be read") from None
        if not (definition.exempts and suppressed_rows == "exempt"):
            others.append(needs[-1])
    most = table.n + 1  # as good as any larger number: there is no such group
    strict, exempt = (min(max((each.size for each in some), default=1), most) for some in (needs, others))
    limits: dict[str, Limits] = {}
    for limit in (limit for each in others for limit in each.limits):
        limits[limit.attribute] = limits[limit.attribute].both(limit) if limit.attribute in limits else limit
    return GroupNeeds(
        Need(exempt, tuple(supply for each in others for supply in each.supplies(exempt))),
        Need(strict, tuple(supply for each in needs for supply in each.supplies(strict))),
        all(each.possible for each in needs),
        limits,
        min((each.groups for each in needs if each.groups is not None), default=None),
    )


# --------------------------------------------------------------------------------------------------------- registry


@dataclass(frozen=True)
class Definition:
    """The verifier's own definition of a requirement of this package.

    kind: name of the class that users make. name: as a certificate claims it. rules: of what the user made, for a
    table. parameters: of what kind each one is that a certificate claims, a key of `READERS`, or the words that it may
    be. least: what a requirement that was claimed and read asks of a group at least. optional: parameters that may be
    left out. exempts: whether fully suppressed rows may be exempt from it. term: what people call it; its name by
    default.
    """

    kind: str
    name: str
    rules: Callable[[Any, Original], Sequence[Rule]]
    parameters: Mapping[str, str | tuple[str, ...]]
    least: Callable[[Mapping[str, Any], Original], AtLeast]
    optional: tuple[str, ...] = ()
    exempts: bool = False
    term: str = ""

    def read(self, claimed: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that a certificate claims; ValueError or KeyError for others, fewer or more."""
        if not claimed.keys() <= {"name", *self.parameters}:
            raise ValueError
        found = {}
        for key, kind in self.parameters.items():
            if key not in claimed and key in self.optional:
                continue
            if isinstance(kind, str):
                found[key] = READERS[kind](claimed[key])
            elif claimed[key] in kind:
                found[key] = claimed[key]
            else:
                raise ValueError
        return found


REGISTERED: dict[type, Definition] = {}
"""Definitions of kinds of requirements that users have registered."""


@cache
def definitions() -> tuple[Definition, ...]:
    """Those of the files in this folder."""
    files = (importlib.import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__))
    return tuple(file.DEFINITION for file in files)


def by_name() -> Mapping[str, Definition]:
    """Each by the name that certificates give it."""
    return {each.name: each for each in (*definitions(), *REGISTERED.values())}


def definition_of(requirement: object) -> Definition | None:
    """The definition of a requirement of this package, or of one that a user has registered; a subclass has none."""
    known = {each.kind: each for each in definitions()}
    return REGISTERED.get(type(requirement)) or known.get(built_in(requirement) or "")


def term(name: str) -> str:
    """The field's term for a requirement, such as l-diversity for l_diversity; an unknown name as it is."""
    known = by_name().get(name)
    return name if known is None else known.term or name


def claimed_number(value: object) -> Fraction:
    """A number as exact text; raises ValueError for anything else."""
    if not isinstance(value, str) or not EXACT.fullmatch(value):
        raise ValueError
    return Fraction(value)


def _count(value: object) -> int:
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def _column(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _columns(value: object) -> list[str]:
    if not isinstance(value, list) or not value:
        raise ValueError
    return [_column(each) for each in value]


READERS: Mapping[str, Callable[[object], object]] = {
    "number": lambda value: str(claimed_number(value)),  # an exact number as its shortest text
    "count": _count,  # an integer from 1 on
    "column": _column,
    "columns": _columns,  # at least one
    "column or columns": lambda value: _columns(value) if isinstance(value, list) else _column(value),
}
