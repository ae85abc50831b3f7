"""How far a group is from what its requirements ask for, from its numbers of rows by sensitive value; compiled.

It is read off the relaxations of the requirements (`kanon_milp.bounds.relaxations`), whatever these requirements are:
rows that lack to the smallest size, rows above and below limits of shares, different values that lack, and rows times
distance of the work that is too much. Its unit is about one row that has to be exchanged. All comparisons are in
integers; where limits or weights do not fit, they are rounded so that a group is never taken for better than it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kanon_milp.bounds.relaxations import ALL, WIDEST, Interval, Node, Relaxation, relaxations_of
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.privacy.base import facts_of, is_size_only
from kanon_milp.system.arrays import Ints, Ints32
from kanon_milp.system.jit import compiled_part_in_place

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
    weights, largest work of a row times both, and of a star whose leaves stand in successive columns the first, else
    -1. below: int64, room to work in.
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


def says_all(instance: Instance) -> bool:
    """Whether a group without a violation satisfies every requirement."""
    for requirement in instance.problem.requirements:
        facts = facts_of(requirement, instance.table_group)
        if is_size_only(requirement):
            continue
        if not facts or not all(fact.complete for fact in facts):
            return False
        for limit in (fact.emd for fact in facts if fact.emd is not None):
            # for other metrics there is a star that is nowhere longer
            tree = limit.space.tree
            if len(limit.space.values) > 2 and (tree is None or len(tree.parent) > WIDEST):
                return False
    return True


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
