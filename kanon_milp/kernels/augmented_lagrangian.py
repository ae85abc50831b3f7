"""Shares of groups that minimize an augmented Lagrangian, one after the other (`bounds.columns.relax_and_cut`)."""

from __future__ import annotations

import numpy as np

from kanon_milp.system.arrays import Floats, Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

SWEEPS = 40
ALL = 8  # one in so many sweeps is over all groups, the others are over those of low reduced cost
ENOUGH = 1e-3  # units by which a sweep over all groups must lower the minimum for another one


class Program:
    """Groups as columns with their shares, and where the multipliers are and how far they move.

    begins, types, copies: the rows a of each group. starts, bounds, times: its constraints r of the kind "at most" with
    q. cost: (C,). share: (C,), θ. free: (t,), λ with its steps τ (t,); bounded: (r,), ν before what is negative becomes
    0, with one step for all. θ, λ and ν change in place, λ and ν as they follow from θ.
    """

    def __init__(
        self, begins: Ints, types: Ints, copies: Floats, starts: Ints, bounds: Ints, times: Floats, cost: Floats,
        share: Floats, free: Floats, steps: Floats, bounded: Floats, step: float,
    ) -> None:  # fmt: skip
        self.begins, self.types, self.copies = begins, types, copies
        self.starts, self.bounds, self.times, self.cost = starts, bounds, times, cost
        self.share, self.free, self.steps, self.bounded, self.step = share, free, steps, bounded, step


def minimize(p: Program, low: float) -> int:
    """Lower one share θ_c after the other; the number of sweeps.

    low: reduced cost up to which an unused group is looked at in every sweep.
    """
    count, near, sweeps = len(p.share), 0, 0
    some = np.empty(count, np.int64)
    with cython.nogil:
        while sweeps < SWEEPS:
            everything = sweeps % ALL == 0
            gain, kept = 0.0, 0
            for x in range(count if everything else near):
                c = x if everything else some[x]
                reduced = _reduced_cost(p, c)
                if everything and (p.share[c] > 0 or reduced < low):
                    some[kept] = c
                    kept += 1
                if reduced < 0 or p.share[c] > 0:
                    change = max(_best_change(p, c, reduced), -p.share[c])
                    if change != 0:
                        p.share[c] += change
                        gain += abs(change * reduced)
                        _follow(p, c, change)
            sweeps += 1
            if everything:
                near = kept
                if gain < ENOUGH:
                    break
    return sweeps


def _reduced_cost(p: Program, c: int) -> float:
    found: float = p.cost[c]
    for e in range(p.begins[c], p.begins[c + 1]):
        found -= p.copies[e] * p.free[p.types[e]]
    for e in range(p.starts[c], p.starts[c + 1]):
        found += p.times[e] * max(p.bounded[p.bounds[e]], 0.0)
    return found


def _best_change(p: Program, c: int, reduced: float) -> float:
    """By how much θ_c should change, by Newton's method; the slope is piecewise linear: ν counts above 0 only."""
    curvature = 0.0
    for e in range(p.begins[c], p.begins[c + 1]):
        curvature += p.copies[e] * p.copies[e] * p.steps[p.types[e]]
    bend = curvature
    for e in range(p.starts[c], p.starts[c + 1]):
        if p.bounded[p.bounds[e]] > 0:
            bend += p.times[e] * p.times[e] * p.step
    change = -reduced / bend
    # on the way down ν can only stop to count, and this is not too far; on the way up others begin to count
    for _ in range(3):
        if change <= 0:
            break
        slope, bend = reduced + curvature * change, curvature
        for e in range(p.starts[c], p.starts[c + 1]):
            before, q = p.bounded[p.bounds[e]], p.times[e]
            after = before + p.step * q * change
            slope += q * (max(after, 0.0) - max(before, 0.0))
            if after > 0:
                bend += q * q * p.step
        if slope <= 1e-9:
            break
        change -= slope / bend
    return change


def _follow(p: Program, c: int, change: float) -> None:
    for e in range(p.begins[c], p.begins[c + 1]):
        i = p.types[e]
        p.free[i] -= p.steps[i] * p.copies[e] * change
    for e in range(p.starts[c], p.starts[c + 1]):
        p.bounded[p.bounds[e]] += p.step * p.times[e] * change
