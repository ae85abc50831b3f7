"""Branch and bound with rank-1 cuts: the rest of the way from the bound of a master problem to a proof.

A node is the instance without some pairs: those that reduced costs have fixed, and those of the branches that lead to
it (`kanon_milp.bounds.columns.strong_branching`). Every node has a master problem of its own, which begins with the
groups, the rank-1 cuts, the multipliers and the basis of the one it came from; the cuts hold for the whole table, so
they hold in every node. Losses are integers, so all nodes with the least ⌈L⌉ must be solved before the bound can rise:
the deepest of these is next, which comes to tables soon.

What a node proves is L at its multipliers, in integers (`kanon_milp.bounds.dual.exact_value`) over the pairs that it
has: linear programs only find these multipliers. A pair goes if no table below the cutoff uses it (`ReducedCosts`), a
node if its L is above cutoff - 1. Each table below the cutoff is thus in an open node as long as there is none, so

    min (cutoff, least ⌈L⌉ of an open node)

is a bound at any time.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closed_form import PricedCandidates
from kanon_milp.bounds.columns.ascent import MARGIN
from kanon_milp.bounds.columns.master import Basis, Master
from kanon_milp.bounds.columns.program import GroupProgram, Prices
from kanon_milp.bounds.columns.separation import separate
from kanon_milp.bounds.columns.strong_branching import Pairs, best_pair
from kanon_milp.bounds.dual import DualPoint, exact_value, round_dual
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.presolve.reductions.base import Dropped, drop_pairs
from kanon_milp.system.limit import Limit

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

NEAR = 0.05  # units between the two bounds of a node's master problem that are good enough
ROUNDS, ADDED = 2, 150  # of rank-1 cuts in a node, and cuts in each
RISE = 0.05  # units that a round must raise the bound by for another one
# after so many branches that do not raise the bound by this, a point is likely to be near a table, and the solver soon
# finds it in a node with no more than so many pairs
STALLED, STALLED_RISE, STALLED_PAIRS = 3, Fraction(1, 50), 2_500

Leaf: TypeAlias = Callable[[Dropped, int], tuple[int, int] | None]
"""Solves a node, below a cutoff: a bound on the tables in it, the cutoff where none of them is below that, and the loss
of the best table by now; None where it proves nothing."""
Look: TypeAlias = Callable[["Point", int], int | None]
"""Sees the point of a node that was solved, and the bound by now; the loss of the best table by now, None to stop."""


@dataclass(frozen=True, eq=False)
class Point:
    """Of a node's master problem: how often it opens each candidate, float64 (G,); multipliers of the row types,
    float64 (t,); the pairs of the node, bool (pairs,)."""

    opened: Floats
    multipliers: Floats
    pairs: Flags


@dataclass(frozen=True, eq=False)
class Node:
    """bound: no table of it loses less, in units. pairs: bool (pairs,), those it has. dual: its multipliers. groups,
    basis: what its master problem begins with. scores: what is known of pairs to branch on, shared with its sibling.
    depth: number of branches. idle: how many of the last ones have not raised the bound."""

    bound: Fraction
    pairs: Flags
    dual: DualPoint
    groups: Groups
    basis: Basis | None
    scores: dict[int, float] = field(repr=False)
    depth: int = 0
    idle: int = 0


class BranchAndBound:
    """The open nodes, and what they prove.

    cutoff: only tables that lose less are looked for, in units; falls when `look` says so. nodes: how many have been
    solved. left: a node that neither could be branched on nor solved by the leaf keeps the bound down.
    """

    def __init__(self, instance: Instance, dual: DualPoint, groups: Groups, cutoff: int, known: int = 0) -> None:
        """dual: multipliers with cuts, for this instance. groups: the first columns; others than the instance has do
        not matter. known: no table loses less, as is proven already; nodes with less are as good as any."""
        self._known = min(known, cutoff)
        self.instance, self.cutoff, self.nodes, self._root = instance, cutoff, 0, dual
        self.pairs = Pairs.of(instance)
        packing = PackingCuts.of(instance, dual.sets)
        candidates = instance.candidates
        self._surcharge = packing.surcharge(dual.packing_multipliers, candidates.count).astype(np.float64)
        # what the packing cuts cost on the right side; the linear programs know nothing of it
        self._right = float(packing.limits @ dual.packing_multipliers) if dual.sets.lists else 0.0
        every = np.ones(candidates.pairs, dtype=bool)
        first = groups.subset(self.pairs.within(groups, every))
        self._open: list[tuple[int, int, Fraction, int, Node]] = []
        self._number = itertools.count()
        self._unsolved: list[int] = []
        root = Node(Fraction(0), every, dual, first, None, {})
        self._push(self._proven(root, dual))

    @property
    def bound(self) -> int:
        """No table loses less, in units; the cutoff at most."""
        return min([self.cutoff, *(entry[0] for entry in self._open[:1]), *self._unsolved])

    @property
    def open(self) -> int:
        """Nodes that are left."""
        return len(self._open) + len(self._unsolved)

    def solve(self, limit: Limit, small: int, leaf: Leaf, look: Look) -> bool:
        """Until no node is open, or the limit. small: pairs up to which a node is given to `leaf`.

        Whether every node is closed, so that no table loses less than the cutoff. An `Over` out of `leaf` or `look`
        leaves the bound as it was.
        """
        while self._open and not limit.over:
            # it stays in the heap until it is known what takes its place
            found = self._solve_node(self._open[0][-1], limit, small, leaf, look)
            if found is None:
                break
            heapq.heappop(self._open)
            for each in found:
                self._push(each)
            self.nodes += 1
            self._open = [entry for entry in self._open if entry[0] < self.cutoff]
            heapq.heapify(self._open)
            self._unsolved = [each for each in self._unsolved if each < self.cutoff]
        return not self.open

    def _push(self, node: Node | None) -> None:
        if node is not None:
            heapq.heappush(
                self._open, (max(math.ceil(node.bound), self._known), -node.depth, node.bound, next(self._number), node)
            )

    def _solve_node(self, node: Node, limit: Limit, small: int, leaf: Leaf, look: Look) -> list[Node] | None:
        """What takes its place; None where the limit came first."""
        master = self._master(node)
        self._raise(master, limit)
        if limit.over:
            return None
        raised = self._proven(node, self._point(master), master)
        if raised is None:
            return []
        share = np.array(master.highs.getSolution().col_value)[2 * self.pairs.types :]
        of = master.groups.candidate[: len(share)]
        opened: Floats = np.bincount(of, weights=share, minlength=len(self._surcharge)).astype(np.float64)
        loss = look(Point(opened, raised.dual.multipliers, raised.pairs), self.bound)
        if loss is None:
            return None
        if loss < self.cutoff:
            self.cutoff = loss
            return [raised]
        pair = None
        if raised.pairs.sum() > (max(small, STALLED_PAIRS) if raised.idle >= STALLED else small):
            room = self.cutoff - 1 + self._right - float(master.value)
            pair = best_pair(master, self.pairs, raised.pairs, room, raised.scores, limit)
        if limit.over:
            return None
        if pair is None:
            return self._leaf(raised, limit, leaf)
        return self._children(replace(raised, groups=master.groups, basis=master.basis), pair, limit)

    def _leaf(self, node: Node, limit: Limit, leaf: Leaf) -> list[Node] | None:
        found = leaf(self._step(node.pairs), self.cutoff)
        if found is None and limit.over:
            return None
        proven, loss = (0, self.cutoff) if found is None else found
        self.cutoff = min(self.cutoff, loss)
        if proven < self.cutoff:
            self._unsolved.append(max(math.ceil(node.bound), proven))
        return []

    def _children(self, parent: Node, pair: int, limit: Limit) -> list[Node] | None:
        """The two sides of a pair, as far as their columns raise the bound."""
        found, scores = [], dict(parent.scores)
        for side in self.pairs.sides(parent.pairs, pair):
            if not self._covered(side):
                continue
            within = self.pairs.within(parent.groups, side)
            basis = None if parent.basis is None else parent.basis.without(2 * self.pairs.types, within)
            groups = parent.groups.subset(within)
            child = Node(parent.bound, side, parent.dual, groups, basis, scores, parent.depth + 1)
            master = self._master(child)
            master.solve(limit, NEAR)
            if limit.over:
                return None
            closer = self._proven(child, self._point(master), master)
            if closer is not None:
                rises = closer.bound > parent.bound + STALLED_RISE
                found.append(replace(closer, idle=0 if rises else parent.idle + 1))
        return found

    def _raise(self, master: Master, limit: Limit) -> None:
        """Columns, and some rounds of rank-1 cuts."""
        solved = master.solve(limit, NEAR)
        for _ in range(ROUNDS):
            before = master.value
            if solved is None or limit.over or before > master.enough:
                return
            share = np.concatenate([solved.share, np.zeros(master.groups.count - len(solved.share))])
            cuts = separate(master.groups, share, master.program.counts, ADDED, master.cuts)
            if not cuts.count:
                return
            master.add_cuts(cuts)
            solved = master.solve(limit, NEAR)
            if solved is not None:
                master.purge_cuts(solved.prices)
            if master.value - before < RISE:
                return

    def _master(self, node: Node) -> Master:
        """Candidates keep their numbers, and have no row types where nothing is left."""
        candidates, pairs, dual = self.instance.candidates, node.pairs, node.dual
        indptr = indptr_of(np.bincount(self.pairs.candidate[pairs], minlength=candidates.count))
        priced = PricedCandidates(
            indptr, candidates.members[pairs], candidates.cost.astype(np.float64),
            self.instance.least.astype(np.float64), self._surcharge,
        )  # fmt: skip
        start = Prices(dual.multipliers, dual.cut_multipliers)
        program = GroupProgram(priced, self.instance.types.counts, dual.rank_one_cuts, start)
        master = Master(program, node.groups, node.basis)
        master.enough = self.cutoff - 1 + self._right + MARGIN
        return master

    def _point(self, master: Master) -> DualPoint:
        """The best multipliers; cuts without one go."""
        master.drop_idle_cuts()
        best, dual = master.best, self._root
        return replace(
            dual,
            multipliers=best.multipliers,
            value=master.value - self._right,
            rank_one_cuts=master.cuts,
            cut_multipliers=best.cut_multipliers,
        )

    def _proven(self, node: Node, dual: DualPoint, master: Master | None = None) -> Node | None:
        """The node with these multipliers, fixed by them; None where it has no table below the cutoff.

        master: what found them; its groups and basis are the next ones.
        """
        step = self._step(node.pairs)
        exact = round_dual(dual)
        inside = self._inside(node.pairs, step)
        if not self._covered(inside):
            return None
        value = max(exact_value(step.instance, exact), node.bound)
        if value > self.cutoff - 1:
            return None
        left = np.zeros_like(inside)
        left[np.flatnonzero(inside)[ReducedCosts(exact, self.cutoff).possible(step.instance)[1]]] = True
        if not self._covered(left):
            return None
        groups, basis = (node.groups, node.basis) if master is None else (master.groups, master.basis)
        within = self.pairs.within(groups, left)
        kept = None if basis is None else basis.without(2 * self.pairs.types, within)
        return Node(value, left, dual, groups.subset(within), kept, node.scores, node.depth, node.idle)

    def _step(self, pairs: Flags) -> Dropped:
        """The instance with these pairs, without candidates that cover too few rows."""
        return drop_pairs("branching", self.instance, np.ones(self.instance.candidates.count, dtype=bool), pairs)

    def _inside(self, pairs: Flags, step: Dropped) -> Flags:
        """Those of the pairs whose candidates are left, in the order of the step's instance."""
        kept = np.zeros(self.instance.candidates.count, dtype=bool)
        kept[step.origin] = True
        found: Flags = pairs & kept[self.pairs.candidate]
        return found

    def _covered(self, pairs: Flags) -> bool:
        """Whether each row type has a pair."""
        return bool(np.bincount(self.pairs.member[pairs], minlength=self.pairs.types).all())
