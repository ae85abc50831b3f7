"""The moves of local search under requirements, and of its annealing.

Each returns the change of the loss, or inf where it cannot be made; what it does to violations is in `violated` of the
state. A move that is not wanted is taken back with `take_back`, one that is wanted is kept with `commit`.
"""

from __future__ import annotations

from kanon_milp.kernels.elementary import log, power
from kanon_milp.kernels.limits import DRAWS, FRACTION, INFINITE, SAMPLE
from kanon_milp.kernels.rows import commit, draw, total, uniform
from kanon_milp.kernels.rules import violation_of
from kanon_milp.kernels.valued_state import (
    ValuedState,
    best_target,
    exchanged,
    may_have,
    of_group,
    of_value,
    put,
    take_back,
    with_one,
)
from kanon_milp.system.arrays import Floats, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

TRIED = 6  # rows of each value that could come into a group
LEAVING = 48  # rows of a group that are looked at as those that could leave it
TARGETS = 6  # of these, for which another group is looked for
VALUES = 64  # that are tried as those that a group lacks
DONORS = 6  # groups that one move mends
STEPS = 12  # rows by which one of them is mended
BREAKING = 1.0  # cells; what it costs on average to take a row that a group cannot spare
ROUNDING = 1e-9  # of sums of violations
GOLDEN = 0.6180339887498949
MENDED = 16  # while a group has a violation, each so many moves one is mended
LOOKED = 1000  # moves between two looks at whether there is a better table


def step(c: ValuedState, h: int, tried: int) -> float:
    """Move the one row in or out of group h that lowers loss and violations most; inf if none does."""
    values = len(c.rules.columns)
    best, row, into = -ROUNDING, -1, -1
    first = draw(c) % values
    for q in range(min(values, VALUES)):
        u = (first + q) % values
        change = with_one(c, h, u, 1)
        if change >= 0:
            continue
        begin, end = of_value(c, h, u)
        for _ in range(min(tried, end - begin)):
            r = c.covers[begin + draw(c) % (end - begin)]
            other = c.group[r]
            lost = float(c.cost[h] - c.cost[other])
            if other != h and lost + c.price * (change - c.violation[other]) < best:
                energy = lost + c.price * (change + with_one(c, other, u, -1))
                if energy < best:
                    best, row, into = energy, r, h
    c.stamp += 1
    targets, r = 0, of_group(c, h)
    for _ in range(LEAVING):
        if r < 0:
            r = c.first[h]
            if r < 0:
                break
        u = c.value[r]
        if c.known[u] != c.stamp:
            c.known[u] = c.stamp
            c.change[u] = with_one(c, h, u, -1)
        if c.change[u] < 0:
            g, energy = best_target(c, r, h)
            energy += c.price * c.change[u]
            if g >= 0 and energy < best:
                best, row, into = energy, r, g
            targets += 1
            if targets == TARGETS:
                break
        r = c.after[r]
    if row < 0:
        return INFINITE
    return put(c, row, into)


def mend(c: ValuedState, h: int, steps: int, tried: int) -> float:
    """Move rows in and out of group h as long as it has a violation and that lowers it; returns the change."""
    delta = 0.0
    for _ in range(steps):
        if c.violation[h] == 0:
            break
        change = step(c, h, tried)
        if change == INFINITE:
            break
        delta += change
    return delta


def dissolve(c: ValuedState, h: int, limit: float) -> float:
    """Move all rows of h to the open candidates where they cost least; inf if a row has none, or that is too much."""
    if c.first[h] < 0 or c.parked[h] > 0:
        return INFINITE
    delta = 0.0
    before = c.violated - c.violation[h]
    r = c.first[h]
    while r >= 0:
        following = c.after[r]
        g, _ = best_target(c, r, h)
        if g < 0:
            return INFINITE
        delta += put(c, r, g)
        if delta + c.price * (c.violated - c.violation[h] - before) > limit:
            return INFINITE
        r = following
    return delta


def pull(c: ValuedState, g: int, limit: float) -> float:
    """Open g, or let it grow: it takes rows, the cheapest for what it lacks, then those that gain by it; groups that
    could not spare them are mended or dissolved."""
    size = c.size[g]
    found, gain = _offers(c, g)
    delta = _fill(c, g, found, limit - gain)
    if delta == INFINITE or (c.logged == 0 and size == 0):
        return INFINITE
    if c.violation[g] > 0:
        delta += mend(c, g, STEPS, TRIED)
    delta += _top_up(c, g, found)
    mended, entry = 0, 0
    while entry < c.logged and mended < DONORS:
        h = c.log_group[entry]
        entry += 1
        if c.violation[h] == 0 or h == g:
            continue
        if delta > limit + c.cell:
            return INFINITE
        mended += 1
        if draw(c) % 2 and c.size[h] < 2 * c.least[h]:
            change = dissolve(c, h, limit - delta + 2 * c.cell)
            if change == INFINITE:
                return INFINITE
            delta += change
        else:
            delta += mend(c, h, STEPS, TRIED)
            if c.violation[h] > 0 and c.size[h] <= 3 * c.least[h]:
                change = dissolve(c, h, limit - delta + 2 * c.cell)
                if change == INFINITE:
                    return INFINITE
                delta += change
    return delta


def _offers(c: ValuedState, g: int) -> tuple[int, int]:
    """The rows that g could have into the sample, with the change of the loss, and where its group is as small as can
    be something at random for that. Returns how many, and what all that larger groups can spare would change."""
    begin = c.covers_at[g]
    covered = c.covers_at[g + 1] - begin
    sampled, found, gain = min(covered, SAMPLE), 0, 0
    # each stride from 1 on visits other rows as long as it has no divisor in common with their number
    stride = 1 if covered <= SAMPLE else int(covered * GOLDEN)
    at = draw(c) % max(covered, 1)
    for _ in range(sampled):
        r = c.covers[begin + at]
        at = (at + stride) % covered
        h = c.group[r]
        if h == g:
            continue
        u = c.value[r]
        c.sample_row[found], c.sample_value[found] = r, u
        c.sample_price[found] = c.cost[g] - c.cost[h]
        c.sample_checked[found] = c.size[h] <= c.least[h]
        if c.sample_checked[found]:
            c.sample_price[found] += _breaking(c, h, u)
        elif c.cost[h] > c.cost[g]:
            gain += c.cost[g] - c.cost[h]
        found += 1
    return found, gain


def _breaking(c: ValuedState, h: int, u: int) -> float:
    change = with_one(c, h, u, -1) if c.size[h] > c.least[h] else 1.0 + FRACTION
    if change <= 0:
        return 0.0
    return min(-log(uniform(c)) * BREAKING * c.cell, c.price * change)


def _fill(c: ValuedState, g: int, found: int, limit: float) -> float:
    """Give g the rows of the sample that cost least, violations included, until it has none."""
    delta = 0.0
    for _ in range(2 * c.least[g] + 4):
        if c.size[g] > 0 and c.violation[g] == 0:
            break
        c.stamp += 1
        best, chosen = INFINITE, -1
        for a in range(found):
            u = c.sample_value[a]
            if c.sample_row[a] < 0:
                continue
            if c.known[u] != c.stamp:
                c.known[u] = c.stamp
                c.change[u] = c.price * with_one(c, g, u, 1)
            if c.sample_price[a] + c.change[u] >= best:
                continue
            if not c.sample_checked[a]:  # only those that look best so far are worth it
                c.sample_checked[a] = True
                c.sample_price[a] += _breaking(c, c.group[c.sample_row[a]], u)
            if c.sample_price[a] + c.change[u] < best:
                best, chosen = c.sample_price[a] + c.change[u], a
        if chosen < 0 or (c.size[g] >= 2 * c.least[g] and best >= 0):
            return INFINITE
        delta += put(c, c.sample_row[chosen], g)
        c.sample_row[chosen] = -1
        if delta > limit:
            return INFINITE
    return delta


def _top_up(c: ValuedState, g: int, found: int) -> float:
    """Give g the rows of the sample that gain by it wherever that violates nothing."""
    delta = 0.0
    if c.violation[g] > 0:
        return delta
    c.stamp += 1
    for a in range(found):
        r = c.sample_row[a]
        if r < 0:
            continue
        h, u = c.group[r], c.sample_value[a]
        if c.cost[h] <= c.cost[g] or c.size[h] <= c.least[h]:
            continue
        if c.known[u] != c.stamp:
            c.known[u] = c.stamp
            c.change[u] = with_one(c, g, u, 1)
        if c.change[u] <= 0 and with_one(c, h, u, -1) <= 0:
            delta += put(c, r, g)
            c.stamp += 1
    return delta


def shift(c: ValuedState, r: int, limit: float) -> float:
    """Move one row to a random open group; inf if loss and violations rise by more than the limit."""
    i, h, u = c.type_of[r], c.group[r], c.value[r]
    begin = c.options_at[i]
    count = c.options_at[i + 1] - begin
    for _ in range(DRAWS):
        g = c.options[begin + draw(c) % count]
        if g != h and c.size[g] > 0:
            # nearly no such row is welcome: looking is quicker than moving it there and back
            energy = c.cost[g] - c.cost[h] + c.price * with_one(c, h, u, -1)
            if energy - c.price * c.violation[g] > limit or energy + c.price * with_one(c, g, u, 1) > limit:
                return INFINITE
            return put(c, r, g)
    return INFINITE


def relocate(c: ValuedState, r: int, limit: float) -> float:
    """Move one row that its group can spare to the open group where it costs least, violations included; inf if that
    is more than the limit."""
    h = c.group[r]
    if c.size[h] <= c.least[h]:
        return INFINITE
    spared = with_one(c, h, c.value[r], -1)
    if spared > 0:
        return INFINITE
    g, energy = best_target(c, r, h)
    if g < 0 or energy + c.price * spared > limit:
        return INFINITE
    return put(c, r, g)


def swap(c: ValuedState, r: int, limit: float) -> float:
    """Exchange a row for one of another value that is in a group that may have it; the loss stays. inf if violations
    rise by more than the limit."""
    h, u = c.group[r], c.value[r]
    begin = c.covers_at[h]
    covered = c.covers_at[h + 1] - begin
    for _ in range(DRAWS):
        other = c.covers[begin + draw(c) % max(covered, 1)]
        g = c.group[other]
        if g != h and c.value[other] != u and may_have(c, r, g):
            energy = c.price * exchanged(c, h, c.value[other], u)
            least = energy - c.price * c.violation[g]
            if least > limit or energy + c.price * exchanged(c, g, u, c.value[other]) > limit:
                return INFINITE
            delta = put(c, r, g)
            return delta + put(c, other, h)
    return INFINITE


def mend_some(c: ValuedState, limit: float) -> float:
    """Mend a group that has a violation, the first one from a random one on; now and then dissolve it where that does
    not help."""
    groups = len(c.cost) - 1
    first = draw(c) % groups
    for q in range(groups):
        g = (first + q) % groups
        if c.violation[g] > 0:
            change = mend(c, g, STEPS, TRIED)
            if c.violation[g] == 0 or draw(c) % 2:
                return change
            take_back(c)
            return dissolve(c, g, limit + c.price * c.violation[g])
    return INFINITE


def settle(c: ValuedState) -> int:
    """Move rows to the open candidates where they cost least, violations included; returns the change of the loss."""
    delta = 0
    with cython.nogil:
        for r in range(len(c.group)):
            h = c.group[r]
            g, energy = best_target(c, r, h)
            if g >= 0 and energy < 0 and energy + c.price * with_one(c, h, c.value[r], -1) < -ROUNDING:
                delta += put(c, r, g)
                commit(c)
    return delta


def descend(c: ValuedState, order: Ints) -> None:
    """Pull these candidates one by one, wherever that lowers the loss and violates nothing."""
    with cython.nogil:
        for at in range(len(order)):
            before = c.violated
            if pull(c, order[at], 0.0) < 0 and c.violated <= before + ROUNDING:
                commit(c)
            else:
                take_back(c)


def mend_all(c: ValuedState, order: Ints, tried: int) -> None:
    """Mend these groups one after the other."""
    with cython.nogil:
        for at in range(len(order)):
            g = order[at]
            while c.violation[g] > 0:
                before = c.violation[g]
                mend(c, g, STEPS, tried)
                commit(c)
                if c.violation[g] == before:
                    break


def absorb(c: ValuedState, g: int) -> bool:
    """Move the rows of one other group into g, the one that costs least for what it mends; False if there is none."""
    best, chosen = INFINITE, -1
    with cython.nogil:
        for h in range(len(c.cost) - 1):
            if h == g or c.first[h] < 0 or c.parked[h] > 0:
                continue
            mended = c.violation[g] + c.violation[h] - _together(c, g, h)
            if mended > 0:
                value = max(c.cost[g] - c.cost[h], 0) * c.size[h] / mended
                if value < best and _all_may(c, h, g):
                    best, chosen = value, h
        if chosen >= 0:
            while c.first[chosen] >= 0:
                put(c, c.first[chosen], g)
                commit(c)
    return chosen >= 0


def _together(c: ValuedState, g: int, h: int) -> float:
    """The violation of g if it had the rows of h as well."""
    for column in range(c.rules.counts.shape[1]):
        c.rules.counts[g, column] += c.rules.counts[h, column]
    found = violation_of(c.rules, g, c.size[g] + c.size[h], c.least[g])
    for column in range(c.rules.counts.shape[1]):
        c.rules.counts[g, column] -= c.rules.counts[h, column]
    return found


def _all_may(c: ValuedState, h: int, g: int) -> bool:
    r = c.first[h]
    while r >= 0:
        if not may_have(c, r, g):
            return False
        r = c.after[r]
    return True


def make_moves(
    c: ValuedState, count: int, heat: Floats, shares: Floats, chance: Floats, alias: Ints, best: Ints32, lowest: int
) -> int:
    """Make so many moves while the temperature falls from heat[0] to heat[1], violations at heat[2] cells; one whose
    energy, loss and priced violations, rises by more than -T·log(u) is taken back. shares: up to each kind of move,
    float64 (4,).

    The cheapest table without violations goes into `best`; returns its loss, or `lowest` if none is cheaper than that.
    """
    rows, loss = len(c.group), total(c)
    c.price = heat[2] * c.cell
    with cython.nogil:
        for made in range(count + 1):
            if (made % LOOKED == 0 or made == count) and c.failing == 0 and loss < lowest:
                lowest = loss
                for r in range(rows):
                    best[r] = c.group[r]
            if made == count:
                break
            temperature = heat[0] * power(heat[1] / heat[0], float(made) / count)
            limit = -temperature * log(uniform(c))
            before = c.violated
            kind = uniform(c)
            if c.failing > 0 and made % MENDED == 0:
                change = mend_some(c, limit)
            elif kind < shares[0]:
                g = draw(c) % len(alias)
                if uniform(c) > chance[g]:
                    g = alias[g]
                change = pull(c, g, limit)
            elif kind < shares[1]:
                change = dissolve(c, c.group[draw(c) % rows], limit)
            elif kind < shares[2]:
                change = relocate(c, draw(c) % rows, limit)
            elif kind < shares[3]:
                change = shift(c, draw(c) % rows, limit)
            else:
                change = swap(c, draw(c) % rows, limit)
            if c.logged > 0 and change + c.price * (c.violated - before) <= limit:
                gained = int(change)
                loss += gained
                commit(c)
            else:
                take_back(c)
    return lowest
