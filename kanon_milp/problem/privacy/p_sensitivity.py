"""p-sensitivity: every group has at least p different sensitive values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kanon_milp.problem.arguments import integer
from kanon_milp.problem.privacy.base import INTEGER, Parameter, ValueLimits, name_attribute
from kanon_milp.problem.privacy.shares import LimitedValues
from kanon_milp.problem.records import Group


@dataclass(frozen=True)
class PSensitivity(LimitedValues):
    """Each group has at least p different values of the sensitive attribute (Truta, Vinay 2006; Bredereck et al. 2012,
    Definition 3). With k-anonymity beside it this is p-sensitive k-anonymity.

    Merge-closed: a union has the values of both. Keeps the flow structure: with `open` and z fixed, the lower
    bounds sit on cells (sensitive value within group) inside groups, which is a network (their Lemma 3).
    """

    p: int
    sensitive: str | None = None
    name: ClassVar[str] = "p_sensitivity"
    term: ClassVar[str] = "p-sensitivity"
    against: ClassVar[str] = "homogeneity"
    source: ClassVar[str] = "Truta and Vinay 2006"
    letter: ClassVar[str] = "p"
    summary: ClassVar[str] = "p-sensitivity: at least p different values of each sensitive attribute in each group"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "p": Parameter(INTEGER, help="p-sensitivity: each group has at least p different sensitive values.")
    }
    sentence: ClassVar[str] = "in each group there are at least {p} different values{about}"
    compares: ClassVar[bool] = False
    merge_closed: ClassVar[bool] = True  # a union has the values of both
    keeps_flow_structure: ClassVar[bool] = True  # lower bounds on cells
    needs_group_size: ClassVar[bool] = False

    def __post_init__(self) -> None:
        integer(self.p, "p")
        name_attribute(self)

    def relaxations(self, _table_group: Group) -> tuple[ValueLimits, ...]:
        """Different values; in the model as constraints (9) of Bredereck et al. 2012, sgn(·) as a binary z."""
        return (ValueLimits(self.attributes[0], different=int(self.p), complete=True),)

    def describe(self) -> dict[str, object]:
        """The parameter p and the attribute."""
        return {"p": int(self.p), "sensitive": self.sensitive}
