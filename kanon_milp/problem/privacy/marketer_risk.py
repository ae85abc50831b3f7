"""Marketer risk: whoever wants to find as many as possible finds a share of at most r of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.problem.exact import Number, both, in_words
from kanon_milp.problem.privacy.base import NUMBER, Parameter, Requirement, Shortfall
from kanon_milp.problem.privacy.instance_data import InstanceData
from kanon_milp.problem.privacy.thresholds import threshold
from kanon_milp.problem.records import Group

if TYPE_CHECKING:
    from kanon_milp.problem.table import Table


@dataclass(frozen=True)
class MarketerRisk(Requirement):
    """Marketer risk: somebody who knows the quasi-identifiers of all rows, and guesses a row of the group for each, is
    right for a share of at most r of them (El Emam, Dankar 2008).

    The mean over the rows of 1/|group| is the number of groups over the number n of rows. So there are at most ⌊r·n⌋
    groups, and nothing is required of a single one. Fully suppressed rows are rows, and together one group, in both
    readings of them: as ARX's average re-identification risk counts. Rows are counted, so a unit of protection with
    several rows is refused.

    marketer_risk: an exact rational such as "0.05" or "1/20", or the name of a threshold in `PRESETS`.
    """

    marketer_risk: Number
    name: ClassVar[str] = "marketer_risk"
    term: ClassVar[str] = "marketer risk"
    letter: ClassVar[str] = "marketer_risk"
    summary: ClassVar[str] = "marketer risk of at most r, exact as written: groups / rows"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "marketer_risk": Parameter(
            NUMBER,
            option="--marketer-risk",
            metavar="R",
            help="Marketer risk, the average over all rows, such as 0.05: at most R times as many groups as rows.",
        )
    }
    sentence: ClassVar[str] = "on average over all rows the risk is at most {marketer_risk}"
    against: ClassVar[str] = "linkage, on average over all rows"
    source: ClassVar[str] = "El Emam and Dankar 2008"
    merge_closed: ClassVar[bool] = True
    keeps_flow_structure: ClassVar[bool] = True
    needs_group_size: ClassVar[bool] = False
    size_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        threshold(self.marketer_risk, self.term)

    @property
    def exact(self) -> Fraction:
        """The threshold r."""
        return threshold(self.marketer_risk, self.term)

    def bind(self, table: Table) -> tuple[MarketerRisk]:
        """Refuse a unit of protection that has several rows."""
        if table.unit is not None and table.column(table.unit).n_unique() < table.n:
            raise InputError(
                f'{table.source}: marketer risk is an average over rows, and the unit of protection "{table.unit}" has '
                "several rows; ask for the risk of each unit (risk, --risk), or leave the unit out"
            )
        return (self,)

    def most_groups(self, rows: int) -> int:
        """⌊r·n⌋."""
        return int(self.exact * rows)

    def smallest_group(self, table_group: Group) -> int:
        """Any group may be of one row; no table has it where not even one group of all rows has."""
        return 1 if self.most_groups(table_group.size) else table_group.size + 1

    def holds(self, group: Group) -> bool:
        """Whether the whole table as one group has it."""
        return group.table_group is None or self.most_groups(group.table_group.size) > 0

    def shortfall(self, table_group: Group) -> Shortfall:
        """Too few rows."""
        return Shortfall(f"one group of {table_group.size} has 1/{table_group.size}, above {in_words(self.exact)}")

    def certified(self, _table: Table) -> tuple[()]:
        """Certificates state the number of groups that follows from it."""
        return ()

    def declare(self, _block: pyo.Block, _model: pyo.ConcreteModel, _instance: InstanceData) -> None:
        """The constraint `max_groups` of the model: Σ_g y[g] ≤ ⌊r·n⌋."""

    def describe(self) -> dict[str, object]:
        """The threshold."""
        return both("marketer_risk", self.exact)
