"""(α,k)-anonymity: groups of at least k rows in which sensitive values have a share of at most α."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import integer
from kanon_milp.problem.distances.base import distinct_labels
from kanon_milp.problem.exact import Number, both
from kanon_milp.problem.privacy.base import (
    INTEGER,
    LIST,
    NUMBER,
    Parameter,
    Requirement,
    ValueLimits,
    name_attribute,
    sensitive_names,
)
from kanon_milp.problem.privacy.k_anonymity import KAnonymity
from kanon_milp.problem.privacy.shares import LimitedValues
from kanon_milp.problem.records import Group

if TYPE_CHECKING:
    from kanon_milp.problem.table import Table


@dataclass(frozen=True)
class AlphaKAnonymity(LimitedValues):
    """Each group has at least k rows, and each of the values at most the share α of it (Wong, Li, Fu, Wang 2006).

    values: the sensitive values meant (None among them: missing); by default all, which is frequency l-diversity with
    l = 1/α. Shares are of rows; k counts units where the table has a unit of protection. Merge-closed: shares of a
    union lie between those of its parts. `assign` stays integer.
    """

    alpha: Number
    k: int = 1
    sensitive: str | None = None
    values: Sequence[str | None] | None = field(default=None, repr=False)
    name: ClassVar[str] = "alpha_k_anonymity"
    term: ClassVar[str] = "(alpha,k)-anonymity"
    against: ClassVar[str] = "homogeneity; with k, linkage"
    source: ClassVar[str] = "Wong, Li, Fu and Wang 2006"
    letter: ClassVar[str] = "alpha"
    summary: ClassVar[str] = "(alpha,k)-anonymity: no sensitive value makes up more than alpha of a group"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "k": Parameter(INTEGER, key="alpha_k"),
        "alpha": Parameter(NUMBER, metavar="A", help="(alpha,k)-anonymity: no value makes up more than A of a group."),
        "values": Parameter(LIST, "the sensitive values meant; default all"),
    }
    sentence: ClassVar[str] = "no value{about} makes up more than {alpha} of the rows of a group of at least {alpha_k}"
    compares: ClassVar[bool] = False
    most: ClassVar[str] = "α·n"
    merge_closed: ClassVar[bool] = True  # shares of a union lie between those of its parts, and its size is their sum

    def __post_init__(self) -> None:
        integer(self.k, "k")
        name_attribute(self)
        if self.values is not None:
            object.__setattr__(self, "values", distinct_labels(self.values, "values of alpha"))
        if not 0 < self.exact <= 1:
            raise InputError(f"alpha must be above 0 and at most 1, found {self.exact}")

    @classmethod
    def as_options(cls, claims: Mapping[str, Any]) -> dict[str, str] | None:
        """k has the option of k-anonymity."""
        asked = super().as_options({**claims, "alpha_k": None})
        return asked and {**asked, KAnonymity.option("k"): str(claims["alpha_k"])}

    def bind(self, table: Table) -> tuple[Requirement, ...]:
        """Refuse values that do not occur; k-anonymity beside it where units are counted."""
        names = sensitive_names(self.name, self.sensitive, table)
        if self.values is not None:
            if len(names) > 1:
                raise InputError(f"{table.source}: alpha for certain values needs the sensitive attribute they are of")
            known = set(table.column(names[0]).to_list())
            for number, value in enumerate(self.values, 1):
                if value not in known:
                    raise InputError(
                        f'{table.source}: column "{names[0]}" has no such value as number {number} of values'
                    )
        (units,) = KAnonymity(self.k).bind(table)
        return (*(replace(self, sensitive=name) for name in names), *([] if units.unit is None else [units]))

    @property
    def rows_asked(self) -> int:
        """The number k."""
        return int(self.k)

    def relaxations(self, table_group: Group) -> tuple[ValueLimits, ...]:
        """X_σ ≤ α·S for the values σ meant."""
        (attribute,) = self.attributes
        upper = {
            value: self.exact if self.values is None or value in self.values else Fraction(1)
            for value in table_group.sensitive[attribute]
        }
        return (ValueLimits(attribute, upper=upper, complete=True),)

    def certified(self, _table: Table) -> tuple[Requirement, ...]:
        """All of it; the size alone where some values are meant, since `describe` does not name them."""
        # a little less than that, where fully suppressed rows are exempt from k
        return (self,) if self.values is None else (KAnonymity(self.k),)

    @classmethod
    def in_words(cls, claims: Mapping[str, Any], about: str) -> str:
        """The sentence; where some values are meant, of these alone."""
        said = super().in_words(claims, about)
        return said if "values" not in claims else said.replace("no value", f"none of {claims['values']} values", 1)

    def describe(self) -> dict[str, object]:
        """α, k, the attribute, and how many values are meant (not which)."""
        meant = {} if self.values is None else {"values": len(self.values)}
        return {**both("alpha", self.exact), "alpha_k": int(self.k), "sensitive": self.sensitive, **meant}
