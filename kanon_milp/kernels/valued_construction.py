"""Groups of rows that have none yet, one candidate after the other, under requirements about sensitive values."""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.rules import Rules, count_in, violation_of
from kanon_milp.kernels.tree_subproblem import FloatSubproblems, select
from kanon_milp.kernels.valued_groups import add_negative_rows, cheapest_of_candidate, choose_rows
from kanon_milp.system.arrays import Floats, Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

ROUNDING = 1e-6  # of rows
GAIN = 1e-9  # by which an exchange is worth it


class Rest:
    """Rows without a group yet, and scratch space.

    left: float64 (t,), rows without a group. rows: int64 (pairs,), those that have one. value: int64 (t,), joint value.
    members: the covers; covers: the same, each sorted by value, then by falling multiplier. rules: with the counts of
    one group, the one that is made; of that, taken: float64 (t,) and amount: int64 (t,), else 0. cells: int64 (J, 3),
    of the cover where a value begins and ends, and behind the last row that is taken. price: of a unit of violation.
    exchanges, paired: as in `ConstructionParameters`.
    """

    def __init__(
        self, left: Floats, rows: Ints, value: Ints, members: Ints32, covers: Ints32, rules: Rules, price: float,
        exchanges: int, paired: int,
    ) -> None:  # fmt: skip
        self.left, self.rows, self.value, self.members, self.covers = left, rows, value, members, covers
        self.rules, self.price, self.exchanges, self.paired = rules, price, exchanges, paired
        self.taken, self.amount = np.zeros(len(left)), np.zeros(len(left), np.int64)
        self.cells = np.zeros((len(rules.columns), 3), np.int64)


def place_groups(order: Ints, slack: float, tries: int, s: FloatSubproblems, rest: Rest) -> None:
    """Place the cheapest group of each candidate, in this order, if it is worth its rows' multipliers.

    s: whose row counts are `rest.left`. slack: what a group may cost less. tries: sizes of a group that are tried.
    """
    with cython.nogil:
        for at in range(len(order)):
            _place_group(order[at], slack, tries, s, rest)


def _place_group(g: int, slack: float, tries: int, s: FloatSubproblems, rest: Rest) -> None:
    select(s, g)
    s.w -= slack / s.fewest
    add_negative_rows(s)
    left = 0.0
    for at in range(s.begin, s.end):
        left += rest.left[s.members[at]]
    if left < s.fewest or s.below >= 0:
        return
    s.most = int(left)
    if not cheapest_of_candidate(s, s.fewest, tries, False) or s.value >= 0:
        return
    choose_rows(s, s.size)
    for entry in range(s.entries):
        rest.taken[s.chosen[entry]] += s.chosen_amounts[entry]
    value, good = _integral(s, rest)
    for at in range(s.begin, s.end):
        i = rest.members[at]
        if good and value < 0:
            rest.left[i] -= rest.amount[i]
            rest.rows[at] += rest.amount[i]
        rest.amount[i] = 0


def _integral(s: FloatSubproblems, rest: Rest) -> tuple[float, bool]:
    """Make the group that is taken integral and exchange rows until it has no violation: what it is worth, and
    whether it has none."""
    for u in range(len(rest.cells)):
        rest.cells[u, 0] = rest.cells[u, 1] = rest.cells[u, 2] = 0
    for column in range(rest.rules.counts.shape[1]):
        rest.rules.counts[0, column] = 0
    size, value = 0, 0.0
    for at in range(s.begin, s.end):
        i = rest.covers[at]
        u = rest.value[i]
        if rest.cells[u, 1] == 0:
            rest.cells[u, 0] = rest.cells[u, 2] = at
        rest.cells[u, 1] = at + 1
        rows = int(rest.taken[i] + ROUNDING)
        rest.taken[i] = 0.0
        if rows > 0:
            rest.amount[i] = rows
            rest.cells[u, 2] = at + 1
            size += rows
            value += rows * (s.w - s.multipliers[i])
            count_in(rest.rules, 0, u, rows)
    violation = violation_of(rest.rules, 0, size, s.fewest)
    for _ in range(rest.exchanges):
        if violation == 0 and size > 0:
            return value, True
        enters, leaves = _best_exchange(s, rest, size, violation)
        if enters < 0 and leaves < 0:
            break
        entering, leaving = _next(rest, enters), _last(rest, leaves)
        if enters >= 0:
            i = rest.covers[entering]
            rest.amount[i] += 1
            rest.cells[enters, 2] = max(rest.cells[enters, 2], entering + 1)
            value += s.w - s.multipliers[i]
            count_in(rest.rules, 0, enters, 1)
            size += 1
        if leaves >= 0:
            i = rest.covers[leaving]
            rest.amount[i] -= 1
            value -= s.w - s.multipliers[i]
            count_in(rest.rules, 0, leaves, -1)
            size -= 1
        violation = violation_of(rest.rules, 0, size, s.fewest)
    return value, violation == 0 and size > 0


def _best_exchange(s: FloatSubproblems, rest: Rest, size: int, violation: float) -> tuple[int, int]:
    """The values of which a row had best enter and leave the group that is made, -1 for none."""
    values = len(rest.cells)
    best, enters, leaves = -GAIN, -1, -1
    for a in range(-1, values):
        entering = _next(rest, a)
        if a >= 0 and entering < 0:
            continue
        for b in range(-1, values if a < 0 or values <= rest.paired else 0):
            leaving = _last(rest, b)
            if a == b or (b >= 0 and leaving < 0):
                continue
            change, rows = 0.0, size
            if a >= 0:
                change += s.w - s.multipliers[rest.covers[entering]]
                count_in(rest.rules, 0, a, 1)
                rows += 1
            if b >= 0:
                change -= s.w - s.multipliers[rest.covers[leaving]]
                count_in(rest.rules, 0, b, -1)
                rows -= 1
            now = violation_of(rest.rules, 0, rows, s.fewest)
            if a >= 0:
                count_in(rest.rules, 0, a, -1)
            if b >= 0:
                count_in(rest.rules, 0, b, 1)
            if now < violation and change + rest.price * (now - violation) < best:
                best, enters, leaves = change + rest.price * (now - violation), a, b
    return enters, leaves


def _next(rest: Rest, u: int) -> int:
    """Where the cheapest row of value u is that the group could have in addition; -1 if there is none."""
    if u >= 0:
        for at in range(rest.cells[u, 0], rest.cells[u, 1]):
            i = rest.covers[at]
            if rest.left[i] - rest.amount[i] >= 1:
                return at
    return -1


def _last(rest: Rest, u: int) -> int:
    """Where the row of value u is that the group could most easily do without; -1 if it has none."""
    if u >= 0:
        for at in range(rest.cells[u, 2] - 1, rest.cells[u, 0] - 1, -1):
            if rest.amount[rest.covers[at]] > 0:
                return at
    return -1
