"""Closed candidates priced where level vectors are too many to be gone through: by sets of rows.

The kernel (`kanon_milp.kernels.closure_pricing`) finds the closed candidates with φ below a threshold by branch and
bound, and their number does not depend on that of the columns. How many sets it looks at depends on the multipliers: at
the first ones, what a row loses with its nearest others, it is one for each row type. Where multipliers leave too many,
they prove nothing, and the ascent goes back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.dual import NEVER
from kanon_milp.bounds.parameters import ClosurePricingParameters
from kanon_milp.bounds.pattern_pricing import LONG, PatternPricing, Priced
from kanon_milp.errors import InputError
from kanon_milp.kernels.closure_pricing import nearest_costs, price_closures
from kanon_milp.presolve.closures import Axis, closures_suffice, pricing_suffices, rises, root_instance
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.preparation import priced_by_vectors
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.limit import NO_LIMIT, Limit
from kanon_milp.system.parameters import DEFAULT, Parameters

if TYPE_CHECKING:
    from kanon_milp.system.worker_pool import Pool

PARTS_OF_ROWS = 16  # of a look at sets of rows, for any number of workers
TOO_MANY = "the multipliers leave too many groups"
NO_TIME = "the time is over before all groups are priced"


def pricing_of(
    problem: Problem,
    types: RowTypes,
    params: Parameters = DEFAULT,
    limit: Limit = NO_LIMIT,
    pool: Pool | None = None,
) -> PatternPricing:
    """By level vectors, or by sets of rows where these are too many: then of closed candidates alone, so that a least
    number of groups is left out. limit: of all looks at sets of rows; pool: as of `PatternPricing`."""
    if priced_by_vectors(problem, types):
        return PatternPricing(problem, types, pool)
    return ClosurePricing(replace(problem, min_groups=None), types, params, limit, pool)


@dataclass(frozen=True)
class _Over:
    """Whether a limit is over; where it is sent, so many seconds later."""

    limit: Limit

    def __call__(self) -> bool:
        return self.limit.over

    def __reduce__(self) -> tuple[Callable[[float], _Over], tuple[float]]:
        return _over_in, (self.limit.left,)


def _over_in(seconds: float) -> _Over:
    return _Over(NO_LIMIT.part(seconds))


class _Rows(NamedTuple):
    """What every look at sets of rows needs, as `price_closures` describes it; what bits lose in units."""

    label: Ints32
    delta: Ints
    counts: Ints
    need: int
    without_top: bool
    params: ClosurePricingParameters


def _priced_closures(
    v: _Rows, seed: int, until: int, multipliers: NDArray[Any], threshold: float, margin: float, listed: bool,
    scale: int, added: Any, over: _Over,
) -> tuple[list[Any], bool, int, Ints, NDArray[Any], Ints, Ints32]:  # fmt: skip
    """The closed candidates that belong to some row types, by falling multiplier: sums of min(0, φ), whether these are
    all, and how many sets were looked at; of those listed their bits, φ, the lengths of their covers, and these."""
    p, kind, order = v.params, multipliers.dtype, np.argsort(-multipliers, kind="stable")
    delta = v.delta if len(v.delta) == 1 else v.delta[order]
    label, delta = np.ascontiguousarray(v.label[order]), np.ascontiguousarray(delta * scale, dtype=kind)
    counts, sets = v.counts[order].astype(kind), p.sets + len(order)
    costs = int(delta.sum(axis=1).max()) + int(np.abs(multipliers).max() + abs(added)) + 1
    steps = int(max(min(p.sets, NEVER // (costs * (int(v.counts.sum()) + 1))), 1))
    sums, seen, pairs, before = [], 0, 0, -1
    every = [(np.zeros((0, -(-max(label.shape[1], 1) // 32)), np.int64), counts[:0], order[:0], order[:0])]
    while before < seed < until and seen < sets and pairs <= p.pairs:
        before = seed
        total, seed, more, words, phi, indptr, found = price_closures(
            label, delta, counts, multipliers[order], kind.type(v.need), added, kind.type(threshold), kind.type(margin),
            listed, v.without_top, seed, until, min(steps, sets - seen), p.pairs - pairs, over,
        )  # fmt: skip
        seen += more
        pairs += len(found)
        sums.append(total)
        every.append((words, phi, np.diff(indptr), order[found]))
    words, phi, length, member = map(np.concatenate, zip(*every, strict=True))
    return sums, seed >= until, seen, words, phi, length, member.astype(np.int32)


class ClosurePricing(PatternPricing):
    """The closed candidates of a problem with any number of columns; of its requirements only the sizes.

    levels: the level vectors of those that were found, in the order in which they were.
    """

    def __init__(
        self,
        problem: Problem,
        types: RowTypes,
        params: Parameters = DEFAULT,
        limit: Limit = NO_LIMIT,
        pool: Pool | None = None,
    ) -> None:
        """limit: of all looks; what is not known by then proves nothing. Raises ValueError where closed candidates are
        not enough."""
        self._begin_looks(pool)
        self._limit = limit
        if not (pricing_suffices(problem) and closures_suffice(problem)):
            raise ValueError("this problem needs candidates that are not closed")
        self._closed = True
        self.root, self.types, self._params = root_instance(problem, types), types, params.of(ClosurePricingParameters)
        self._axes = [Axis.of(column, types.codes[:, j]) for j, column in enumerate(self.root.levels.columns)]
        self._column = np.repeat(np.arange(len(self._axes)), [axis.top for axis in self._axes])
        labels = [axis.label[: axis.top] for axis in self._axes]
        self._bits: Ints32 = np.ascontiguousarray(np.concatenate(labels).T, dtype=np.int32)
        self._delta = rises(self.root, self._axes)
        # columns of many values first: two rows are soon told apart
        order = np.argsort([-len(np.unique(column)) for column in self._bits.T], kind="stable")
        self._order, self._words = order, -(-max(len(order), 1) // 32)
        self._numbers: dict[bytes, int] = {}
        self._known: dict[tuple[int, bytes], int] = {}
        top = int(self.places(self.root.levels.top[None, :])[0])
        self._exempt = top if self.root.exempt_reading else -1
        self._whole = np.unique([*self.places(self._closure_of_all()), *([top] if self._exempt >= 0 else [])])
        self.cell = max(float(self.root.levels.costs.max()) / len(self._axes), 1.0)
        self._limit_groups()
        # in the order of the kernel
        label, delta = self._bits[:, self._order], self._delta[:, self._order]
        self._fixed = _Rows(label, delta, types.counts, int(self.root.least[0]), self._exempt >= 0, self._params)
        self._narrower = 1.0  # times as much as was asked for is listed, so that it is not too much

    def places(self, vectors: NDArray[np.integer[Any]]) -> Ints:
        """Numbers of the level vectors that have the classes of these; of those that were not known, new ones."""
        at = [np.searchsorted(axis.levels, vectors[:, j]) for j, axis in enumerate(self._axes)]
        highest = np.stack([axis.levels[c] for axis, c in zip(self._axes, at, strict=True)], axis=1).astype(np.int16)
        before = len(self._numbers)
        found = np.array([self._numbers.setdefault(row.tobytes(), len(self._numbers)) for row in highest], np.int64)
        if len(self._numbers) > before:
            every = np.frombuffer(b"".join(self._numbers), np.int16).reshape(len(self._numbers), -1)
            self.levels = recode(self.root.problem, self.types, lambda _: every)
        return found

    def _keys(self, vector: Ints, member: Ints32) -> Ints:
        told = np.zeros((len(vector), len(self._axes)), np.int32)
        for j, axis in enumerate(self._axes):
            told[:, j] = axis.label[np.searchsorted(axis.levels, self.levels.vectors[vector, j]), member]
        known = self._known
        pairs = zip(vector.tolist(), (row.tobytes() for row in told), strict=True)
        return np.array([known.setdefault(pair, len(known)) for pair in pairs], np.int64)

    def _look(
        self, multipliers: NDArray[Any], threshold: float, margin: float, listed: bool, scale: int, added: Any
    ) -> tuple[NDArray[Any], Ints32, NDArray[Any], Ints, Ints32]:
        """As by level vectors, with the sums of some sets each. Raises InputError where they are too many, or at
        the limit."""
        began, p, kind, t = time.perf_counter(), self._params, multipliers.dtype, self.types.count
        asked = multipliers, threshold, margin, listed, scale, added, _Over(self._limit)
        # the first row types, of the largest multipliers, have most candidates; sums are the same whoever computes them
        ends = (t * np.linspace(0, 1, PARTS_OF_ROWS + 1) ** 2).astype(int).tolist()
        sums, every, left, pairs = [], [], p.sets + t, 0
        for total, done, seen, *found in self._each_part(
            _priced_closures, [(*each, *asked) for each in pairwise(ends)]
        ):
            left -= seen
            pairs += len(found[-1])
            if not done and self._limit.over:
                raise InputError(NO_TIME)
            if not done or left < 0 or pairs > p.pairs:
                raise InputError(TOO_MANY)
            sums += total
            every.append(found)
        self._long = self._long or time.perf_counter() - began > LONG
        words, phi, length, member = map(np.concatenate, zip(*every, strict=True))
        bits = (words[:, :, None] >> np.arange(32)) & 1
        bits = bits.reshape(len(bits), 32 * self._words)[:, : len(self._order)]
        first = np.zeros(len(bits), np.int64) if len(self._delta) == 1 else member[np.cumsum(length) - length]
        vector = self._places_of_bits(bits | (self._delta[first][:, self._order] == 0))
        if self._exempt >= 0:  # one group of all rows, of any size
            loss = (self.root.levels.costs[0] * scale).astype(kind)
            least = int(replace(self.root, exempt=np.ones(1, bool)).least[0])
            sums.append(self._whole_group(loss - multipliers, least, added))
        return np.array(sums, object), vector.astype(np.int32), phi, np.append(0, np.cumsum(length)), member

    def _over(self) -> bool:
        return self._limit.over

    def _whole_group(self, reduced: NDArray[Any], least: int, added: Any) -> Any:
        """min(0, φ) of all rows, with so many of them at least."""
        order = np.argsort(reduced, kind="stable")
        counts = self.types.counts[order]
        before = np.cumsum(counts) - counts
        taken = np.where(reduced[order] < 0, counts, np.clip(least - before, 0, counts))
        return min(sum((taken.astype(reduced.dtype) * reduced[order]).tolist()) + added.item(), 0)

    def _places_of_bits(self, bits: Ints) -> Ints:
        """Numbers of the level vectors that these bits, in the kernel's order, stand for: columns rise up to the first
        that is not there."""
        back = np.empty(len(self._order), np.int64)
        back[self._order] = np.arange(len(self._order))
        of_column = np.zeros((len(bits), len(self._axes)), np.int64)
        for j in range(len(self._axes)):
            of_column[:, j] = np.cumprod(bits[:, back[self._column == j]], axis=1).sum(axis=1)
        vectors = [axis.levels[of_column[:, j]] for j, axis in enumerate(self._axes)]
        return self.places(np.stack(vectors, axis=1))

    def cheapest(self) -> Floats:
        """Multipliers to begin with: what a row of each type loses with the nearest others; 0 for those that the limit
        leaves out."""
        need = min(int(self.root.least[0]), self.types.n)
        label = np.ascontiguousarray(self._bits[:, self._order])
        delta = np.ascontiguousarray(self._delta[:, self._order], np.float64)
        counts = self.types.counts.astype(np.float64)
        found: Floats = nearest_costs(label, delta, counts, np.float64(need), self._over)
        return found

    def value(self, point: Floats) -> float:
        """L in floating point; -inf where the multipliers leave too many groups, and at the limit."""
        try:
            return super().value(point)
        except InputError:
            return -math.inf

    def near(self, point: Floats, open_limit: float, pair_limit: float, also: Instance | None = None) -> Priced:
        """As by level vectors; where there are too many below the limit, those below a lower one, and where L is not
        known, as at the limit, -inf in its place."""
        p = self._params
        while self._narrower >= p.narrowest and not self._limit.over:
            try:
                return super().near(point, self._narrower * open_limit, pair_limit, also)
            except InputError:
                self._narrower /= p.narrower
        try:
            return super().near(point, 0.0, pair_limit, also)
        except InputError:
            nothing = np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32)
            return Priced(-math.inf, *self._instance(*nothing, also))
