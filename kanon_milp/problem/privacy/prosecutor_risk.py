"""Prosecutor risk: nobody is found with a larger probability than r, which is k-anonymity with k = ⌈1/r⌉."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import pyomo.core as pyo

from kanon_milp.problem.exact import Number, both
from kanon_milp.problem.privacy.base import NUMBER, Parameter, Requirement, Swept
from kanon_milp.problem.privacy.instance_data import InstanceData
from kanon_milp.problem.privacy.k_anonymity import KAnonymity
from kanon_milp.problem.privacy.thresholds import PRESETS, threshold
from kanon_milp.problem.records import Group

if TYPE_CHECKING:
    from kanon_milp.problem.table import Table


@dataclass(frozen=True)
class ProsecutorRisk(Requirement):
    """Whoever knows that a person is in the table, and all of her quasi-identifiers, picks her row with a probability
    of at most r: 1/|group| ≤ r (El Emam, Dankar 2008). Groups are integers, so this is k-anonymity with k = ⌈1/r⌉, and
    that is what `bind` makes of it: 0.09 asks for k = 12, since 1/11 = 0.0909 is above it.

    risk: an exact rational such as "0.09" or "1/11", or the name of a threshold in `PRESETS`: "ema", "health-canada",
    "cms". Where the table has a unit of protection, units are counted.
    """

    risk: Number
    name: ClassVar[str] = "prosecutor_risk"
    term: ClassVar[str] = "prosecutor risk"
    against: ClassVar[str] = "linkage"
    source: ClassVar[str] = "El Emam and Dankar 2008"
    letter: ClassVar[str] = "risk"
    summary: ClassVar[str] = 'prosecutor risk of at most r, exact as written, or "ema", "health-canada", "cms"'
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "risk": Parameter(
            NUMBER,
            metavar="R",
            help="Prosecutor risk, such as 0.09 or 1/11: k = ceil(1/R); or ema, health-canada, cms.",
        )
    }
    swept: ClassVar[Swept] = Swept(-1, "ema,0.05,1/50", {name: preset.risk for name, preset in PRESETS.items()})
    sentence: ClassVar[str] = "the risk of each row is at most {risk}"
    merge_closed: ClassVar[bool] = True
    keeps_flow_structure: ClassVar[bool] = True
    exempts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        threshold(self.risk, "risk")

    @property
    def exact(self) -> Fraction:
        """The threshold r."""
        return threshold(self.risk, "risk")

    @property
    def k(self) -> int:
        """⌈1/r⌉."""
        return math.ceil(1 / self.exact)

    def bind(self, table: Table) -> tuple[KAnonymity, ...]:
        """k-anonymity that knows which threshold it comes from."""
        return tuple(each.because(self.describe()) for each in KAnonymity(self.k).bind(table))

    def smallest_group(self, _table_group: Group) -> int:
        """The number k."""
        return self.k

    def holds(self, group: Group) -> bool:
        """1/S ≤ r."""
        return Fraction(1, group.size) <= self.exact

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """That of k-anonymity."""
        KAnonymity(self.k).declare(block, model, instance)

    def describe(self) -> dict[str, object]:
        """The threshold, and the guideline that it was named by."""
        preset: dict[str, Any] = {"preset": self.risk} if self.risk in PRESETS else {}
        return {**both("risk", self.exact), **preset}
