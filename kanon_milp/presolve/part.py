"""A part of an instance as an instance of its own: rows that may move, and what stays in the groups they may join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Candidates, Instance
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.presolve.reductions import Viability, merged_types, supports
from kanon_milp.problem.hierarchies import Label
from kanon_milp.system.arrays import Flags, Ints, Ints32


@dataclass(frozen=True, eq=False)
class Part(Instance):
    """An instance over some rows of another one, `of`, so that formulations and requirements work on it unchanged.

    The first `free` row types are the rows that may move. Each of the others stands for all rows of one joint sensitive
    value that stay in a group: that candidate alone covers them, and is open. Sensitive values have the numbers that
    they have in `of`, and the reference distribution is that of the complete table (`table_group`). origin: int64
    (t,), a row type of `of` with the same sensitive values, for the first ones the same row type. chosen: int64 (G,),
    ascending, the candidates of `of`.
    """

    of: Instance
    origin: Ints
    chosen: Ints
    free: int

    @cached_property
    def least(self) -> Ints:
        """As in `of`."""
        found: Ints = self.of.least[self.chosen]
        return found

    def sensitive_codes(self, attributes: Sequence[str]) -> tuple[Ints, list[tuple[Label, ...]]]:
        """As in `of`, with all values that occur there."""
        code, values = self.of.sensitive_codes(attributes)
        return code[self.origin], values

    @property
    def free_pairs(self) -> Flags:
        """The pairs whose rows may move, bool (pairs,)."""
        found: Flags = self.candidates.members < self.free
        return found

    @property
    def stays(self) -> Flags:
        """Candidates with rows that stay, bool (G,)."""
        found = np.zeros(self.candidates.count, np.bool_)
        found[self.candidates.candidate_of_pair()[~self.free_pairs]] = True
        return found


@dataclass(frozen=True, eq=False)
class Moving:
    """What makes up a part. types, counts: int64, row types that move, ascending, and how many rows. candidate,
    place: int64 (pairs,), candidates that they may join, and positions in `types`. table: the assignment; free: bool,
    its entries that move. code: int64 (t,), joint sensitive values of all row types."""

    types: Ints
    counts: Ints
    candidate: Ints
    place: Ints
    table: Assignment
    free: Flags
    code: Ints

    def assemble(self, instance: Instance, keep: Flags) -> Part:
        """The part with only the pairs that are kept, bool (pairs,)."""
        table, moving = self.table, len(self.types)
        candidate, place = self.candidate[keep], self.place[keep]
        chosen = np.unique(candidate)
        # what stays, by candidate and sensitive value
        fixed = np.flatnonzero(~self.free & np.isin(table.candidate, chosen))
        width = int(self.code.max(initial=0)) + 1
        key, first, entry = np.unique(
            table.candidate[fixed] * width + self.code[table.row_type[fixed]], return_index=True, return_inverse=True
        )
        rows = np.bincount(entry, weights=table.rows[fixed], minlength=len(key)).astype(np.int64)
        origin = np.concatenate([self.types, table.row_type[fixed][first]])
        counts = np.concatenate([self.counts, rows])
        # pairs in order of candidates, then of row types
        groups = np.searchsorted(chosen, np.concatenate([candidate, key // width]))
        members = np.concatenate([place, moving + np.arange(len(key))])
        order = np.lexsort((members, groups))
        of_pair: Ints32 = groups[order].astype(np.int32)
        members = members[order].astype(np.int32)
        every = instance.candidates
        candidates = Candidates(
            vector=every.vector[chosen],
            cost=every.cost[chosen],
            support=supports(counts, of_pair, members, len(chosen)),
            indptr=indptr_of(np.bincount(of_pair, minlength=len(chosen))),
            members=members,
        )
        return Part(
            problem=instance.problem,
            types=merged_types(instance.types, origin, counts),
            levels=instance.levels,
            candidates=candidates,
            exempt=instance.exempt[chosen],
            table_group=instance.table_group,
            of=instance,
            origin=origin,
            chosen=chosen,
            free=moving,
        )


def viable_pairs(part: Part, moving: Moving, held: Flags) -> Flags:
    """Pairs of `moving` whose candidates could have a group in this part, bool (pairs of moving,).

    held: bool (G of the complete instance,), candidates that are open now and stay.
    """
    viable = Viability().keep(part) | held[part.chosen]
    keep = np.zeros(part.of.candidates.count, np.bool_)
    keep[part.chosen[viable]] = True
    found: Flags = keep[moving.candidate]
    return found
