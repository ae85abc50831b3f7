"""What a privacy requirement is to the rest of the package."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from kanon_milp.hierarchies import Label

if TYPE_CHECKING:
    from kanon_milp.instance import Instance
    from kanon_milp.table import Table


@dataclass(frozen=True)
class Group:
    """The rows that a released row type stands for, as counts: `size` rows, and per sensitive attribute value →
    rows."""

    size: int
    sensitive: Mapping[str, Mapping[Label, int]] = field(default_factory=dict)


class Requirement(ABC):
    """A property that each group must have. One file each in `privacy/`, one line each in its registry.

    merge_closed: the union of two groups that have it has it; then one group per candidate loses nothing, and dominance
    and merging of row types keep the optimum.
    integral: with the binaries fixed, the rows of this requirement leave a network, so `assign` may be continuous.
    """

    name: ClassVar[str]
    merge_closed: ClassVar[bool]
    integral: ClassVar[bool]

    @abstractmethod
    def check(self, table: Table) -> None:
        """Raise InputError where the requirement makes no sense for the table."""

    @property
    @abstractmethod
    def smallest_group(self) -> int:
        """A lower bound on the size of every group that satisfies the requirement."""

    @abstractmethod
    def holds(self, group: Group) -> bool:
        """Exact check of one group."""

    @abstractmethod
    def viable(self, instance: Instance) -> NDArray[np.bool_]:
        """Per candidate: False only if no subset of its cover satisfies the requirement."""

    @abstractmethod
    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: Instance) -> None:
        """State the rows of the strong formulation, one indexed component for all candidates."""

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """Its parameters as in `result.json`, such as {"k": 5}."""
