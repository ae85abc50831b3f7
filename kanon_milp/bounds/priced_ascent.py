"""Where the bound over priced candidates stands, and how it rises.

The volume algorithm moves λ over the candidates with φ below a limit, as long as no λ_i leaves a box: there, few others
get φ < 0. A look at all candidates then says what the new point is worth, and which ones are near it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.lagrangian_bound import VolumeAlgorithm
from kanon_milp.bounds.pattern_pricing import PatternPricing, Priced
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.system.arrays import Floats
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import DEFAULT, Parameters

LAST = 1e-9  # share of the averages that no other has


class PricedAscent:
    """Where the bound stands: the best multipliers, what they are worth, and the candidates that are near them."""

    def __init__(
        self, source: PatternPricing, threads: int = 1, params: Parameters = DEFAULT, start: Floats | None = None
    ) -> None:
        """start: multipliers to begin with, those of `cheapest` by default."""
        self.source, self.threads, self._all = source, threads, params
        self._params = p = source.ascent_parameters(params)
        first = source.cheapest() if start is None else start
        self.multipliers = np.concatenate([first, np.zeros(source.types.count + source.sets.lists - len(first))])
        self.open_limit, self.pair_limit, self.rounds, self.idle = p.open_limit, p.pair_limit, 0, 0
        self.near = source.near(self.multipliers, self.open_limit, self.pair_limit)
        self._share = np.zeros(len(self.near.keys)), self.near.keys
        self.algorithm: VolumeAlgorithm | None = None

    @property
    def value(self) -> float:
        """L over all candidates, in floating point."""
        return self.near.value

    @property
    def best(self) -> DualPoint:
        """The best multipliers, and what they are worth."""
        return self.source.dual_point(self.multipliers, self.value)

    @property
    def stalled(self) -> bool:
        """Whether it rises too slowly to be worth the time."""
        return self.idle >= self._params.patience

    def rise(self, limit: Limit, target: float | None = None) -> None:
        """One round: iterations over the candidates that are near, then a look at all."""
        p, source, before = self._params, self.source, self.near
        at = source.evaluator(before, self.multipliers, p.box * source.cell, self.threads, self._all)
        iterations = p.iterations if self.rounds >= p.first_rounds else p.first_iterations
        begun = 0 if self.algorithm is None else self.algorithm.iterations
        bounded = BoundLimit(limit.ends, limit.interrupt, target, begun + iterations)
        if self.algorithm is None:
            self.algorithm = VolumeAlgorithm(at, bounded, params=self._all, fast_iterations=p.fast_iterations)
        else:
            self.algorithm.move_to(at, bounded, self._share_of(before))
        self.algorithm.maximize(packing_cuts=False)
        source.learn(before, self.algorithm.best)
        promised, end, step = self.algorithm.value, self.algorithm.best[: len(self.multipliers)], 1.0
        trial = end
        found = source.near(trial, self.open_limit, self.pair_limit)
        lost = promised - found.value
        while found.value < before.value and step > p.shortest and not limit.over:
            step /= 2
            trial = self.multipliers + step * (end - self.multipliers)
            found = source.near(trial, self.open_limit, self.pair_limit)
        self.rounds += 1
        risen = found.value - before.value > p.stalled * abs(before.value)
        self.idle = 0 if risen else self.idle + 1
        self._share = self.algorithm.share, before.keys
        if found.value > before.value:
            self.multipliers, self.near = trial, found
        if self.rounds >= p.first_rounds:
            gained = max(promised - before.value, 0.0)
            if lost > p.lossy * gained:
                self._scale(p.wider, p.wider)
            elif lost < p.lossless * gained:
                self._scale(p.narrower, p.narrower)

    def _scale(self, opened: float, paired: float) -> None:
        p = self._params
        self.open_limit = min(max(self.open_limit * opened, p.least_open), p.most_limit)
        self.pair_limit = min(max(self.pair_limit * paired, p.least_pair), p.most_limit)

    def point(self, priced: Priced) -> DualPoint:
        """The multipliers over a wider instance near them, for a search."""
        at = self.source.evaluator(priced, self.multipliers, math.inf, self.threads, self._all)
        start = at.start()
        found = at(start, everything=True)
        # what was not near is opened last
        share = np.maximum(self._share_of(priced), LAST)
        return replace(self.best, open_share=share, phi=found.phi, charges=self.source.charges(start))

    def _share_of(self, priced: Priced) -> Floats:
        """Of each candidate, in the averages of the last round; 0 for those that were not near."""
        share, keys = self._share
        at = np.minimum(np.searchsorted(keys, priced.keys), len(keys) - 1)
        found: Floats = np.where(keys[at] == priced.keys, share[at], 0.0)
        return found
