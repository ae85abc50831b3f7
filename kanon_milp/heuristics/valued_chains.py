"""Chains of rows under requirements, compiled: one row goes from group to group, each handing on another one.

Which loss a table has is decided by the sizes of its groups alone, and single rows hardly ever move where each group
holds just what its requirements allow. So a row leaves group h for k, a row of k leaves for another group, and so on,
until one is found that can take a row: only the first and the last group change their size. A group on the way hands on
a row of the value that came in, or of another value where the exchange violates no more than before.

A breadth-first search finds where a row of some value could go at all: its nodes are (group, value of the row that
comes in). What one source has reached in vain, a source that gains less by a row need not look at again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kanon_milp.heuristics.state import draw
from kanon_milp.heuristics.valued_state import ValuedState, exchanged, put, take_back, wide, with_one
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.jit import compiled_in_place, compiled_part_in_place

MOST_NODES = 4_000_000  # groups times joint values; larger tables have no chains
DEEPEST = 20  # rows of a chain
HEALED = 10  # groups with a violation, up to which chains look after each of them
HEALING = 4  # a part of the work is for them, at most
NEAR = 5000  # nodes that are looked at for each value of these
LOOK = 20  # at a new node, in options
ROUNDING = 1e-6  # of energies

STAMP, TAIL, TARGET, SOURCE, VALUE, WORK, MADE, CHANGE = range(8)
LEAVING, BEST = range(2)


class Search(NamedTuple):
    """A search; nodes are group · joint values + value.

    seen: int64 (nodes,), the stamp of the search that has been there. row: int32 (nodes,), the row that comes in, and
    parent: int64 (nodes,), the node that hands it on, -1 for the source. queue: int64 (nodes,). at: int64 (8,), the
    stamp, how long the queue is, the best target or -1, group and value of the source, options still to be looked at,
    chains made and their change of the loss. energy: float64 (2,), what changes where the first row leaves, and in all
    with the best target.
    """

    seen: Ints
    row: Ints32
    parent: Ints
    queue: Ints
    at: Ints
    energy: Floats


def reroute(c: ValuedState, work: int) -> int:
    """Make chains that lower the energy, loss and priced violations, until there is none or so many options of rows
    have been looked at; returns the change of the loss."""
    values = len(c.rules.columns)
    nodes = len(c.state.cost) * values
    if nodes > MOST_NODES:
        return 0
    search = Search(
        np.zeros(nodes, np.int64), np.zeros(nodes, np.int32), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64),
        np.zeros(8, np.int64), np.zeros(2),
    )  # fmt: skip
    gains, before = np.empty(nodes - values), 0
    search.at[WORK] = work
    while search.at[WORK] > 0:
        if c.total[1] <= HEALED:
            kept = search.at[WORK]
            search.at[WORK] = kept // HEALING
            heal(c, search)
            search.at[WORK] += kept - kept // HEALING
        leave(c, gains)
        sources = np.flatnonzero(gains > 0)
        lower(c, search, sources[np.argsort(-gains[sources], kind="stable")])
        if search.at[MADE] == before:
            break
        before = search.at[MADE]
    return int(search.at[CHANGE])


@compiled_in_place
def leave(c: ValuedState, gains: Floats) -> None:
    """What it gains to take a row of each value out of each group into `gains`, float64 (G · J,), -1 where it has none:
    its cost, and less violation."""
    s, values = c.state, len(c.rules.columns)
    for at in range(len(gains)):
        gains[at] = -1.0
    for h in range(len(s.cost) - 1):
        r = wide(s.first[h])
        while r >= 0:
            v = c.value[r]
            if gains[h * values + v] == -1.0:
                gains[h * values + v] = max(s.cost[h] - c.price[0] * with_one(c, h, v, -1), 0.0)
            r = wide(s.after[r])


@compiled_in_place
def heal(c: ValuedState, search: Search) -> None:
    """Make chains from groups that have a violation."""
    values = len(c.rules.columns)
    first = draw(c.state) % values
    for h in range(len(c.state.cost) - 1):
        for q in range(values):
            if c.violation[h] > 0 and search.at[WORK] > 0:
                search.at[STAMP] += 1
                chain(c, search, h, (first + q) % values, NEAR)


@compiled_in_place
def lower(c: ValuedState, search: Search, sources: Ints) -> None:
    """Make chains from these groups and values, by falling gain."""
    values = len(c.rules.columns)
    search.at[STAMP] += 1
    for source in sources:
        while search.at[WORK] > 0 and chain(c, search, source // values, source % values, len(search.queue)):
            pass


@compiled_part_in_place
def chain(c: ValuedState, search: Search, h: int, v: int, most: int) -> bool:
    """Make the best of the shortest chains that begin with a row of value v of group h and lower the energy;
    False if there is none. most: nodes that are looked at.

    Where nothing is found, what has been seen stays marked for the next search with this stamp.
    """
    s, at, values = c.state, search.at, len(c.rules.columns)
    at[TAIL], at[TARGET], at[SOURCE], at[VALUE] = 0, -1, h, v
    search.energy[LEAVING] = c.price[0] * with_one(c, h, v, -1) - s.cost[h]
    search.energy[BEST] = -ROUNDING
    _hand_on(c, search, h, -1, -1)
    head, level, depth = 0, at[TAIL], 1
    while head < min(at[TAIL], most) and at[WORK] > 0:
        if head == level:
            depth += 1
            if at[TARGET] >= 0 or depth > DEEPEST:
                break
            level = at[TAIL]
        node = search.queue[head]
        head += 1
        if node // values != h:
            _hand_on(c, search, node // values, node % values, node)
    if at[TARGET] < 0:
        return False
    before, change, node = c.total[0], 0, at[TARGET]
    while node >= 0:
        change += put(c, wide(search.row[node]), node // values)
        node = search.parent[node]
    # a chain that meets a group twice may change more than it seemed
    if change + c.price[0] * (c.total[0] - before) >= -ROUNDING:
        take_back(c)
        return False
    s.logged[0] = 0
    for q in range(at[TAIL]):
        search.seen[search.queue[q]] = 0
    at[MADE] += 1
    at[CHANGE] += change
    return True


@compiled_part_in_place
def _hand_on(c: ValuedState, search: Search, k: int, u: int, node: int) -> None:
    """Where the rows of group k can go that it hands on for one of value u; of the source, where u is -1, the rows of
    its value."""
    s, scratch, at, values = c.state, c.scratch, search.at, len(c.rules.columns)
    scratch.stamp[0] += 1
    r = wide(s.first[k])
    while r >= 0:
        v = c.value[r]
        if u >= 0 and scratch.known[v] != scratch.stamp[0]:
            scratch.known[v] = scratch.stamp[0]
            scratch.change[v] = 0.0 if u == v else exchanged(c, k, u, v)
        if v == at[VALUE] if u < 0 else scratch.change[v] <= 0:
            i = s.type_of[r]
            begin, end = s.options.indptr[i], s.options.indptr[i + 1]
            at[WORK] -= end - begin
            for q in range(begin, end):
                g = wide(s.options.values[q])
                n = g * values + v
                if s.size[g] > 0 and g != k and search.seen[n] != at[STAMP]:
                    search.seen[n], search.row[n], search.parent[n] = at[STAMP], r, node
                    search.queue[at[TAIL]] = n
                    at[TAIL] += 1
                    at[WORK] -= LOOK
                    _aim(c, search, g, v)
        r = wide(s.after[r])


@compiled_part_in_place
def _aim(c: ValuedState, search: Search, g: int, v: int) -> None:
    """Whether a chain had better end with a row of value v in group g."""
    s, at = c.state, search.at
    if g == at[SOURCE]:
        energy = c.price[0] * exchanged(c, g, v, at[VALUE]) if c.violation[g] > 0 else 0.0
    else:
        energy = search.energy[LEAVING] + s.cost[g]
        if energy - c.price[0] * c.violation[g] >= search.energy[BEST]:
            return
        energy += c.price[0] * with_one(c, g, v, 1)
    if energy < search.energy[BEST]:
        search.energy[BEST], at[TARGET] = energy, g * len(c.rules.columns) + v
