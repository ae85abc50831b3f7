"""Rank-1 cuts over candidates that are priced.

Their terms only add to φ_g, so a candidate that is not below 0 without them is not with them, and a look at all of them
(`bounds.pattern_pricing`) finds those that count. Relax and cut (`bounds.columns.relax_and_cut`) goes on over the
candidates that are near, for some rounds of cuts; then a look at all says what its point is worth and what is near it.
The groups that it knows come along, with all that was near of their candidates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kanon_milp.bounds.columns.relax_and_cut import RelaxAndCut
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.parameters import PricingParameters
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import DEFAULT, Parameters


class PricedCuts:
    """Where the bound with rank-1 cuts stands.

    dual: the last point, its value over what was near. stalled: whether it hardly rises. short: whether there was no
    time for more.
    """

    def __init__(self, ascent: PricedAscent, params: Parameters = DEFAULT) -> None:
        """From where that one stands."""
        self.source, self._all, self._params = ascent.source, params, params.of(PricingParameters)
        self.dual = self._sure = ascent.best
        p = self._params
        self.near = self.source.near(ascent.multipliers, p.open_limit, p.pair_limit)
        self._inner = RelaxAndCut(self.near.instance, self.dual, BoundLimit(), ascent.threads, params=params)
        self.stalled = self.short = False

    def rise(self, limit: Limit, target: float | None = None) -> None:
        """Some rounds of cuts, after a look at all candidates where there were some before."""
        inner = self._inner
        if self.dual is not self._sure:
            self._look()
        inner.limit = BoundLimit(limit.ends, limit.interrupt, target, rounds=self._params.cut_rounds)
        inner.maximize()
        self.dual, self.short = replace(inner.end(), phi=np.zeros(0)), limit.over or inner.short

    def _look(self) -> None:
        """What the last point is worth over all candidates; where that is less than before, back to the point before,
        with the candidates that it did not know."""
        before, inner = self._sure, self._inner
        used = np.zeros(self.near.instance.candidates.count, bool)
        used[inner.pool.groups.candidate] = True
        point = self.dual
        self._move(point, self.near.instance.subset(used))
        if inner.value < before.value:
            point = before
            self._move(point, self.near.instance)
        self._sure = replace(point, value=inner.value)
        self.stalled = not self.short and inner.value - before.value <= self._params.stalled_cuts * abs(before.value)

    def _move(self, dual: DualPoint, also: Instance) -> None:
        """Go on from a point, over what is near it and the candidates of that instance."""
        p, old = self._params, self.near.keys
        self.near = self.source.near(dual.multipliers, p.open_limit, p.pair_limit, also)
        at = np.minimum(np.searchsorted(self.near.keys, old), len(self.near.keys) - 1)
        numbers = np.where(self.near.keys[at] == old, at, -1)
        self._inner.move_to(self.near.instance, dual, numbers, self._all)
