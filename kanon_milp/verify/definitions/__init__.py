"""The verifier's own definitions of requirements: one file each, found by being in this folder.

A file has a `DEFINITION`: the rules over counts that a released table must keep, how a certificate states it, and what
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

from kanon_milp.errors import InputError, own_code, type_in_words
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.ground import Ground, built_in
from kanon_milp.verify.numbers import both
from kanon_milp.verify.tables import Original, TableData

Rows = Mapping[Label, int]
Read = Callable[[object], object]
EXACT = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")
SEARCHED = 10_000  # sizes tried; the next one is a lower bound as well


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
        """Such as 'l-diversity (l = 3/2, form = frequency) of "disease"'."""
        given = self.parameters
        shown = {
            key: given.get(f"{key}_exact", value)
            for key, value in given.items()
            if key != "sensitive" and not key.endswith("_exact")
        }
        parameters = ", ".join(f"{key} = {value}" for key, value in shown.items())
        of = " and ".join(f'"{name}"' for name in (self.attributes if self.own is None else self.own))
        name = self.name if self.own is not None else term(self.name)
        return f"{name} ({parameters})" + (f" of {of}" if of else "")


Rule = SizeRule | ValueRule


def meant(named: object, table: Original) -> tuple[str, ...]:
    """The sensitive attributes that are meant, by default all."""
    names = table.sensitive if named is None else (named,) if isinstance(named, str) else tuple(named)  # type: ignore[arg-type]
    unknown = [name for name in names if name not in table.sensitive]
    if unknown or not names:
        what = f'"{unknown[0]}" is none of its sensitive attributes' if unknown else "it has no sensitive attribute"
        raise InputError(f"{table.source}: a requirement is about sensitive values, and {what}")
    return names


# ------------------------------------------------------------------------------ as a certificate states it


def claimed_number(value: object) -> Fraction:
    """A number as exact text; raises ValueError for anything else."""
    if not isinstance(value, str) or not EXACT.fullmatch(value):
        raise ValueError
    return Fraction(value)


def count(value: object) -> int:
    """An integer from 1 on; raises ValueError for anything else."""
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def shortest(value: object) -> str:
    """An exact number as its shortest text."""
    return str(claimed_number(value))


def column_name(value: object) -> str:
    """The name of a column."""
    if not isinstance(value, str):
        raise ValueError
    return value


def column_names(value: object) -> list[str]:
    """Names of columns, at least one."""
    if not isinstance(value, list) or not value:
        raise ValueError
    return [column_name(each) for each in value]


def one_or_more(value: object) -> object:
    """The name of a column, or several."""
    return column_names(value) if isinstance(value, list) else column_name(value)


def one_of(*known: str) -> Read:
    """A reader of one of these words."""

    def read(value: object) -> object:
        if value not in known:
            raise ValueError
        return value

    return read


# ------------------------------------------------------------------------------------ what a group needs


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

    possible: whether the table as one group has what every union of groups has."""

    size: int
    supplies: Callable[[int], list[Supply]] = lambda _: []
    possible: bool = True
    limits: tuple[Limits, ...] = ()


def different(number: int, attributes: Sequence[str], table: Original) -> AtLeast:
    """So many different values of each attribute."""
    counts = {name: rows_by_value(name, table) for name in attributes}
    return AtLeast(
        number,
        lambda _: [Supply.of(name, dict.fromkeys(found, Fraction(1)), number) for name, found in counts.items()],
        limits=tuple(Limits(name, different=number) for name in attributes),
    )


def within(shares: Mapping[Label, Fraction], attribute: str, counts: Rows) -> AtLeast:
    """No value has more than its share. κ: the smallest s that integer numbers of rows make up,
    Σ min(N_σ, ⌊share_σ·s⌋) ≥ s."""
    pairs = [(shares[value].numerator, shares[value].denominator, rows) for value, rows in counts.items()]
    n = sum(counts.values())
    size = first(lambda s: sum(min(rows, a * s // b) for a, b, rows in pairs) >= s, n)
    return AtLeast(
        size,
        lambda k: [Supply.of(attribute, {v: share * k for v, share in shares.items()}, k)],
        all(rows <= shares[value] * n for value, rows in counts.items()),
        (Limits(attribute, shares),),
    )


def first(holds: Callable[[int], bool], n: int) -> int:
    """The first size for which this holds, or a lower bound on it."""
    last = min(n, SEARCHED)
    return next((s for s in range(1, last + 1) if holds(s)), last)


def rows_by_value(attribute: object, table: Original) -> dict[Label, int]:
    """Rows of each value of a sensitive attribute."""
    if attribute not in (*table.sensitive, *table.units):
        raise ValueError
    return {value: int(rows) for value, rows in table.keys[str(attribute)].alias("").value_counts().iter_rows()}


@dataclass(frozen=True)
class Definition:
    """The verifier's own definition of a requirement of this package.

    kind: name of the class that users make. name: as a certificate states it. rules: of what the user made, for a
    table. parameters: how each is read where it is stated. least: what a stated one asks of a group at least.
    optional: parameters that may be left out. exempts: whether fully suppressed rows may be exempt from it. term: what
    people call it; its name by default.
    """

    kind: str
    name: str
    rules: Callable[[Any, Original], Sequence[Rule]]
    parameters: Mapping[str, Read]
    least: Callable[[Mapping[str, Any], Original], AtLeast]
    optional: frozenset[str] = frozenset()
    exempts: bool = False
    term: str = ""


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


@dataclass(frozen=True)
class Need:
    """What every group of a released row needs. size: κ. supplies: what the rows must hold that it can stand for."""

    size: int
    supplies: tuple[Supply, ...]


@dataclass(frozen=True)
class GroupNeeds:
    """What groups of fully suppressed rows need, and all others. possible: False only where no table has what is
    asked for, since the table as one group has more of a value than its share, and every union of groups would not.
    limits: by attribute, on the values of every group, also of one that is exempt from k."""

    exempt: Need
    strict: Need
    possible: bool
    limits: Mapping[str, Limits]


def group_needs(requirements: Sequence[Mapping[str, Any]], table: Original, suppressed_rows: str) -> GroupNeeds:
    """What the requirements ask of a group at least; fully suppressed rows are exempt from k alone.

    requirements: as `kanon_milp.verify.claims` reads them. Raises InputError for what makes no sense for the table.

    A group of s ≥ κ rows that has a requirement about shares is within them still if it is scaled down to κ rows, so
    the rows it is taken from hold that many: that is a supply, and so is a number of different values.
    """
    known = by_name()
    rules = [(_least_of(known[each["name"]], each, table), known[each["name"]].exempts) for each in requirements]
    free = [rule for rule, exempts in rules if not (exempts and suppressed_rows == "exempt")]
    most = table.n + 1  # as good as any larger number: there is no such group
    strict = min(max((rule.size for rule, _ in rules), default=1), most)
    besides_k = min(max((rule.size for rule, exempts in rules if not exempts), default=1), most)
    exempt = besides_k if suppressed_rows == "exempt" else strict
    first = Need(exempt, tuple(s for rule in free for s in rule.supplies(exempt)))
    second = Need(strict, tuple(s for rule, _ in rules for s in rule.supplies(strict)))
    limits: dict[str, Limits] = {}
    for each in (limit for rule in free for limit in rule.limits):
        limits[each.attribute] = limits[each.attribute].both(each) if each.attribute in limits else each
    return GroupNeeds(first, second, all(rule.possible for rule, _ in rules), limits)


def _least_of(definition: Definition, requirement: Mapping[str, Any], table: Original) -> AtLeast:
    try:
        return definition.least(requirement, table)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"the parameters of {definition.name} cannot be read") from None


def rules_of(requirement: Any, table: Original, given: TableData) -> list[Rule]:
    """What a requirement says of a table: one rule for each sensitive attribute that it is about.

    given: the table as the user's own requirements want to see it. Raises InputError where it makes no sense.
    """
    known = definition_of(requirement)
    return list(_own(requirement, table, given) if known is None else known.rules(requirement, table))


def _own(requirement: Any, table: Original, given: TableData) -> Sequence[Rule]:
    """A requirement of the user's making, asked about each kind of group once; it sees all sensitive attributes where
    it names none."""

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
