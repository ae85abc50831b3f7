"""What a definition of a requirement is made of: rules over counts, how it is stated, what a group needs at least."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import InputError, term
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.ground import Ground
from kanon_milp.verify.numbers import both
from kanon_milp.verify.original import Original

Bools = NDArray[np.bool_]
Value = str | None
Rows = Mapping[Value, int]
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
    holds: Callable[[Counts], Bools] = field(repr=False)
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


def stated_number(value: object) -> Fraction:
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
    return str(stated_number(value))


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
    limits: Mapping[Value, int]
    need: int

    @classmethod
    def of(cls, attribute: str, limits: Mapping[Value, Fraction], need: Fraction | int) -> Supply:
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
    upper: Mapping[Value, Fraction] = field(default_factory=dict)
    lower: Mapping[Value, Fraction] = field(default_factory=dict)
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


def within(shares: Mapping[Value, Fraction], attribute: str, counts: Rows) -> AtLeast:
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


def rows_by_value(attribute: object, table: Original) -> dict[Value, int]:
    """Rows of each value of a sensitive attribute."""
    if attribute not in (*table.sensitive, *table.units):
        raise ValueError
    return {value: int(rows) for value, rows in table.keys[str(attribute)].alias("").value_counts().iter_rows()}


@dataclass(frozen=True)
class Definition:
    """The verifier's own definition of a requirement of this package.

    kind: name of the class that users make. name: as a certificate states it. rules: of what the user made, for a
    table. parameters: how each is read where it is stated. least: what a stated one asks of a group at least.
    optional: parameters that may be left out.
    """

    kind: str
    name: str
    rules: Callable[[Any, Original], Sequence[Rule]]
    parameters: Mapping[str, Read]
    least: Callable[[Mapping[str, Any], Original], AtLeast]
    optional: frozenset[str] = frozenset()
