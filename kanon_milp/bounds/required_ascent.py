"""The required bound in slices of time: each goes on where the last one has stopped."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.required import STEEP, RequiredEvaluator, RequiredPoint
from kanon_milp.bounds.volume import Ascent
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.base import OnProgress

Floats = NDArray[np.float64]

CHARGES_SHARE = 0.3  # of a slice, for the search for single charges, at most
CHARGES_EVALUATIONS = 15  # that such a search takes


class RequiredAscent:
    """The volume algorithm on L(λ, θ) of one instance, with its averages and steps.

    start: float64 (t,), multipliers to begin with. Raises InputError where no requirement is about a sensitive
    attribute.
    """

    def __init__(self, instance: Instance, start: Floats, on_progress: OnProgress | None = None) -> None:
        began = time.perf_counter()
        self._at = RequiredEvaluator(instance, start)
        self._ascent = Ascent(self._at, BoundLimit(), on_progress)
        self.iteration_seconds = time.perf_counter() - began
        self.stalled = False  # whether it no longer rises

    def rise(self, limit: BoundLimit) -> RequiredPoint:
        """Go on until this limit; its iterations are counted from now on. The best point so far."""
        ascent, before, began = self._ascent, self._ascent.iterations, time.perf_counter()
        counted = None if limit.iterations is None else before + limit.iterations
        # what a search for charges takes is left for it
        charges = 0.0
        if self._at.charged and limit.seconds is not None:
            charges = min(CHARGES_EVALUATIONS * self.iteration_seconds, limit.left)
            charges = charges if charges <= CHARGES_SHARE * limit.left else 0.0
        ascent.limit = replace(limit, iterations=counted, ends=limit.ends - charges)
        if limit.target is not None:
            ascent.goal = limit.target
        ascent.maximize(packing_cuts=False)
        self.stalled = not ascent.reached
        done = ascent.iterations - before
        if done:
            self.iteration_seconds = (time.perf_counter() - began) / done
        if self._at.charged and (charges or limit.seconds is None) and not limit.over:
            searched = self._at.search_charges(ascent.best)
            found = self._at(searched).value
            if found > ascent.value:
                ascent.best, ascent.value, self.stalled = searched, found, False
        types = self._at.types
        charged = np.maximum(STEEP * ascent.best[types:], 0.0)
        return RequiredPoint(ascent.best[:types].copy(), charged, ascent.value, ascent.iterations)
