"""The linear program over groups by an augmented Lagrangian: multipliers for tables too large for the simplex method.

Over the groups c found so far, with a_ic rows of type i, and constraints r of the kind "at most" (rank-1 cuts, packing
cuts, each candidate once):

    min Σ_c cost_c θ_c   subject to   Σ_c a_ic θ_c = n_i,   Σ_c q_rc θ_c ≤ b_r,   θ ≥ 0

From multipliers λ', ν' and with steps τ_i, τ_r, the θ ≥ 0 that minimizes

    Σ_c cost_c θ_c + Σ_i (λ_i² - λ'_i²) / 2τ_i + Σ_r (max(0, ν_r)² - ν'_r²) / 2τ_r,
    λ_i = λ'_i + τ_i (n_i - Σ_c a_ic θ_c),   ν_r = ν'_r + τ_r (Σ_c q_rc θ_c - b_r)

gives λ and max(0, ν) of the highest value over these groups, less half the squared distance from λ', ν' divided by τ:
a step of the proximal method (Rockafellar 1976), or of a bundle method that knows every group by itself. A group has a
few rows and a few cuts, so one θ_c after the other is minimized, and a sweep over 70,000 groups takes some
milliseconds. Nothing has to be exact here: what multipliers prove is computed from the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.jit import compiled, compiled_part

SWEEPS = 40
ALL = 8  # one in so many sweeps is over all groups, the others are over those of low reduced cost
LOW = 0.04  # of the highest cost of a row: reduced costs of unused groups that are low
ENOUGH = 1e-3  # units by which a sweep over all groups must lower the minimum for another one


class Columns(NamedTuple):
    """Groups as columns. begins, types, copies: the rows a of each. starts, bounds, times: its constraints r of the
    kind "at most" with q. cost: float64 (C,). Lists as compressed sparse rows, int64; copies and times float64."""

    begins: Ints
    types: Ints
    copies: Floats
    starts: Ints
    bounds: Ints
    times: Floats
    cost: Floats


class Multipliers(NamedTuple):
    """Where the multipliers are, and how far they move: λ (t,) with its steps τ (t,), ν (r,) before what is negative
    becomes 0, with one step for all."""

    free: Floats
    steps: Floats
    bounded: Floats
    step: float


@compiled
def minimize(columns: Columns, share: Floats, at: Multipliers, low: float) -> int:
    """Lower one share θ_c after the other, in place; the multipliers follow. The number of sweeps.

    at: the multipliers that belong to the shares. low: reduced cost up to which an unused group is looked at in every
    sweep.
    """
    count = len(share)
    some, near = np.empty(count, np.int64), 0
    sweeps = 0
    while sweeps < SWEEPS:
        everything = sweeps % ALL == 0
        gain, kept = 0.0, 0
        for x in range(count if everything else near):
            c = x if everything else some[x]
            reduced = _reduced_cost(columns, at, c)
            if everything and (share[c] > 0 or reduced < low):
                some[kept] = c
                kept += 1
            if reduced < 0 or share[c] > 0:
                change = max(_best_change(columns, at, c, reduced), -share[c])
                if change != 0:
                    share[c] += change
                    gain += abs(change * reduced)
                    _follow(columns, at, c, change)
        sweeps += 1
        if everything:
            near = kept
            if gain < ENOUGH:
                break
    return sweeps


@compiled_part
def _reduced_cost(columns: Columns, at: Multipliers, c: int) -> float:
    found = float(columns.cost[c])
    for e in range(columns.begins[c], columns.begins[c + 1]):
        found -= columns.copies[e] * at.free[columns.types[e]]
    for e in range(columns.starts[c], columns.starts[c + 1]):
        found += columns.times[e] * max(at.bounded[columns.bounds[e]], 0.0)
    return found


@compiled_part
def _best_change(columns: Columns, at: Multipliers, c: int, reduced: float) -> float:
    """By how much θ_c should change, by Newton's method; the slope is piecewise linear: ν counts above 0 only."""
    curvature = 0.0
    for e in range(columns.begins[c], columns.begins[c + 1]):
        curvature += columns.copies[e] * columns.copies[e] * at.steps[columns.types[e]]
    bend = curvature
    for e in range(columns.starts[c], columns.starts[c + 1]):
        if at.bounded[columns.bounds[e]] > 0:
            bend += columns.times[e] * columns.times[e] * at.step
    change = -reduced / bend
    # on the way down ν can only stop to count, and this is not too far; on the way up others begin to count
    for _ in range(3):
        if change <= 0:
            break
        slope, bend = reduced + curvature * change, curvature
        for e in range(columns.starts[c], columns.starts[c + 1]):
            before, q = at.bounded[columns.bounds[e]], columns.times[e]
            after = before + at.step * q * change
            slope += q * (max(after, 0.0) - max(before, 0.0))
            if after > 0:
                bend += q * q * at.step
        if slope <= 1e-9:
            break
        change -= slope / bend
    return change


@compiled_part
def _follow(columns: Columns, at: Multipliers, c: int, change: float) -> None:
    for e in range(columns.begins[c], columns.begins[c + 1]):
        i = columns.types[e]
        at.free[i] -= at.steps[i] * columns.copies[e] * change
    for e in range(columns.starts[c], columns.starts[c + 1]):
        at.bounded[columns.bounds[e]] += at.step * columns.times[e] * change
