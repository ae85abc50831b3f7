"""t-closeness: the sensitive values of a group are distributed nearly as in the entire table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyomo.environ as pyo

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import one_of
from kanon_milp.problem.distances import (
    BUILT_IN,
    FROM_FILE,
    SIMPLE,
    EqualDistance,
    GroundDistance,
    Space,
    ground_distance,
)
from kanon_milp.problem.distances.emd import emd
from kanon_milp.problem.exact import Number, both, exact_parameter
from kanon_milp.problem.privacy import transport
from kanon_milp.problem.privacy.base import (
    NUMBER,
    TEXT,
    EmdLimit,
    Parameter,
    Requirement,
    Swept,
    ValueLimits,
    name_attribute,
    sensitive_names,
)
from kanon_milp.problem.privacy.instance_data import InstanceData
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags

if TYPE_CHECKING:
    from kanon_milp.problem.hierarchies import Label
    from kanon_milp.problem.table import Table

Form = Literal["short", "transport"]
FORMS = ("short", "transport")


@dataclass(frozen=True)
class TCloseness(Requirement):
    """The earth mover's distance between the sensitive values of each group and those of the entire table is at most t
    (Li, Li, Venkatasubramanian 2007; Liang, Yuan 2013, section 2.1).

    t: an exact rational from 0 to 1, such as "0.15" or "3/20". distance: the ground distance between values, "equal",
    "ordered", "numeric" or an object of `problem.distances`. form: "transport" states the transport constraints of
    Liang, Yuan 2013, Theorem 9; "short" the equivalent ones where the distance is a tree metric (see `transport`).

    Merge-closed: the distance is convex, and the reference stays the same. `assign` stays integer.
    """

    t: Number
    distance: str | GroundDistance = "equal"
    sensitive: str | None = None
    form: Form = "short"
    space: Space | None = field(default=None, repr=False, compare=False)
    name: ClassVar[str] = "t_closeness"
    term: ClassVar[str] = "t-closeness"
    letter: ClassVar[str] = "t"
    summary: ClassVar[str] = "t-closeness, exact as written, with the equal ground distance"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "form": Parameter(TEXT, "short or transport", modeling=True),
        "t": Parameter(
            NUMBER, metavar="T", help="t-closeness, a rational such as 0.15 or 3/20: distance to the table."
        ),
        "distance": Parameter(
            TEXT,
            "equal (default), ordered, numeric, order:FILE, hierarchy:FILE or matrix:FILE",
            option="--distance",
            metavar="D",
            help="Ground distance of t-closeness: equal, ordered, numeric, order:FILE, hierarchy:FILE or matrix:FILE.",
            usual="equal",
            files={kind.name: prefix for prefix, kind in FROM_FILE.items()},
        ),
    }
    swept: ClassVar[Swept] = Swept(-1, "0.1,0.2")
    sentence: ClassVar[str] = (
        "the values{about} in each group are within {t} of those of the whole table ({distance} distance)"
    )

    def __post_init__(self) -> None:
        if not 0 <= self.exact <= 1:
            raise InputError(f"t must lie between 0 and 1, found {self.exact}")
        name_attribute(self)
        one_of(self.form, FORMS, "the form of t-closeness")
        distance = ground_distance(self.distance)
        if self.distance not in SIMPLE:
            # a file is read once, so what is solved and what is verified is the same
            object.__setattr__(self, "distance", distance)

    @classmethod
    def read(cls, arguments: Mapping[str, Any], folder: Path, encoding: str | None) -> TCloseness:
        """Files of ground distances are beside the model file."""
        read = {"distance": ground_distance(arguments["distance"], folder, encoding)} if "distance" in arguments else {}
        return cls(**{**arguments, **read})

    @property
    def exact(self) -> Fraction:
        """The number t."""
        return exact_parameter(self.t, "t")

    def bind(self, table: Table) -> tuple[TCloseness, ...]:
        """Check that the ground distance knows every value."""
        bound = []
        for name in sensitive_names(self.name, self.sensitive, table):
            column = table.column(name)
            values: list[Label] = column.drop_nulls().unique().sort().to_list()
            if column.null_count():
                values.append(None)
            distance = ground_distance(self.distance)
            space = distance.space(values, f'{table.source}: column "{name}"')
            bound.append(replace(self, sensitive=name, distance=distance, space=space))
        return tuple(bound)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The sensitive attribute."""
        return () if self.sensitive is None else (self.sensitive,)

    @property
    def has_continuous_variables(self) -> bool:
        """Flows of the transport constraints; those of the shorter forms are integer."""
        return self.form == "transport" or self.space is None or self.space.tree is None

    @property
    def merge_closed(self) -> bool:
        """The distance is convex: that of a union is no more than the larger one of its parts."""
        return True

    def smallest_group(self, table_group: Group) -> int:
        """The smallest size whose integer numbers of rows come within t of the reference."""
        space = self._space(table_group)
        counts = table_group.sensitive[self.attributes[0]]
        return transport.smallest_close(space, [counts[value] for value in space.values], self.exact)

    def holds(self, group: Group) -> bool:
        """Exact earth mover's distance to the entire table."""
        space = self._space(group.reference)
        counts, reference = (g.sensitive[self.attributes[0]] for g in (group, group.reference))
        p = [counts.get(value, 0) for value in space.values]
        return bool(emd(space, p, [reference[value] for value in space.values]) <= self.exact)

    def viable(self, instance: InstanceData) -> Flags:
        """The reference moved to the nearest values of the cover comes within t."""
        return transport.viable(instance, self.attributes, self._space(instance.table_group), self.exact)

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """Constraints of `transport`: the general ones, or the shorter ones of a tree metric."""
        space = self._space(instance.table_group)
        if self.form == "transport" or space.tree is None:
            transport.declare_flows(block, model, instance, self.attributes, space, self.exact)
        elif transport.is_equal(space):
            transport.declare_equal(block, model, instance, self.attributes, self.exact)
        else:
            transport.declare_tree(block, model, instance, self.attributes, space, self.exact)

    def relaxations(self, table_group: Group) -> tuple[ValueLimits, ...]:
        """The work."""
        emd_limit = EmdLimit(self._space(table_group), self.exact)
        return (ValueLimits(self.attributes[0], emd=emd_limit, complete=True),)

    def certified(self, _table: Table) -> tuple[TCloseness, ...] | None:
        """All of it for the equal distance, nothing for others; None for a distance of a user's own."""
        kind = type(ground_distance(self.distance))
        if kind not in BUILT_IN:
            return None
        return (self,) if kind is EqualDistance else ()

    def describe(self) -> dict[str, object]:
        """t, the ground distance, the form and the attribute."""
        distance = ground_distance(self.distance).name
        return {**both("t", self.exact), "distance": distance, "form": self.form, "sensitive": self.sensitive}

    def _space(self, table_group: Group) -> Space:
        if self.space is not None:
            return self.space
        values = sorted(table_group.sensitive[self.attributes[0]], key=lambda value: (value is None, value or ""))
        return ground_distance(self.distance).space(values, f'column "{self.attributes[0]}"')
