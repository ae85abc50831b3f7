"""A privacy problem: a table, what each group must have, how values may be generalized, and what is minimized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from kanon_milp.errors import InputError, printable, type_in_words
from kanon_milp.problem.arguments import integer, listed, one_of, text, wrong
from kanon_milp.problem.exact import Number, exact_number
from kanon_milp.problem.group_costs import GroupCost
from kanon_milp.problem.group_recoding import Boxes, Microaggregation
from kanon_milp.problem.privacy import KAnonymity, Requirement
from kanon_milp.problem.privacy.base import bound_to, is_size_only
from kanon_milp.problem.recoding import Recoding, Suppression
from kanon_milp.problem.table import Table
from kanon_milp.system.markup import card

Objective = Literal["loss", "min_groups", "max_groups", "class_size", "discernibility"]
SuppressedRows = Literal["strict", "exempt"]
OBJECTIVES = ("loss", "min_groups", "max_groups", "class_size", "discernibility")
# by objective: in words
OPTIMIZED = {"loss": "loss", "discernibility": "discernibility"}
SUPPRESSED_ROWS = ("strict", "exempt")
NAMELESS = "problem"
RECODINGS = "Suppression(), PatternMask(...), Hierarchies(...), Microaggregation(...) or Boxes(...)"


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """What to solve. A group is what one released row type stands for.

    privacy: the requirement, or several, that each group must satisfy. requirements: the same, checked against the
    table, one for each sensitive attribute that is meant.
    recoding: `Suppression()`, `PatternMask(...)` or `Hierarchies(...)`; of whole groups `Microaggregation(...)` or
    `Boxes(...)`. group_cost: what groups of the table cost under one of these two, None under the others.
    cost_bound: largest allowed loss s (decision version: a proven "no" is a result).
    min_groups, max_groups: bounds on the number t_out of released row types (Homogeneity paper, section 3.1); equal
    for exact.
    objective: "loss" (fewest weighted suppressions), "min_groups" / "max_groups" for t_out^min / t_out^max, or
    "discernibility" (least Σ |group|², Bayardo and Agrawal 2005, a group of suppressed rows like any other).
    "class_size", the least average class size (AECS, LeFevre et al. 2006), is another name of "max_groups".
    suppressed_rows: "strict" (fully suppressed rows are a group like any other) or "exempt" (they need no partners).
    """

    table: Table
    privacy: Requirement | Sequence[Requirement]
    recoding: Recoding = field(default_factory=Suppression)
    cost_bound: Number | None = None
    min_groups: int | None = None
    max_groups: int | None = None
    objective: Objective = "loss"
    suppressed_rows: SuppressedRows = "strict"
    name: str = NAMELESS
    requirements: tuple[Requirement, ...] = field(init=False, repr=False)
    group_cost: GroupCost | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.table, Table):
            raise InputError(
                f"a Problem needs a Table, found {type_in_words(self.table)}; make one with read_table(file, "
                "quasi_identifiers=[...]) or Table.from_frame(data_frame, quasi_identifiers=[...])"
            )
        if not isinstance(self.recoding, Recoding):
            raise wrong("recoding", RECODINGS, self.recoding)
        text(self.name, "name of the problem")
        asked = _listed(self.privacy)
        object.__setattr__(self, "privacy", asked)
        # of a released table it is judged whether it has what is asked for, not whether some table could
        asked_of = () if self.table.is_released else asked
        bound = tuple(each for requirement in asked_of for each in bound_to(self.table, requirement))
        object.__setattr__(self, "requirements", bound)
        if self.table.keys_match:
            self._refuse_for_matching()
        for what, value, known in (
            ("objective", self.objective, OBJECTIVES),
            ("suppressed_rows", self.suppressed_rows, SUPPRESSED_ROWS),
        ):
            one_of(value, known, what)
        if self.objective == "class_size":  # n rows in as many groups as possible
            object.__setattr__(self, "objective", "max_groups")
        for what, limit in (("min_groups", self.min_groups), ("max_groups", self.max_groups)):
            if limit is not None:
                object.__setattr__(self, what, integer(limit, what))
        if self.min_groups is not None and self.max_groups is not None and self.min_groups > self.max_groups:
            raise InputError(f"min_groups = {self.min_groups} is larger than max_groups = {self.max_groups}")
        if self.cost_bound is not None:
            exact_number(self.cost_bound, "cost_bound")
        cost = None
        if isinstance(self.recoding, Microaggregation | Boxes) and not self.table.is_released:
            if self.table.counts is not None:
                raise InputError(
                    f"{self.table.source}: a recoding of entire groups places each row, so it takes no frequency "
                    "table; write the rows out, without count"
                )
            cost = self.recoding.bound_to(self.table)
            self._refuse_for_groups()
        object.__setattr__(self, "group_cost", cost)

    def _refuse_for_matching(self) -> None:
        """Raise InputError for what is not k-anonymity at the least loss where missing keys match any value."""
        asked = {each.spelled: not isinstance(each, KAnonymity) for each in self.requirements}
        asked[f"objective {self.objective}"] = self.objective != "loss"
        asked |= {"min_groups": self.min_groups is not None, "max_groups": self.max_groups is not None}
        for what, is_asked in asked.items():
            if is_asked:
                raise InputError(
                    f'{self.table.source}: missing="wildcard" (--missing wildcard) is for k-anonymity at the least '
                    f'loss, and {what} is asked for; take missing="value", and check the table with '
                    'missing_keys="match" (--missing-keys match)'
                )

    def _refuse_for_groups(self) -> None:
        """Raise InputError for what only recodings of rows have."""
        asked = {
            f"objective {self.objective}": self.objective != "loss",
            "min_groups": self.min_groups is not None,
            "max_groups": self.max_groups is not None,
            "cost_bound": self.cost_bound is not None,
            f"suppressed_rows {self.suppressed_rows}": self.suppressed_rows != "strict",
            **{
                each.spelled: True
                for each in self.requirements
                if not each.separable or each.asks_of_labels or each.most_groups(self.table.n) is not None
            },
        }
        for what, is_asked in asked.items():
            if is_asked:
                raise InputError(f"{what} is not supported with the recoding {self.recoding.kind}; leave it out")

    @property
    def title(self) -> str:
        """The name; where none was given, what the table is called: its file without folders, or "table"."""
        return Path(self.table.source).name if self.name == NAMELESS else self.name

    def __repr__(self) -> str:
        """Names and the shape of the table, and no cell."""
        asked = ", ".join(requirement.name for requirement in self.requirements)
        return printable(f"<Problem {self.name}: {asked}; {self.recoding.kind}; {self.objective}; {self.table!r}>")

    def _repr_html_(self) -> str:
        table = self.table
        facts = [
            ("requirements", ", ".join(requirement.spelled for requirement in self.requirements)),
            ("recoding", self.recoding.kind.replace("_", " ")),
            ("patterns", None if self.recoding.mask is None else f"{len(self.recoding.mask.patterns):,}"),
            ("objective", self.objective.replace("_", " ")),
            ("cost bound", None if self.cost_bound is None else str(self.exact_cost_bound)),
            ("fewest groups", self.min_groups),
            ("most groups", self.max_groups),
            ("suppressed rows", self.suppressed_rows),
            ("table", f"{table.source}: {table.n:,} rows"),
            ("quasi-identifiers", ", ".join(table.quasi_identifiers)),
            ("sensitive", ", ".join(table.sensitive)),
            ("unit", table.unit),
        ]
        return card(f"Problem {self.name}", facts)

    @property
    def optimized(self) -> str:
        """What is optimized, in words."""
        return OPTIMIZED.get(self.objective, "number of groups")

    @property
    def exact_cost_bound(self) -> Fraction | None:
        """The cost bound s as an exact number."""
        return None if self.cost_bound is None else exact_number(self.cost_bound, "cost_bound")

    @property
    def most_groups(self) -> int | None:
        """The largest number of groups: `max_groups`, or what a requirement such as marketer risk leaves of it."""
        found = [self.max_groups, *(each.most_groups(self.table.n) for each in self.requirements)]
        return min((most for most in found if most is not None), default=None)

    def without_sides(self) -> Problem:
        """The problem without what is about all groups together: its side constraints, and the requirements that are a
        largest number of groups."""
        alone = [each for each in self.requirements if each.most_groups(self.table.n) is None]
        privacy = self.privacy if len(alone) == len(self.requirements) else alone or [KAnonymity(1)]
        return replace(self, privacy=privacy, cost_bound=None, min_groups=None, max_groups=None)

    @property
    def wants_many_groups(self) -> bool:
        """Whether merging two groups can spoil a solution or its value."""
        return self.min_groups is not None or self.objective in ("max_groups", "discernibility")

    @property
    def merge_closed(self) -> bool:
        """Whether every requirement is merge-closed."""
        return all(r.merge_closed for r in self.requirements)

    @property
    def separable(self) -> bool:
        """Whether every requirement is about each group by itself, as the k of a set of quasi-identifiers is not."""
        return all(r.separable for r in self.requirements)

    @property
    def asks_of_labels(self) -> bool:
        """Whether some requirement also asks what is released, so that there are fewer candidates."""
        return any(r.asks_of_labels for r in self.requirements)

    @property
    def size_only(self) -> bool:
        """Whether a group has all that is required exactly if it has enough rows."""
        return all(map(is_size_only, self.requirements))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The sensitive attributes that the requirements are about, in the order of the table, and the unit of
        protection where they count that."""
        named = {name for r in self.requirements for name in r.attributes}
        return tuple(name for name in self.table.counted_attributes if name in named)

    @property
    def sources(self) -> tuple[str, ...]:
        """Where table, mask, hierarchies, ground distances and populations come from: files, or words for none."""
        distances = [getattr(each, "distance", None) for each in self.requirements]
        trees = [getattr(each, "hierarchy", None) for each in distances]
        people = [getattr(each, "population", None) for each in self.requirements]
        used = [self.table, self.recoding.mask, *self.recoding.hierarchies.values(), *distances, *trees, *people]
        found = (getattr(each, "source", None) for each in used)
        return tuple(source for source in found if isinstance(source, str))

    @property
    def network(self) -> bool:
        """Whether the assignment is a minimum-cost flow once the binaries are fixed: all lower bounds are nested, and a
        row has a cost of its own."""
        if self.objective == "discernibility":
            return False
        cells = {r.attributes for r in self.requirements if r.attributes}
        return all(r.keeps_flow_structure for r in self.requirements) and len(cells) <= 1


def expect_problem(value: object, caller: str) -> Problem:
    """Check the argument of a function that takes a problem, and say how to get from something near to one."""
    if isinstance(value, Problem) and not value.table.is_released:
        return value
    if isinstance(value, Problem):
        raise InputError(f"{caller} takes a problem of an original table, and this one is read as a released one")
    if isinstance(value, Table):
        way_out = "write Problem(table, KAnonymity(5))"
    elif isinstance(value, str | Path):
        way_out = "write read_model(path).problem"
    elif isinstance(getattr(value, "problem", None), Problem):  # a model file, a result
        way_out = "give its field problem"
    else:
        way_out = "write Problem(Table.from_frame(data_frame, quasi_identifiers=[...]), KAnonymity(5))"
    raise InputError(f"{caller} takes a Problem, found {type_in_words(value)}; {way_out}")


def _listed(privacy: Any) -> tuple[Requirement, ...]:
    """One requirement or several as a tuple. Raises InputError where there is none, or something else among them."""
    if isinstance(privacy, Requirement):
        return (privacy,)
    found = (
        () if privacy is None else listed(privacy, "privacy", "a requirement such as KAnonymity(5), or a list of them,")
    )
    if not found:
        raise InputError("name at least one privacy requirement, such as KAnonymity(5)")
    for each in found:
        if not isinstance(each, Requirement):
            raise InputError(f"privacy takes requirements such as KAnonymity(5), found {type_in_words(each)}")
    return found
