"""The candidates of a problem without a list of them: priced at given multipliers, level vector by level vector.

L(λ) = Σ_i n_i λ_i + Σ_g min(0, φ_g) (`kanon_milp.bounds.lagrangian_bound`) runs over all closed candidates, which are
enough (`presolve.closures.closures_suffice`). φ_g < 0 takes a row with λ_i > w_g, so at good multipliers most rows are
not looked at under most level vectors, and nothing is stored: all of Adult with hierarchies of eight columns has
1.2 million closed candidates under 6,480 level vectors, of which some 5,000 have φ < 0.

Where closed candidates are not enough they are those of all level vectors that are allowed. Under a mask, some of
them dominate others: whatever does has a lower φ, so it is among those that are looked at. A least number of groups
asks for all of them.

A multiplier μ ≥ 0 of a largest number M of groups is added to each φ, and M·μ taken from L; one of a least number is
taken from φ, and added (`kanon_milp.bounds.packing_cuts`). A point is λ of the row types, then these multipliers.

Rank-1 cuts only add to φ, so the candidates that are below 0 without them are the ones that count with them. These are
listed, with all they cover, and proven one by one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.dual import NEVER, TOO_FINE, DualPoint, ExactDual, prove, round_dual
from kanon_milp.bounds.evaluation import Evaluator
from kanon_milp.bounds.packing_cuts import first_sets
from kanon_milp.bounds.parameters import PricingParameters, SubproblemParameters
from kanon_milp.errors import InputError, TooManyLevelVectorsError
from kanon_milp.kernels.pattern_pricing import cheapest_vectors, price_vectors
from kanon_milp.presolve.closures import Axis, closures_suffice, pricing_suffices, root_instance
from kanon_milp.presolve.instance import Candidates, Instance, recode
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.presolve.reductions import Dominance, supports
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import MAX_LEVEL_VECTORS, Levels
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.parameters import Parameters

if TYPE_CHECKING:
    from kanon_milp.system.worker_pool import Pool

MOST_KEYS = 1 << 62  # of candidates
LONG = 0.1  # seconds of a look, from which on parts of it are worth sending
PARTS = 4  # of one, for each worker and for this process

F = TypeVar("F")


class Priced(NamedTuple):
    """What one look at all candidates finds. value: L. instance: the candidates with φ below a limit, and those that
    cover all row types; of each cover the row types that are near. keys: a number for each of its candidates, the same
    in all instances, ascending."""

    value: float
    instance: Instance
    keys: Ints


class _Vectors(NamedTuple):
    """What every look at level vectors needs, as `price_vectors` describes it; the costs of these in units."""

    halves: tuple[Ints32, Ints32]
    of_half: tuple[Ints, Ints]
    half_costs: tuple[Ints, Ints]
    label: Ints32
    cheaper: Ints32
    classes: Ints32
    exempt: int
    closed: bool
    costs: Ints
    least: Ints
    counts: Ints


def _priced_vectors(
    v: _Vectors, begin: int, end: int, multipliers: NDArray[Any], threshold: float, margin: float, listed: bool,
    scale: int, added: Any,
) -> tuple[NDArray[Any], Ints32, NDArray[Any], Ints, Ints32]:  # fmt: skip
    """The candidates of some level vectors: Σ min(0, φ) of each of these; of those listed their level vectors, φ, the
    lengths of their covers, and these."""
    order, kind, each = np.argsort(-multipliers, kind="stable"), multipliers.dtype, slice(begin, end)
    (first, second), (of_first, of_second), half_costs = v.halves, v.of_half, v.half_costs
    first_cost, second_cost = ((cost * scale).astype(kind) for cost in half_costs)
    cheaper = v.cheaper
    if len(cheaper):
        first_cost, second_cost = np.take(first_cost, order, axis=1), np.take(second_cost, order, axis=1)
        cheaper = np.take(cheaper, order, axis=2)
    below = np.empty(end - begin, kind)
    vector, phi, indptr, members = price_vectors(
        np.take(first, order, axis=1), np.take(second, order, axis=1), of_first[each], of_second[each], first_cost,
        second_cost, np.take(v.label, order, axis=2), cheaper, v.classes[each],
        v.exempt - begin if v.exempt >= begin else -1, v.closed, (v.costs[each] * scale).astype(kind),
        v.least[each].astype(kind), v.counts[order].astype(kind), multipliers[order], added, kind.type(threshold),
        kind.type(margin), listed, below,
    )  # fmt: skip
    return below, vector + np.int32(begin), phi, np.diff(indptr), order.astype(np.int32)[members]


class PatternPricing:
    """The candidates of a problem; of its requirements only the sizes.

    levels: a level vector for each choice of classes, of levels that cost the same the highest, or all that are
    allowed; by rising cost. cell:
    what a suppressed cell costs on average, in units. least: κ under each of them, int64 (V,). limits: of numbers of
    groups, as of `PackingCuts`.
    """

    def __init__(self, problem: Problem, types: RowTypes, pool: Pool | None = None) -> None:
        """pool: that parts of long looks are given to. Raises TooManyLevelVectorsError, and ValueError where candidates
        cannot be priced."""
        self._begin_looks(pool)
        if not pricing_suffices(problem):
            raise ValueError("this problem needs more than prices of single candidates")
        self.root, self.types, self._closed = root_instance(problem, types), types, closures_suffice(problem)
        self._axes = [
            Axis.of(column, types.codes[:, j], every=not self._closed)
            for j, column in enumerate(self.root.levels.columns)
        ]
        self._used = [j for j, axis in enumerate(self._axes) if axis.top]
        self._heights = [self._axes[j].top + 1 for j in self._used]
        every = math.prod(column.height + 1 for column in self.root.levels.columns)
        if problem.recoding.mask is None and every > MAX_LEVEL_VECTORS:
            raise TooManyLevelVectorsError(f"{every:,} level vectors are too many to be priced one by one")
        levels = self._every_vector() if self._closed else recode(problem, types)
        if levels.count * types.count**2 > MOST_KEYS or math.prod(self._heights) > MOST_KEYS:
            raise TooManyLevelVectorsError(f"{every:,} level vectors are too many to be priced one by one")
        order = np.argsort(levels.costs, kind="stable")
        self.levels = levels.only(order)
        self._classes = np.ascontiguousarray(self._classes_of(self.levels.vectors), np.int32)
        key = self._key(self._classes)
        self._by_key = np.argsort(key)
        self._key_of = key[self._by_key]
        # what tells row types apart under a level vector, in some columns and in the others
        split = min(range(len(self._used) + 1), key=lambda at: self._choices(key, at))
        rest = math.prod(self._heights[split:])
        labels = [self._axes[j].label for j in self._used]
        (ones, of_first), (others, of_second) = (
            np.unique(part, return_inverse=True) for part in (key // rest, key % rest)
        )
        self._of_half = of_first.reshape(-1).astype(np.int64), of_second.reshape(-1).astype(np.int64)
        choices = _unravelled(ones, self._heights[:split]), _unravelled(others, self._heights[split:])
        halves = slice(None, split), slice(split, None)
        self._halves = _both(_told_apart, labels, halves, choices, types.count)
        self._label = np.zeros((len(labels), max(self._heights, default=1), types.count), np.int32)
        for label, each in zip(self._label, labels, strict=True):
            label[: len(each)] = each
        self._costs: tuple[Ints, Ints] = np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64)
        self._cheaper = np.zeros((0, 0, 0), np.int32)
        if levels.cells is not None:
            costs = [self._axes[j].costs(levels.cells[j]) for j in self._used]
            self._costs = _both(_lost, costs, halves, choices, types.count)
            self._cheaper = np.full(self._label.shape, -1, np.int32)
            for cheaper, cost in zip(self._cheaper, costs, strict=True):
                for c in range(1, len(cost)):
                    cheaper[c] = np.where(cost[c - 1] < cost[c], c - 1, cheaper[c - 1])
                cheaper[: len(cost) - 1][cost[:-1] == cost[1:]] = -2
        top = int(self.places(self.root.levels.top[None, :])[0])
        self._exempt = top if self.root.exempt_reading else -1
        self.least = np.full(self.levels.count, self.root.least[0], np.int64)
        if self._exempt >= 0:
            self.least[top] = replace(self.root, exempt=np.ones(1, bool)).least[0]
        self._whole = np.unique([*self.places(self._closure_of_all()), *([top] if self._exempt >= 0 else [])])
        self.cell = max(float(self.levels.costs.max()) / len(self._axes), 1.0)
        self._limit_groups()
        self._fixed: Any = _Vectors(
            self._halves, self._of_half, self._costs, self._label, self._cheaper, self._classes, self._exempt,
            self._closed, self.levels.costs, self.least, types.counts,
        )  # fmt: skip

    def _begin_looks(self, pool: Pool | None) -> None:
        """pool: where they run, in parts once one has taken long; what all parts need, once it is sent there."""
        self._pool, self._long, self._sent = pool, False, None

    def _limit_groups(self) -> None:
        """What numbers of groups add: for each a set, its sign, and how many are allowed."""
        problem, self.sets = self.root.problem, first_sets(self.root)
        self._signs = np.where(self.sets.lengths > 0, 1, -1).astype(np.int64)
        least = [self.root.least[0]] + [replace(self.root, exempt=np.ones(1, bool)).least[0]] * self.root.exempt_reading
        most = min(self.types.n // int(min(least)), problem.most_groups or self.types.n)
        numbers = [most if sign > 0 else problem.min_groups for sign in self._signs.tolist()]
        self.limits = np.array(numbers, np.int64) * self._signs

    def _every_vector(self) -> Levels:
        """One level vector for each choice of classes."""
        count = math.prod(self._heights)
        classes = np.zeros((count, len(self._axes)), np.int64)
        if self._used:
            classes[:, self._used] = np.stack(np.unravel_index(np.arange(count), self._heights), axis=1)
        vectors = np.stack([axis.levels[classes[:, j]] for j, axis in enumerate(self._axes)], axis=1).astype(np.int16)
        return recode(self.root.problem, self.types, lambda _: vectors)

    def _classes_of(self, vectors: NDArray[np.integer[Any]]) -> Ints:
        """In the columns that are used, int64 (vectors, columns)."""
        found = [np.searchsorted(self._axes[j].levels, vectors[:, j]) for j in self._used]
        return np.stack(found, axis=1) if found else np.zeros((len(vectors), 0), np.int64)

    def _key(self, classes: NDArray[np.integer[Any]]) -> Ints:
        found: Any = np.ravel_multi_index(tuple(classes.T), self._heights) if self._used else np.zeros(len(classes))
        return np.asarray(found, np.int64)

    def _choices(self, key: Ints, at: int) -> int:
        """How many numbers of halves there are where columns are divided here."""
        first, rest = math.prod(self._heights[:at]), math.prod(self._heights[at:])
        if first * rest == len(key):
            return first + rest
        return len(np.unique(key // rest)) + len(np.unique(key % rest))

    def _closure_of_all(self) -> NDArray[np.integer[Any]]:
        """The level vector of the closed candidate of all row types, (1, m): from their lowest shared labels up to the
        last that cost the same; or the cheapest one that is allowed."""
        if not self._closed:
            lowest = [axis.classes(self.root.candidates.covers)[0] for axis in self._axes]
            above = np.flatnonzero((self.levels.vectors >= lowest).all(axis=1))
            cost = self.levels.row_costs(above, np.broadcast_to(self.types.codes[0], (len(above), len(lowest))))
            return self.levels.vectors[above[[cost.argmin()]]]
        classes, cells = (
            [int(axis.classes(self.root.candidates.covers)[0]) for axis in self._axes],
            self.root.levels.cells,
        )
        for j, axis in enumerate(self._axes if cells is not None else ()):
            assert cells is not None
            cost = axis.costs(cells[j])[:, 0].tolist()
            while classes[j] < axis.top and cost[classes[j]] == cost[classes[j] + 1]:
                classes[j] += 1
        return np.array([[axis.levels[c] for axis, c in zip(self._axes, classes, strict=True)]])

    def places(self, vectors: NDArray[np.integer[Any]]) -> Ints:
        """The numbers of the level vectors that have the classes of these."""
        found: Ints = self._by_key[np.searchsorted(self._key_of, self._key(self._classes_of(vectors)))]
        return found

    def split(self, point: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Multipliers of row types, and of numbers of groups; what comes after these is left out."""
        types = self.types.count
        return np.ascontiguousarray(point[:types]), point[types : types + self.sets.lists]

    def dual_point(self, point: Floats, value: float) -> DualPoint:
        """A point as others take it, with what it is worth."""
        multipliers, of_groups = self.split(point)
        return DualPoint(multipliers, value, sets=self.sets, packing_multipliers=of_groups)

    def of_groups(self, dual: DualPoint[Any]) -> NDArray[Any]:
        """Its multipliers of numbers of groups; those of other sets are left out."""
        of_set = zip(dual.sets.each(), dual.packing_multipliers.tolist(), strict=True)
        known = {each.tobytes(): multiplier for each, multiplier in of_set}
        return np.array([known.get(each.tobytes(), 0) for each in self.sets.each()], dual.multipliers.dtype)

    def _price(
        self,
        multipliers: NDArray[Any],
        threshold: float,
        margin: float,
        listed: bool,
        scale: int = 1,
        of_groups: NDArray[Any] | None = None,
    ) -> tuple[NDArray[Any], Ints32, Ints, Ints32]:
        """Σ min(0, φ) of each level vector; and the candidates that are listed: their level vectors and covers."""
        added = multipliers.dtype.type(0 if of_groups is None else self._signs @ of_groups)
        if not self._closed and Dominance().accepts(self.root.problem):
            return self._price_undominated(multipliers, threshold, margin, scale, added)
        below, vector, _, indptr, members = self._look(multipliers, threshold, margin, listed, scale, added)
        return below, vector, indptr, members

    def _price_undominated(
        self, multipliers: NDArray[Any], threshold: float, margin: float, scale: int, added: Any
    ) -> tuple[NDArray[Any], Ints32, Ints, Ints32]:
        """As `_price` where some candidates dominate others."""
        kind = multipliers.dtype
        infinite = np.inf if kind.kind == "f" else NEVER
        _, vector, phi, indptr, members = self._look(multipliers, threshold, infinite, True, scale, added)
        keep = self._undominated(vector, indptr, members)
        covers = Ragged(indptr, members).subset(keep)
        vector, below = vector[keep], np.minimum(phi[keep], kind.type(0))
        # by falling multiplier, as they are listed: what the group is made of, and what is near
        reduced = np.repeat(self._cost_of(vector, covers) * scale, covers.lengths) - multipliers[covers.values]
        before = np.cumsum(self.types.counts[covers.values]) - self.types.counts[covers.values]
        before -= np.repeat(before[covers.indptr[:-1]], covers.lengths)
        near = (reduced < margin) | (before < np.repeat(self.least[vector], covers.lengths))
        lengths = np.add.reduceat(near, covers.indptr[:-1]) if len(vector) else np.zeros(0, np.int64)
        return below, vector, indptr_of(lengths), covers.values[near]

    def _cost_of(self, vector: Ints | Ints32, covers: Ragged[np.int32]) -> Ints:
        return self.levels.row_costs(vector, self.types.codes[covers.values[covers.indptr[:-1]]])

    def _undominated(self, vector: Ints32, indptr: Ints, members: Ints32) -> Flags:
        """Which of these candidates, with all row types that they cover, no other dominates: what does is among them,
        since it has a lower φ (`presolve.reductions.Dominance`)."""
        covers, keep = Ragged(indptr, members), np.ones(len(vector), bool)
        if not len(vector):
            return keep
        first, cost = members[indptr[:-1]], self._cost_of(vector, covers)
        support = np.add.reduceat(self.types.counts[members], indptr[:-1])
        keys = self._keys(vector.astype(np.int64), first)
        by_key = np.argsort(keys)
        classes = [axis.classes(covers) for axis in self._axes]
        lowest, of = np.unique(np.stack(classes, axis=1), axis=0, return_inverse=True)
        of = of.reshape(-1)
        order = np.argsort(of, kind="stable")
        for each, mine in zip(lowest, np.split(order, np.flatnonzero(np.diff(of[order])) + 1), strict=True):
            above = np.flatnonzero((self.levels.vectors >= each).all(axis=1) & (self.levels.costs <= cost[mine].max()))
            lost = self.levels.row_costs(above[None, :], self.types.codes[first[mine]][:, None, :])
            lost = np.broadcast_to(lost, (len(mine), len(above)))
            keep[mine] = lost.min(axis=1) == cost[mine]
            for g, others in zip(mine.tolist(), lost == cost[mine][:, None], strict=True):
                tied = above[others & (above != vector[g])] if keep[g] else above[:0]
                if len(tied):
                    at = np.searchsorted(keys[by_key], self._keys(tied, np.repeat(first[g], len(tied))))
                    o = by_key[np.minimum(at, len(keys) - 1)]
                    before = (tied < vector[g]) | (tied == self._exempt)  # which asks for fewer rows
                    more = (support[o] > support[g]) | ((support[o] == support[g]) & before)
                    keep[g] = not (more & (vector[o] == tied)).any()
        keep[vector == self._exempt] = True
        return keep

    def _look(
        self, multipliers: NDArray[Any], threshold: float, margin: float, listed: bool, scale: int, added: Any
    ) -> tuple[NDArray[Any], Ints32, NDArray[Any], Ints, Ints32]:
        """By the kernel, in parts once that has taken long: with φ of what is listed."""
        began, count = time.perf_counter(), self.levels.count
        number = min(PARTS * (self._pool.workers + 1), count) if self._pool and self._divides else 1
        ends = np.linspace(0, count, number + 1).astype(int).tolist()
        asked = multipliers, threshold, margin, listed, scale, added
        parts = self._each_part(_priced_vectors, [(*each, *asked) for each in pairwise(ends)])
        below, vector, phi, lengths, members = map(np.concatenate, zip(*parts, strict=True))
        self._long = self._long or time.perf_counter() - began > LONG
        return below, vector, phi, np.append(0, np.cumsum(lengths)), members

    @property
    def _divides(self) -> bool:
        """Whether there are workers, and looks are long enough to be divided among them."""
        return self._pool is not None and self._pool.workers > 0 and self._long

    def _each_part(self, function: Callable[..., F], parts: list[tuple[Any, ...]]) -> Iterable[F]:
        """What a function says of what all parts need, and of each of them."""
        if self._pool is None or not self._divides:
            return (function(self._fixed, *part) for part in parts)
        if self._sent is None:
            self._sent = self._pool.shared(self._fixed)
        return self._pool.each(function, self._sent, parts)

    def cheapest(self) -> Floats:
        """Multipliers to begin with: what a row of each type loses at least, so that no φ_g is negative."""
        found = np.empty(self.types.count, np.int64)
        cheapest_vectors(
            *self._halves, *self._of_half, *self._costs, self.levels.costs, self.least, self.types.counts, found
        )
        return found.astype(np.float64)

    def value(self, point: Floats) -> float:
        """L in floating point."""
        multipliers, of_groups = self.split(point)
        below = self._price(multipliers, 0.0, 0.0, False, of_groups=of_groups)[0]
        return float(below.sum() + self._paid(multipliers, of_groups))

    def _paid(self, multipliers: Floats, of_groups: Floats) -> float:
        return float(self.types.counts @ multipliers - self.limits @ of_groups)

    def exact(self, dual: ExactDual) -> int:
        """L at integer multiples of 1/denominator, in integers: times the denominator.

        Sums of one level vector are within n · (w + |λ|), those of all have no limit. Raises InputError where the
        numbers could leave the range of int64, and ValueError where there are packing cuts but for numbers of groups.
        """
        of_groups = self.of_groups(dual)
        multipliers, denominator = dual.multipliers, dual.denominator
        self._refuse(dual)
        if dual.rank_one_cuts.count:
            _, vector, indptr, members = self._price(multipliers, 0, NEVER, True, denominator)
            return prove(self._instance(vector, indptr, members)[0], dual).total
        below = self._price(multipliers, 0, 0, False, denominator, of_groups)[0]
        paid = zip(self.types.counts.tolist(), multipliers.tolist(), strict=True)
        total: int = sum(below.tolist()) + sum(n * each for n, each in paid)
        total -= sum(n * each for n, each in zip(self.limits.tolist(), of_groups.tolist(), strict=True))
        return total

    def _refuse(self, dual: ExactDual) -> None:
        """What cannot be proven, as `exact` says."""
        known = [each.tobytes() for each in self.sets.each()]
        if any(each.tobytes() not in known for each in dual.sets.each()):
            raise ValueError("what packing cuts allow depends on all candidates, which are not listed")
        largest = int(self.root.levels.costs.max()) * dual.denominator + max(map(abs, dual.multipliers.tolist()))
        if largest * (self.types.n + 1) + sum(map(abs, dual.packing_multipliers.tolist())) >= NEVER:
            raise InputError(TOO_FINE)

    def bound(self, dual: DualPoint) -> int:
        """What multipliers prove, in units, when they are rounded: no table loses fewer."""
        exact = round_dual(dual)
        return -(-self.exact(exact) // exact.denominator)

    def _keys(self, vector: Ints, member: Ints32) -> Ints:
        """A number for the candidate that covers this row type under this level vector."""
        one, other = (half[part[vector], member] for half, part in zip(self._halves, self._of_half, strict=True))
        return mixed_key([vector, one, other], [self.levels.count, self.types.count, self.types.count])

    def numbers(self, priced: Priced, instance: Instance) -> Ints:
        """For each candidate of an instance its number among those of a look at which its pairs came along, int64."""
        vector = self.places(instance.levels.vectors[instance.candidates.vector])
        found: Ints = np.searchsorted(priced.keys, self._keys(vector, instance.candidates.representative))
        return found

    def near(self, point: Floats, open_limit: float, pair_limit: float, also: Instance | None = None) -> Priced:
        """The candidates with φ below a limit and their pairs with a reduced cost below another one, in cells.

        also: an instance whose pairs come with them.
        """
        return self._near(point, open_limit, pair_limit, also)

    def _near(self, point: Floats, open_limit: float, pair_limit: float, also: Instance | None) -> Priced:
        multipliers, of_groups = self.split(point)
        below, vector, indptr, members = self._price(
            multipliers, open_limit * self.cell, pair_limit * self.cell, True, of_groups=of_groups
        )
        value = float(below.sum() + self._paid(multipliers, of_groups))
        return Priced(value, *self._instance(vector, indptr, members, also))

    def _instance(
        self, vector: Ints32, indptr: Ints, members: Ints32, also: Instance | None = None
    ) -> tuple[Instance, Ints]:
        """The instance of these candidates and of those that cover all row types, and the numbers of all of them."""
        every = np.arange(self.types.count, dtype=np.int32)
        vectors: list[Ints | Ints32] = [vector, self._whole]
        pairs: list[Ints32] = [members, np.tile(every, len(self._whole))]
        lengths: list[Ints] = [np.diff(indptr), np.full(len(self._whole), self.types.count)]
        if also is not None:
            held = also.candidates
            vectors.append(self.places(also.levels.vectors[held.vector]))
            pairs.append(held.members)
            lengths.append(np.diff(held.indptr))
        at: Ints = np.concatenate(vectors)
        member, length = np.concatenate(pairs), np.concatenate(lengths)
        keys, number = np.unique(self._keys(at, member[np.cumsum(length) - length]), return_inverse=True)
        pair = np.sort(np.repeat(number.reshape(-1), length) * self.types.count + member)
        pair = pair[np.diff(pair, prepend=-1) > 0]  # as np.unique, which takes ten times as long for such numbers
        of_pair, member = pair // self.types.count, (pair % self.types.count).astype(np.int32)
        vector = np.empty(len(keys), np.int32)
        vector[number.reshape(-1)] = at
        support = supports(self.types.counts, of_pair.astype(np.int32), member, len(keys))
        indptr = indptr_of(np.bincount(of_pair, minlength=len(keys)))
        cost = self.levels.row_costs(vector, self.types.codes[member[indptr[:-1]]])
        candidates = Candidates(vector, cost, support, indptr, member)
        exempt = np.asarray(vector == self._exempt)
        return replace(self.root, levels=self.levels, candidates=candidates, exempt=exempt), keys

    def evaluator(self, priced: Priced, centre: Floats, width: float, threads: int, params: Parameters) -> Evaluator:
        """L over some of the candidates, in a box around a point, where it is nearly that over all."""
        return _Boxed(priced.instance, centre, width, threads, params.of(SubproblemParameters))

    def charges(self, point: Floats) -> Floats | None:
        """Those of a point of such an evaluator, as of `DualPoint`."""
        return None

    def ascent_parameters(self, params: Parameters) -> PricingParameters:
        """The numbers that an ascent over these candidates goes by."""
        return params.of(PricingParameters)

    def learn(self, priced: Priced, point: Floats) -> None:
        """Be told the best point of an evaluator over these candidates."""


def _unravelled(index: Ints, heights: list[int]) -> Ints:
    """Choices of classes by their numbers, int64 (choices, columns)."""
    return np.stack(np.unravel_index(index, heights), axis=1) if heights else np.zeros((1, 0), np.int64)


def _both(
    function: Callable[[list[Any], Ints, int], Any],
    columns: list[Any],
    halves: tuple[slice, slice],
    choices: tuple[Ints, Ints],
    types: int,
) -> tuple[Any, Any]:
    """What a function makes of each half of the columns."""
    one, other = (function(columns[half], choice, types) for half, choice in zip(halves, choices, strict=True))
    return one, other


def _told_apart(labels: list[Ints32], choices: Ints, types: int) -> Ints32:
    """For each choice of a class in each of these columns a number for each row type, the same for those that are
    alike: int32 (choices, t)."""
    found = []
    for choice in choices.tolist():
        at = [label[c] for label, c in zip(labels, choice, strict=True)]
        key = mixed_key(at, [int(each.max()) + 1 for each in at]) if at else np.zeros(types, np.int64)
        found.append(np.unique(key, return_inverse=True)[1].reshape(-1))
    return np.array(found, np.int32)


def _lost(costs: list[Ints], choices: Ints, types: int) -> Ints:
    """For each choice of a class in each of these columns what each row type loses, int64 (choices, t)."""
    nothing = np.zeros(types, np.int64)
    return np.array(
        [sum((cost[c] for cost, c in zip(costs, choice, strict=True)), nothing) for choice in choices.tolist()]
    )


def box(instance: Instance, centre: Floats, width: float) -> tuple[Floats, Floats]:
    """The least and the largest multipliers of a box around a point, of row types and of numbers of groups."""
    widths = np.full(len(centre), width)
    # a group has κ rows or more, so its φ moves by so much more
    widths[instance.types.count :] *= float(instance.least.max())
    return centre - widths, centre + widths


class _Boxed(Evaluator):
    def __init__(self, instance: Instance, centre: Floats, width: float, threads: int, params: SubproblemParameters):
        self._centre, self._box = centre, box(instance, centre, width)
        super().__init__(instance, threads, params)
        self.set_packing_cuts(first_sets(instance))
        self.sort(centre)

    def start(self) -> Floats:
        """The middle of the box."""
        return self._centre.copy()

    def within(self, point: Floats) -> Floats:
        """The nearest point of the box."""
        inside: Floats = np.clip(point, *self._box)
        return inside
