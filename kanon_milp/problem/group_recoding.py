"""Recodings of whole groups: what a row loses depends on all rows of its group, so no level vector describes it.

Microaggregation replaces numbers by a centre of their group. Boxes release the interval or the set of the values of a
group. What a group costs, exactly, and what it is released as is in `group_costs`; `Problem.group_cost` has it bound
to the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kanon_milp.errors import InputError, among
from kanon_milp.problem.arguments import by_column, column_names, instance_of, one_of
from kanon_milp.problem.exact import Number, exact_number
from kanon_milp.problem.group_costs import GROUP_COSTS, GroupCost, NumericCost, OwnCost
from kanon_milp.problem.group_costs.boxes import BoxPenalty
from kanon_milp.problem.group_costs.numeric import CENTERS, Center
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.table import Table


@dataclass(frozen=True)
class Microaggregation:
    """Numbers become the centre of their group (Domingo-Ferrer, Mateo-Sanz 2002).

    columns: default: all quasi-identifiers; a quasi-identifier that is not among them is refused. standardize: divide
    each column by its standard deviation first (for "l1" by its mean absolute deviation around the median), so that all
    columns count alike; this is for the cost only, and what is released is in the column's own unit. center: "mean",
    "median" (of each column), or "member": the row of the group that costs least as its centre. cost: "sse", the sum of
    squares around the centre, "l1", the sum of absolute deviations, or the name of a cost of one's own
    (`register_group_cost`), which says itself what groups are released as. weights: of columns, default 1.
    """

    columns: Sequence[str] | None = None
    standardize: bool = field(default=False, kw_only=True)
    center: Center = field(default="mean", kw_only=True)
    cost: str = field(default="sse", kw_only=True)
    weights: Mapping[str, Number] = field(default_factory=dict, kw_only=True)

    mask: None = field(default=None, init=False, repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, init=False, repr=False)
    level_costs: Mapping[str, Sequence[Number]] = field(default_factory=dict, init=False, repr=False)
    costs: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)
    kind = "microaggregation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _columns(self.columns))
        instance_of(self.standardize, bool, "standardize", "True or False")
        one_of(self.center, CENTERS, "center")
        one_of(self.cost, tuple(GROUP_COSTS), "cost")
        object.__setattr__(self, "weights", by_column(self.weights, "weights", given_weight))

    @property
    def claims(self) -> dict[str, Any]:
        """Its arguments beside columns and weights, as plain data."""
        return {"standardize": self.standardize, "center": self.center, "cost": self.cost}

    def bound_to(self, table: Table) -> GroupCost:
        """The cost of groups of the table; raises InputError where the columns do not go with it."""
        names = _checked(self.columns, self.weights, (), table, self.kind)
        kind = GROUP_COSTS[self.cost]
        if issubclass(kind, NumericCost):
            return kind.of(table, names, self.center, self.weights, standardize=self.standardize)
        if self.standardize or self.center != "mean":
            raise InputError(f"standardize and center are not for the group cost {self.cost}; leave them out")
        return OwnCost.of(kind, table, names, self.weights)


@dataclass(frozen=True)
class Boxes:
    """Cells become the interval or the set of the values of their group, or the lowest label of a hierarchy above them;
    the cost is the normalized certainty penalty (NCP, Xu et al. 2006).

    columns: default: all quasi-identifiers; a quasi-identifier that is not among them is refused. An interval is for
    columns in which all values are numbers: its NCP is its share of the column's range. That of a label is its share of
    the column's distinct values, 0 of one value; that of a set is (|set| - 1)/(distinct values - 1). weights: of
    columns, default 1. hierarchies: column → Hierarchy, or its paths as a plain dict.
    """

    columns: Sequence[str] | None = None
    weights: Mapping[str, Number] = field(default_factory=dict, kw_only=True)
    hierarchies: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    mask: None = field(default=None, init=False, repr=False)
    level_costs: Mapping[str, Sequence[Number]] = field(default_factory=dict, init=False, repr=False)
    costs: str = field(default="ncp", init=False, repr=False)
    kind = "boxes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _columns(self.columns))
        object.__setattr__(self, "weights", by_column(self.weights, "weights", given_weight))
        object.__setattr__(self, "hierarchies", by_column(self.hierarchies, "hierarchies", given_hierarchy))

    def bound_to(self, table: Table) -> GroupCost:
        """The cost of groups of the table; raises InputError where the columns do not go with it."""
        names = _checked(self.columns, self.weights, self.hierarchies, table, self.kind)
        return BoxPenalty.of(table, names, self.weights, self.hierarchies)


GROUP_RECODINGS = (Microaggregation, Boxes)


def _columns(given: Sequence[str] | str | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(column_names(given, "columns"))


def given_weight(value: Number, what: str) -> Number:
    """Check a weight, or a cost; it stays as it was given."""
    exact_number(value, what)
    return value


def given_hierarchy(value: Any, what: str) -> Hierarchy:
    """A hierarchy, also as its paths."""
    if isinstance(value, Hierarchy):
        return value
    return Hierarchy(instance_of(value, Mapping, what, "a Hierarchy, or a mapping from values to their labels,"), what)


def refuse_unknown(named: Mapping[str, Iterable[str]], known: Sequence[str]) -> None:
    """Raise InputError for a name that is none of a quasi-identifier. named: what was given → the columns in it."""
    for what, names in named.items():
        for name in names:
            if name not in known:
                raise InputError(f'{what}: "{name}" is not a quasi-identifier{among(name, known, "quasi-identifier")}')


def _checked(
    columns: Sequence[str] | None,
    weights: Mapping[str, Number],
    hierarchies: Mapping[str, Hierarchy] | tuple[()],
    table: Table,
    kind: str,
) -> tuple[str, ...]:
    """The columns in the order of the quasi-identifiers; raises InputError for others, and for those left out."""
    known = table.quasi_identifiers
    refuse_unknown({"columns": columns or (), "weights": weights, "hierarchies": hierarchies}, known)
    left = [name for name in known if columns is not None and name not in columns]
    if left:
        raise InputError(
            f'{table.source}: the quasi-identifier "{left[0]}" is not among the columns of {kind}, and would '
            "be released as it is; name it too, take it out of the quasi-identifiers, or drop it"
        )
    return known
