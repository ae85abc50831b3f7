"""p-sensitivity: every group has at least p different sensitive values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyomo.environ as pyo

from kanon_milp.errors import counted
from kanon_milp.problem.arguments import integer
from kanon_milp.problem.privacy.base import (
    INTEGER,
    Parameter,
    Requirement,
    Shortfall,
    ValueLimits,
    name_attribute,
)
from kanon_milp.problem.privacy.cells import declare_presence, distinct_values
from kanon_milp.problem.privacy.instance_data import InstanceData
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class PSensitivity(Requirement):
    """Each group has at least p different values of the sensitive attribute (Truta, Vinay 2006; Bredereck et al. 2012,
    Definition 3). With k-anonymity beside it this is p-sensitive k-anonymity.

    Merge-closed: a union has the values of both. Keeps the flow structure: with `open` and z fixed, the lower
    bounds sit on cells (sensitive value within group) inside groups, which is a network (their Lemma 3).
    """

    p: int
    sensitive: str | None = None
    name: ClassVar[str] = "p_sensitivity"
    term: ClassVar[str] = "p-sensitivity"
    letter: ClassVar[str] = "p"
    summary: ClassVar[str] = "p-sensitivity: at least p different values of each sensitive attribute in each group"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "p": Parameter(INTEGER, help="p-sensitivity: each group has at least p sensitive values.")
    }
    sentence: ClassVar[str] = "each group has at least {p} different values{about}"
    merge_closed: ClassVar[bool] = True  # a union has the values of both
    keeps_flow_structure: ClassVar[bool] = True  # lower bounds on cells
    needs_group_size: ClassVar[bool] = False

    def __post_init__(self) -> None:
        integer(self.p, "p")
        name_attribute(self)

    def smallest_group(self, table_group: Group) -> int:
        """Different values are in different rows."""
        return int(self.p)

    def holds(self, group: Group) -> bool:
        """At least p different values."""
        return len(group.sensitive[self.attributes[0]]) >= self.p

    def viable(self, instance: InstanceData) -> Flags:
        """A cover with fewer than p values never becomes a group."""
        return distinct_values(instance, self.attributes) >= self.p

    def shortfall(self, table_group: Group) -> Shortfall | None:
        """An attribute with fewer than p values."""
        return few_values(int(self.p), table_group, self.attributes[0])

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """Constraints (9) of Bredereck et al. 2012, sgn(·) as a binary z."""
        declare_presence(block, model, instance, self.attributes, int(self.p))

    def relaxations(self, _table_group: Group) -> tuple[ValueLimits, ...]:
        """Different values."""
        return (ValueLimits(self.attributes[0], different=int(self.p), complete=True),)

    def describe(self) -> dict[str, object]:
        """The parameter p and the attribute."""
        return {"p": int(self.p), "sensitive": self.sensitive}


def few_values(number: int, table: Group, attribute: str) -> Shortfall | None:
    """What falls short in a table with fewer different values than each group needs."""
    values = len(table.sensitive[attribute])
    return Shortfall(f'column "{attribute}" has only {counted(values, "different value")}') if values < number else None
