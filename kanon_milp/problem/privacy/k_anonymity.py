"""k-anonymity: every group has at least k rows, or rows of at least k different units of protection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError, counted, nearest
from kanon_milp.problem.arguments import column_names, integer
from kanon_milp.problem.exact import in_words
from kanon_milp.problem.privacy.base import (
    INTEGER,
    LIST,
    Parameter,
    Requirement,
    Shortfall,
    Swept,
    ValueLimits,
    few_rows,
)
from kanon_milp.problem.privacy.instance_data import (
    InstanceData,
    Rows,
    declare_presence,
    distinct_values,
    matches,
    projections,
)
from kanon_milp.problem.privacy.shares import few_values
from kanon_milp.problem.privacy.thresholds import PRESETS
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags

if TYPE_CHECKING:
    from kanon_milp.problem.table import Table


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """Each group has at least k rows (Samarati 2001; Bredereck et al. 2013, constraint (3)).

    quasi_identifiers: a subset of the table's; then what is released of these columns alone is k-anonymous. Several
    sets of quasi-identifiers may each have their own k.
    unit: the table's unit of protection, set by `bind`; then each group has rows of at least k different units (which
    is p-sensitivity of the unit). None where each row is a unit of its own, and for k = 1.
    matching: set by `bind` for a table read with missing="wildcard": each row is matched by at least k rows, itself
    included, where two rows match if in each column they are released alike, or one of the two is missing or suppressed
    there (sdcMicro's frequency count fk). Rows that match a row need not match each other, so these are no groups.
    threshold: of the risk that k comes from, as `ProsecutorRisk.describe` gives it; empty where k itself was asked for.
    Merge-closed: sizes add up, and a union has the units of both. Keeps the flow structure: with `open` fixed, what is
    left is a transportation problem with lower bounds. Neither holds for a subset, and where rows match, as one group's
    rows may be what another group needs.
    """

    k: int
    quasi_identifiers: Sequence[str] | None = None
    unit: str | None = field(default=None, init=False)
    matching: bool = field(default=False, init=False)
    threshold: Mapping[str, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    name: ClassVar[str] = "k_anonymity"
    term: ClassVar[str] = "k-anonymity"
    against: ClassVar[str] = "linkage"
    source: ClassVar[str] = "Samarati 2001; Sweeney 2002"
    letter: ClassVar[str] = "k"
    summary: ClassVar[str] = "k-anonymity: each group has at least k rows"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "k": Parameter(INTEGER, help="k-anonymity: each group has at least k rows (or units)."),
        "quasi_identifiers": Parameter(LIST, "a set of them that has this k of its own"),
    }
    swept: ClassVar[Swept] = Swept(1, "2..10,25")
    SETS: ClassVar[str] = "--k-of"  # the option of a set of quasi-identifiers
    exempts: ClassVar[bool] = True  # rows without any information left are like all others

    def __post_init__(self) -> None:
        integer(self.k, "k")
        if self.quasi_identifiers is not None:
            named = column_names(self.quasi_identifiers, "quasi_identifiers of k-anonymity")
            object.__setattr__(self, "quasi_identifiers", named)

    @classmethod
    def in_words(cls, claims: Mapping[str, Any], about: str) -> str:
        """Others that a row looks like, of a unit, or where only some columns are known."""
        others = counted(int(claims["k"]) - 1, "other")
        if "unit" in claims:
            said = f"each row looks like rows of at least {others} of {claims['unit']}"
        else:
            sets = claims.get("quasi_identifiers")
            within = f" when only {', '.join(sets)} are known" if isinstance(sets, list) else ""
            reading = ", if what is missing or suppressed may be any value" if "missing_keys" in claims else ""
            said = f"each row looks like at least {others}{within}{reading}"
        if "risk" not in claims:
            return said
        source = PRESETS[claims["preset"]].source if "preset" in claims else ""
        k, risk = int(claims["k"]), Fraction(claims["risk"])
        above = f"; {k - 1} would be a risk of 1/{k - 1}, which is above it" if k > 1 else ""
        return f"{said}: k = {k} is the fewest for a risk of at most {in_words(risk)}{source and f' ({source})'}{above}"

    @classmethod
    def as_options(cls, claims: Mapping[str, Any]) -> dict[str, str] | None:
        """`--k`, `--k-of` for a set of quasi-identifiers, or `--risk` where it comes from a threshold."""
        if "risk" in claims:
            return {"--risk": str(claims.get("preset", claims["risk"]))}
        named = claims.get("quasi_identifiers")
        if named is None:
            return super().as_options(claims)
        return None if any(set(name) & set(',"') for name in named) else {cls.SETS: f"{','.join(named)}={claims['k']}"}

    def bind(self, table: Table) -> tuple[KAnonymity, ...]:
        """Refuse columns that are no quasi-identifiers; count units where a unit has several rows, and what matches
        where the table is read so."""
        several = self.k > 1 and table.unit is not None and table.column(table.unit).n_unique() < table.n
        unit, matching = table.unit if several else None, table.keys_match and self.k > 1
        if unit is not None and matching:
            raise InputError(
                f'{table.source}: missing="wildcard" (--missing wildcard) counts rows, and the unit of protection '
                f'"{unit}" has several; take missing="value", or leave the unit out'
            )
        if self.quasi_identifiers is None:
            return (self._of(unit, matching=matching),)
        names = self.quasi_identifiers
        known = list(table.quasi_identifiers)
        for name in names:
            if name not in known:
                raise InputError(
                    f'{table.source}: k-anonymity of a set of quasi-identifiers: "{name}" is not a quasi-identifier'
                    f"{nearest(str(name), known)}; the table has {', '.join(known)}"
                )
        if not names or len(set(names)) < len(names):
            raise InputError(f"{table.source}: a set of quasi-identifiers names each column once, and at least one")
        subset = tuple(name for name in known if name in names)
        if len(subset) == len(known):
            return (replace(self, quasi_identifiers=None)._of(unit, matching=matching),)
        if unit is not None:
            raise InputError(
                f"{table.source}: k-anonymity of a set of quasi-identifiers counts rows, and the unit of protection "
                f'"{unit}" has several rows; ask for k of all quasi-identifiers, or leave the unit out'
            )
        return (replace(self, quasi_identifiers=subset)._of(None, matching=matching),)

    def _of(self, unit: str | None, *, matching: bool) -> KAnonymity:
        """The same with this unit and reading; the same object where it has them."""
        if unit == self.unit and matching == self.matching:
            return self
        found = replace(self)
        object.__setattr__(found, "unit", unit)
        object.__setattr__(found, "matching", matching)
        return found

    def because(self, threshold: Mapping[str, object]) -> KAnonymity:
        """The same, which knows the threshold of a risk that it comes from."""
        found = replace(self)._of(self.unit, matching=self.matching)
        object.__setattr__(found, "threshold", threshold)
        return found

    @property
    def attributes(self) -> tuple[str, ...]:
        """The unit of protection, where units are counted."""
        return () if self.unit is None else (self.unit,)

    @property
    def separable(self) -> bool:
        """A subset's classes may be several groups, and so may the rows that match a row."""
        return self.quasi_identifiers is None and not self.matching

    @property
    def merge_closed(self) -> bool:
        """Sizes of groups add up, and so do their units; others than a group's own rows may be needed elsewhere."""
        return self.separable

    @property
    def keeps_flow_structure(self) -> bool:
        """What is asked of several groups together cuts across them."""
        return self.separable

    @property
    def rows_asked(self) -> int:
        """The number k; none of a group where several groups have k together."""
        return int(self.k) if self.separable else 1

    @property
    def needs_group_size(self) -> bool:
        """Where several groups have k together, their sizes are added up."""
        return not self.separable

    def smallest_group(self, table_group: Group) -> int:
        """The size k itself, units being in different rows; a group may be smaller where several have k together."""
        return int(self.k) if self.separable else 1

    def holds(self, group: Group) -> bool:
        """At least k rows, or units. For a subset: of a class of rows that are released alike there; of the rows that
        match a row, where rows match."""
        return (group.size if self.unit is None else len(group.sensitive[self.unit])) >= self.k

    def shortfall(self, table_group: Group) -> Shortfall | None:
        """A table of fewer than k rows, or units."""
        few = few_rows(int(self.k), table_group)
        return few if few or self.unit is None else few_values(int(self.k), table_group, self.unit)

    def viable(self, instance: InstanceData) -> Flags:
        """A cover of fewer than k rows, or units, never becomes a group; for a subset: all rows that can be released
        alike. Where rows match, a suppressed row matches any."""
        if self.unit is not None:
            return (distinct_values(instance, self.attributes) >= self.k) | instance.exempt
        if self.separable:
            return (instance.candidates.support >= self.k) | instance.exempt
        projection, suppressed = projections(instance, self.quasi_identifiers)
        free = suppressed & instance.exempt_reading
        if self.matching:
            return np.full(len(free), instance.types.n >= self.k) | free
        # row types covered by any candidate with this projection, each counted once
        pair = np.column_stack([projection[instance.candidates.candidate_of_pair()], instance.candidates.members])
        distinct = np.unique(pair, axis=0)
        rows = np.bincount(distinct[:, 0], weights=instance.types.counts[distinct[:, 1]])
        viable: Flags = (rows[projection] >= self.k) | free
        return viable

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """Σ_i x[i,g] ≥ k·y[g], and of units as `declare_presence` has it; for a subset the sum goes over all candidates
        that release the same there, and where rows match, over all h that match g: Σ_i,h x[i,h] ≥ a_g + (k - a_g)·y[g],
        with the a_g < k rows that match g whatever is released of them."""
        if self.unit is not None:
            declare_presence(block, model, instance, self.attributes, int(self.k), free=instance.exempt)
            return
        rows = Rows(model, instance)
        if self.separable:
            exempt = instance.exempt

            @block.Constraint(model.CANDIDATES, doc="an open group has at least k rows (one where it is exempt)")
            def size(_block: pyo.Block, g: int) -> object:
                return rows.size(g) >= (1 if exempt[g] else self.k) * model.open[g]

            return
        projection, suppressed = projections(instance, self.quasi_identifiers)
        free = suppressed & instance.exempt_reading
        alike: dict[int, list[int]] = {}
        for g, number in enumerate(projection.tolist()):
            alike.setdefault(number, []).append(g)
        known = {number: ([number], 0) for number in alike}
        if self.matching:
            known = matches(instance, self.quasi_identifiers, projection, int(self.k))
        docs = {False: "are released alike in these columns", True: "match it"}

        @block.Constraint(model.CANDIDATES, doc=f"groups that {docs[self.matching]} have at least k rows together")
        def together(_block: pyo.Block, g: int) -> object:
            if free[g] or int(projection[g]) not in known:
                return pyo.Constraint.Skip
            others, always = known[int(projection[g])]
            found = sum(rows.size(h) for number in others for h in alike[number])
            return found >= always + (self.k - always) * model.open[g]

    @property
    def size_only(self) -> bool:
        """What several groups have together is no size of one, and units are more than rows."""
        return self.separable and self.unit is None

    def relaxations(self, _table_group: Group) -> tuple[ValueLimits, ...]:
        """Different units."""
        return () if self.unit is None else (ValueLimits(self.unit, different=int(self.k), complete=True),)

    def describe(self) -> dict[str, object]:
        """The parameter k, the set of quasi-identifiers where it is not all of them, the unit where units are counted,
        whether missing keys match, and the threshold of a risk that k comes from."""
        subset = {} if self.quasi_identifiers is None else {"quasi_identifiers": list(self.quasi_identifiers)}
        unit = {} if self.unit is None else {"unit": self.unit}
        reading = {"missing_keys": "match"} if self.matching else {}
        return {"k": int(self.k), **subset, **unit, **reading, **self.threshold}
