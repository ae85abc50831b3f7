"""Branch and bound with rank-1 cuts: the rest of the way from the bound of a master problem to a proof.

A node is the instance without some pairs: those that reduced costs have fixed, and those of the branches that lead to
it (`kanon_milp.bounds.columns.strong_branching`). Every node has a master problem of its own, which begins with the
groups, the rank-1 cuts, the multipliers and the basis of the one it came from; the cuts hold for the whole table, so
they hold in every node. Losses are integers, so all nodes with the least ⌈L⌉ must be solved before the bound can rise:
the deepest of these is next, which comes to tables soon.

What a node proves is L at its multipliers, in integers over the pairs that it has: linear programs only find these
multipliers. A pair goes if no table below the cutoff uses it (reduced costs), a node if its L is above cutoff - 1. What
L is, and what is proven, depends on what is required (`NodeBounds`). Each table below the
cutoff is thus in an open node as long as there is none, so

    min (cutoff, least ⌈L⌉ of an open node)

is a bound at any time.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from kanon_milp.bounds.closed_form import PricedCandidates
from kanon_milp.bounds.columns.cut_rounds import MARGIN
from kanon_milp.bounds.columns.master import Basis, Master
from kanon_milp.bounds.columns.program import GroupProgram, RequiredProgram
from kanon_milp.bounds.columns.strong_branching import Pairs, best_pair
from kanon_milp.bounds.dual import FINE, DualPoint, Proof, prove, round_dual
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.parameters import BranchParameters
from kanon_milp.bounds.rank_one_cuts import separate
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.kernels.volume import dot
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import Dropped, drop_pairs, with_pairs
from kanon_milp.system.arrays import Flags, Floats
from kanon_milp.system.limit import NO_LIMIT, Limit

Leaf: TypeAlias = Callable[[Dropped, int], tuple[int, int] | None]
"""Solves a node, below a cutoff: a bound on the tables in it, the cutoff where none of them is below that, and the loss
of the best table by now; None where it proves nothing."""
Look: TypeAlias = Callable[["Node", int], int | None]
"""Sees a node that was solved, with the shares in which its linear program opens candidates and the columns that a
table below the cutoff may use, and the bound by now; the loss of the best table by now, None to stop."""


class NodeBounds:
    """What bounds the nodes of an instance: the linear program over the groups that each has, and a proof in integers.

    start: where the first node begins; its packing cuts keep their multipliers in all nodes, and its charges are those
    of all nodes, which pricing makes better: any are valid. groups: the first columns; others than the instance has do
    not matter. constant: what the linear program has more than the bound, in units.  careful: whether a round that
    takes long is cut short, since groups may be hard to find under some cuts, and branches do without these.
    """

    def __init__(self, instance: Instance, start: DualPoint, groups: Groups) -> None:
        self.instance, self.start, self.groups = instance, start, groups
        self.careful = start.charges is not None
        packing = PackingCuts.of(instance, start.sets)
        surcharge = packing.surcharge(start.packing_multipliers, instance.candidates.count)
        self._surcharge = surcharge.astype(np.float64)
        # what the packing cuts cost on the right side; the linear programs know nothing of it
        self.constant = dot(packing.limits.astype(np.float64), start.packing_multipliers) if start.sets.lists else 0.0

    def program(self, pairs: Flags, at: DualPoint) -> GroupProgram:
        """Over all groups of a node. pairs: bool (pairs,), those it has."""
        fewer = with_pairs(self.instance, pairs)
        charges = self.start.charges
        if charges is not None:
            program = RequiredProgram.of(fewer, replace(at, charges=charges))
            return replace(program, thetas=charges) if len(charges) else program
        candidates = fewer.candidates
        priced = PricedCandidates(
            candidates.indptr, candidates.members, candidates.cost.astype(np.float64),
            self.instance.least.astype(np.float64), self._surcharge,
        )  # fmt: skip
        return GroupProgram(priced, self.instance.types.counts, at)

    def prove(self, node: Dropped, at: DualPoint) -> Proof:
        """What a point proves. Raises InputError where the numbers could leave the range of int64."""
        start, charges = self.start, self.start.charges
        if charges is not None and len(charges):
            charges = charges[node.origin]
        point = DualPoint(
            at.multipliers,
            sets=start.sets,
            packing_multipliers=start.packing_multipliers,
            rank_one_cuts=at.rank_one_cuts,
            cut_multipliers=at.cut_multipliers,
            charges=charges,
        )
        return prove(node.instance, round_dual(point, FINE if self.careful else None), priced=self.careful)


def renumbered(groups: Groups, step: Dropped) -> Groups:
    """Groups of the instance before as ones after it; those of candidates that are gone are left out."""
    number = np.full(step.before.candidates.count, -1, dtype=np.int64)
    number[step.origin] = np.arange(len(step.origin))
    candidate = number[groups.candidate]
    some = groups.subset(candidate >= 0)
    return Groups(candidate[candidate >= 0], some.types, some.copies)


@dataclass(frozen=True, eq=False)
class Node:
    """bound: no table of it loses less, in units. pairs: bool (pairs,), those it has. at: its multipliers. groups,
    basis: what its master problem begins with. scores: what is known of pairs to branch on, shared with its sibling.
    depth: number of branches. idle: how many of the last ones have not raised the bound. hard: pairs of the last node
    on the way here that the solver has not solved."""

    bound: Fraction
    pairs: Flags
    at: DualPoint
    groups: Groups
    basis: Basis | None
    scores: dict[int, float] = field(repr=False)
    depth: int = 0
    idle: int = 0
    hard: float = math.inf


class BranchAndBound:
    """The open nodes, and what they prove.

    cutoff: only tables that lose less are looked for, in units; falls when `look` says so. nodes: how many have been
    solved. left: a node that neither could be branched on nor solved by the leaf keeps the bound down.
    """

    def __init__(self, bounds: NodeBounds, cutoff: int, known: int = 0, params: BranchParameters | None = None) -> None:
        """known: no table loses less, as is proven already; nodes with less are as good as any."""
        self.params = params or BranchParameters()
        self._stalled_rise = Fraction(self.params.stalled_rise).limit_denominator(10**6)
        self._known, self._bounds = min(known, cutoff), bounds
        self.instance, self.cutoff, self.nodes = bounds.instance, cutoff, 0
        self.pairs = Pairs.of(bounds.instance)
        self._open: list[tuple[int, int, Fraction, int, Node]] = []
        self._number = itertools.count()
        self._unsolved: list[int] = []
        every = np.ones(bounds.instance.candidates.pairs, dtype=bool)
        first = bounds.groups.subset(self.pairs.within(bounds.groups, every))
        root = Node(Fraction(0), every, bounds.start, first, None, {})
        self._push(self._proven(root, bounds.start, NO_LIMIT))

    @property
    def bound(self) -> int:
        """No table loses less, in units; the cutoff at most."""
        return min([self.cutoff, *(entry[0] for entry in self._open[:1]), *self._unsolved])

    @property
    def open(self) -> int:
        """Nodes that are left."""
        return len(self._open) + len(self._unsolved)

    def solve(self, limit: Limit, small: int, leaf: Leaf, look: Look, turn: Limit = NO_LIMIT) -> bool:
        """Until no node is open, or the limit. small: pairs up to which a node is given to `leaf`. turn: after which no
        other node is begun.

        Whether every node is closed, so that no table loses less than the cutoff. An `Over` out of `leaf` or `look`
        leaves the bound as it was.
        """
        while self._open and not (limit.over or turn.over):
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
        raised = self._proven(node, self._point(master), limit, master)
        if raised is None:
            return []
        loss = look(self._seen(master, raised), self.bound)
        if loss is None:
            return None
        if loss < self.cutoff:
            self.cutoff = loss
            return [raised]
        return self._divide(replace(raised, groups=master.groups, basis=master.basis), master, limit, small, leaf)

    def _divide(self, node: Node, master: Master, limit: Limit, small: int, leaf: Leaf) -> list[Node] | None:
        """Its branches, or none where the solver closes it."""
        most = max(small, self.params.stalled_pairs) if node.idle >= self.params.stalled else small
        first = node.pairs.sum() <= min(most, self.params.smaller * node.hard)
        solved = self._leaf(node, limit, leaf) if first else node
        if solved is None or solved.bound > self.cutoff - 1:
            return None if solved is None else []
        slack = self.cutoff - 1 + self._bounds.constant - float(master.value)
        pair = best_pair(master, self.pairs, node.pairs, slack, node.scores, limit, self.params)
        if limit.over:
            return None
        if pair is not None:
            return self._children(solved, pair, limit)
        solved = solved if first else self._leaf(node, limit, leaf)
        if solved is not None and solved.bound <= self.cutoff - 1:
            self._unsolved.append(math.ceil(solved.bound))
        return None if solved is None else []

    def _seen(self, master: Master, node: Node) -> Node:
        """The node as `Look` sees it."""
        solution, artificial = master.highs.getSolution(), 2 * self.pairs.types
        share = np.array(solution.col_value)[artificial:]
        of = master.groups.candidate[: len(share)]
        opened: Floats = np.bincount(of, weights=share, minlength=self.instance.candidates.count).astype(np.float64)
        most = self.cutoff - 1 + self._bounds.constant - master.upper
        cheap = np.zeros(master.groups.count, dtype=bool)
        cheap[: len(share)] = np.array(solution.col_dual)[artificial:] <= most + MARGIN
        return replace(node, at=replace(node.at, open_share=opened), groups=master.groups.subset(cheap))

    def _leaf(self, node: Node, limit: Limit, leaf: Leaf) -> Node | None:
        """The node with what the solver says of it; None where the limit came first."""
        found = leaf(self._step(node.pairs), self.cutoff)
        if found is None and limit.over:
            return None
        proven, loss = (0, self.cutoff) if found is None else found
        self.cutoff = min(self.cutoff, loss)
        return replace(node, bound=max(node.bound, Fraction(proven)), hard=int(node.pairs.sum()), idle=0)

    def _children(self, parent: Node, pair: int, limit: Limit) -> list[Node] | None:
        """The two sides of a pair, as far as their columns raise the bound."""
        found, scores = [], dict(parent.scores)
        for side in self.pairs.sides(parent.pairs, pair):
            if not self._covered(side):
                continue
            within = self.pairs.within(parent.groups, side)
            basis = None if parent.basis is None else parent.basis.without(2 * self.pairs.types, within)
            groups = parent.groups.subset(within)
            child = replace(parent, pairs=side, groups=groups, basis=basis, scores=scores, depth=parent.depth + 1)
            master = self._master(child)
            master.solve(limit, self.params.near)
            if limit.over:
                return None
            closer = self._proven(child, self._point(master), limit, master)
            if closer is not None:
                rises = closer.bound > parent.bound + self._stalled_rise
                found.append(replace(closer, idle=0 if rises else parent.idle + 1))
        return found

    def _raise(self, master: Master, limit: Limit) -> None:
        """Columns, and some rounds of rank-1 cuts."""
        began, careful = time.perf_counter(), self._bounds.careful
        added = self.params.added_carefully if careful else self.params.added
        solved = master.solve(limit, self.params.near)
        for _ in range(self.params.rounds):
            before = master.value
            if solved is None or limit.over or before > master.enough:
                return
            share = np.concatenate([solved.share, np.zeros(master.groups.count - len(solved.share))])
            cuts = separate(master.groups, share, master.program.counts, added, master.cuts, limit=limit)
            if not cuts.count:
                return
            master.add_cuts(cuts)
            longest = max(self.params.shortest, self.params.longer * (time.perf_counter() - began))
            part = limit.part(longest) if careful else limit
            solved = master.solve(part, self.params.near)
            if part.over:
                master.solve_restricted(limit)
                return
            if solved is not None:
                master.purge_cuts(solved.prices)
            if master.value - before < self.params.rise:
                return

    def _master(self, node: Node) -> Master:
        """Candidates keep their numbers, and have no row types where nothing is left."""
        master = Master(self._bounds.program(node.pairs, node.at), node.groups, node.basis)
        master.enough = self.cutoff - 1 + self._bounds.constant + MARGIN
        return master

    def _point(self, master: Master) -> DualPoint:
        """The best multipliers; cuts without one go."""
        master.drop_idle_cuts()
        return master.best

    def _proven(self, node: Node, at: DualPoint, limit: Limit, master: Master | None = None) -> Node | None:
        """The node with these multipliers, fixed by them; None where it has no table below the cutoff.

        master: what found them; its groups and basis are the next ones.
        """
        step = self._step(node.pairs)
        inside = self._inside(node.pairs, step)
        if not self._covered(inside):
            return None
        proof = self._bounds.prove(step, at)
        value = max(proof.value, node.bound)
        if value > self.cutoff - 1:
            return None
        left = np.zeros_like(inside)
        left[np.flatnonzero(inside)[self._possible(step, proof, limit)]] = True
        if not self._covered(left):
            return None
        groups, basis = (node.groups, node.basis) if master is None else (master.groups, master.basis)
        within = self.pairs.within(groups, left)
        kept = None if basis is None else basis.without(2 * self.pairs.types, within)
        return replace(node, bound=value, pairs=left, at=at, groups=groups.subset(within), basis=kept)

    def _possible(self, step: Dropped, proof: Proof, limit: Limit) -> Flags:
        """The pairs that a table below the cutoff can have, by reduced costs."""
        return ReducedCosts(proof.dual, self.cutoff, limit=limit, proof=proof).possible(step.instance)[1]

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
