"""Limits on sensitive values as the dual bound needs them, and what a certificate charges single groups with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kanon_milp.verify.group_costs import ROOM, Asked

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Charge:
    """θ of one group: that of the rows which a level vector releases as it does this one. charge: θ ≥ 0 times the
    denominator."""

    attribute: str
    levels: tuple[int, ...]
    row: int
    charge: int


@dataclass(frozen=True, eq=False)
class Values:
    """Limits on the sensitive values of every group by attribute, of rows with one value each, and what is charged."""

    asked: Mapping[str, Asked]
    charges: Sequence[Charge]

    def in_order(self, order: Ints) -> Values:
        """The same with the rows in another order."""
        place = np.argsort(order)
        return Values(
            {name: replace(each, value=each.value[order]) for name, each in self.asked.items()},
            [replace(each, row=int(place[each.row])) for each in self.charges],
        )

    def that_fit(self, largest: int) -> Values:
        """Without charges where the costs of groups, up to `largest`, would leave the range of integers with them."""
        highest = max((each.charge for each in self.charges), default=0)
        # what a row is charged is at most θ·scale/2, and what is charged at the start at most 3/2 of that for each row
        most = max(
            (each.scale * (largest + 4 * highest * int(each.shares.sum())) for each in self.asked.values()), default=0
        )
        return self if most < ROOM else Values(self.asked, ())

    def of_groups(self, levels: Sequence[int], members: Ints, begins: Ints) -> dict[str, Ints]:
        """Per attribute θ of each group of a level vector. members, begins: the rows of the groups, and where each
        group begins."""
        found = {name: np.zeros(len(begins), np.int64) for name in self.asked}
        group = {}
        charges = [each for each in self.charges if each.levels == tuple(levels)]
        if charges:
            of_member = np.searchsorted(begins, np.arange(len(members)), side="right") - 1
            group = dict(zip(members.tolist(), of_member.tolist(), strict=True))
        for each in charges:
            if each.row in group:
                found[each.attribute][group[each.row]] = each.charge
        return found
