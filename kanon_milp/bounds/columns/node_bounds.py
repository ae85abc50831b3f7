"""What bounds a node of branch and bound: the linear program over the groups that it has, and a proof in integers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kanon_milp.bounds.columns.program import GroupProgram, Prices
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped
from kanon_milp.system.arrays import Flags
from kanon_milp.system.limit import Limit


@dataclass(frozen=True, eq=False)
class NodePoint:
    """Rank-1 cuts, and multipliers of the row types and of these."""

    prices: Prices
    cuts: RankOneCuts


@dataclass(frozen=True, eq=False)
class Proof:
    """value: no table of a node loses less, in units. possible: says, for a cutoff, which of the pairs of its instance
    can be in a table that loses less, bool (pairs,)."""

    value: Fraction
    possible: Callable[[int, Limit], Flags]


class NodeBounds(ABC):
    """For the nodes of one instance.

    start: where the first node begins. groups: its first columns. constant: what the linear program has more than the
    bound, in units. added: rank-1 cuts in a round. careful: whether a round that takes long is cut short, since groups
    may be hard to find under some cuts, and branches do without these.
    """

    constant = 0.0
    added = 150
    careful = False

    def __init__(self, instance: Instance, start: NodePoint, groups: Groups) -> None:
        """groups: others than the instance has do not matter."""
        self.instance, self.start, self.groups = instance, start, groups

    @abstractmethod
    def program(self, pairs: Flags, at: NodePoint) -> GroupProgram:
        """Over all groups of a node. pairs: bool (pairs,), those it has."""

    @abstractmethod
    def prove(self, node: Dropped, at: NodePoint) -> Proof:
        """What a point proves. Raises InputError where the numbers could leave the range of int64."""


def renumbered(groups: Groups, step: Dropped) -> Groups:
    """Groups of the instance before as ones after it; those of candidates that are gone are left out."""
    number = np.full(step.before.candidates.count, -1, dtype=np.int64)
    number[step.origin] = np.arange(len(step.origin))
    candidate = number[groups.candidate]
    some = groups.subset(candidate >= 0)
    return Groups(candidate[candidate >= 0], some.types, some.copies)
