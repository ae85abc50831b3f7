"""Packing cuts: of groups that lie within a set of row types there are not more than these have rows for.

For a set S of row types with N_S rows, and κ_S the least size of a group among the candidates whose cover lies in S:

    Σ_{g: C(g) ⊆ S} y_g ≤ ⌊N_S / κ_S⌋

Proof. Such a group takes at least κ_S rows, all of S, and no row is in two groups. The rounding is what the linear
relaxation does not know; without it the cut is implied by the links of the strong formulation. It holds whatever else
is required. Cuts for the covers of candidates (nested candidates) are separated here; any set is valid.

The set of all row types, in which all candidates lie, is how a largest number of groups comes into the bound: where a
problem has one, no more than `max_groups` of them are open, either. A least number of groups is the one constraint in
the other direction, Σ_g -y_g ≤ -`min_groups`. Among the sets the empty one stands for it: no cover lies in it, and all
candidates count. It asks for all of them: dominated ones make more groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.parameters import PackingParameters
from kanon_milp.errors import InputError
from kanon_milp.kernels.covers import nested_candidates, nested_shares
from kanon_milp.kernels.volume import add_shares
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32

Number = TypeVar("Number", np.float64, np.int64)


TypeSets: TypeAlias = Ragged[np.int32]
"""Sets of row types, each ascending."""


def type_sets(sets: Iterable[Iterable[int]]) -> TypeSets:
    """From sets of numbers of row types, in any order."""
    return Ragged.of((sorted({int(i) for i in each}) for each in sets), np.int32)


NO_SETS: TypeSets = type_sets([])


def mapped_sets(sets: TypeSets, count: int, back: Callable[[Flags], Flags]) -> TypeSets:
    """The same sets over other row types.

    count: number t of row types here; back: takes one flag for each of these to one for each of the others, as
    `reductions.restore_values` does.
    """
    mapped = []
    for each in sets.each():
        inside = np.zeros(count, dtype=bool)
        inside[each] = True
        mapped.append(np.flatnonzero(back(inside)))
    return type_sets(mapped)


def first_sets(instance: Instance) -> TypeSets:
    """Sets that a bound begins with: all row types for a largest number of groups, none for a least one."""
    problem = instance.problem
    most = [] if problem.most_groups is None else [range(instance.types.count)]
    return type_sets([*most, *([] if problem.min_groups is None else [range(0)])])


@dataclass(frozen=True, eq=False)
class PackingCuts:
    """The cuts of some sets over one instance: at most limits[s] of the candidates in list s of `nested` (int32).

    limits: int64 (s,), ⌊N_S / κ_S⌋, 0 where nothing is nested; of all row types no more than `max_groups`. signs: int64
    (s,), 1; -1 of a least number of groups, whose limit is -`min_groups`.
    """

    limits: Ints
    nested: Ragged[np.int32]
    signs: Ints

    @classmethod
    def of(cls, instance: Instance, sets: TypeSets) -> PackingCuts:
        """Find the candidates that are nested in each set. Raises InputError for a least number of groups that the
        problem does not ask for."""
        counts, problem = instance.types.counts, instance.problem
        nested: Ragged[np.int32] = Ragged(*nested_candidates(*instance.candidates.covers, *sets, len(counts)))
        signs = np.where(sets.lengths > 0, 1, -1)
        if (signs < 0).any():
            if problem.min_groups is None:
                raise InputError("there is a multiplier for a least number of groups, which the problem does not have")
            every = np.arange(instance.candidates.count)
            found = zip(nested.each(), signs.tolist(), strict=True)
            nested = Ragged.of(((inside if sign > 0 else every).tolist() for inside, sign in found), np.int32)
        limits = np.zeros(sets.lists, np.int64)
        for s, (each, inside) in enumerate(zip(sets.each(), nested.each(), strict=True)):
            if signs[s] < 0:
                limits[s] = -(problem.min_groups or 0)
            elif len(inside):
                limits[s] = counts[each].sum() // instance.least[inside].min()
            if len(each) == len(counts) and problem.most_groups is not None:
                limits[s] = min(limits[s], problem.most_groups)
        return cls(limits, nested, signs)

    def surcharge(self, multipliers: NDArray[Number], candidates: int) -> NDArray[Number]:
        """σ_g = Σ ±μ_S over the sets that candidate g is nested in, (G,), of the same kind as μ."""
        found = np.zeros(candidates, dtype=multipliers.dtype)
        signed = (self.signs * multipliers).astype(multipliers.dtype)
        np.add.at(found, self.nested.values, np.repeat(signed, self.nested.lengths))
        return found

    def add_groups(self, share: Floats, into: Floats) -> None:
        """Add to each set how many of the candidates nested in it are open, (s,), or take them away. share: y (G,)."""
        into *= self.signs
        add_shares(*self.nested, share, into)
        into *= self.signs


def violated_sets(
    instance: Instance, share: Floats, known: TypeSets, most: int, params: PackingParameters | None = None
) -> TypeSets:
    """Covers of candidates whose cuts are violated by a point of the relaxation, the worst first, at most so many.

    share: float64 (G,), y. known: sets that are not found again.
    """
    p = params or PackingParameters()
    candidates = instance.candidates
    shares = np.where(share > p.least_share, share, 0.0)
    inside = nested_shares(*candidates.covers, shares, p.widest, instance.types.count)
    excess = inside - candidates.support // instance.least
    excess[candidates.covers.lengths > p.widest] = 0.0
    worst = np.argsort(-excess, kind="stable")[: most + known.lists]
    seen = {each.tobytes() for each in known.each()}
    found: list[Ints32] = []
    for g in worst[excess[worst] > p.least_excess].tolist():
        cover = np.sort(candidates.members[candidates.indptr[g] : candidates.indptr[g + 1]])
        if cover.tobytes() not in seen and len(found) < most:
            seen.add(cover.tobytes())
            found.append(cover)
    return type_sets(found)
