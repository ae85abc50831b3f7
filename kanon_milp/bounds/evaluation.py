"""L and its subgradients over one instance, in floating point: of sizes alone, and with all requirements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from kanon_milp.bounds.closed_form import Found, PricedCandidates, PricedRows, sorted_covers
from kanon_milp.bounds.packing_cuts import NO_SETS, PackingCuts, TypeSets
from kanon_milp.bounds.parameters import SubproblemParameters
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.bounds.relaxations import Cells, Relaxation, relaxations_of
from kanon_milp.bounds.small_groups import small_sizes
from kanon_milp.errors import InputError
from kanon_milp.kernels.closed_form import different_values, subproblems
from kanon_milp.kernels.screens import Prices, screen, solve_left
from kanon_milp.kernels.small_groups import FloatSmallGroups, cheapest_small_groups, take_small_groups
from kanon_milp.kernels.tree_subproblem import FloatSubproblems, TreeArrays, ValuedRows
from kanon_milp.kernels.valued_groups import take_groups
from kanon_milp.kernels.volume import dot, spread
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32

Scalar = TypeVar("Scalar", np.float64, np.int64)

Part = TypeVar("Part")

NOTHING = np.zeros(0)
PARTS = 4  # that the candidates are divided into, for any number of threads: so they do not change a sum
FACTORS = (4.0, 2.0, 1.4, 1.2, 1.1, 1.05, 1.02)  # steps of the search for one θ_g, up and down, at the end
ROUGH = (2.0, 1.2)  # and on the way
HALVINGS = 50  # until the best of equal multipliers is known nearly enough
FADED = 1e-100  # what averages are multiplied by before they are rescaled


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a point of the dual gives: L, φ (G,) (0 for those surely not negative, unless everything was asked for), a
    subgradient of L, as long as the point."""

    value: float
    phi: Floats
    subgradient: Floats


class Evaluator:
    """L(λ, μ) over one instance; keeps the covers sorted so that selections are cheap.

    A point is one array: λ of the row types, then μ of the packing cuts.
    """

    def __init__(self, instance: Instance, threads: int = 1, params: SubproblemParameters | None = None) -> None:
        candidates = instance.candidates
        self.instance, self.params = instance, params or SubproblemParameters()
        self.candidates: PricedCandidates[np.float64] = PricedCandidates(
            candidates.indptr, candidates.members, candidates.cost.astype(np.float64),
            instance.least.astype(np.float64), np.zeros(candidates.count),
        )  # fmt: skip
        self.counts = instance.types.counts.astype(np.float64)
        self._marginal = np.empty(candidates.count)
        parts = PARTS if candidates.pairs >= self.params.divided else 1
        inner = np.searchsorted(candidates.indptr, np.linspace(0, candidates.pairs, parts + 1)[1:-1])
        self._ends = [0, *inner.tolist(), candidates.count]
        self._taken = np.empty((parts, instance.types.count))
        self._pool = ThreadPoolExecutor(threads) if threads > 1 and parts > 1 else None
        self.set_packing_cuts(NO_SETS)
        self.sort(_cheapest_costs(instance))

    @property
    def types(self) -> int:
        """Number of row types."""
        return len(self.counts)

    @property
    def parts(self) -> int:
        """What the candidates are divided into, for threads."""
        return len(self._taken)

    def start(self) -> Floats:
        """A point to begin with: where no φ_g is negative, or, if that is better, the best one of equal multipliers for
        the largest number of groups."""
        point = np.concatenate([_cheapest_costs(self.instance), np.zeros(self.sets.lists)])
        most, lengths = self.instance.problem.most_groups, self.sets.lengths
        if most is not None and (lengths == self.types).any():
            equal, of_groups, value = _equal_multipliers(self.instance, most)
            if value > dot(self.counts, point[: self.types]):
                point[: self.types], point[self.types + int(lengths.argmax())] = equal, of_groups
        return point

    @property
    def scale(self) -> Floats:
        """How far each entry of a point moves along a subgradient of 1, as long as the point, positive.

        Twice as many rows of a type are too many or too few twice as often, for the same multiplier.
        """
        return np.concatenate([1 / self.counts, np.ones(len(self.right) - self.types)])

    def set_packing_cuts(self, sets: TypeSets) -> None:
        """Take these packing cuts instead of those before."""
        self.sets, self.packing = sets, PackingCuts.of(self.instance, sets)
        self.right = np.concatenate([self.counts, -self.packing.limits.astype(np.float64)])

    def sort(self, point: Floats) -> None:
        """Sort the covers by falling multiplier: the cheapest rows of every candidate stand first."""
        self.order = point[: self.types].copy()
        covers: Ragged[np.int32] = Ragged(self.candidates.indptr, self.candidates.members)
        self.candidates = self.candidates._replace(members=sorted_covers(covers, self.order))

    def refined(self, point: Floats, limit: BoundLimit, final: bool) -> Floats | None:
        """A point that may be better, found in another way than along subgradients, if there is one."""
        return None

    def average(self, weight: float) -> None:
        """Be told which weight the last point has been given in the averages."""

    def within(self, point: Floats) -> Floats:
        """The nearest point that may be looked at."""
        return point

    def __call__(self, point: Floats, *, everything: bool = False) -> Evaluation:
        """L and a subgradient: rows not yet placed; groups too many."""
        below, phi, taken = self.closed_forms(point, everything)
        types, subgradient = self.types, self.right.copy()
        subgradient[:types] -= taken
        self.packing.add_groups((phi < 0).astype(np.float64), subgradient[types:])
        return Evaluation(below + dot(self.right, point), phi, subgradient)

    def closed_forms(self, point: Floats, everything: bool) -> tuple[float, Floats, Floats]:
        """Without rank-1 cuts: Σ min(0, φ), φ (G,) and Σ_g x (t,)."""
        types, priced = self.types, self.candidates
        spread(*self.packing.nested, self.packing.signs * point[types : types + self.sets.lists], priced.surcharge)
        rise = np.float64((point[:types] - self.order).max(initial=0.0))
        rows = PricedRows(self.counts, point[:types], self.order, rise)
        phi = np.empty(len(priced.cost))

        def part(number: int) -> float:
            begin, end = self._ends[number : number + 2]
            taken = self._taken[number]
            taken[:] = 0.0
            some = PricedCandidates(
                priced.indptr[begin : end + 1], priced.members, priced.cost[begin:end], priced.least[begin:end],
                priced.surcharge[begin:end],
            )  # fmt: skip
            found = Found(phi[begin:end], self._marginal[begin:end])
            return float(subproblems(*some, *rows, np.float64(np.inf), everything, *found, taken))

        below = sum(self.each_part(part))
        return below, phi, self._taken.sum(axis=0)

    def each_part(self, function: Callable[[int], Part]) -> Iterator[Part]:
        """What a function says of the number of each part, on all threads."""
        each = range(self.parts)
        return map(function, each) if self._pool is None else self._pool.map(function, each)


class Taken(NamedTuple):
    """Where the rows of groups are added to; arrays that are not asked for are empty.

    rows: (t,), of each row type. excess: (G,), Σ_v weight_v·|X_v - share_v·S| - t·S of a group, the derivative of φ_g
    in θ; 0 where it is not wanted. members: the covers, ascending; average: (pairs + 1,), rows of each pair times the
    last entry.
    """

    rows: Floats
    excess: Floats
    members: Ints32
    average: Floats


class _Relaxed:
    """One relaxation over an instance: covers sorted by value, and of each candidate what the last points have shown:
    prices, and the size at which the search ended, since that of the next point is near."""

    def __init__(self, instance: Instance, relaxation: Relaxation, first: Floats, ends: list[int], small: bool) -> None:
        self.cells = Cells.of(instance, relaxation)
        self.tree: TreeArrays[np.float64] = relaxation.floats()
        self.covers = self.cells.covers(instance, first)
        self.plain = relaxation.plain
        self.small = small_sizes(relaxation, instance.least) if small else None
        most = 0 if self.small is None else self.small.most
        # the smallest size that is charged; the rows of groups that are smaller, -1 for none
        self.least = np.maximum(instance.least, most + 1)
        self.chosen = np.full((len(self.least), most), -1, np.int32)
        self.sizes, self.groups = self.least.copy(), self.least.copy()
        nodes = len(relaxation.nodes)
        self.prices = [Prices(end - begin, nodes, self.tree.convex) for begin, end in pairwise(ends)]

    def take(self, s: FloatSubproblems, begin: int, wanted: Flags, taken: Taken) -> None:
        """Add the rows of the groups found last. s: of candidates from number `begin` on; wanted: some of these."""
        each = slice(begin, begin + len(wanted))
        small = wanted & (self.chosen[each] >= 0).any(axis=1)
        take_groups(s, (wanted & ~small).view(np.uint8), self.groups[each], *taken)
        take_small_groups(s.indptr, taken.members, small.view(np.uint8), self.chosen[each], taken.rows, taken.average)


class RequiredEvaluator(Evaluator):
    """L(λ, μ, θ) over one instance.

    A point is one array: λ of the row types, then μ of the packing cuts, then θ of the charged relaxations.
    """

    def __init__(
        self,
        instance: Instance,
        start: Floats | None = None,
        charges: Floats | None = None,
        threads: int = 1,
        *,
        small: bool = True,
        sets: TypeSets = NO_SETS,
        params: SubproblemParameters | None = None,
    ) -> None:
        """start: λ to begin with, or λ and μ; charges: θ. sets: of the packing cuts."""
        super().__init__(instance, threads, params)
        relaxations = relaxations_of(instance)
        if not relaxations:
            raise InputError("no requirement is about a sensitive attribute: the bound is that of the sizes")
        self.first, self.first_charges = start, charges
        first = super().start() if start is None else np.asarray(start[: self.types], np.float64)
        small = small and self.params.tried > 0
        self.relaxed = [_Relaxed(instance, relaxation, first, self._ends, small) for relaxation in relaxations]
        self.charged = [v for v, relaxation in enumerate(relaxations) if relaxation.closeness is not None]
        self.set_packing_cuts(sets)
        # the last point, and which relaxation gave the group of each candidate, -1 where it was closed
        self._last, self._which = np.zeros(0), np.full(instance.candidates.count, -1)
        self.sort(first)
        # averages of the rows of each pair, divided by `_faded`; and workspace for a factor
        self._rows, self._faded = np.zeros(instance.candidates.pairs + 1), 1.0

    def set_packing_cuts(self, sets: TypeSets) -> None:
        """As for sizes; what stands for θ comes after them."""
        super().set_packing_cuts(sets)
        charged = len(getattr(self, "charged", ())) * self.instance.candidates.count
        self.right = np.concatenate([self.right, np.zeros(charged)])

    @property
    def multipliers(self) -> int:
        """How many λ and μ there are; θ comes after them."""
        return self.types + self.sets.lists

    def start(self) -> Floats:
        """The multipliers given, or the loss of every row at its cheapest candidate; nothing is charged."""
        point = np.zeros(len(self.right))
        first = super().start() if self.first is None else self.first
        point[: len(first)] = first
        if self.first_charges is not None:
            point[self.multipliers :] = self.first_charges
        return point

    def sort(self, point: Floats) -> None:
        """The covers by falling multiplier, where some relaxation needs that; else a cover is sorted when its candidate
        is solved."""
        if any(relaxed.plain for relaxed in getattr(self, "relaxed", ())):
            super().sort(point)

    def _plainly(
        self, v: int, number: int, multipliers: Floats, left: Flags, everything: bool, taken: Taken | None = None
    ) -> Floats:
        """φ of the candidates of a part that are `left`, where different values are all that is asked."""
        begin, end = self._ends[number : number + 2]
        priced, relaxed = self.candidates, self.relaxed[v]
        rise = np.float64((multipliers - self.order).max(initial=0.0))
        some = PricedCandidates(
            priced.indptr[begin : end + 1], priced.members, priced.cost[begin:end], priced.least[begin:end],
            priced.surcharge[begin:end],
        )  # fmt: skip
        phi = np.empty(end - begin)
        rows = NOTHING if taken is None else taken.rows
        average = NOTHING if taken is None else taken.average
        different_values(
            *some, self.counts, multipliers, self.order, rise, relaxed.cells.rank, relaxed.tree.presence,
            np.float64(np.inf), everything, left, phi, rows, self.instance.candidates.members, average,
        )  # fmt: skip
        return phi

    def thetas(self, point: Floats, v: int) -> Floats:
        """θ of one relaxation, 0 for one without a charge; none is charged at a point of multipliers alone."""
        count = self.instance.candidates.count
        if v not in self.charged or len(point) == self.types:
            return np.zeros(count)
        begin = self.multipliers + self.charged.index(v) * count
        return point[begin : begin + count].copy()  # the search for charges changes them

    def __call__(self, point: Floats, *, everything: bool = False) -> Evaluation:
        """L, φ and a subgradient: rows not yet placed, groups too many, and EMD cost above what is allowed."""
        multipliers = np.ascontiguousarray(point[: self.types])
        surcharge = self.candidates.surcharge
        spread(*self.packing.nested, self.packing.signs * point[self.types : self.multipliers], surcharge)
        everything |= bool((surcharge < 0).any())  # φ without it may not be negative where it is with it
        thetas = [self.thetas(point, v) for v in range(len(self.relaxed))]
        count, self._last = self.instance.candidates.count, point
        phi, excesses = np.zeros(count), np.zeros((len(self.relaxed), count))

        def part(number: int) -> None:
            begin, end = self._ends[number : number + 2]
            self._taken[number] = 0.0
            phi[begin:end] = self._part(number, multipliers, thetas, everything, excesses[:, begin:end])

        for _ in self.each_part(part):
            pass
        fixed = self.right[: self.multipliers].copy()
        value = float(phi[phi < 0].sum()) + dot(fixed, point[: self.multipliers])
        fixed[: self.types] -= self._taken.sum(axis=0)
        self.packing.add_groups((phi < 0).astype(np.float64), fixed[self.types :])
        return Evaluation(value, phi, np.concatenate([fixed, excesses[self.charged].ravel()]))

    def _part(
        self, number: int, multipliers: Floats, thetas: list[Floats], everything: bool, excesses: Floats
    ) -> Floats:
        """φ of a part of the candidates; adds to what is taken, and says how far groups are from what θ asks for."""
        begin, end = self._ends[number : number + 2]
        left, solved = np.ones(end - begin, np.bool_), []
        for v in range(len(self.relaxed)):
            # a candidate that is closed under one relaxation is so under all
            phi = self.solve(v, number, multipliers, thetas[v], everything, left)
            if not self.relaxed[v].plain:
                phi = phi + self.candidates.surcharge[begin:end]
            solved.append(phi)
            left = left if everything else phi < 0
        phis: Floats = np.array(solved)
        most: Floats = phis.max(axis=0)
        which = np.where(most < 0, phis.argmax(axis=0), -1)
        self._which[begin:end] = which
        for v, relaxed in enumerate(self.relaxed):
            wanted = which == v
            taken = Taken(self._taken[number], excesses[v], self.instance.candidates.members, NOTHING)
            if relaxed.plain:
                self._plainly(v, number, multipliers, wanted, False, taken)
                continue
            relaxed.take(self.subproblems(v, begin, end, multipliers, thetas[v]), begin, wanted, taken)
        return most

    def average(self, weight: float) -> None:
        """Mix the groups of the last point into the averages."""
        self._faded *= 1 - weight
        if self._faded < FADED:
            self._rows *= self._faded
            self._faded = 1.0
        multipliers, candidates = np.ascontiguousarray(self._last[: self.types]), self.instance.candidates
        self._rows[-1] = weight / self._faded
        for v, relaxed in enumerate(self.relaxed):
            taken = Taken(NOTHING, NOTHING, candidates.members, self._rows)
            if relaxed.plain:
                for number in range(self.parts):
                    wanted = self._which[self._ends[number] : self._ends[number + 1]] == v
                    self._plainly(v, number, multipliers, wanted, False, taken)
                continue
            every = self.subproblems(v, 0, candidates.count, multipliers, self.thetas(self._last, v))
            relaxed.take(every, 0, self._which == v, taken)

    @property
    def rows(self) -> Floats:
        """Rows of each pair on average, (pairs,)."""
        return self._rows[:-1] * self._faded

    def subproblems(
        self, v: int, begin: int, end: int, multipliers: Floats, thetas: Floats, larger: bool = False
    ) -> FloatSubproblems:
        """Those of candidates that stand next to each other. larger: without the sizes that are looked at one by
        one."""
        relaxed = self.relaxed[v]
        some = relaxed.cells.candidates(self.instance, relaxed.covers, self.candidates.cost, thetas, begin, end)
        if larger:
            some = some._replace(least=relaxed.least[begin:end])
        return FloatSubproblems(relaxed.tree, some, ValuedRows(self.counts, multipliers, relaxed.cells.rank))

    def solve(
        self,
        v: int,
        number: int,
        multipliers: Floats,
        thetas: Floats,
        everything: bool,
        left: Flags,
        larger: bool = False,
    ) -> Floats:
        """φ under one relaxation of those candidates of a part that are `left`, unless they are surely not negative.

        larger: without the sizes that are looked at one by one.
        """
        begin, end = self._ends[number : number + 2]
        relaxed = self.relaxed[v]
        if relaxed.plain:
            return self._plainly(v, number, multipliers, left, everything)
        phi, prices = np.zeros(end - begin), relaxed.prices[number]
        sizes, groups, least = relaxed.sizes[begin:end], relaxed.groups[begin:end], relaxed.least[begin:end]

        def charged(s: FloatSubproblems, left: Flags) -> None:
            if not everything:
                screen(s, prices, left.view(np.uint8))
            solve_left(s, prices, self.params.tries, everything, left.view(np.uint8), phi, sizes, groups)

        support = self.instance.candidates.support[begin:end]
        charged(self.subproblems(v, begin, end, multipliers, thetas, larger=True), left & (least <= support))
        if everything:
            phi[least > support] = np.inf
        if relaxed.small is None or larger:
            return phi
        hard, every = left.copy(), self.subproblems(v, begin, end, multipliers, thetas)
        few = FloatSmallGroups(every, relaxed.small, phi)
        cheapest_small_groups(few, self.params.tried, hard.view(np.uint8), relaxed.chosen[begin:end])
        if hard.any():
            known = phi.copy()
            charged(every, hard.copy())
            phi[~hard] = known[~hard]
        return phi

    def every_phi(self, v: int, multipliers: Floats, thetas: Floats) -> Floats:
        """φ (G,) under one relaxation, also where it is positive; infinite where a candidate has no group."""

        def part(number: int) -> Floats:
            everyone = np.ones(self._ends[number + 1] - self._ends[number], np.bool_)
            return self.solve(v, number, multipliers, thetas, True, everyone)

        found: Floats = np.concatenate(list(self.each_part(part)))
        return found

    def refined(self, point: Floats, limit: BoundLimit, final: bool) -> Floats | None:
        """Each θ_g by itself, for given λ: the best of steps that become shorter."""
        multipliers = np.ascontiguousarray(point[: self.types])
        refined = point.copy()
        for v in self.charged:
            best = self.thetas(point, v)
            value = self._phi(v, multipliers, best, np.ones(len(best), np.bool_))
            for step in (each for factor in (FACTORS if final else ROUGH) for each in (factor, 1 / factor)):
                if limit.over:
                    break
                thetas = np.where(best > 0, best * step, self.params.first_charge * step)
                trial = self._phi(v, multipliers, thetas, value < 0)
                better = trial > value + 1e-6
                best[better], value[better] = thetas[better], trial[better]
            begin = self.multipliers + self.charged.index(v) * len(best)
            refined[begin : begin + len(best)] = best
        return refined if (refined != point).any() else None

    def _phi(self, v: int, multipliers: Floats, thetas: Floats, left: Flags) -> Floats:
        """φ under one relaxation, at most 0, of the larger groups of some candidates; 0 for the others."""

        def part(number: int) -> Floats:
            some = left[self._ends[number] : self._ends[number + 1]]
            return self.solve(v, number, multipliers, thetas, False, some, larger=True)

        found: Floats = np.concatenate(list(self.each_part(part)))
        return found


def _equal_multipliers(instance: Instance, most: int) -> tuple[float, float, float]:
    """Of all row types the same λ, the multiplier μ of the number of groups, and L: n·λ less the largest N_g·(λ - w_g),
    as many as there may be groups, the last of which is μ. For one group L is the loss of the best one."""
    candidates, n = instance.candidates, instance.types.n
    order = np.lexsort((-candidates.support, candidates.cost))
    cost, rows = candidates.cost[order].astype(np.float64), candidates.support[order].astype(np.float64)
    # of those that cost the same, the largest
    first = np.flatnonzero(np.diff(cost, prepend=-1.0))
    largest = np.arange(len(cost)) - np.repeat(first, np.diff([*first, len(cost)])) < most
    cost, rows = cost[largest], rows[largest]
    low, high = 0.0, float(cost[-1]) * n
    for _ in range(HALVINGS):  # L is concave in λ, and piecewise linear
        middle = (low + high) / 2
        low, high = (middle, high) if rows[_most_saving(middle, cost, rows, most)].sum() < n else (low, middle)
    saved = rows * (high - cost)
    chosen = _most_saving(high, cost, rows, most)
    of_groups = float(saved[chosen].min()) if len(chosen) == most else 0.0
    return high, of_groups, n * high - float(saved[chosen].sum())


def _most_saving(multiplier: float, cost: Floats, rows: Floats, most: int) -> Ints:
    """Which candidates, at most so many, save most where each row is worth the multiplier."""
    saved = rows * (multiplier - cost)
    found = np.argsort(-saved, kind="stable")[:most]
    return found[saved[found] > 0]


def _cheapest_costs(instance: Instance) -> Floats:
    """Multipliers to begin with: the loss of every row at its cheapest candidate, so that no φ_g is negative."""
    candidates = instance.candidates
    cheapest = np.full(instance.types.count, np.inf)
    np.minimum.at(cheapest, candidates.members, candidates.cost[candidates.candidate_of_pair()].astype(np.float64))
    return cheapest
