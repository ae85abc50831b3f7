"""Chains of rows under requirements: one row goes from group to group, each handing on another one.

Which loss a table has is decided by the sizes of its groups alone, and single rows hardly ever move where each group
holds just what its requirements allow. So a row leaves group h for k, a row of k leaves for another group, and so on,
until one is found that can take a row: only the first and the last group change their size. A group on the way hands on
a row of the value that came in, or of another value where the exchange violates no more than before.

A breadth-first search finds where a row of some value could go at all: its nodes are (group, value of the row that
comes in). What one source has reached in vain, a source that gains less by a row need not look at again.
"""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.rows import commit, draw
from kanon_milp.kernels.valued_state import ValuedState, exchanged, put, take_back, with_one
from kanon_milp.system.arrays import Floats, Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

MOST_NODES = 4_000_000  # groups times joint values; larger tables have no chains
DEEPEST = 20  # rows of a chain
HEALED = 10  # groups with a violation, up to which chains look after each of them
HEALING = 4  # a part of the work is for them, at most
NEAR = 5000  # nodes that are looked at for each value of these
LOOK = 20  # at a new node, in options
ROUNDING = 1e-6  # of energies


class Search:
    """A search; nodes are group · joint values + value.

    seen: int64 (nodes,), the stamp of the search that has been there. row: int32 (nodes,), the row that comes in, and
    parent: int64 (nodes,), the node that hands it on, -1 for the source. queue: int64 (nodes,), of which `tail` are in
    it. target: the best one or -1, with it `best` changes in all; source, value: group and value of the first row, and
    `leaving` what changes where it leaves. work: options still to be looked at. made: chains, change: of the loss by
    them.
    """

    def __init__(self, nodes: int, values: int, work: int) -> None:
        self.values, self.work = values, work
        self.seen, self.row = np.zeros(nodes, np.int64), np.zeros(nodes, np.int32)
        self.parent, self.queue = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
        self.stamp = self.tail = self.source = self.value = self.made = self.change = 0
        self.target, self.leaving, self.best = -1, 0.0, 0.0


def reroute(c: ValuedState, work: int) -> int:
    """Make chains that lower the energy, loss and priced violations, until there is none or so many options of rows
    have been looked at; returns the change of the loss."""
    values = len(c.rules.columns)
    nodes = len(c.cost) * values
    if nodes > MOST_NODES:
        return 0
    search = Search(nodes, values, work)
    gains, before = np.empty(nodes - values), 0
    while search.work > 0:
        if c.failing <= HEALED:
            kept = search.work
            search.work = kept // HEALING
            _heal(c, search)
            search.work += kept - kept // HEALING
        _leave(c, search, gains)
        sources = np.flatnonzero(gains > 0)
        _lower(c, search, sources[np.argsort(-gains[sources], kind="stable")])
        if search.made == before:
            break
        before = search.made
    return search.change


def _leave(c: ValuedState, search: Search, gains: Floats) -> None:
    """What it gains to take a row of each value out of each group into `gains`, float64 (G · J,), -1 where it has none:
    its cost, and less violation."""
    with cython.nogil:
        for at in range(len(gains)):
            gains[at] = -1.0
        for h in range(len(c.cost) - 1):
            r = c.first[h]
            while r >= 0:
                v = c.value[r]
                if gains[h * search.values + v] == -1.0:
                    gains[h * search.values + v] = max(c.cost[h] - c.price * with_one(c, h, v, -1), 0.0)
                r = c.after[r]


def _heal(c: ValuedState, search: Search) -> None:
    """Make chains from groups that have a violation."""
    with cython.nogil:
        first = draw(c) % search.values
        for h in range(len(c.cost) - 1):
            for q in range(search.values):
                if c.violation[h] > 0 and search.work > 0:
                    search.stamp += 1
                    _chain(c, search, h, (first + q) % search.values, NEAR)


def _lower(c: ValuedState, search: Search, sources: Ints) -> None:
    """Make chains from these groups and values, by falling gain."""
    with cython.nogil:
        search.stamp += 1
        for at in range(len(sources)):
            h, v = sources[at] // search.values, sources[at] % search.values
            while search.work > 0 and _chain(c, search, h, v, len(search.queue)):
                pass


def _chain(c: ValuedState, search: Search, h: int, v: int, most: int) -> bool:
    """Make the best of the shortest chains that begin with a row of value v of group h and lower the energy;
    False if there is none. most: nodes that are looked at.

    Where nothing is found, what has been seen stays marked for the next search with this stamp.
    """
    search.tail, search.target, search.source, search.value = 0, -1, h, v
    search.leaving = c.price * with_one(c, h, v, -1) - c.cost[h]
    search.best = -ROUNDING
    _hand_on(c, search, h, -1, -1)
    head, level, depth = 0, search.tail, 1
    while head < min(search.tail, most) and search.work > 0:
        if head == level:
            depth += 1
            if search.target >= 0 or depth > DEEPEST:
                break
            level = search.tail
        node = search.queue[head]
        head += 1
        if node // search.values != h:
            _hand_on(c, search, node // search.values, node % search.values, node)
    if search.target < 0:
        return False
    before, change, node = c.violated, 0, search.target
    while node >= 0:
        change += put(c, search.row[node], node // search.values)
        node = search.parent[node]
    # a chain that meets a group twice may change more than it seemed
    if change + c.price * (c.violated - before) >= -ROUNDING:
        take_back(c)
        return False
    commit(c)
    for q in range(search.tail):
        search.seen[search.queue[q]] = 0
    search.made += 1
    search.change += change
    return True


def _hand_on(c: ValuedState, search: Search, k: int, u: int, node: int) -> None:
    """Where the rows of group k can go that it hands on for one of value u; of the source, where u is -1, the rows of
    its value."""
    c.stamp += 1
    r = c.first[k]
    while r >= 0:
        v = c.value[r]
        if u >= 0 and c.known[v] != c.stamp:
            c.known[v] = c.stamp
            c.change[v] = 0.0 if u == v else exchanged(c, k, u, v)
        if v == search.value if u < 0 else c.change[v] <= 0:
            i = c.type_of[r]
            begin, end = c.options_at[i], c.options_at[i + 1]
            search.work -= end - begin
            for q in range(begin, end):
                g = c.options[q]
                n = g * search.values + v
                if c.size[g] > 0 and g != k and search.seen[n] != search.stamp:
                    search.seen[n], search.row[n], search.parent[n] = search.stamp, r, node
                    search.queue[search.tail] = n
                    search.tail += 1
                    search.work -= LOOK
                    _aim(c, search, g, v)
        r = c.after[r]


def _aim(c: ValuedState, search: Search, g: int, v: int) -> None:
    """Whether a chain had better end with a row of value v in group g."""
    if g == search.source:
        energy = c.price * exchanged(c, g, v, search.value) if c.violation[g] > 0 else 0.0
    else:
        energy = search.leaving + c.cost[g]
        if energy - c.price * c.violation[g] >= search.best:
            return
        energy += c.price * with_one(c, g, v, 1)
    if energy < search.best:
        search.best, search.target = energy, g * search.values + v
