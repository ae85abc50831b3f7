"""β-likeness: no sensitive value is much more frequent in a group than in the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kanon_milp.errors import InputError
from kanon_milp.problem.exact import Number, both
from kanon_milp.problem.privacy.base import NUMBER, Parameter, ValueLimits, name_attribute
from kanon_milp.problem.privacy.shares import LimitedValues
from kanon_milp.problem.records import Group


@dataclass(frozen=True)
class BetaLikeness(LimitedValues):
    """Basic β-likeness (Cao, Karras 2012, Definition 2): the share q of each value in a group exceeds its share p in
    the table by at most β·p, that is q ≤ (1+β)·p.

    Merge-closed: shares of a union lie between those of its parts. `assign` stays integer.
    """

    beta: Number
    sensitive: str | None = None
    name: ClassVar[str] = "beta_likeness"
    term: ClassVar[str] = "beta-likeness"
    against: ClassVar[str] = "skewness"
    source: ClassVar[str] = "Cao and Karras 2012"
    letter: ClassVar[str] = "beta"
    summary: ClassVar[str] = "basic beta-likeness: no share in a group above (1 + beta) times the share in the table"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "beta": Parameter(
            NUMBER, metavar="B", help="Basic beta-likeness: no share in a group above (1 + B) times that in the table."
        )
    }
    sentence: ClassVar[str] = "the share of no value{about} grows by more than {beta} times in a group"
    merge_closed: ClassVar[bool] = True  # shares of a union lie between those of its parts

    def __post_init__(self) -> None:
        name_attribute(self)
        if self.exact < 0:
            raise InputError(f"beta must not be negative, found {self.exact}")

    def relaxations(self, table_group: Group) -> tuple[ValueLimits, ...]:
        """X_σ ≤ (1+β)·p_σ·S for each value σ."""
        (attribute,) = self.attributes
        counts = table_group.sensitive[attribute]
        upper = {value: (1 + self.exact) * Fraction(rows, table_group.size) for value, rows in counts.items()}
        return (ValueLimits(attribute, upper=upper, complete=True),)

    def describe(self) -> dict[str, object]:
        """The number β and the attribute."""
        return {**both("beta", self.exact), "sensitive": self.sensitive}
