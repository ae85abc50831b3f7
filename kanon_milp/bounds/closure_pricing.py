"""Closed candidates priced where level vectors are too many to be gone through: by sets of rows.

The kernel (`kanon_milp.kernels.closure_pricing`) finds the closed candidates with φ below a threshold by branch and
bound, and their number does not depend on that of the columns. How many sets it looks at depends on the multipliers: at
the first ones, what a row loses with its nearest others, it is one for each row type. Where multipliers leave too many,
they prove nothing, and the ascent goes back.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.dual import NEVER
from kanon_milp.bounds.parameters import ClosurePricingParameters
from kanon_milp.bounds.pattern_pricing import PatternPricing, Priced
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

TOO_MANY = "the multipliers leave too many groups"
NO_TIME = "the time is over before all groups are priced"


def pricing_of(
    problem: Problem, types: RowTypes, params: Parameters = DEFAULT, limit: Limit = NO_LIMIT
) -> PatternPricing:
    """By level vectors, or by sets of rows where these are too many: then of closed candidates alone, so that a least
    number of groups is left out. limit: of all looks at sets of rows."""
    if priced_by_vectors(problem, types):
        return PatternPricing(problem, types)
    return ClosurePricing(replace(problem, min_groups=None), types, params, limit)


class ClosurePricing(PatternPricing):
    """The closed candidates of a problem with any number of columns; of its requirements only the sizes.

    levels: the level vectors of those that were found, in the order in which they were.
    """

    def __init__(
        self, problem: Problem, types: RowTypes, params: Parameters = DEFAULT, limit: Limit = NO_LIMIT
    ) -> None:
        """limit: of all looks; what is not known by then proves nothing. Raises ValueError where closed candidates are
        not enough."""
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
        self._narrower = 1.0  # times as much as was asked for is listed, so that it is not too much

    def _lines(self, order: Ints, scale: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """What bits lose, in the order of the kernel, of row types in this order."""
        rises = self._delta if len(self._delta) == 1 else self._delta[order]
        return np.ascontiguousarray(rises[:, self._order] * scale, dtype=kind)

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
        p, kind, t = self._params, multipliers.dtype, self.types.count
        order = np.argsort(-multipliers, kind="stable")
        label = np.ascontiguousarray(self._bits[order][:, self._order])
        delta = self._lines(order, scale, kind)
        counts, need = self.types.counts[order].astype(kind), kind.type(self.root.least[0])
        costs = int(delta.sum(axis=1).max()) + int(np.abs(multipliers).max() + abs(added)) + 1
        steps = int(max(min(p.sets, NEVER // (costs * (self.types.n + 1))), 1))
        sums, seed, left, pairs = [], 0, p.sets + t, 0
        vectors: list[Ints] = []
        lengths: list[Ints] = []
        members: list[Ints32] = []
        values: list[NDArray[Any]] = []
        while seed < t:
            before = seed
            total, seed, seen, words, phi, indptr, found = price_closures(
                label, delta, counts, multipliers[order], need, added, kind.type(threshold), kind.type(margin),
                listed, self._exempt >= 0, seed, min(steps, left), p.pairs - pairs, self._over,
            )  # fmt: skip
            left -= seen
            pairs += len(found)
            if seed < t and self._limit.over:
                raise InputError(NO_TIME)
            if seed < t and (seed == before or left <= 0 or pairs >= p.pairs):
                raise InputError(TOO_MANY)
            sums.append(total)
            vectors.append(words)
            lengths.append(np.diff(indptr))
            members.append(found)
            values.append(phi)
        bits = (np.concatenate(vectors)[:, :, None] >> np.arange(32)) & 1
        length, member = np.concatenate(lengths), order.astype(np.int32)[np.concatenate(members)]
        bits = bits.reshape(len(bits), 32 * self._words)[:, : len(self._order)]
        first = np.zeros(len(bits), np.int64) if len(self._delta) == 1 else member[np.cumsum(length) - length]
        vector = self._places_of_bits(bits | (self._delta[first][:, self._order] == 0))
        if self._exempt >= 0:  # one group of all rows, of any size
            loss = (self.root.levels.costs[0] * scale).astype(kind)
            least = int(replace(self.root, exempt=np.ones(1, bool)).least[0])
            sums.append(self._whole_group(loss - multipliers, least, added))
        every = np.concatenate(values)
        return np.array(sums, object), vector.astype(np.int32), every, np.append(0, np.cumsum(length)), member

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
        delta = self._lines(np.arange(self.types.count), 1, np.dtype(np.float64))
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
