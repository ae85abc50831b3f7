"""Block ascent: rank-1 rows for tables that are too large for one master problem, a block of row types at a time.

Each block's multipliers are improved with all others held (`kanon_milp.columns.part`), on a pool, from the newest point
that there is. What comes back is taken if L, computed anew for the whole table, is higher: so the bound never falls,
whatever blocks do to each other.
"""

from __future__ import annotations

import concurrent.futures as cf
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kanon_milp.bounds.counting import CountingRows
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.kernel import sorted_covers
from kanon_milp.bounds.pricing import cheapest_groups
from kanon_milp.columns.ascent import Raised, RoundLimits, tighten
from kanon_milp.columns.blocks import Codes, Floats, Ints, Links, cut_part, put_back
from kanon_milp.columns.part import NODES, Part
from kanon_milp.compiled import compiled
from kanon_milp.groups import Groups
from kanon_milp.instance import Instance
from kanon_milp.search.pool import Pool
from kanon_milp.solvers.base import OnProgress, Progress

BLOCK = 500  # row types; all of Adult, k = 5: 250 and 500 gain 0.13 units a second, 1,000 half of that
ROUNDS = 8  # of rank-1 rows in a block
STEPS = (1.0, 0.5)  # shares of the way to a block's new point that are tried
LEAST_GAIN = 0.05  # units; a sweep in which the average block gains less is the last
NEGATIVE = -1e-6  # reduced cost that counts as negative
_POLL = 0.5  # seconds between two looks at the clock


def sweep_blocks(
    instance: Instance,
    dual: DualPoint,
    pool: Pool,
    limits: RoundLimits,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> DualPoint:
    """Sweep over blocks until a sweep gains little, or the limits are reached. limits.rounds: number of sweeps.

    What comes back proves no less than `dual` does (in floating point). With an `InlinePool` and a number of sweeps
    instead of a time it is the same each time.
    """
    began = time.perf_counter()
    at = _Newest(instance, settle(instance, dual), instance.candidates.members)
    for sweep in itertools.count():
        if limits.reached(at.dual.value, sweep):
            break
        at.members = sorted_covers(instance.candidates.indptr, instance.candidates.members, at.dual.multipliers)
        blocks = Links.of(instance, at.dual, at.members).blocks(BLOCK, seed + sweep)
        before = at.dual.value
        for block, raised in _solved(at, blocks, pool, limits):
            at.take(block, raised)
            if on_progress is not None:
                on_progress(Progress(time.perf_counter() - began, None, at.dual.value))
        if at.dual.value - before < LEAST_GAIN * len(blocks):
            break
    # settling may have cost more than the blocks have gained
    return at.dual if at.dual.value > dual.value else dual


@dataclass(eq=False)
class _Newest:
    """The newest point, with its value. members: covers by multiplier, at the beginning of a sweep."""

    instance: Instance
    dual: DualPoint
    members: Codes

    def take(self, block: Ints, raised: Raised) -> None:
        """Go to a block's new point, or a part of the way, if L is higher there."""
        for step in STEPS:
            trial = settle(self.instance, _moved(self.dual, block, raised, step))
            if trial.value > self.dual.value:
                self.dual = trial
                return


def settle(instance: Instance, dual: DualPoint) -> DualPoint:
    """Lower multipliers until no group has a negative reduced cost; `value` is L of what comes back.

    Blocks need that: a group of rows outside would be taken without end. Let a candidate's cheapest group cost φ < 0.
    Lowering λ_i by δ for a row type all of whose rows it takes and with r_i < 0 takes n_i δ from Σ n λ, and gives as
    much to φ as long as r_i does not pass 0, when the group is still the cheapest; other candidates lose nothing. So L
    does not fall. Only where a group takes a part of a row type's rows, or rank-1 rows play a part, it may.
    """
    whole = WholeTable(instance, dual)
    multipliers = dual.multipliers.copy()
    while True:
        groups, reduced = whole.negative(multipliers)
        if not groups.count:
            break
        cost = whole.cost[groups.candidate]
        _lower(cost, groups.indptr, groups.types, groups.copies, reduced, instance.types.counts, multipliers)
    value = float(instance.types.counts @ multipliers) - whole.right
    return replace(dual, multipliers=multipliers, value=value)


@compiled
def _lower(
    cost: Floats, indptr: Ints, types: Ints, copies: Ints, reduced: Floats, counts: Ints, multipliers: Floats
) -> None:
    """Group by group; what has been lowered for those before counts."""
    before = multipliers.copy()
    for c in range(len(indptr) - 1):
        missing, size, taken = -reduced[c], 0, 0.0
        for e in range(indptr[c], indptr[c + 1]):
            i = types[e]
            size += copies[e]
            missing -= copies[e] * (before[i] - multipliers[i])
            if copies[e] == counts[i]:
                taken += copies[e] * max(multipliers[i] - cost[c], 0.0)
        if missing <= 0:
            continue
        # rows cheaper than nothing give way first, in proportion: none becomes dearer than those it is taken with
        part = min(missing / taken, 1.0) if taken > 0 else 0.0
        rest = (missing - part * taken + 1e-9) / size
        for e in range(indptr[c], indptr[c + 1]):
            i = types[e]
            if copies[e] == counts[i]:
                multipliers[i] -= part * max(multipliers[i] - cost[c], 0.0)
            multipliers[i] -= rest


class WholeTable:
    """Prices of the groups of a whole table, for the counting rows and rank-1 rows of one point."""

    def __init__(self, instance: Instance, dual: DualPoint) -> None:
        c, types = instance.candidates, instance.types
        counting = CountingRows.of(instance, dual.sets)
        self.cost, self.least = c.cost.astype(np.float64), instance.least.astype(np.float64)
        self.rows, self.every = types.counts.astype(np.float64), np.arange(c.count)
        self.indptr, self.members = c.indptr, c.members
        self.surcharge = counting.surcharge(dual.charges, c.count).astype(np.float64)
        self.by_type, self.dual = dual.rank_one.by_type(types.count), dual
        self.right = float(counting.limits @ dual.charges) + float(dual.rank_one.limits(types.counts) @ dual.cuts)

    def negative(self, multipliers: Floats) -> tuple[Groups, Floats]:
        """The cheapest group of each candidate where its reduced cost is negative, and the reduced costs."""
        phi, complete = np.empty(len(self.every)), np.empty(len(self.every), np.bool_)
        found = cheapest_groups(
            self.indptr, self.members, self.cost, self.least, self.rows, multipliers, self.surcharge, *self.by_type,
            self.dual.rank_one.denominators, self.dual.cuts, self.every, np.float64(NEGATIVE), NODES, phi, complete,
        )  # fmt: skip
        return Groups.of_rows(*found), phi[found[0]]


def _moved(dual: DualPoint, block: Ints, raised: Raised, step: float) -> DualPoint:
    """So much of the way to a block's new point; rank-1 rows of the old one keep the rest of their multipliers."""
    new = put_back(dual, block, raised.point.multipliers, raised.rows, raised.point.charges)
    if step == 1.0:
        return new
    return replace(
        dual,
        multipliers=(1 - step) * dual.multipliers + step * new.multipliers,
        rank_one=dual.rank_one.joined(new.rank_one),
        cuts=np.concatenate([(1 - step) * dual.cuts, step * new.cuts]),
    )


def _solved(at: _Newest, blocks: list[Ints], pool: Pool, limits: RoundLimits) -> Iterator[tuple[Ints, Raised]]:
    """The blocks that gain something, as they are done; each is cut out of the point that is current when it begins."""
    waiting = list(reversed(blocks))
    running: dict[cf.Future[Raised], Ints] = {}
    # an event cannot be sent to a worker
    inner = RoundLimits(ends=limits.ends, rounds=ROUNDS, interrupt=None if pool.workers else limits.interrupt)
    while waiting or running:
        while waiting and len(running) < max(1, pool.workers) and not limits.reached(-np.inf, 0):
            block = waiting.pop()
            part, _ = cut_part(at.instance, at.dual, block, at.members)
            running[pool.submit(raise_part, part, inner)] = block
        if not running:
            return
        done, _ = cf.wait(running, timeout=_POLL, return_when=cf.FIRST_COMPLETED)
        for future in done:
            block = running.pop(future)
            if pool.lost(future):
                continue
            raised = future.result()
            if raised.after > raised.before:
                yield block, raised
        if limits.reached(-np.inf, 0):
            return


def raise_part(part: Part, limits: RoundLimits) -> Raised:
    """What a worker does."""
    return tighten(part, Groups.none(), limits)
