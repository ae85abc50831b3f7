"""A table as groups of single rows by sensitive value, and how far each group is from what requirements ask for.

That is read off the relaxations of the requirements (`kanon_milp.bounds.relaxations`), whatever these requirements are:
rows that lack to the smallest size, rows above and below limits of shares, different values that lack, and rows times
distance of the EMD cost that is too much. Its unit is about one row that has to be exchanged. All comparisons are in
integers; where limits or weights do not fit, they are rounded so that a group is never taken for better than it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.relaxations import ALL, Interval, Node, Relaxation, relaxations_of
from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.state import Board, State, draw, mutable_copy, place, relink
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.jit import compiled_in_place, compiled_part_in_place

SAMPLE = 300  # rows of a large cover that one move looks at


class Scratch(NamedTuple):
    """Scratch space of one move. Rows that a candidate could have, -1 for those that it has taken: row, code: int64
    (SAMPLE,), the row and its value, price: float64 (SAMPLE,), checked: bool (SAMPLE,), whether their groups were
    looked at. change: float64 (J,), of the violation by a row of each value; known: int64 (J,), at which stamp. stamp:
    int64 (1,)."""

    row: Ints
    code: Ints
    price: Floats
    checked: Flags
    change: Floats
    known: Ints
    stamp: Ints


class ValuedState(NamedTuple):
    """A state in which the rows of each cover stand in the order of their values, and what requirements ask for.

    value: int64 (rows,), joint value of a row. counts: int32 (G+1, columns), parked rows among them. violation:
    float64 (G+1,). total: float64 (2,), the sum of the violations, and how many groups have one. price: float64 (2,),
    what a unit of violation and what a cell costs, in units of the loss. parked: int32 (G+1, columns).
    """

    state: State
    rules: Rules
    value: Ints
    counts: Ints32
    violation: Floats
    total: Floats
    price: Floats
    parked: Ints32
    scratch: Scratch


@dataclass(frozen=True, eq=False)
class ValuedBoard:
    """A board whose groups are grouped by value."""

    board: Board
    valued: ValuedState

    @classmethod
    def of(cls, instance: Instance, allowed: Flags, start: Assignment, seed: int = 0) -> ValuedBoard:
        """As `Board.of`; the start may violate requirements."""
        board = Board.of(instance, allowed, start, seed)
        rules, value = rules_of(instance)
        s = board.state
        of_row = value[s.type_of]
        order = np.lexsort((of_row[s.covers.values], s.covers.list_of_value()))
        s = s._replace(covers=Ragged(s.covers.indptr, s.covers.values[order]))
        width = int(rules.columns.max(initial=-1)) + 1
        parked = np.zeros((len(s.cost), width), np.int32)
        row_type, candidate, rows = board.parked
        at = np.searchsorted(board.candidate, candidate)
        for attribute in range(rules.columns.shape[1]):
            np.add.at(parked, (at, rules.columns[value[row_type], attribute]), rows.astype(np.int32))
        valued = ValuedState(
            s, rules, of_row, parked.copy(), np.zeros(len(s.cost)), np.zeros(2), np.array([0.0, board.cell]), parked,
            _scratch(len(rules.columns)),
        )  # fmt: skip
        recount(valued)
        return cls(Board(instance, s, board.candidate, board.parked, board.cell), valued)

    def placed(self) -> Assignment:
        """The table on the board, whatever its groups violate; no row is nowhere."""
        board, state = self.board, self.valued.state
        row_type, candidate, parked = board.parked
        pair = pairs_at(
            board.instance,
            np.concatenate([state.type_of, row_type]).astype(np.int64),
            np.concatenate([board.candidate[state.group], candidate]),
        )
        rows = np.concatenate([np.ones(len(state.group), np.int64), parked])
        found = np.bincount(pair, weights=rows, minlength=board.instance.candidates.pairs)
        return Assignment.from_pairs(board.instance, found.astype(np.int64))

    def restore(self, group: Ints32) -> None:
        """Put every row where it was when `state.group` was this."""
        self.valued.state.group[:] = group
        recount(self.valued)


def own_copy(valued: ValuedState, group: Ints32, random: NDArray[np.uint64]) -> ValuedState:
    """One that shares what is fixed, with its own copy of what changes."""
    c = valued._replace(
        state=mutable_copy(valued.state, group, random),
        rules=valued.rules._replace(below=valued.rules.below.copy()),
        counts=valued.counts.copy(),
        violation=valued.violation.copy(),
        total=valued.total.copy(),
        price=valued.price.copy(),
        scratch=_scratch(len(valued.rules.columns)),
    )
    recount(c)
    return c


def _scratch(values: int) -> Scratch:
    return Scratch(
        np.zeros(SAMPLE, np.int64), np.zeros(SAMPLE, np.int64), np.zeros(SAMPLE),
        np.zeros(SAMPLE, np.bool_), np.zeros(values),
        np.zeros(values, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


@compiled_part_in_place
def wide(number: int) -> int:
    """The same as an int64: functions are compiled anew for each type."""
    return number + 0


@compiled_in_place
def recount(c: ValuedState) -> None:
    """Rebuild everything from `group`."""
    s = c.state
    relink(s)
    # cell by cell: to compile the assignment of arrays takes seconds
    for g in range(len(s.cost)):
        for column in range(c.counts.shape[1]):
            c.counts[g, column] = c.parked[g, column]
    for r in range(len(s.group)):
        count_in(c.rules, c.counts, wide(s.group[r]), c.value[r], 1)
    c.total[0] = c.total[1] = 0.0
    for g in range(len(s.cost)):
        c.violation[g] = violation_of(c.rules, c.counts, g, s.size[g], s.least[g])
        c.total[0] += c.violation[g]
        if c.violation[g] > 0:
            c.total[1] += 1


@compiled_part_in_place
def put(c: ValuedState, r: int, g: int) -> int:
    """Move row r to candidate g; returns the change of the loss, that of the violation is in `total`."""
    s = c.state
    h = wide(s.group[r])
    change = place(s, r, g)
    count_in(c.rules, c.counts, h, c.value[r], -1)
    count_in(c.rules, c.counts, g, c.value[r], 1)
    _judge(c, h)
    _judge(c, g)
    return change


@compiled_part_in_place
def _judge(c: ValuedState, g: int) -> None:
    s = c.state
    before = c.violation[g]
    now = violation_of(c.rules, c.counts, g, s.size[g], s.least[g])
    c.violation[g] = now
    c.total[0] += now - before
    c.total[1] += int(now > 0) - int(before > 0)


@compiled_part_in_place
def take_back(c: ValuedState) -> None:
    """Take back all moves in the log."""
    s = c.state
    while s.logged[0] > 0:
        last = s.logged[0] - 1
        put(c, wide(s.log_row[last]), wide(s.log_group[last]))
        s.logged[0] = last


@compiled_part_in_place
def with_one(c: ValuedState, g: int, u: int, by: int) -> float:
    """By how much the violation of g changes with one more row of value u, or one less."""
    s = c.state
    count_in(c.rules, c.counts, g, u, by)
    found = violation_of(c.rules, c.counts, g, s.size[g] + by, s.least[g])
    count_in(c.rules, c.counts, g, u, -by)
    return float(found - c.violation[g])


@compiled_part_in_place
def exchanged(c: ValuedState, g: int, u: int, v: int) -> float:
    """By how much the violation of g changes with a row of value u instead of one of v."""
    s = c.state
    count_in(c.rules, c.counts, g, u, 1)
    count_in(c.rules, c.counts, g, v, -1)
    found = violation_of(c.rules, c.counts, g, s.size[g], s.least[g])
    count_in(c.rules, c.counts, g, u, -1)
    count_in(c.rules, c.counts, g, v, 1)
    return float(found - c.violation[g])


@compiled_part_in_place
def may_have(s: State, r: int, g: int) -> bool:
    """Whether candidate g is an option of row r, by bisection (options are sorted by cost, then number)."""
    i = s.type_of[r]
    low, high = s.options.indptr[i], s.options.indptr[i + 1]
    while low < high:
        middle = (low + high) // 2
        other = s.options.values[middle]
        if s.cost[other] < s.cost[g] or (s.cost[other] == s.cost[g] and other < g):
            low = middle + 1
        else:
            high = middle
    return bool(low < s.options.indptr[i + 1] and s.options.values[low] == g)


@compiled_part_in_place
def of_value(c: ValuedState, g: int, u: int) -> tuple[int, int]:
    """Where the rows of value u begin and end in the cover of g."""
    s = c.state
    begin, end = s.covers.indptr[g], s.covers.indptr[g + 1]
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if c.value[s.covers.values[middle]] < u:
            low = middle + 1
        else:
            high = middle
    first, high = low, end
    while low < high:
        middle = (low + high) // 2
        if c.value[s.covers.values[middle]] <= u:
            low = middle + 1
        else:
            high = middle
    return first, low


@compiled_part_in_place
def best_target(c: ValuedState, r: int, closing: int) -> tuple[int, float]:
    """The open candidate at which row r costs least, violations included, and what that changes; -1 if there is none.

    closing: a candidate that is taken for closed.
    """
    s = c.state
    i, h = s.type_of[r], wide(s.group[r])
    u = c.value[r]
    best, chosen = np.inf, -1
    for q in range(s.options.indptr[i], s.options.indptr[i + 1]):
        g = wide(s.options.values[q])
        loss = float(s.cost[g] - s.cost[h])
        if loss >= best:
            break
        if g in (h, closing) or s.size[g] == 0:
            continue
        change = loss + c.price[0] * with_one(c, g, u, 1)
        if change < best:
            best, chosen = change, g
    return chosen, best


@compiled_part_in_place
def of_group(c: ValuedState, h: int) -> int:
    """A row of group h, at random as far as a few tries on its cover find one; -1 where it has none that moves."""
    s = c.state
    begin = s.covers.indptr[h]
    covered = s.covers.indptr[h + 1] - begin
    for _ in range(8):
        r = wide(s.covers.values[begin + draw(s) % covered])
        if s.group[r] == h:
            return r
    return wide(s.first[h])


FRACTION = 0.5  # of a row, that any violation counts in addition: small ones would be bargains
LARGEST = 1 << 62
FINE = 1 << 20  # denominator of limits and weights that are rounded
MOST_COLOURS, PER_VALUE = 128, 8  # columns of an attribute of which different values are all that is asked, at least


class Rules(NamedTuple):
    """What relaxations ask of a group. Counts stand in columns, one for each value of each sensitive attribute.

    columns: int32 (J, attributes), the columns of joint value u. limited: int64 (limited, 5): a column, and the
    numerators and denominators of its least and its largest share. presence: int64 (p, 3): from this column to that
    one at least so many are not 0. Nodes of all trees, children before parents: column: int64, -1 for none, children:
    int64, how many; share, weight: int64. roots: int64 (trees, 5): its last node, denominator of shares, denominator of
    weights, largest EMD cost of a row times both, and of a star whose leaves stand in successive columns the first,
    else -1. below: int64, scratch space.
    """

    columns: Ints32
    limited: Ints
    presence: Ints
    column: Ints
    children: Ints
    share: Ints
    weight: Ints
    roots: Ints
    below: Ints

    @property
    def silent(self) -> bool:
        """Whether nothing but the size is asked for."""
        return not (len(self.limited) or len(self.presence) or len(self.roots))


def rules_of(instance: Instance) -> tuple[Rules, Ints]:
    """The rules of an instance, and the joint sensitive value of each row type, int64 (t,).

    Of an attribute with very many values, such as units of protection, of which only different ones are asked for,
    several share a column. Groups are small beside the columns, so few of their values do; and as those that do count
    as one, a group is not taken for better than it is.
    """
    attributes = instance.problem.attributes
    relaxations, limited, presence, trees = relaxations_of(instance), [], [], []
    of_type, widths = [], []
    for name in attributes:
        code, values = instance.sensitive_codes((name,))
        meant, width = [each for each in relaxations if each.attribute == name], len(values)
        if all(each.convex for each in meant):
            width = min(width, max([MOST_COLOURS, *(PER_VALUE * each.presence for each in meant)]))
        of_type.append(_coloured(code, len(values)) % width if width < len(values) else code)
        widths.append(width)
    begins = indptr_of(np.array(widths, np.int64)).tolist()
    key = mixed_key(of_type, widths) if attributes else np.zeros(instance.types.count, np.int64)
    _, first, value = np.unique(key, return_index=True, return_inverse=True)
    held = [begin + code[first] for begin, code in zip(begins, of_type, strict=False)]
    columns = np.array(held, np.int32).reshape(len(attributes), len(first)).T.copy()
    for begin, end, name in zip(begins, begins[1:], attributes, strict=False):
        meant = [each for each in relaxations if each.attribute == name]
        for v, interval in enumerate([] if all(each.convex for each in meant) else _limits(meant, end - begin)):
            if interval != ALL:
                low, high = _inwards(interval, instance.types.n)
                limited.append((begin + v, low.numerator, low.denominator, high.numerator, high.denominator))
        presence += [(begin, end, each.presence) for each in meant if each.presence > 1]
        trees += [(begin, each) for each in meant if each.closeness is not None]
    nodes = [(begin, node) for begin, each in trees for node in each.nodes]
    scaled = [_scaled(each, instance.types.n) for _, each in trees]
    last = np.cumsum([len(each.nodes) for _, each in trees], dtype=np.int64) - 1
    rules = Rules(
        columns,
        np.array(limited, np.int64).reshape(-1, 5),
        np.array(presence, np.int64).reshape(-1, 3),
        np.array([-1 if node.value is None else begin + node.value for begin, node in nodes], np.int64),
        np.array([node.children for _, node in nodes], np.int64),
        np.array(list(itertools.chain.from_iterable(each[0] for each in scaled)), np.int64),
        np.array(list(itertools.chain.from_iterable(each[1] for each in scaled)), np.int64),
        np.array(
            [
                (end, *each[2], _first_leaf(begin, tree.nodes))
                for end, each, (begin, tree) in zip(last.tolist(), scaled, trees, strict=True)
            ],
            np.int64,
        ).reshape(-1, 5),
        np.zeros(len(nodes) + 1, np.int64),
    )
    return rules, value.astype(np.int64)


def _coloured(code: Ints, values: int) -> Ints:
    """Values numbered as they come in the order of the row types, in which those that are alike stand together."""
    first = np.full(values, len(code), np.int64)
    np.minimum.at(first, code, np.arange(len(code)))
    rank = np.empty(values, np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(values)
    found: Ints = rank[code]
    return found


def _limits(relaxations: Sequence[Relaxation], values: int) -> list[Interval]:
    """The limits of shares that the work does not imply anyway."""
    found, implied = [ALL] * values, [ALL] * values
    for each in relaxations:
        for node in each.nodes:
            if node.value is not None:
                low, high = found[node.value]
                found[node.value] = max(low, node.of_value[0]), min(high, node.of_value[1])
                # in a tree of the metric itself the limits of a node follow from the work
                if not node.children:
                    low, high = implied[node.value]
                    implied[node.value] = max(low, node.of_node[0]), min(high, node.of_node[1])
    return [ALL if a[0] <= b[0] and a[1] >= b[1] else a for a, b in zip(found, implied, strict=True)]


def _inwards(interval: Interval, rows: int) -> Interval:
    """An interval whose products with numbers of rows fit, not larger."""
    low, high = interval
    most = LARGEST // max(rows, 1)
    if low.denominator > most:
        low = Fraction(math.ceil(low * FINE), FINE)
    if high.denominator > most:
        high = Fraction(math.floor(high * FINE), FINE)
    return low, high


def _first_leaf(begin: int, nodes: Sequence[Node]) -> int:
    """The column of the first leaf where nothing but successive leaves stands below the root, else -1."""
    *leaves, root = nodes
    values = [leaf.value for leaf in leaves if not leaf.children]
    star = root.value is None and root.children == len(leaves) == len(values) and root.share == 1
    if not star or not values or values[0] is None or values != list(range(values[0], values[0] + len(values))):
        return -1
    return begin + values[0]


def _scaled(relaxation: Relaxation, rows: int) -> tuple[list[int], list[int], tuple[int, int, int]]:
    """Shares and weights of the nodes as integers; their denominators, and the largest work in these units."""
    assert relaxation.closeness is not None
    scale = math.lcm(*(node.share.denominator for node in relaxation.nodes))
    unit = math.lcm(relaxation.closeness.denominator, *(node.weight.denominator for node in relaxation.nodes))
    edges = math.ceil(sum(node.weight for node in relaxation.nodes)) + 1
    if unit * edges * scale * rows > LARGEST:
        unit = max(LARGEST // (edges * scale * rows), 1)
    weights = [math.ceil(node.weight * unit) for node in relaxation.nodes]
    shares = [int(node.share * scale) for node in relaxation.nodes]
    return shares, weights, (scale, unit, int(relaxation.closeness * unit) * scale)


@compiled_part_in_place
def violation_of(rules: Rules, counts: Ints32, g: int, size: int, least: int) -> float:
    """The violation of a group of so many rows with the counts in line g, of a candidate with this smallest size; 0
    for an empty one."""
    if size <= 0 or least < 0:
        return 0.0
    found = float(max(least - size, 0))
    limited = rules.limited
    for j in range(len(limited)):
        held = int(counts[g, limited[j, 0]])
        over = held * limited[j, 4] - limited[j, 3] * size
        if over > 0:
            found += over / limited[j, 4]
        elif limited[j, 1] * size > held * limited[j, 2]:
            found += (limited[j, 1] * size - held * limited[j, 2]) / limited[j, 2]
    for j in range(len(rules.presence)):
        lacking = rules.presence[j, 2]
        for v in range(rules.presence[j, 0], rules.presence[j, 1]):
            if counts[g, v] > 0:
                lacking -= 1
                if lacking == 0:
                    break
        found += max(lacking, 0)
    node = 0
    for j in range(len(rules.roots)):
        scale, most = rules.roots[j, 1], rules.roots[j, 3] * size
        top, work, first = 0, 0, rules.roots[j, 4]
        if first >= 0:
            first -= node
            while node < rules.roots[j, 0]:
                work += rules.weight[node] * abs(scale * int(counts[g, first + node]) - rules.share[node] * size)
                node += 1
            node += 1
        while node <= rules.roots[j, 0]:
            inside = int(counts[g, rules.column[node]]) if rules.column[node] >= 0 else 0
            for _ in range(rules.children[node]):
                top -= 1
                inside += rules.below[top]
            work += rules.weight[node] * abs(scale * inside - rules.share[node] * size)
            rules.below[top] = inside
            top += 1
            node += 1
        if work > most:
            found += (work - most) / (float(scale) * rules.roots[j, 2])
    return found + FRACTION if found > 0 else 0.0


@compiled_part_in_place
def count_in(rules: Rules, counts: Ints32, g: int, u: int, rows: int) -> None:
    """So many more rows of joint value u in line g."""
    for a in range(rules.columns.shape[1]):
        counts[g, rules.columns[u, a]] += rows
