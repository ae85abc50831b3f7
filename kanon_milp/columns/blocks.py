"""Blocks of row types that compete for the same candidates, and their parts of the linear program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.counting import CountingRows
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.rank_one import RankOneRows
from kanon_milp.columns.part import Part
from kanon_milp.compiled import compiled
from kanon_milp.instance import Instance

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

LIVE = 0.3  # reduced cost of the cheapest group, in units, up to which a candidate links row types
NEAR = 0.5  # what a group may cost more with a row for the row to be linked
WITHIN = 2.0  # reduced cost up to which a candidate is part of a block's linear program
STALE = 0.5  # what multipliers may have changed since the covers were sorted
OTHERS = 2  # rows from outside a block for each candidate, in multiples of κ


@dataclass(frozen=True, eq=False)
class Links:
    """Live candidates and the row types that are near in them, by candidate and by row type (CSR)."""

    indptr: Ints
    types: Ints
    begins: Ints
    candidates: Ints

    @classmethod
    def of(cls, instance: Instance, dual: DualPoint, members: Codes) -> Links:
        """At these multipliers; rank-1 rows make groups dearer and play no part. members: as in `cut_part`."""
        c = instance.candidates
        indptr, types = _links(
            c.indptr, members, c.cost.astype(np.float64), instance.least.astype(np.float64),
            instance.types.counts.astype(np.float64), dual.multipliers, _surcharge(instance, dual), LIVE, NEAR,
        )  # fmt: skip
        order = np.argsort(types, kind="stable")
        begins = np.concatenate([[0], np.cumsum(np.bincount(types, minlength=instance.types.count))]).astype(np.int64)
        of_entry = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        return cls(indptr, types, begins, of_entry[order])

    def blocks(self, size: int, seed: int) -> list[Ints]:
        """Disjoint blocks of `size` row types, and one of fewer, that hold every row type with a live candidate."""
        count = len(self.begins) - 1
        order = np.random.default_rng(seed).permutation(count)
        left = np.diff(self.begins) > 0
        found, block = [], np.empty(0, np.int64)
        for first in order.tolist():
            if not left[first]:
                continue
            grown = _grow(self.indptr, self.types, self.begins, self.candidates, first, size - len(block), left)
            left[grown] = False
            block = np.concatenate([block, grown])
            if len(block) == size:
                found.append(np.sort(block))
                block = block[:0]
        return [*found, np.sort(block)] if len(block) else found


def cut_part(instance: Instance, dual: DualPoint, block: Ints, members: Codes) -> tuple[Part, Ints]:
    """The part of L in which the multipliers of these row types are free, and the rank-1 rows among them.

    members: the covers by falling multiplier, as of not long ago.

    Returns it with its row types, int64 (t,), as numbers in the instance; the block comes first. Of the others only
    the cheapest are there, and only candidates that matter: what it proves holds for the instance only once L has been
    computed anew.
    """
    c, types = instance.candidates, instance.types.count
    inside = np.zeros(types, dtype=np.bool_)
    inside[block] = True
    chosen, indptr, near = _cut(
        c.indptr, members, c.cost.astype(np.float64), instance.least.astype(np.float64),
        instance.types.counts.astype(np.float64), dual.multipliers, _surcharge(instance, dual), inside, WITHIN, OTHERS,
    )  # fmt: skip
    others = np.unique(near[~inside[near]])
    numbers = np.concatenate([block, others])
    place = np.full(types, -1, dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    own, held = _split(dual.rank_one, inside)
    local = _renumbered(dual.rank_one.subset(held), place)
    part = Part(
        indptr,
        place[near].astype(np.int32),
        c.cost[chosen].astype(np.float64),
        instance.least[chosen].astype(np.float64),
        _surcharge(instance, dual)[chosen],
        instance.types.counts[numbers],
        dual.multipliers[numbers],
        len(block),
        local,
        dual.cuts[held],
        _renumbered(dual.rank_one.subset(own), place),
        dual.cuts[own],
    )
    return part, numbers


def put_back(dual: DualPoint, block: Ints, multipliers: Floats, rows: RankOneRows, charges: Floats) -> DualPoint:
    """A point with other multipliers in a block. rows: over the block's row types, in its numbers, in place of those
    there."""
    inside = np.zeros(len(dual.multipliers), dtype=np.bool_)
    inside[block] = True
    own, _ = _split(dual.rank_one, inside)
    changed = dual.multipliers.copy()
    changed[block] = multipliers
    charged = charges > 1e-9
    new = rows.subset(charged)
    new = RankOneRows(new.indptr, block[new.types].astype(np.int32), new.weights, new.denominators)
    return DualPoint(
        changed, dual.value, dual.open_share, dual.phi, dual.evaluations, dual.sets, dual.charges,
        dual.rank_one.subset(~own).joined(new), np.concatenate([dual.cuts[~own], charges[charged]]),
    )  # fmt: skip


def _surcharge(instance: Instance, dual: DualPoint) -> Floats:
    rows = CountingRows.of(instance, dual.sets)
    return rows.surcharge(dual.charges, instance.candidates.count).astype(np.float64)


def _split(rows: RankOneRows, inside: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Rows of row types inside alone; rows of both kinds."""
    row = np.repeat(np.arange(rows.count), np.diff(rows.indptr))
    number = np.bincount(row, weights=inside[rows.types], minlength=rows.count)
    own = number == np.diff(rows.indptr)
    return own, ~own & (number > 0)


def _renumbered(rows: RankOneRows, place: Ints) -> RankOneRows:
    """The same rows without row types that have no place: these have no rows in any group here."""
    found = []
    for types, weights, denominator in rows.each():
        kept = [(int(place[i]), p) for i, p in zip(types, weights, strict=True) if place[i] >= 0]
        found.append(([i for i, _ in kept], [p for _, p in kept], denominator))
    return RankOneRows.of(found)


@compiled
def _nearest(
    cover: Codes, w: float, least: float, rows: Floats, multipliers: Floats, surcharge: float
) -> tuple[float, float]:
    """(value, dearest) of the cheapest group, nearly: of the first rows in order. Infinite where there are too few."""
    value, size, dearest = surcharge, 0.0, 0.0
    for i in cover:
        each = w - multipliers[i]
        if size >= least and each >= 0:
            return value, dearest
        taken = rows[i] if each < 0 else min(rows[i], least - size)
        value += taken * each
        size += taken
        dearest = max(each, 0.0)
    return (value, dearest) if size >= least else (np.inf, dearest)


@compiled
def _links(
    indptr: Ints,
    members: Codes,
    cost: Floats,
    least: Floats,
    rows: Floats,
    multipliers: Floats,
    surcharge: Floats,
    live: float,
    near: float,
) -> tuple[Ints, Ints]:
    begins, types = np.empty(1024, np.int64), np.empty(8192, np.int64)
    count, end = 0, 0
    begins[0] = 0
    for g in range(len(cost)):
        cover = members[indptr[g] : indptr[g + 1]]
        value, dearest = _nearest(cover, cost[g], least[g], rows, multipliers, surcharge[g])
        if value > live:
            continue
        if count + 2 > len(begins):
            begins = np.concatenate((begins, np.empty_like(begins)))
        while end + len(cover) > len(types):
            types = np.concatenate((types, np.empty_like(types)))
        for i in cover:
            each = cost[g] - multipliers[i]
            if each > dearest + near + STALE:
                break
            if each <= dearest + near:
                types[end] = i
                end += 1
        count += 1
        begins[count] = end
    return begins[: count + 1].copy(), types[:end].copy()


@compiled
def _grow(
    indptr: Ints, types: Ints, begins: Ints, candidates: Ints, first: int, size: int, left: NDArray[np.bool_]
) -> Ints:
    """From one row type on, always the one of those left that shares the most with those that are in."""
    score = np.zeros(len(begins) - 1)
    inside = np.zeros(len(begins) - 1, np.bool_)
    touched = np.empty(len(begins) - 1, np.int64)
    found = np.empty(size, np.int64)
    close, count, newest = 0, 0, first
    while True:
        inside[newest] = True
        found[count] = newest
        count += 1
        if count == size:
            break
        for at in range(begins[newest], begins[newest + 1]):
            c = candidates[at]
            weight = 1.0 / (indptr[c + 1] - indptr[c])
            for e in range(indptr[c], indptr[c + 1]):
                j = types[e]
                if not left[j]:
                    continue
                if score[j] == 0:
                    touched[close] = j
                    close += 1
                score[j] += weight
        best, newest = 0.0, -1
        for x in range(close):
            j = touched[x]
            if not inside[j] and score[j] > best:
                best, newest = score[j], j
        if newest < 0:
            break
    return found[:count].copy()


@compiled
def _cut(
    indptr: Ints,
    members: Codes,
    cost: Floats,
    least: Floats,
    rows: Floats,
    multipliers: Floats,
    surcharge: Floats,
    inside: NDArray[np.bool_],
    within: float,
    others: int,
) -> tuple[Ints, Ints, Codes]:
    """Candidates with a group that holds a row inside and costs no more than `within`: (candidate, indptr, members)."""
    chosen, begins, found = np.empty(1024, np.int64), np.empty(1025, np.int64), np.empty(8192, np.int32)
    count, end = 0, 0
    begins[0] = 0
    for g in range(len(cost)):
        cover = members[indptr[g] : indptr[g + 1]]
        value, dearest = _nearest(cover, cost[g], least[g], rows, multipliers, surcharge[g])
        if value > within:
            continue
        limit = within - value + dearest
        while end + len(cover) > len(found):
            found = np.concatenate((found, np.empty_like(found)))
        at, held, own = end, 0.0, 0
        for i in cover:
            each = cost[g] - multipliers[i]
            if each > limit + STALE:
                break
            if each > limit:
                continue
            if inside[i]:
                own += 1
            elif held >= others * least[g] and each >= 0:
                continue
            else:
                held += rows[i]
            found[at] = i
            at += 1
        if own == 0:
            continue
        if count + 2 > len(begins):
            chosen = np.concatenate((chosen, np.empty_like(chosen)))
            begins = np.concatenate((begins, np.empty_like(begins)))
        chosen[count] = g
        count += 1
        end = at
        begins[count] = end
    return chosen[:count].copy(), begins[: count + 1].copy(), found[:end].copy()
