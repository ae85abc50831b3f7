"""What a point of the required bound says of each candidate and row, for heuristics."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.bounds.tree_subproblem import TreeArrays, ValuedRows, Workspace, make_workspace
from kanon_milp.bounds.valued_groups import ValuedCandidates
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Priced:
    """The candidates under one relaxation, at the multipliers of a point."""

    candidates: ValuedCandidates[np.float64]
    rank: Ints
    tree: TreeArrays[np.float64]
    room: Workspace[np.float64]

    def rows(self, counts: Floats, multipliers: Floats) -> ValuedRows[np.float64]:
        """Row types with these numbers of rows."""
        return ValuedRows(counts, multipliers, self.rank)


@dataclass(frozen=True, eq=False)
class Guide:
    """phi: float64 (G,), φ_g, the largest of the relaxations, and 0 for candidates without a row of negative reduced
    cost; which: int64 (G,), the number of that relaxation.
    multipliers: float64 (t,), λ. priced: one for each relaxation; none where no requirement is about a value."""

    instance: Instance
    phi: Floats
    which: Ints
    multipliers: Floats
    priced: tuple[Priced, ...]

    @classmethod
    def of(cls, instance: Instance, point: DualPoint) -> Guide:
        """φ of every candidate at a point; what is known of the last points is kept, since it takes a while."""
        if point not in _KNOWN:
            _KNOWN[point] = cls._of(instance, point)
        return _KNOWN[point]

    @classmethod
    def _of(cls, instance: Instance, point: DualPoint) -> Guide:
        count, multipliers = instance.candidates.count, np.ascontiguousarray(point.multipliers)
        if not relaxations_of(instance):
            nothing = np.zeros(count)
            return cls(instance, nothing, nothing.astype(np.int64), multipliers, ())
        at = RequiredEvaluator(instance, multipliers)
        charges = np.zeros(0) if point.charges is None else point.charges
        place = np.concatenate([multipliers, charges])
        widest = int(instance.candidates.covers.lengths.max(initial=0))
        phis, priced = [], []
        for v, relaxed in enumerate(at.relaxed):
            covers = relaxed.cells.covers(instance, multipliers)
            thetas = np.ascontiguousarray(at.thetas(place, v))
            candidates = relaxed.cells.candidates(instance, covers, at.candidates.cost, thetas)
            phis.append(at.every_phi(v, multipliers, thetas))
            room = make_workspace(widest, relaxed.tree)
            priced.append(Priced(candidates, relaxed.cells.rank, relaxed.tree, room))
        found = np.array(phis)
        # poor multipliers say little of candidates none of whose rows is worth its place: these are not left out
        reduced = at.candidates.cost[of_pair := instance.candidates.candidate_of_pair()]
        below = (reduced - multipliers[instance.candidates.members]) < 0
        some = np.bincount(of_pair, weights=below, minlength=instance.candidates.count) > 0
        most = np.where(some, found.max(axis=0), 0.0)
        return cls(instance, most, found.argmax(axis=0).astype(np.int64), multipliers, tuple(priced))


_KNOWN: WeakKeyDictionary[DualPoint, Guide] = WeakKeyDictionary()  # a point belongs to one instance
