"""A privacy problem: a table, what each group must have, how values may be generalized, and what is minimized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from kanon_milp.errors import InputError, kind_of, nearest
from kanon_milp.privacy import Requirement
from kanon_milp.recoding import Number, Recoding, Suppression, exact_number
from kanon_milp.table import Table

Objective = Literal["loss", "min_groups", "max_groups"]
SuppressedRows = Literal["strict", "exempt"]
OBJECTIVES = ("loss", "min_groups", "max_groups")
SUPPRESSED_ROWS = ("strict", "exempt")


@dataclass(frozen=True, eq=False)
class Problem:
    """What to solve. A group is what one released row type stands for.

    privacy: requirements that each group must satisfy.
    recoding: `Suppression()`, `PatternMask(...)` or `Hierarchies(...)`.
    cost_bound: largest allowed loss s (decision version: a proven "no" is a result).
    min_groups, max_groups: bounds on the number t_out of released row types (Homogeneity paper, section 3.1); equal
    for exact.
    objective: "loss" (fewest weighted suppressions), or "min_groups" / "max_groups" for t_out^min / t_out^max.
    suppressed_rows: "strict" (fully suppressed rows are a group like any other) or "exempt" (they need no partners).
    """

    table: Table
    privacy: Sequence[Requirement]
    recoding: Recoding = field(default_factory=Suppression)
    cost_bound: Number | None = None
    min_groups: int | None = None
    max_groups: int | None = None
    objective: Objective = "loss"
    suppressed_rows: SuppressedRows = "strict"
    name: str = "problem"

    def __post_init__(self) -> None:
        if not self.privacy:
            raise InputError("name at least one privacy requirement, such as KAnonymity(5)")
        for requirement in self.privacy:
            requirement.check(self.table)
        for what, value, known in (
            ("objective", self.objective, OBJECTIVES),
            ("suppressed_rows", self.suppressed_rows, SUPPRESSED_ROWS),
        ):
            if value not in known:
                raise InputError(f"{what} must be one of {', '.join(known)}{nearest(str(value), list(known))}")
        for what, bound in (("min_groups", self.min_groups), ("max_groups", self.max_groups)):
            if bound is None:
                continue
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise InputError(f"{what} must be a whole number, found {kind_of(bound)}")
            if bound < 1:
                raise InputError(f"{what} must be at least 1, found {bound}")
        if self.min_groups is not None and self.max_groups is not None and self.min_groups > self.max_groups:
            raise InputError(f"min_groups = {self.min_groups} is larger than max_groups = {self.max_groups}")
        if self.cost_bound is not None:
            exact_number(self.cost_bound, "cost_bound")

    @property
    def exact_cost_bound(self) -> Fraction | None:
        """The cost bound s as an exact number."""
        return None if self.cost_bound is None else exact_number(self.cost_bound, "cost_bound")

    @property
    def wants_many_groups(self) -> bool:
        """Whether merging two groups can spoil a solution or its value."""
        return self.min_groups is not None or self.objective == "max_groups"

    @property
    def merge_closed(self) -> bool:
        """Whether every requirement is merge-closed."""
        return all(r.merge_closed for r in self.privacy)
