"""Several sets of quasi-identifiers as one problem for each set, and what links them.

Each set s has row types, candidates and classes of its own, over its columns alone. What a row is released as there is
one of these candidates, and different sets agree in the columns that they share. So

    minimize   Σ_io w_io z_io + Σ_sP c_P Σ_q x_qP
    subject to Σ_o z_io = n_i                                    every row of type i takes one of its options o
               Σ_P x_qP = Σ_{i,o: q is a part of o} z_io         and goes, in each set, to one candidate of that part q
               κ_P y_P ≤ Σ_q x_qP,  0 ≤ x_qP ≤ n_q y_P,  y_P ∈ {0,1}, integer

An *option* is what a row releases in the linked columns; its *part* in a set s is the row type there together with what
it releases in the linked columns of s, and candidates cover parts. The linked columns are those in several sets, if
under each of their levels the other columns of all sets can be recoded independently, else all columns of all sets. w:
the least loss of the linked columns and of those in no set; c: the loss of the set's other columns. κ: k of the set, 1
where its columns are all suppressed and such rows need no partners.

Every table that is k-anonymous in each set is a solution of the same loss: nothing but what is released decides about a
class. With other requirements as well this is a relaxation. Where the linked columns are as said, each solution is a
table. A relaxation of y is stronger than in the complete model: rows that are released differently elsewhere share the
link x ≤ n y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Candidates, Instance
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Levels
from kanon_milp.system.arrays import Flags, Ints, Ints32

NONE = -1


@dataclass(frozen=True, eq=False, repr=False)
class Parts(Instance):
    """All sets side by side, without what links them: parts are its row types, as many rows each as the set's row type
    has. sizes: int64 (G,), κ_P."""

    sizes: Ints

    @cached_property
    def least(self) -> Ints:
        """The smallest size of each candidate, int64 (G,)."""
        return self.sizes


@dataclass(frozen=True, eq=False, repr=False)
class LinkedSets:
    """The sets of an instance and what links them; costs in units of `Levels.unit`.

    parts: the parts of all sets with their candidates. options: per row type its options. option_cost: int64 (o,).
    option_parts: int32 (o, sets), numbers of parts. option_link: int32 (o,), which combination of levels of the linked
    columns; link_of: int32 (p,), that of each level vector. set_of: int32 (G,), ascending. kept: per set int32 (level
    vectors there, row types there), the candidate that stands for it, -1 where the class is too small. type_in: int32
    (sets, t), row type there. vector_in: int32 (sets, p), level vector there. private: int32 (G,), which combination
    of levels of the set's other columns; private_of: int32 (sets, p), that of each level vector.
    """

    instance: Instance
    parts: Parts
    options: Ragged[np.int64]
    option_cost: Ints
    option_parts: Ints32
    option_link: Ints32
    set_of: Ints32
    kept: tuple[Ints32, ...]
    type_in: Ints32
    vector_in: Ints32
    link_of: Ints32
    private: Ints32
    private_of: Ints32

    @property
    def sets(self) -> int:
        """How many sets there are."""
        return len(self.type_in)

    @cached_property
    def option_type(self) -> Ints:
        """The row type of each option, int64 (o,)."""
        return self.options.list_of_value()

    def pair_at(self, part: NDArray[np.integer], candidate: Ints) -> Ints:
        """The number of the pair of each part and candidate, int64, in the order of `Candidates.members`; of those that
        are none anything."""
        keys, order = self._pairs
        asked = candidate * self.parts.types.count + part
        found: Ints = order[np.minimum(np.searchsorted(keys, asked), len(keys) - 1)]
        return found

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        """The pairs as numbers in ascending order, and where they are."""
        keys = self.parts.candidates.pair_keys(self.parts.types.count)
        order = np.argsort(keys)
        return keys[order], order

    def places(self, table: Assignment) -> tuple[Ints, Ints]:
        """Option (entries,) and candidates (entries, sets) of the entries of an assignment; -1 where there is none."""
        instance = self.instance
        vector = instance.candidates.vector[table.candidate].astype(np.int64)
        size = int(self.link_of.max()) + 1
        option = _find(self.option_type * size + self.option_link, table.row_type * size + self.link_of[vector])
        columns = [self.kept[s][self.vector_in[s][vector], self.type_in[s][table.row_type]] for s in range(self.sets)]
        return option, np.column_stack(columns).astype(np.int64)

    def table(self, option: Ints, candidate: Ints, rows: Ints) -> Assignment | None:
        """The assignment over `instance` of so many rows with this option and these candidates, one a set; None where
        the instance has no candidate for them. option, rows: (entries,); candidate: (entries, sets)."""
        instance = self.instance
        sizes = [int(self.link_of.max()) + 1, *(int(each.max()) + 1 for each in self.private_of)]
        levels, candidates, t = instance.levels, instance.candidates, instance.types.count
        order = np.lexsort((np.arange(levels.count), levels.costs))
        known = mixed_key([self.link_of[order], *(each[order] for each in self.private_of)], sizes)
        keys, first = np.unique(known, return_index=True)
        asked = mixed_key([self.option_link[option], *self.private[candidate].T], sizes)
        at = _find(keys, asked)
        pairs = candidates.vector[candidates.candidate_of_pair()].astype(np.int64) * t + candidates.members
        place = _find(pairs, order[first[at]] * t + self.option_type[option])
        if (at == NONE).any() or (place == NONE).any():
            return None
        found = np.zeros(candidates.pairs, dtype=np.int64)
        np.add.at(found, place, rows)
        return Assignment.from_pairs(instance, found)


def _find(keys: Ints, asked: Ints) -> Ints:
    """Where each of these numbers is among the keys, int64, -1 where it is not."""
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys[order], asked), len(keys) - 1)]
    return np.where(keys[at] == asked, at, NONE).astype(np.int64)


def sets_of(problem: Problem) -> list[tuple[tuple[int, ...], int]]:
    """The sets of quasi-identifiers, as numbers of columns, and the largest k of each."""
    names, found = problem.table.quasi_identifiers, dict[tuple[int, ...], int]()
    for each in problem.requirements:
        if isinstance(each, KAnonymity):
            at = tuple(
                j for j, name in enumerate(names) if each.quasi_identifiers is None or name in each.quasi_identifiers
            )
            found[at] = max(each.k, found.get(at, 0))
    return list(found.items())


def linked_sets(instance: Instance) -> LinkedSets | None:
    """The sets of an instance whose row types have their values; None where some row has no class large enough.

    Raises ValueError where costs depend on labels.
    """
    types, levels = instance.types, instance.levels
    if levels.cells is not None:
        raise ValueError("sets of quasi-identifiers are linked by level vectors, whose costs must not depend on labels")
    sets = sets_of(instance.problem)
    linked, costs = _linked_columns(levels, [at for at, _ in sets])
    vectors = levels.vectors
    link_levels, link_of = _numbered(vectors[:, linked])
    outside = levels.costs.copy()
    found: list[_Side] = []
    for at, k in sets:
        private = [j for j in at if j not in linked]
        for j in private:
            outside -= costs[j][vectors[:, j]]
        found.append(_Side.of(instance, at, k, linked, costs))
    option_cost = np.full(len(link_levels), np.iinfo(np.int64).max)
    np.minimum.at(option_cost, link_of, outside)
    some_vector = np.unique(link_of, return_index=True)[1]

    begins = np.cumsum([0, *(side.parts for side in found)])
    option_parts = np.stack(
        [
            side.part[side.vector_in[some_vector]][:, side.type_in] + begin
            for side, begin in zip(found, begins, strict=False)
        ],
        axis=2,
    )  # (links, t, sets)
    candidates, sizes, levels_of, kept = _side_by_side(found, begins)
    set_of = np.searchsorted(begins, candidates.representative, side="right") - 1
    covered = np.zeros(begins[-1], dtype=bool)
    covered[candidates.members] = True
    usable = covered[option_parts].all(axis=2)  # (links, t)
    if not usable.any(axis=0).all():
        return None
    row_type, link = np.nonzero(usable.T)
    number = (np.cumsum(covered) - 1).astype(np.int32)  # parts that no candidate covers are left out
    candidates = replace(candidates, members=number[candidates.members])
    parts = _parts(instance, found, covered, candidates, sizes)
    cost, chosen = option_cost[link], number[option_parts[link, row_type]]
    order = np.lexsort((cost, *chosen.T, row_type))
    same = np.zeros(len(order), dtype=bool)
    same[1:] = (row_type[order][1:] == row_type[order][:-1]) & (chosen[order][1:] == chosen[order][:-1]).all(axis=1)
    keep = np.sort(order[~same])
    lengths = np.bincount(row_type[keep], minlength=types.count)
    return LinkedSets(
        instance=instance,
        parts=parts,
        options=Ragged(indptr_of(lengths), np.arange(len(keep))),
        option_cost=cost[keep],
        option_parts=chosen[keep].astype(np.int32),
        option_link=link[keep].astype(np.int32),
        set_of=set_of.astype(np.int32),
        kept=tuple(kept),
        type_in=np.stack([side.type_in for side in found]).astype(np.int32),
        vector_in=np.stack([side.vector_in for side in found]).astype(np.int32),
        link_of=link_of.astype(np.int32),
        private=levels_of,
        private_of=np.stack([side.private_of for side in found]).astype(np.int32),
    )


def _numbered(rows: NDArray[np.int16]) -> tuple[NDArray[np.int16], Ints]:
    """The distinct rows, and the number of each; one row without columns is there once."""
    if not rows.shape[1]:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    return distinct, number.reshape(-1).astype(np.int64)


def _linked_columns(levels: Levels, sets: Sequence[tuple[int, ...]]) -> tuple[list[int], list[Ints]]:
    """The linked columns, and per column the cost of each level in units (of no use where all are linked)."""
    columns, vectors = levels.columns, levels.vectors
    inside = sorted({j for at in sets for j in at})
    shared = [j for j in inside if sum(j in at for at in sets) > 1]
    exact = [[cost / levels.unit for cost in column.costs] for column in columns]
    apart = all(
        len(np.unique(column.label_of)) == sum(len(np.unique(level)) for level in column.label_of) for column in columns
    )
    integral = all(Fraction(cost).denominator == 1 for costs in exact for cost in costs)
    nothing = [np.zeros(len(costs), dtype=np.int64) for costs in exact]
    if not (apart and integral and _independent(vectors, sets, shared)):
        return inside, nothing
    return shared, [np.array([int(cost) for cost in costs], dtype=np.int64) for costs in exact]


def _independent(vectors: NDArray[np.int16], sets: Sequence[tuple[int, ...]], linked: Sequence[int]) -> bool:
    """Whether, with the levels of the linked columns fixed, each set's other columns and those in no set can be
    recoded whatever the rest is."""
    rest = set(range(vectors.shape[1])).difference(*sets)
    groups = [sorted(set(at).difference(linked)) for at in sets] + [sorted(rest)]
    _, link = _numbered(vectors[:, list(linked)])
    product = np.ones(int(link.max()) + 1)
    for group in groups:
        own = _numbered(vectors[:, group])[1]
        both = np.unique(np.column_stack([link, own]), axis=0)[:, 0]
        product *= np.bincount(both, minlength=len(product))
    return bool((product == np.bincount(link)).all())


@dataclass(frozen=True, eq=False)
class _Side:
    """One set. part, candidate: (level vectors there, row types there), before anything is left out.

    counts: (row types there,). of_part: the row type of each part. cost, private, least: per candidate.
    """

    counts: Ints
    type_in: Ints
    vector_in: Ints
    private_of: Ints
    part: Ints
    of_part: Ints
    candidate: Ints
    cost: Ints
    private: Ints
    least: Ints

    @property
    def parts(self) -> int:
        return len(self.of_part)

    @classmethod
    def of(cls, instance: Instance, at: Sequence[int], k: int, linked: Sequence[int], costs: Sequence[Ints]) -> _Side:
        types, levels = instance.types, instance.levels
        key = mixed_key([types.codes[:, j] for j in at], [len(types.domains[j]) for j in at])
        _, first, type_in = np.unique(key, return_index=True, return_inverse=True)
        codes = types.codes[first]
        vectors, vector_in = _numbered(levels.vectors[:, list(at)])
        own = [c for c, j in enumerate(at) if j not in linked]
        private_of = _numbered(levels.vectors[:, [at[c] for c in own]])[1]
        private = np.zeros(len(vectors), dtype=np.int64)
        private[vector_in] = private_of
        loss = sum((costs[at[c]][vectors[:, c]] for c in own), np.zeros(len(vectors), dtype=np.int64))
        released = [levels.columns[j].label_of[vectors[:, c]][:, codes[:, j]].reshape(-1) for c, j in enumerate(at)]
        sizes = [len(levels.columns[j].labels) for j in at]
        row_type = np.tile(np.arange(len(codes)), len(vectors))
        tied = [c for c, j in enumerate(at) if j in linked]
        part_key = mixed_key([row_type, *(released[c] for c in tied)], [len(codes), *(sizes[c] for c in tied)])
        _, part_first, part = np.unique(part_key, return_index=True, return_inverse=True)
        _, candidate = np.unique(mixed_key(released, sizes), return_inverse=True)
        vector = np.repeat(np.arange(len(vectors)), len(codes))
        order = np.lexsort((vector, loss[vector], candidate))
        begins = np.concatenate([[True], candidate[order][1:] != candidate[order][:-1]])
        cheapest = vector[order[begins]]
        suppressed = (vectors == levels.top[list(at)]).all(axis=1)
        top = np.zeros(len(cheapest), dtype=bool)
        np.logical_or.at(top, candidate, suppressed[vector])
        shape = (len(vectors), len(codes))
        return cls(
            counts=np.bincount(type_in, weights=types.counts).astype(np.int64),
            type_in=type_in.astype(np.int64),
            vector_in=vector_in,
            private_of=private_of,
            part=part.reshape(shape).astype(np.int64),
            of_part=row_type[part_first],
            candidate=candidate.reshape(shape).astype(np.int64),
            cost=loss[cheapest],
            private=private[cheapest],
            least=np.where(top & instance.exempt_reading, 1, k).astype(np.int64),
        )


def _side_by_side(sides: Sequence[_Side], begins: Ints) -> tuple[Candidates, Ints, Ints32, list[Ints32]]:
    """The candidates of all sets that are large enough, of those that cover the same parts the cheapest; their sizes
    and private levels; and per set what stands for each class."""
    covers: list[Ints32] = []
    cost, support, least, private = [], [], [], []
    kept: list[Ints32] = []
    for side, begin in zip(sides, begins, strict=False):
        pairs = np.unique(np.column_stack([side.candidate.reshape(-1), side.part.reshape(-1)]), axis=0)
        rows = np.bincount(pairs[:, 0], weights=side.counts[side.of_part[pairs[:, 1]]]).astype(np.int64)
        split = np.split((pairs[:, 1] + begin).astype(np.int32), np.cumsum(np.bincount(pairs[:, 0]))[:-1])
        stands = np.full(len(side.cost), NONE, dtype=np.int32)
        seen: dict[tuple[int, bytes], int] = {}
        for g in np.argsort(side.cost, kind="stable").tolist():
            if rows[g] < side.least[g]:
                continue
            number = seen.setdefault((int(side.least[g]), split[g].tobytes()), len(covers))
            stands[g] = number
            if number == len(covers):
                covers.append(split[g])
                cost.append(side.cost[g])
                support.append(rows[g])
                least.append(side.least[g])
                private.append(side.private[g])
        kept.append(stands[side.candidate])
    lengths = np.array([len(each) for each in covers], dtype=np.int64)
    candidates = Candidates(
        vector=np.zeros(len(covers), dtype=np.int32),
        cost=np.array(cost, dtype=np.int64),
        support=np.array(support, dtype=np.int64),
        indptr=indptr_of(lengths),
        members=np.concatenate([np.zeros(0, dtype=np.int32), *covers]),
    )
    return candidates, np.array(least, dtype=np.int64), np.array(private, dtype=np.int32), kept


def _parts(instance: Instance, sides: Sequence[_Side], covered: Flags, candidates: Candidates, sizes: Ints) -> Parts:
    """The parts that are covered as row types without values."""
    counts = np.concatenate([side.counts[side.of_part] for side in sides])[covered]
    none = np.empty((len(counts), 0), dtype=np.int32)
    types = RowTypes((), (), (), none, counts, np.arange(len(counts), dtype=np.int32), none, counts)
    exempt = np.zeros(candidates.count, dtype=bool)
    return Parts(instance.problem, types, instance.levels, candidates, exempt, instance.table_group, sizes)
