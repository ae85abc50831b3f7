"""The moves of local search under requirements; compiled.

Each returns the change of the loss, or inf where it cannot be made; what it does to violations is in the `total` of the
state. A move that is not wanted is taken back with `take_back`, one that is wanted is kept with `moves.commit`.
"""

from __future__ import annotations

import math

import numpy as np

from kanon_milp.heuristics.state import draw, uniform
from kanon_milp.heuristics.valued_state import (
    FRACTION,
    SAMPLE,
    ValuedState,
    best_target,
    exchanged,
    may_have,
    of_group,
    of_value,
    put,
    take_back,
    violation_of,
    wide,
    with_one,
)
from kanon_milp.system.arrays import Ints
from kanon_milp.system.jit import compiled_in_place, compiled_part_in_place

TRIED = 6  # rows of each value that could come into a group
LEAVING = 48  # rows of a group that are looked at as those that could leave it
TARGETS = 6  # of these, for which another group is looked for
VALUES = 64  # that are tried as those that a group lacks
DONORS = 6  # groups that one move mends
STEPS = 12  # rows by which one of them is mended
BREAKING = 1.0  # cells; what it costs on average to take a row that a group cannot spare
ROUNDING = 1e-9  # of sums of violations
GOLDEN = 0.6180339887498949


@compiled_part_in_place
def step(c: ValuedState, h: int, tried: int) -> float:
    """Move the one row in or out of group h that lowers loss and violations most; inf if none does."""
    s, scratch = c.state, c.scratch
    values = len(c.rules.columns)
    best, row, into = -ROUNDING, -1, -1
    first = draw(s) % values
    for q in range(min(values, VALUES)):
        u = (first + q) % values
        change = with_one(c, h, u, 1)
        if change >= 0:
            continue
        begin, end = of_value(c, h, u)
        for _ in range(min(tried, end - begin)):
            r = wide(s.covers.values[begin + draw(s) % (end - begin)])
            other = wide(s.group[r])
            lost = float(s.cost[h] - s.cost[other])
            if other != h and lost + c.price[0] * (change - c.violation[other]) < best:
                energy = lost + c.price[0] * (change + with_one(c, other, u, -1))
                if energy < best:
                    best, row, into = energy, r, h
    scratch.stamp[0] += 1
    targets, r = 0, of_group(c, h)
    for _ in range(LEAVING):
        if r < 0:
            r = wide(s.first[h])
            if r < 0:
                break
        u = c.value[r]
        if scratch.known[u] != scratch.stamp[0]:
            scratch.known[u] = scratch.stamp[0]
            scratch.change[u] = with_one(c, h, u, -1)
        if scratch.change[u] < 0:
            g, energy = best_target(c, r, h)
            energy += c.price[0] * scratch.change[u]
            if g >= 0 and energy < best:
                best, row, into = energy, r, g
            targets += 1
            if targets == TARGETS:
                break
        r = wide(s.after[r])
    if row < 0:
        return np.inf
    return float(put(c, row, into))


@compiled_part_in_place
def mend(c: ValuedState, h: int, steps: int, tried: int) -> float:
    """Move rows in and out of group h as long as it has a violation and that lowers it; returns the change."""
    delta = 0.0
    for _ in range(steps):
        if c.violation[h] == 0:
            break
        change = step(c, h, tried)
        if change == np.inf:
            break
        delta += change
    return delta


@compiled_part_in_place
def dissolve(c: ValuedState, h: int, limit: float) -> float:
    """Move all rows of h to the open candidates where they cost least; inf if a row has none, or that is too much."""
    s = c.state
    if s.first[h] < 0 or s.parked[h] > 0:
        return np.inf
    delta = 0.0
    before = c.total[0] - c.violation[h]
    r = wide(s.first[h])
    while r >= 0:
        following = wide(s.after[r])
        g, _ = best_target(c, r, h)
        if g < 0:
            return np.inf
        delta += put(c, r, g)
        if delta + c.price[0] * (c.total[0] - c.violation[h] - before) > limit:
            return np.inf
        r = following
    return delta


@compiled_part_in_place
def pull(c: ValuedState, g: int, limit: float) -> float:
    """Open g, or let it grow: it takes rows, the cheapest for what it lacks, then those that gain by it; groups that
    could not spare them are mended or dissolved."""
    s = c.state
    size = s.size[g]
    found, gain = _offers(c, g)
    delta = _fill(c, g, found, limit - gain)
    if delta == np.inf or (s.logged[0] == 0 and size == 0):
        return np.inf
    if c.violation[g] > 0:
        delta += mend(c, g, STEPS, TRIED)
    delta += _top_up(c, g, found)
    mended, entry = 0, 0
    while entry < s.logged[0] and mended < DONORS:
        h = wide(s.log_group[entry])
        entry += 1
        if c.violation[h] == 0 or h == g:
            continue
        if delta > limit + c.price[1]:
            return np.inf
        mended += 1
        if draw(s) % 2 and s.size[h] < 2 * s.least[h]:
            change = dissolve(c, h, limit - delta + 2 * c.price[1])
            if change == np.inf:
                return np.inf
            delta += change
        else:
            delta += mend(c, h, STEPS, TRIED)
            if c.violation[h] > 0 and s.size[h] <= 3 * s.least[h]:
                change = dissolve(c, h, limit - delta + 2 * c.price[1])
                if change == np.inf:
                    return np.inf
                delta += change
    return delta


@compiled_part_in_place
def _offers(c: ValuedState, g: int) -> tuple[int, int]:
    """Rows that g could have into `scratch`, with the change of the loss, and where its group is as small as can
    be something at random for that. Returns how many, and what all that larger groups can spare would change."""
    s, scratch = c.state, c.scratch
    begin = s.covers.indptr[g]
    covered = s.covers.indptr[g + 1] - begin
    sampled, found, gain = min(covered, SAMPLE), 0, 0
    # each stride from 1 on visits other rows as long as it has no divisor in common with their number
    stride = 1 if covered <= SAMPLE else int(covered * GOLDEN)
    at = draw(s) % max(covered, 1)
    for _ in range(sampled):
        r = wide(s.covers.values[begin + at])
        at = (at + stride) % covered
        h = wide(s.group[r])
        if h == g:
            continue
        u = c.value[r]
        scratch.row[found], scratch.code[found] = r, u
        scratch.price[found] = s.cost[g] - s.cost[h]
        scratch.checked[found] = s.size[h] <= s.least[h]
        if scratch.checked[found]:
            scratch.price[found] += _breaking(c, h, u)
        elif s.cost[h] > s.cost[g]:
            gain += s.cost[g] - s.cost[h]
        found += 1
    return found, gain


@compiled_part_in_place
def _breaking(c: ValuedState, h: int, u: int) -> float:
    s = c.state
    change = with_one(c, h, u, -1) if s.size[h] > s.least[h] else 1.0 + FRACTION
    if change <= 0:
        return 0.0
    return float(min(-math.log(uniform(c.state)) * BREAKING * c.price[1], c.price[0] * change))


@compiled_part_in_place
def _fill(c: ValuedState, g: int, found: int, limit: float) -> float:
    """Give g the rows of the sample that cost least, violations included, until it has none."""
    s, scratch = c.state, c.scratch
    delta = 0.0
    for _ in range(2 * s.least[g] + 4):
        if s.size[g] > 0 and c.violation[g] == 0:
            break
        scratch.stamp[0] += 1
        best, chosen = np.inf, -1
        for a in range(found):
            u = scratch.code[a]
            if scratch.row[a] < 0:
                continue
            if scratch.known[u] != scratch.stamp[0]:
                scratch.known[u] = scratch.stamp[0]
                scratch.change[u] = c.price[0] * with_one(c, g, u, 1)
            if scratch.price[a] + scratch.change[u] >= best:
                continue
            if not scratch.checked[a]:  # only those that look best so far are worth it
                scratch.checked[a] = True
                scratch.price[a] += _breaking(c, wide(s.group[scratch.row[a]]), u)
            if scratch.price[a] + scratch.change[u] < best:
                best, chosen = scratch.price[a] + scratch.change[u], a
        if chosen < 0 or (s.size[g] >= 2 * s.least[g] and best >= 0):
            return np.inf
        delta += put(c, scratch.row[chosen], g)
        scratch.row[chosen] = -1
        if delta > limit:
            return np.inf
    return delta


@compiled_part_in_place
def _top_up(c: ValuedState, g: int, found: int) -> float:
    """Give g the rows of the sample that gain by it wherever that violates nothing."""
    s, scratch = c.state, c.scratch
    delta = 0.0
    if c.violation[g] > 0:
        return delta
    scratch.stamp[0] += 1
    for a in range(found):
        r = scratch.row[a]
        if r < 0:
            continue
        h, u = wide(s.group[r]), scratch.code[a]
        if s.cost[h] <= s.cost[g] or s.size[h] <= s.least[h]:
            continue
        if scratch.known[u] != scratch.stamp[0]:
            scratch.known[u] = scratch.stamp[0]
            scratch.change[u] = with_one(c, g, u, 1)
        if scratch.change[u] <= 0 and with_one(c, h, u, -1) <= 0:
            delta += put(c, r, g)
            scratch.stamp[0] += 1
    return delta


@compiled_part_in_place
def shift(c: ValuedState, r: int, limit: float) -> float:
    """Move one row to a random open group; inf if loss and violations rise by more than the limit."""
    s = c.state
    i, h, u = s.type_of[r], wide(s.group[r]), c.value[r]
    begin = s.options.indptr[i]
    count = s.options.indptr[i + 1] - begin
    for _ in range(8):
        g = wide(s.options.values[begin + draw(s) % count])
        if g != h and s.size[g] > 0:
            # nearly no such row is welcome: looking is quicker than moving it there and back
            energy = s.cost[g] - s.cost[h] + c.price[0] * with_one(c, h, u, -1)
            if energy - c.price[0] * c.violation[g] > limit or energy + c.price[0] * with_one(c, g, u, 1) > limit:
                return np.inf
            return float(put(c, r, g))
    return np.inf


@compiled_part_in_place
def relocate(c: ValuedState, r: int, limit: float) -> float:
    """Move one row that its group can spare to the open group where it costs least, violations included; inf if that
    is more than the limit."""
    s = c.state
    h = wide(s.group[r])
    if s.size[h] <= s.least[h]:
        return np.inf
    spared = with_one(c, h, c.value[r], -1)
    if spared > 0:
        return np.inf
    g, energy = best_target(c, r, h)
    return np.inf if g < 0 or energy + c.price[0] * spared > limit else float(put(c, r, g))


@compiled_part_in_place
def swap(c: ValuedState, r: int, limit: float) -> float:
    """Exchange a row for one of another value that is in a group that may have it; the loss stays. inf if violations
    rise by more than the limit."""
    s = c.state
    h, u = wide(s.group[r]), c.value[r]
    begin = s.covers.indptr[h]
    covered = s.covers.indptr[h + 1] - begin
    for _ in range(8):
        other = wide(s.covers.values[begin + draw(s) % max(covered, 1)])
        g = wide(s.group[other])
        if g != h and c.value[other] != u and may_have(s, r, g):
            energy = c.price[0] * exchanged(c, h, c.value[other], u)
            least = energy - c.price[0] * c.violation[g]
            if least > limit or energy + c.price[0] * exchanged(c, g, u, c.value[other]) > limit:
                return np.inf
            return float(put(c, r, g) + put(c, other, h))
    return np.inf


@compiled_part_in_place
def mend_some(c: ValuedState, limit: float) -> float:
    """Mend a group that has a violation, the first one from a random one on; now and then dissolve it where that does
    not help."""
    s = c.state
    groups = len(s.cost) - 1
    first = draw(s) % groups
    for q in range(groups):
        g = (first + q) % groups
        if c.violation[g] > 0:
            change = mend(c, g, STEPS, TRIED)
            if c.violation[g] == 0 or draw(s) % 2:
                return change
            take_back(c)
            return dissolve(c, g, limit + c.price[0] * c.violation[g])
    return np.inf


@compiled_in_place
def settle(c: ValuedState) -> int:
    """Move rows to the open candidates where they cost least, violations included; returns the change of the loss."""
    s = c.state
    delta = 0
    for r in range(len(s.group)):
        h = wide(s.group[r])
        g, energy = best_target(c, r, h)
        if g >= 0 and energy < 0 and energy + c.price[0] * with_one(c, h, c.value[r], -1) < -ROUNDING:
            delta += put(c, r, g)
            s.logged[0] = 0
    return delta


@compiled_in_place
def descend(c: ValuedState, order: Ints) -> None:
    """Pull these candidates one by one, wherever that lowers the loss and violates nothing."""
    s = c.state
    for g in order:
        before = c.total[0]
        if pull(c, g, 0.0) < 0 and c.total[0] <= before + ROUNDING:
            s.logged[0] = 0
        else:
            take_back(c)


@compiled_in_place
def mend_all(c: ValuedState, order: Ints, tried: int) -> None:
    """Mend these groups one after the other."""
    s = c.state
    for g in order:
        if c.violation[g] > 0:
            while c.violation[g] > 0:
                before = c.violation[g]
                mend(c, g, STEPS, tried)
                s.logged[0] = 0
                if c.violation[g] == before:
                    break


@compiled_in_place
def absorb(c: ValuedState, g: int) -> bool:
    """Move the rows of one other group into g, the one that costs least for what it mends; False if there is none."""
    s = c.state
    groups = len(s.cost) - 1
    best, chosen = np.inf, -1
    for h in range(groups):
        if h == g or s.first[h] < 0 or s.parked[h] > 0:
            continue
        mended = c.violation[g] + c.violation[h]
        for column in range(c.counts.shape[1]):
            c.counts[g, column] += c.counts[h, column]
        mended -= violation_of(c.rules, c.counts, g, s.size[g] + s.size[h], s.least[g])
        for column in range(c.counts.shape[1]):
            c.counts[g, column] -= c.counts[h, column]
        if mended > 0:
            value = max(s.cost[g] - s.cost[h], 0) * s.size[h] / mended
            if value < best and _all_may(c, h, g):
                best, chosen = value, h
    if chosen < 0:
        return False
    while s.first[chosen] >= 0:
        put(c, wide(s.first[chosen]), g)
        s.logged[0] = 0
    return True


@compiled_part_in_place
def _all_may(c: ValuedState, h: int, g: int) -> bool:
    s = c.state
    r = wide(s.first[h])
    while r >= 0:
        if not may_have(s, r, g):
            return False
        r = wide(s.after[r])
    return True
