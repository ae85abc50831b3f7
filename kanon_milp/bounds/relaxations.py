"""What requirements ask of the numbers of rows X_σ by sensitive value in a group, as views of the tables' values.

    p-sensitivity, distinct l-diversity      p different values
    Blocki-Williams l-diversity              l different values of each attribute (necessary)
    frequency l-diversity                    X_σ ≤ S/l
    (α,k)-anonymity, β-likeness, δ           upper and lower shares as they declare them (δ as published)
    t-closeness                              intervals of shares for the values and the nodes of a tree metric, and the
                                             EMD cost itself, charged with a multiplier θ_g

Interval of t-closeness: the rows X_v of a group below a node v and the table's share p_v of these values differ by
|X_v - p_v·S|, and all of that mass goes from below v to elsewhere: at least the least distance δ_v between a value
below v and another one. So |X_v/S - p_v| ≤ t/δ_v. For the equal distance these intervals say everything where there
are at most three values (every set of values is one value or all but one), for any distance where there are two.

Each view is necessary for every group, so the largest φ_g over the views is a lower bound, and exact where there is one
view that says all (`View.exact`). Limits and different values of one attribute are one view; a tree metric is another
one where different values are asked for as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.covers import ordered_covers
from kanon_milp.kernels.tree_subproblem import TreeArrays, ValuedCandidates
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.problem.distances import Space
from kanon_milp.problem.distances.base import Tree
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.privacy.base import facts_of, is_size_only
from kanon_milp.problem.privacy.t_closeness import is_equal
from kanon_milp.system.arrays import Floats, Ints, Ints32

Scalar = TypeVar("Scalar", np.float64, np.int64)

Interval = tuple[Fraction, Fraction]

ALL: Interval = (Fraction(0), Fraction(1))
WIDEST = 300  # nodes of a tree whose EMD cost is charged, and values whose pairs are all looked at
MANY = 256  # values, such as units of protection
COMPARED = 60  # values for which the pairs are looked at for every node of a tree
FINEST, ROUGH = 1 << 31, 1 << 20  # numerators and denominators of limits: with a size they stay in int64
TICK, TOLERANCE = 2.0**-40, 1e-9


@dataclass(frozen=True)
class Node:
    """A node of a view: its own value (position) and limits, its number of children, limits below it, share and weight
    of the edge above it."""

    value: int | None
    children: int
    of_value: Interval = ALL
    of_node: Interval = ALL
    share: Fraction = Fraction(0)
    weight: Fraction = Fraction(0)

    @property
    def of_own(self) -> Interval:
        """Limits of its own value; of a leaf, the node's as well."""
        return self.of_value if self.children else _both(self.of_value, self.of_node)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Nodes in post-order, the root last; a charge of the EMD cost above `closeness` a row where there is one.

    attribute: the sensitive attribute. exact: whether a group is allowed exactly if it meets the view (with charges the
    minimum is a relaxation all the same).
    """

    attribute: str
    nodes: tuple[Node, ...]
    presence: int = 1
    closeness: Fraction | None = None
    exact: bool = False

    @property
    def ranks(self) -> list[int]:
        """Positions of the values in the order of the nodes."""
        return [node.value for node in self.nodes if node.value is not None]

    @property
    def convex(self) -> bool:
        """Whether the exact value is convex in the size: no limits, no charges.

        Then a group of S rows is the cheapest first rows of p values and the cheapest S - p others (any group with p
        values can be changed into it row by row), and one more row costs the next cheapest.
        """
        return self.closeness is None and all(node.of_value == node.of_node == ALL for node in self.nodes)

    @property
    def plain(self) -> bool:
        """Whether different ones of many values are all that is asked: the groups are found in covers sorted by
        multiplier then (`bounds.closed_form.different_values`)."""
        return len(self.nodes) > MANY and self.convex and self.star

    @property
    def star(self) -> bool:
        """Whether the tree has one level, all values below the root."""
        leaves = self.nodes[:-1]
        return all(not node.children and node.value is not None for node in leaves) and self.nodes[-1].value is None

    @property
    def line(self) -> bool:
        """Whether the tree is a path with a value at each node, from one end to the other."""
        return all(node.value is not None and node.children == (v > 0) for v, node in enumerate(self.nodes))

    def floats(self) -> TreeArrays[np.float64]:
        """The view in floating point."""
        share = np.array([float(node.share) for node in self.nodes])
        weight = np.array([float(node.weight) for node in self.nodes])
        value_grid = np.array([[float(x) for x in node.of_own] for node in self.nodes])
        node_grid = np.array([[float(x) for x in node.of_node] for node in self.nodes])
        one = np.float64(1.0)
        t = np.float64(self.closeness or 0)
        return TreeArrays(
            *self._table_group(), value_grid, node_grid, share, weight, t, self.presence, self.convex, one,
            np.float64(TICK), np.float64(0.0), np.float64(TOLERANCE), self.star,
        )  # fmt: skip

    def integers(self, grain: int) -> TreeArrays[np.int64]:
        """The view in integer multiples of 1/grain, rounded so that no minimum becomes larger.

        |X - share·S| falls by at most S/grain where the share is rounded (`slack`), a lesser weight charges less.
        """
        share = np.array([int(node.share * grain) for node in self.nodes], np.int64)
        weight = np.array([int(node.weight * grain) for node in self.nodes], np.int64)
        value_grid = np.array([_outwards(node.of_own, grain) for node in self.nodes], np.int64)
        node_grid = np.array([_outwards(node.of_node, grain) for node in self.nodes], np.int64)
        t = np.int64(_up((self.closeness or Fraction(0)) * grain))
        one = np.int64(1)
        return TreeArrays(
            *self._table_group(), value_grid, node_grid, share, weight, t, self.presence, self.convex,
            np.int64(grain), one, one, np.int64(0), self.star,
        )  # fmt: skip

    def _table_group(self) -> tuple[Ints, Ints, Ints, Ints]:
        """own, children, of_value, of_node."""
        rank = {value: number for number, value in enumerate(self.ranks)}
        own = np.array([-1 if node.value is None else rank[node.value] for node in self.nodes], np.int64)
        children = np.array([node.children for node in self.nodes], np.int64)
        of_value = np.array([_parts(node.of_own) for node in self.nodes], np.int64)
        of_node = np.array([_parts(node.of_node) for node in self.nodes], np.int64)
        return own, children, of_value, of_node


@dataclass(frozen=True, eq=False)
class Cells:
    """The row types of one relaxation.

    rank: int64 (t,), place of the sensitive value. indptr, value, begin: per candidate the values of its cover, and
    where each begins in the cover sorted by value (one more than values).
    """

    rank: Ints
    indptr: Ints
    value: Ints
    begin: Ints

    @classmethod
    def of(cls, instance: Instance, relaxation: Relaxation) -> Cells:
        """The cells of a relaxation's attribute."""
        candidates = instance.candidates
        code, values = instance.sensitive_codes((relaxation.attribute,))
        place = np.empty(len(values), np.int64)
        place[relaxation.ranks] = np.arange(len(values))
        rank = place[code]
        key, members = np.unique(
            candidates.candidate_of_pair().astype(np.int64) * len(values) + rank[candidates.members], return_counts=True
        )
        of = key // len(values)
        indptr = indptr_of(np.bincount(of, minlength=candidates.count))
        # ends of the cells, and a 0 before those of each candidate
        ends = np.cumsum(members) - candidates.indptr[of]
        begin = np.insert(ends, indptr[:-1], 0)
        return cls(rank, indptr, key % len(values), begin)

    def covers(self, instance: Instance, multipliers: Floats | Ints) -> Ints32:
        """The covers, each sorted by value, then by falling multiplier."""
        order = np.lexsort((-multipliers, self.rank))
        return ordered_covers(*instance.candidates.covers, order)

    def candidates(
        self,
        instance: Instance,
        covers: Ints32,
        cost: NDArray[Scalar],
        thetas: NDArray[Scalar],
        begin: int = 0,
        end: int | None = None,
    ) -> ValuedCandidates[Scalar]:
        """The candidates of an instance, or begin:end of them, with covers sorted as by `covers`, costs and charges."""
        end = len(cost) if end is None else end
        each, fences = slice(begin, end), slice(begin, end + 1)
        return ValuedCandidates(
            instance.candidates.indptr[fences], covers, self.indptr[fences], self.value, self.begin[begin:],
            cost[each], instance.least[each], instance.candidates.support[each], thetas[each],
        )  # fmt: skip


def _up(number: Fraction) -> int:
    return -int(-number // 1)


def _outwards(interval: Interval, grain: int) -> tuple[int, int]:
    """An interval in multiples of 1/grain, not smaller."""
    return int(interval[0] * grain // 1), _up(interval[1] * grain)


def _parts(interval: Interval) -> tuple[int, int, int, int]:
    """Numerators and denominators of an interval; of a larger one where these are too long."""
    low, high = interval
    if max(low.denominator, high.denominator) >= FINEST:
        rounded = _outwards(interval, ROUGH)
        low, high = Fraction(rounded[0], ROUGH), Fraction(rounded[1], ROUGH)
    return low.numerator, low.denominator, high.numerator, high.denominator


def relaxations_of(instance: Instance) -> tuple[Relaxation, ...]:
    """The views of a problem's requirements, at least one for each sensitive attribute that they are about.

    They are made once for an instance: one of 100,000 values, such as units of protection, takes seconds.
    """
    if instance not in _MADE:
        _MADE[instance] = _relaxations(instance)
    return _MADE[instance]


_MADE: WeakKeyDictionary[Instance, tuple[Relaxation, ...]] = WeakKeyDictionary()


def _relaxations(instance: Instance) -> tuple[Relaxation, ...]:
    problem, found = instance.problem, list[Relaxation]()
    alone = len(problem.attributes) == 1 and all(r.attributes or is_size_only(r) for r in problem.requirements)
    for attribute in problem.attributes:
        meant = [r for r in problem.requirements if attribute in r.attributes]
        _, joint = instance.sensitive_codes((attribute,))
        values = [value for (value,) in joint]
        found += _views(attribute, meant, values, instance)
    return tuple(replace(relaxation, exact=relaxation.exact and alone and len(found) == 1) for relaxation in found)


def _views(attribute: str, meant: Sequence[Requirement], values: list[Label], instance: Instance) -> list[Relaxation]:
    """One view of limits and different values, and one for each ground distance."""
    counts = instance.table_group.sensitive[attribute]
    shares = [Fraction(counts[value], instance.table_group.size) for value in values]
    limits, presence, exact, trees = [ALL] * len(values), 1, True, []
    for each in meant:
        # its facts about this attribute; a requirement that has none asks for more than they say
        facts = [fact for fact in facts_of(each, instance.table_group) if fact.attribute == attribute]
        if each.exempts and instance.exempt_reading:
            facts = []  # of fully suppressed rows nothing of this is asked
        exact = exact and bool(facts) and all(fact.complete for fact in facts)
        for fact in facts:
            lower, upper = fact.lower, fact.upper
            if lower or upper:
                limits = [
                    _both(a, (lower.get(value, Fraction(0)), upper.get(value, Fraction(1))))
                    for a, value in zip(limits, values, strict=True)
                ]
            presence = max(presence, fact.different)
            if fact.emd is None:
                continue
            space, t = fact.emd.space, fact.emd.t
            order = [space.values.index(value) for value in values]
            apart = _apart(space)
            around = [_around(share, t, apart[at]) for share, at in zip(shares, order, strict=True)]
            limits = [_both(a, b) for a, b in zip(limits, around, strict=True)]
            if len(values) > 2 and not (len(values) == 3 and is_equal(space)):
                trees.append((t, space, order))
    found = []
    leaves = [Node(v, 0, of_value=limits[v]) for v in range(len(values))]
    if presence > 1 or not trees:
        found.append(Relaxation(attribute, (*leaves, Node(None, len(values))), presence, exact=exact))
    views = [_tree_view(attribute, t, space, order, shares, limits) for t, space, order in trees]
    return found + [replace(view, exact=view.exact and exact) for view in views]


def _both(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), min(a[1], b[1])


def _around(share: Fraction, t: Fraction, apart: Fraction) -> Interval:
    """What a share may be where t allows this much EMD cost, and each unit of mass moves at least so far."""
    if not apart:
        return ALL
    return max(Fraction(0), share - t / apart), min(Fraction(1), share + t / apart)


def _apart(space: Space) -> list[Fraction]:
    """The distance of each value to the nearest other one; 0, which is never too large, where there are many."""
    count = len(space.values)
    if count > WIDEST:
        return [Fraction(0)] * count
    return [Fraction(min(space.distance(i, j) for j in range(count) if j != i), space.scale) for i in range(count)]


def _tree_view(
    attribute: str,
    t: Fraction,
    space: Space,
    order: Sequence[int],
    shares: Sequence[Fraction],
    limits: Sequence[Interval],
) -> Relaxation:
    """The EMD cost in the tree of a metric; of one that is no tree's in the star that is nowhere longer.

    In the star each leaf hangs on half the distance of its value to the nearest one: d(i, j) ≥ (a_i + a_j) / 2.
    """
    count = len(shares)
    position = {at: v for v, at in enumerate(order)}
    tree, scale = space.tree, space.scale
    if tree is None or len(tree.parent) > WIDEST:
        nearest = _apart(space)
        nodes = [Node(v, 0, limits[v], share=shares[v], weight=nearest[order[v]] / 2) for v in range(count)]
        return Relaxation(attribute, (*nodes, Node(None, count)), closeness=t)
    children: dict[int, list[int]] = {}
    for v, parent in enumerate(tree.parent):
        children.setdefault(parent, []).append(v)
    found: list[Node] = []

    def visit(v: int) -> tuple[set[int], Fraction]:
        """Append the nodes below v and v itself: the values below it, and their share."""
        below, share = set[int](), Fraction(0)
        for child in children.get(v, ()):
            values, part = visit(child)
            below, share = below | values, share + part
        if v < count:
            below, share = below | {v}, share + shares[position[v]]
        weight = Fraction(tree.weight[v], scale)
        apart = _between(space, below) if 0 < len(below) < count <= COMPARED else weight
        around = _around(share, t, apart) if 0 < len(below) < count else ALL
        found.append(
            Node(
                position.get(v),
                len(children.get(v, ())),
                limits[position[v]] if v < count else ALL,
                around,
                share,
                weight,
            )
        )
        return below, share

    visit(_root(tree))
    return Relaxation(attribute, tuple(found), closeness=t, exact=True)


def _root(tree: Tree) -> int:
    return tree.order[-1]


def _between(space: Space, inside: set[int]) -> Fraction:
    """The least distance of one of these values to another one."""
    outside = [j for j in range(len(space.values)) if j not in inside]
    return Fraction(min(space.distance(i, j) for i in inside for j in outside), space.scale)
