"""Plain data that crosses the line between a problem and its verifier; nothing here decides anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kanon_milp.errors import printable

Label = str | None


@dataclass(frozen=True)
class Group:
    """The rows that a released row type stands for, as counts.

    size: number of rows. sensitive: per sensitive attribute value → rows (absent values are not in it).
    tuples: joint values of the attributes `names` → rows. table_group: the entire table as a group, the reference
    distribution.
    """

    size: int
    sensitive: Mapping[str, Mapping[Label, int]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    tuples: Mapping[tuple[Label, ...], int] = field(default_factory=dict)
    table_group: Group | None = None

    def __repr__(self) -> str:
        """How many rows and values there are, and none of them."""
        values = ", ".join(f"{len(counts)} values of {name}" for name, counts in self.sensitive.items())
        return printable(f"<Group: {self.size} rows{values and '; '}{values}>")

    @classmethod
    def of(
        cls, names: Sequence[str], tuples: Mapping[tuple[Label, ...], int], table_group: Group | None = None
    ) -> Group:
        """A group from the joint values of its sensitive attributes."""
        marginals: dict[str, dict[Label, int]] = {name: defaultdict(int) for name in names}
        for values, rows in tuples.items():
            for name, value in zip(names, values, strict=True):
                marginals[name][value] += rows
        counts = {name: dict(found) for name, found in marginals.items()}
        return cls(sum(tuples.values()), counts, tuple(names), dict(tuples), table_group)

    @property
    def reference(self) -> Group:
        """The entire table. Raises ValueError for a group that does not know it."""
        if self.table_group is None:
            raise ValueError("a requirement that compares with the entire table needs Group.table_group")
        return self.table_group
