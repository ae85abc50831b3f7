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
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kanon_milp.bounds.relaxations import ALL, Interval, Node, Relaxation, relaxations_of
from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.heuristics.state import Board, State
from kanon_milp.kernels.valued_state import ValuedState, recount
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.system.arrays import Flags, Ints, Ints32

LARGEST = 1 << 62
FINE = 1 << 20  # denominator of limits and weights that are rounded
MOST_COLOURS, PER_VALUE = 128, 8  # columns of an attribute of which different values are all that is asked, at least


class RuleArrays(NamedTuple):
    """What relaxations ask of a group, as `kernels.rules.Rules` has it."""

    columns: Ints32
    limited: Ints
    presence: Ints
    column: Ints
    children: Ints
    share: Ints
    weight: Ints
    roots: Ints

    @property
    def silent(self) -> bool:
        """Whether nothing but the size is asked for."""
        return not (len(self.limited) or len(self.presence) or len(self.roots))


class ValuedArrays(NamedTuple):
    """What rows under requirements are made of, so that other processes can make them, too.

    state: rows of each cover in the order of their values. value: int64 (rows,), joint value of a row. parked: int32
    (G+1, columns), rows that never move. cell: what a cell costs.
    """

    state: State
    rules: RuleArrays
    value: Ints
    parked: Ints32
    cell: float

    def rows(self) -> ValuedState:
        """These rows; groups and sizes of the state follow their moves."""
        return ValuedState(self.state, self.rules, self.value, self.parked, self.cell)

    def own(self, group: Ints32, random: int) -> ValuedArrays:
        """The same with a copy of what changes."""
        return self._replace(state=self.state.own(group, random))


@dataclass(frozen=True, eq=False)
class ValuedBoard:
    """A board, and its rows under the requirements."""

    board: Board
    arrays: ValuedArrays
    rows: ValuedState

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
        arrays = ValuedArrays(s, rules, of_row, parked, board.cell)
        own = arrays.rows()
        return cls(replace(board, state=s, rows=own), arrays, own)

    def placed(self) -> Assignment:
        """The table on the board, whatever its groups violate; no row is nowhere."""
        board, state = self.board, self.board.state
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
        self.board.state.group[:] = group
        recount(self.rows)


def rules_of(instance: Instance) -> tuple[RuleArrays, Ints]:
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
    rules = RuleArrays(
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
