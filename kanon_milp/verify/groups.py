"""Groups of a released table: sizes, what they say of sensitive attributes, which requirements they meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.distances import GroundDistance
from kanon_milp.privacy import Group, KAnonymity, Requirement
from kanon_milp.verify.counts import Counts, whole_group
from kanon_milp.verify.facts import GroupFacts, closeness_of, sensitive_facts
from kanon_milp.verify.frames import list_rows
from kanon_milp.verify.pairwise import pairwise_diversity
from kanon_milp.verify.ratios import Ratios


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive:
    """The sensitive attributes of a released table, row by row, and those of its original.

    released, original: as text. distances: per attribute ground distances to report, besides those that need no more
    than the values. source: what messages call the table.
    """

    released: pl.DataFrame
    original: pl.DataFrame
    distances: Mapping[str, Sequence[GroundDistance]] = field(default_factory=dict)
    source: str = "table"

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(self.released.columns)

    def meant(self, requirement: Requirement) -> tuple[str, ...]:
        """The attributes that a requirement looks at; all where it names none."""
        return requirement.attributes or self.names

    def whole(self, names: Sequence[str]) -> Group:
        """The original table as a group, the reference distribution."""
        return whole_group(self.original, names)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rows in groups, numbered from 0 in the order of their first rows.

    of_row: int64 (n,), the group of each row. size: int64 (groups,). suppressed: bool (groups,), whether each
    of the group's cells is the symbol. title: what a group is, for messages.
    """

    of_row: NDArray[np.int64]
    size: NDArray[np.int64]
    suppressed: NDArray[np.bool_]
    sensitive: Sensitive
    title: str

    @classmethod
    def build(
        cls,
        of_row: NDArray[np.int64],
        suppressed_rows: NDArray[np.bool_],
        sensitive: Sensitive,
        title: str,
    ) -> Grouping:
        """Collect rows into groups. suppressed_rows: bool (n,), whether the row is fully suppressed."""
        size = np.bincount(of_row)
        suppressed = np.bincount(of_row[suppressed_rows], minlength=len(size)) == size
        return cls(of_row, size, suppressed, sensitive, title)

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """Per sensitive attribute how often its values occur in the groups."""
        return {name: Counts.build(self.of_row, self.sensitive.released, [name]) for name in self.sensitive.names}

    @cached_property
    def closeness(self) -> dict[str, dict[str, Ratios]]:
        """Per sensitive attribute and ground distance the distance of each group to the whole table."""
        return {
            name: closeness_of(
                counts, self.sensitive.distances.get(name, ()), f'{self.sensitive.source}: column "{name}"'
            )
            for name, counts in self.counts.items()
        }

    @cached_property
    def facts(self) -> GroupFacts:
        """Sizes and the strongest that holds for each sensitive attribute."""
        visible = self.size[~self.suppressed]
        return GroupFacts(
            groups=len(self.size),
            k_strict=int(self.size.min()),
            k_exempt=int(visible.min()) if visible.size else None,
            mean_group=Fraction(len(self.of_row), len(self.size)),
            largest_group=int(self.size.max()),
            sensitive={name: sensitive_facts(counts, self.closeness[name]) for name, counts in self.counts.items()},
            l_pairwise=self._l_pairwise(),
        )

    def check(self, requirement: Requirement, *, exempt: bool) -> list[str]:
        """Check a requirement in every group; fully suppressed rows that are exempt need no k partners."""
        if isinstance(requirement, KAnonymity):
            small = self.size < int(requirement.k)
            failing = np.flatnonzero(small & ~self.suppressed if exempt else small)
            what = f"fewer than k = {int(requirement.k)} rows"
        else:
            failing = self._failing(requirement)
            what = f"not {_named(requirement)}"
        if not failing.size:
            return []
        rows = list_rows(np.flatnonzero(self.of_row == failing[0]))
        return [f"{len(failing)} of {len(self.size)} {self.title} have {what}; the first is {rows}"]

    def _failing(self, requirement: Requirement) -> NDArray[np.int64]:
        """The groups that do not satisfy it, each kind of group asked about once."""
        names = self.sensitive.meant(requirement)
        counts = Counts.build(self.of_row, self.sensitive.released, names)
        whole = self.sensitive.whole(names)
        # a value that the original does not have: nothing can be said for such a group
        known = np.array([label in whole.tuples for label in counts.labels], dtype=bool)
        first, kind = counts.alike
        fails = [
            not (all(known[code] for code in inside) and requirement.holds(counts.as_group(inside, whole)))
            for inside in map(counts.of_group, first.tolist())
        ]
        return np.flatnonzero(np.array(fails, dtype=bool)[kind])

    def _l_pairwise(self) -> int | None:
        if len(self.sensitive.names) < 2:
            return None
        joint = Counts.build(self.of_row, self.sensitive.released, self.sensitive.names)
        return pairwise_diversity(joint, list(zip(*joint.labels, strict=True)))


def _named(requirement: Requirement) -> str:
    """A requirement with its parameters, such as 'l_diversity (l = 3/2, form = frequency) of "disease"'."""
    described = requirement.describe()
    shown = {
        name: described.get(f"{name}_exact", value)
        for name, value in described.items()
        if name != "sensitive" and not name.endswith("_exact")
    }
    parameters = ", ".join(f"{name} = {value}" for name, value in shown.items())
    of = " and ".join(f'"{name}"' for name in requirement.attributes)
    return f"{requirement.name} ({parameters})" + (f" of {of}" if of else "")
