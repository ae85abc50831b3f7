"""The condensed problem: a relaxation of what an instance leaves that has only the pairs which save something.

Under a mask of few patterns most rows are in groups that have rows to spare. Let these *ample* candidates always be
open and of any size, and let f_i be the cheapest of them for row type i (infinite if there is none). Of the other
candidates h, the pairs with w_h < f_i are *wanted*; those with w_h ≥ f_i only fill up the group, for w_h - f_i more
than where the row would be. Row types with no wanted pair are not told apart: they are a supply of so many rows for
each candidate at each extra cost, and every candidate has that supply for itself.

It is a relaxation. Take a solution. Open what it opens of the others, as far as this has wanted rows; keep these; give
every other row to its f_i, which costs no more; and let each group have, instead of the fillers that are not told
apart, as many of the cheapest of its supply, κ_h - 1 at most: with a wanted row that is enough. A filler of a row type
with wanted pairs keeps its own variable, unless the supply has κ_h - 1 rows at no higher extra cost. Row types with
the same f_i and the same pairs are then one (`reductions.signature`).

No others are opened, so packing cuts hold here as they do there, and the optimum is a lower bound whatever is taken for
ample. Where ample groups keep enough rows, and no two groups want the same fillers, its point is a solution of the
instance, and optimal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kanon_milp.bounds.packing_cuts import NO_SETS, PackingCuts, TypeSets
from kanon_milp.formulations.arrays import Constraints, large_enough, linked, placed, program
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Flags, Floats, Ints

NOWHERE = 1 << 40  # f_i of a row type without an ample candidate


@dataclass(frozen=True, eq=False)
class Condensed:
    """What is left to decide, in units of the loss.

    base: the loss of all rows at f_i. rows: int64 (T,), rows of each merged row type; bound_to: bool (T,), those that
    have no f_i. pair: int64 (P,), a pair of the instance for each variable; row_type (P,), candidate (P,), saving (P,):
    its merged row type, its position in `candidates`, and w - f (w where there is no f). candidates: int64 (C,);
    least: κ (C,). of_supply (S,), extra (S,), supply (S,): position in `candidates`, extra cost, and rows at that.
    merged: int64 (t,), merged row type of each row type, -1 for those that are not told apart. ample: as it was given.
    limits, nested: packing cuts, at most so many of the candidates at these positions.
    """

    instance: Instance
    ample: Flags
    base: int
    rows: Ints
    bound_to: Flags
    pair: Ints
    row_type: Ints
    candidate: Ints
    saving: Ints
    candidates: Ints
    least: Ints
    of_supply: Ints
    extra: Ints
    supply: Ints
    merged: Ints
    limits: Ints
    nested: Ragged[np.int64]

    def model(self) -> LinearModel:
        """Variables: rows of each pair, rows of each supply, whether each candidate is open."""
        pairs, supplies, count = len(self.pair), len(self.supply), len(self.candidates)
        x, columns = np.arange(pairs + supplies), pairs + supplies + count
        owner = np.concatenate([self.candidate, self.of_supply])
        most = np.concatenate([self.rows[self.row_type], self.supply])
        all_rows = placed(self.row_type, self.rows, columns)
        # Σ y ≤ ⌊N/κ⌋
        entries = (np.ones(len(self.nested.values)), len(x) + self.nested.values, self.nested.indptr)
        packed = sp.csr_array(entries, shape=(len(self.limits), columns))
        return program(
            "condensed",
            np.concatenate([self.saving, self.extra, np.zeros(count)]),
            np.concatenate([most, np.ones(count)]),
            np.arange(columns) >= len(x),
            all_rows._replace(lower=np.where(self.bound_to, all_rows.lower, 0.0)),  # the others are at f_i
            linked(x, most, len(x) + owner, columns),
            large_enough(x, owner, self.least, len(x), columns),
            Constraints(packed, np.zeros(len(self.limits)), self.limits),
            offset=float(self.base),
        )

    def opened(self, x: Floats) -> Flags:
        """The candidates of the instance that a point opens, the ample ones among them, bool (G,)."""
        found = self.ample.copy()
        found[self.candidates[x[len(self.pair) + len(self.supply) :] > 0.5]] = True
        return found

    def start(self, table: Assignment) -> Floats:
        """A table over the instance as a point."""
        rows = table.rows_of_pairs(self.instance)
        candidates, of_pair = self.instance.candidates, self.instance.candidates.candidate_of_pair()
        at = np.full(candidates.count, -1, dtype=np.int64)
        at[self.candidates] = np.arange(len(self.candidates))
        used = np.flatnonzero((rows > 0) & (at[of_pair] >= 0))
        own = {
            key: number for number, key in enumerate(zip(self.row_type.tolist(), self.candidate.tolist(), strict=True))
        }
        x, others = np.zeros(len(self.pair)), np.zeros(len(self.candidates), dtype=np.int64)
        for row_type, g, n in zip(
            self.merged[candidates.members[used]].tolist(), at[of_pair[used]].tolist(), rows[used].tolist(), strict=True
        ):
            number = own.get((row_type, g))
            if number is None:
                others[g] += n
            else:
                x[number] += n
        y = np.bincount(self.candidate[(x > 0) & (self.saving < 0)], minlength=len(self.candidates)) > 0
        y |= np.bincount(self.candidate[(x > 0) & self.bound_to[self.row_type]], minlength=len(self.candidates)) > 0
        x *= y[self.candidate]
        z = np.zeros(len(self.supply))
        for s, g in enumerate(self.of_supply.tolist()):  # the cheapest first
            z[s] = min(self.supply[s], others[g]) if y[g] else 0
            others[g] -= int(z[s])
        return np.concatenate([x, z, y])


def condense(instance: Instance, ample: Flags, apart: Flags, sets: TypeSets = NO_SETS) -> Condensed:
    """Condense an instance of sizes alone, without side constraints.

    ample: bool (G,), candidates that are taken to be open and large enough. apart: bool (t,), row types that are told
    apart even where no pair of theirs is wanted.
    """
    candidates, counts, least = instance.candidates, instance.types.counts, instance.least
    of_pair, members = candidates.candidate_of_pair().astype(np.int64), candidates.members.astype(np.int64)
    cost, inside = candidates.cost[of_pair], ample[of_pair]
    f = np.full(instance.types.count, NOWHERE, dtype=np.int64)
    np.minimum.at(f, members[inside], cost[inside])
    wanted = ~inside & (cost < f[members])
    useful = np.bincount(of_pair[wanted], minlength=candidates.count) > 0
    told = apart.copy()
    told[members[wanted]] = True
    filler = ~inside & ~wanted & useful[of_pair]
    extras, tier = np.unique(np.where(filler, cost - f[members], 0), return_inverse=True)
    anonymous = filler & ~told[members]
    # rows of the supply of each candidate at each extra cost, and at no higher one
    amounts = np.zeros((candidates.count, len(extras)), dtype=np.int64)
    np.add.at(amounts, (of_pair[anonymous], tier[anonymous]), counts[members[anonymous]])
    until = np.cumsum(amounts, axis=1)
    kept = np.flatnonzero(wanted | (filler & told[members] & (until[of_pair, tier] < least[of_pair] - 1)))
    before = until - amounts
    supply = np.minimum(amounts, (least - 1)[:, None] - before)
    of_supply, at_tier = np.nonzero((supply > 0) & useful[:, None])
    # row types with the same pairs are one
    kept = kept[np.lexsort((of_pair[kept], members[kept]))]
    told_types, begin = np.unique(members[kept], return_index=True)
    merged = np.full(instance.types.count, -1, dtype=np.int64)
    number: dict[tuple[int, bytes], int] = {}
    first: list[int] = []
    for i, a, b in zip(told_types.tolist(), begin.tolist(), np.append(begin, len(kept))[1:].tolist(), strict=True):
        merged[i] = number.setdefault((int(f[i]), of_pair[kept[a:b]].tobytes()), len(number))
        if merged[i] == len(first):
            first.append(i)
    told_rows = np.zeros(len(first), dtype=np.int64)
    np.add.at(told_rows, merged[told_types], counts[told_types])
    stands = np.zeros(instance.types.count, dtype=bool)
    stands[first] = True
    pair = kept[stands[members[kept]]]
    chosen = np.flatnonzero(useful)
    position = np.cumsum(useful) - 1
    has_ample = f < NOWHERE
    packing = PackingCuts.of(instance, sets)
    nested = [position[each[useful[each]]] for each in packing.nested.each()]
    return Condensed(
        instance=instance,
        ample=ample,
        base=int((f[has_ample] * counts[has_ample]).sum()),
        rows=told_rows,
        bound_to=~has_ample[first],
        pair=pair,
        row_type=merged[members[pair]],
        candidate=position[of_pair[pair]],
        saving=cost[pair] - np.where(has_ample[members[pair]], f[members[pair]], 0),
        candidates=chosen,
        least=least[chosen],
        of_supply=position[of_supply],
        extra=extras[at_tier],
        supply=supply[of_supply, at_tier],
        merged=merged,
        limits=packing.limits,
        nested=Ragged.of((each.tolist() for each in nested), np.int64),
    )
