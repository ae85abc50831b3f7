"""Packing cuts: of groups that lie within a set of row types there are not more than these have rows for.

For a set S of row types with N_S rows, and κ_S the least size of a group among the candidates whose cover lies in S:

    Σ_{g: C(g) ⊆ S} y_g ≤ ⌊N_S / κ_S⌋

Proof. Such a group takes at least κ_S rows, all of S, and no row is in two groups. The rounding is what the linear
relaxation does not know; without it the cut is implied by the links of the strong formulation. It holds whatever else
is required. Cuts for the covers of candidates (nested candidates) are separated here; any set is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.nesting import nested_candidates, nested_shares
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32

Number = TypeVar("Number", np.float64, np.int64)
TypeSets: TypeAlias = Ragged[np.int32]
"""Sets of row types, each ascending."""

# Of the search for violated cuts, found on samples of Adult and all of it, k from 2 to 25.
LEAST_SHARE = 1e-3  # of a candidate; one with less is not counted
LEAST_EXCESS = 0.05  # what a cut must be violated by to be worth it
WIDEST = 50  # row types of a set, at most; those of Adult that help have 2 to 15


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


@dataclass(frozen=True, eq=False)
class PackingCuts:
    """The cuts of some sets over one instance: at most limits[s] of the candidates in list s of `nested` (int32).

    limits: int64 (s,), ⌊N_S / κ_S⌋, 0 where nothing is nested.
    """

    limits: Ints
    nested: Ragged[np.int32]

    @classmethod
    def of(cls, instance: Instance, sets: TypeSets) -> PackingCuts:
        """Find the candidates that are nested in each set."""
        counts = instance.types.counts
        nested: Ragged[np.int32] = Ragged(*nested_candidates(instance.candidates.covers, sets, len(counts)))
        limits = np.zeros(sets.lists, np.int64)
        for s, (each, inside) in enumerate(zip(sets.each(), nested.each(), strict=True)):
            if len(inside):
                limits[s] = counts[each].sum() // instance.least[inside].min()
        return cls(limits, nested)

    def surcharge(self, multipliers: NDArray[Number], candidates: int) -> NDArray[Number]:
        """σ_g = Σ μ_S over the sets that candidate g is nested in, (G,), of the same kind as μ."""
        found = np.zeros(candidates, dtype=multipliers.dtype)
        np.add.at(found, self.nested.values, np.repeat(multipliers, self.nested.lengths))
        return found


def violated_sets(instance: Instance, share: Floats, known: TypeSets, most: int) -> TypeSets:
    """Covers of candidates whose cuts are violated by a point of the relaxation, the worst first, at most so many.

    share: float64 (G,), y. known: sets that are not found again.
    """
    candidates = instance.candidates
    shares = np.where(share > LEAST_SHARE, share, 0.0)
    inside = nested_shares(candidates.covers, shares, WIDEST, instance.types.count)
    excess = inside - candidates.support // instance.least
    excess[candidates.covers.lengths > WIDEST] = 0.0
    worst = np.argsort(-excess, kind="stable")[: most + known.lists]
    seen = {each.tobytes() for each in known.each()}
    found: list[Ints32] = []
    for g in worst[excess[worst] > LEAST_EXCESS].tolist():
        cover = np.sort(candidates.members[candidates.indptr[g] : candidates.indptr[g + 1]])
        if cover.tobytes() not in seen and len(found) < most:
            seen.add(cover.tobytes())
            found.append(cover)
    return type_sets(found)
