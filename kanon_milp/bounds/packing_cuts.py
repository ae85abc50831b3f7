"""Packing cuts: of groups that lie within a set of row types there are not more than these have rows for.

For a set S of row types with N_S rows, and κ_S the least size of a group among the candidates whose cover lies in S:

    Σ_{g: C(g) ⊆ S} y_g ≤ ⌊N_S / κ_S⌋

Proof. Such a group takes at least κ_S rows, all of S, and no row is in two groups. The rounding is what the linear
relaxation does not know; without it the row is implied by the links of the strong formulation. It holds whatever else
is asked for. Rows for the covers of candidates (nested candidates) are separated here; any set is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closed_form import nested_candidates, nested_shares
from kanon_milp.presolve.instance import Instance

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Number = TypeVar("Number", np.float64, np.int64)

LEAST_SHARE = 1e-3  # of a candidate; one with less is not counted when violated rows are looked for
LEAST_EXCESS = 0.05  # what a row must be violated by to be worth it
WIDEST = 50  # row types of a set, at most; those of Adult that help have 2 to 15


@dataclass(frozen=True, eq=False)
class RowSets:
    """Sets of row types: set s is types[indptr[s]:indptr[s+1]], ascending. indptr: int64 (s+1,). types: int32."""

    indptr: Ints
    types: Codes

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> RowSets:
        """From sets of numbers of row types."""
        ordered = [np.unique(np.array(list(each), dtype=np.int32)) for each in sets]
        sizes = [len(each) for each in ordered]
        types = np.concatenate([np.empty(0, np.int32), *ordered]).astype(np.int32)
        return cls(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), types)

    @property
    def count(self) -> int:
        """Number of sets."""
        return len(self.indptr) - 1

    def each(self) -> list[Codes]:
        """The sets one by one."""
        return np.split(self.types, self.indptr[1:-1]) if self.count else []

    def subset(self, keep: Flags) -> RowSets:
        """Only the sets where `keep` is true."""
        sizes = np.diff(self.indptr)
        indptr = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)
        return RowSets(indptr, self.types[np.repeat(keep, sizes)])

    def joined(self, others: RowSets) -> RowSets:
        """These sets and then the others."""
        indptr = np.concatenate([self.indptr, others.indptr[1:] + self.indptr[-1]])
        return RowSets(indptr, np.concatenate([self.types, others.types]))

    def mapped(self, count: int, back: Callable[[Flags], Flags]) -> RowSets:
        """The same sets over other row types. count: number t of row types here; back: takes one flag for each of
        these to one for each of the others, as `reductions.restore_values` does."""
        mapped = []
        for each in self.each():
            inside = np.zeros(count, dtype=bool)
            inside[each] = True
            mapped.append(np.flatnonzero(back(inside)))
        return RowSets.of(mapped)


NO_SETS = RowSets(np.zeros(1, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True, eq=False)
class PackingCuts:
    """The rows of some sets over one instance: at most limits[s] of the candidates nested[indptr[s]:indptr[s+1]].

    limits: int64 (s,), ⌊N_S / κ_S⌋, 0 where nothing is nested.
    """

    limits: Ints
    indptr: Ints
    nested: Codes

    @classmethod
    def of(cls, instance: Instance, sets: RowSets) -> PackingCuts:
        """Find the candidates that are nested in each set."""
        candidates, counts = instance.candidates, instance.types.counts
        indptr, nested = nested_candidates(candidates.indptr, candidates.members, sets.indptr, sets.types, len(counts))
        limits = np.zeros(sets.count, np.int64)
        for s, each in enumerate(sets.each()):
            inside = nested[indptr[s] : indptr[s + 1]]
            if len(inside):
                limits[s] = counts[each].sum() // instance.least[inside].min()
        return cls(limits, indptr, nested)

    def surcharge(self, charges: NDArray[Number], candidates: int) -> NDArray[Number]:
        """σ_g = Σ μ_S over the sets that candidate g is nested in, (G,), of the same kind as μ."""
        found = np.zeros(candidates, dtype=charges.dtype)
        np.add.at(found, self.nested, np.repeat(charges, np.diff(self.indptr)))
        return found


def violated_sets(instance: Instance, share: Floats, known: RowSets, most: int) -> RowSets:
    """Covers of candidates whose rows are violated by a point of the relaxation, the worst first, at most so many.

    share: float64 (G,), y. known: sets that are not found again.
    """
    candidates = instance.candidates
    sizes = np.diff(candidates.indptr)
    inside = nested_shares(
        candidates.indptr, candidates.members, np.where(share > LEAST_SHARE, share, 0.0), WIDEST, instance.types.count
    )
    excess = inside - candidates.support // instance.least
    excess[sizes > WIDEST] = 0.0
    worst = np.argsort(-excess, kind="stable")[: most + known.count]
    seen = {each.tobytes() for each in known.each()}
    found: list[Codes] = []
    for g in worst[excess[worst] > LEAST_EXCESS].tolist():
        cover = np.sort(candidates.members[candidates.indptr[g] : candidates.indptr[g + 1]])
        if cover.tobytes() not in seen and len(found) < most:
            seen.add(cover.tobytes())
            found.append(cover)
    return RowSets.of(found)
