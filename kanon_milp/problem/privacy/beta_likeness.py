"""β-likeness: no sensitive value is much more frequent in a group than in the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import pyomo.environ as pyo

from kanon_milp.errors import InputError
from kanon_milp.problem.exact import Number, both, exact_parameter
from kanon_milp.problem.privacy.base import NUMBER, Parameter, Requirement, ValueLimits, name_attribute
from kanon_milp.problem.privacy.instance_data import InstanceData
from kanon_milp.problem.privacy.shares import Caps, declare_caps, smallest_within, viable_within
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags

if TYPE_CHECKING:
    from kanon_milp.problem.hierarchies import Label


@dataclass(frozen=True)
class BetaLikeness(Requirement):
    """Basic β-likeness (Cao, Karras 2012, Definition 2): the share q of each value in a group exceeds its share p in
    the table by at most β·p, that is q ≤ (1+β)·p.

    Merge-closed: shares of a union lie between those of its parts. `assign` stays integer.
    """

    beta: Number
    sensitive: str | None = None
    name: ClassVar[str] = "beta_likeness"
    term: ClassVar[str] = "beta-likeness"
    letter: ClassVar[str] = "beta"
    summary: ClassVar[str] = "basic beta-likeness: no share in a group above (1 + beta) times the share in the table"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "beta": Parameter(NUMBER, metavar="B", help="Basic beta-likeness.")
    }
    sentence: ClassVar[str] = "the share of no value{about} grows by more than {beta} times in a group"
    merge_closed: ClassVar[bool] = True  # shares of a union lie between those of its parts

    def __post_init__(self) -> None:
        name_attribute(self)
        if self.exact < 0:
            raise InputError(f"beta must not be negative, found {self.exact}")

    @property
    def exact(self) -> Fraction:
        """The number β."""
        return exact_parameter(self.beta, "beta")

    def smallest_group(self, table_group: Group) -> int:
        """What integer numbers of rows need to stay within the shares."""
        counts = table_group.sensitive[self.attributes[0]]
        return smallest_within(self._caps(counts), counts)

    def holds(self, group: Group) -> bool:
        """n·N_σ ≤ (1+β)·r_σ·|group| for each value σ."""
        table_group = group.reference
        reference = table_group.sensitive[self.attributes[0]]
        return all(
            rows * table_group.size <= (1 + self.exact) * reference[value] * group.size
            for value, rows in group.sensitive[self.attributes[0]].items()
        )

    def viable(self, instance: InstanceData) -> Flags:
        """A fractional group within the shares exists."""
        (attribute,) = self.attributes
        return viable_within(instance, attribute, self._caps(instance.table_group.sensitive[attribute]))

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """X_σg ≤ (1+β)·p_σ·S_g."""
        (attribute,) = self.attributes
        declare_caps(block, model, instance, attribute, self._caps(instance.table_group.sensitive[attribute]))

    def relaxations(self, table_group: Group) -> tuple[ValueLimits, ...]:
        """Upper shares."""
        (attribute,) = self.attributes
        return (ValueLimits(attribute, upper=self._caps(table_group.sensitive[attribute]), complete=True),)

    def describe(self) -> dict[str, object]:
        """The number β and the attribute."""
        return {**both("beta", self.exact), "sensitive": self.sensitive}

    def _caps(self, counts: Mapping[Label, int]) -> Caps:
        n = sum(counts.values())
        return {value: (1 + self.exact) * Fraction(rows, n) for value, rows in counts.items()}
