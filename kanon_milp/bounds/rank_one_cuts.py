"""Rank-1 cuts: what rounding one combination of the assignment constraints says about groups.

Write a solution as groups, each the rows a = (a_i) that one candidate receives, a_i of row type i. Every row is in one
group: Σ_groups a_i = n_i. For integer weights p_i ≥ 0 on a few row types R and an integer denominator d ≥ 1:

    Σ_groups ⌊Σ_{i∈R} p_i a_i / d⌋ ≤ ⌊Σ_{i∈R} p_i n_i / d⌋

Proof. Add p_i/d times the assignment constraints; the left side only falls when each group's coefficient is rounded
down, and is an integer then, so the right side may be rounded down as well (Chvatal 1973; of rank 1, since nothing but
the assignment constraints is combined). It holds whatever else is required, and whether or not groups are split or
merged. With three row types of one row each, p = 1 and d = 2 these are the subset-row cuts of Jepsen, Petersen,
Spoorendonk and Pisinger (2008): of the groups that hold two or three of three rows there is at most one. The families
of four and five rows are those of Pecin, Pessoa, Poggi, Uchoa and Santos (2017).

Violated cuts are found for fractional groups: all with up to three row types, then larger ones from these. Cuts with
weights 1/2 on three rows are those of Jepsen et al. (2008). Larger ones are found by local search: for a denominator d
a set grows by one row type at a time, with the weight that suits it best, and after each step row types are exchanged,
or change their weights, while that helps. For two to five row types this comes to the families of Pecin et al. (2017),
which it finds without a list of them; sets of up to nine row types close a little more of the gap than five. Any set
and weights are valid so nothing there has to be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.parameters import SeparationParameters
from kanon_milp.errors import InputError
from kanon_milp.kernels.rank_one_cuts import FractionalGroups, enlarged, links, smallest_sets
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import NO_LIMIT, Limit

Scalar = TypeVar("Scalar", np.float64, np.int64)


class CutsByType(NamedTuple):
    """Rank-1 cuts as kernels read them: per row type i, at the places e in begins[i]:begins[i+1], the cut
    cut_of[e] that it is part of and its weight weight_of[e] there; denominators by cut. All int64."""

    begins: Ints
    cut_of: Ints
    weight_of: Ints
    denominators: Ints


class PricedCuts(NamedTuple, Generic[Scalar]):
    """The same with the multiplier ν ≥ 0 of each cut."""

    begins: Ints
    cut_of: Ints
    weight_of: Ints
    denominators: Ints
    multipliers: NDArray[Scalar]


@dataclass(frozen=True, eq=False)
class RankOneCuts:
    """Cut r is about the row types in list r of `types` (int32), ascending, with the weights p in the same order
    (int64, positive), and the denominator d (int64, positive)."""

    types: Ragged[np.int32]
    weights: Ints
    denominators: Ints

    def __post_init__(self) -> None:
        if (self.weights < 1).any() or (self.denominators < 1).any():
            raise InputError("weights and denominators of rank-1 cuts must be positive")

    @classmethod
    def of(cls, cuts: Iterable[tuple[Sequence[int], Sequence[int], int]]) -> RankOneCuts:
        """From (row types, weights, denominator) of each cut."""
        given = list(cuts)
        lengths = np.array([len(types) for types, _, _ in given], np.int64)
        types = np.array([i for types, _, _ in given for i in types], np.int32)
        weights = np.array([p for _, weights, _ in given for p in weights], np.int64)
        order = np.lexsort((types, np.repeat(np.arange(len(given)), lengths)))
        denominators = np.array([denominator for _, _, denominator in given], np.int64)
        return cls(Ragged(indptr_of(lengths), types[order]), weights[order], denominators)

    @property
    def count(self) -> int:
        """Number of cuts."""
        return len(self.denominators)

    def each(self) -> list[tuple[list[int], list[int], int]]:
        """The cuts one by one: row types, weights, denominator."""
        weights = Ragged(self.types.indptr, self.weights)
        return [
            (types.tolist(), weight.tolist(), denominator)
            for types, weight, denominator in zip(
                self.types.each(), weights.each(), self.denominators.tolist(), strict=True
            )
        ]

    def limits(self, counts: Ints) -> Ints:
        """The right sides, int64 (r,). counts: rows of each row type, int64 (t,)."""
        total = np.zeros(self.count, dtype=np.int64)
        np.add.at(total, self.types.list_of_value(), self.weights * counts[self.types.values])
        found: Ints = total // self.denominators
        return found

    def by_type(self, types: int) -> CutsByType:
        """The same by row type. types: number of row types."""
        cuts, places = self.types.transposed(types)
        return CutsByType(cuts.indptr, cuts.values, self.weights[places], self.denominators)

    def subset(self, keep: Flags) -> RankOneCuts:
        """Only the cuts where `keep` is true."""
        return RankOneCuts(self.types.subset(keep), self.weights[self.types.of_kept(keep)], self.denominators[keep])

    def joined(self, others: RankOneCuts) -> RankOneCuts:
        """These cuts and then the others."""
        return RankOneCuts(
            self.types.joined(others.types),
            np.concatenate([self.weights, others.weights]),
            np.concatenate([self.denominators, others.denominators]),
        )

    def mapped(self, types: int, back: Callable[[NDArray[Any]], NDArray[Any]]) -> RankOneCuts:
        """The same cuts over other row types. types: number of row types here; back: takes one number for each of
        these to one for each of the others, as `reductions.restore_values` does.

        Row types that were merged get the weight of what they were merged to: a group's sum is the same.
        """
        found = []
        for chosen, weights, denominator in self.each():
            weight = np.zeros(types, dtype=np.int64)
            weight[chosen] = weights
            there = back(weight)
            others = np.flatnonzero(there)
            found.append((others.tolist(), there[others].tolist(), denominator))
        return RankOneCuts.of(found)


NO_CUTS = RankOneCuts.of([])


Cut: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int]
"""Row types in rising order, their weights, the denominator."""

DENOMINATORS = (2, 3, 4, 5)


class Seeds(NamedTuple):
    """Which nearly violated triples larger cuts are grown from.

    most: how many. turn: None for the most violated ones; with a number a quarter of them, and the others are drawn,
    in each turn others. threads: that they are grown on; the cuts are the same on any number.
    """

    most: int
    turn: int | None = None
    threads: int = 1

    def of(self, triples: Ints, strongest: int) -> Ints:
        """Some of them. triples: the most violated ones first. strongest: one in so many is one of these."""
        first = self.most if self.turn is None else self.most // strongest
        others = triples[first:]
        if self.turn is None or not len(others):
            return triples[:first]
        drawn = np.random.default_rng(self.turn).permutation(len(others))[: self.most - first]
        return np.concatenate([triples[:first], others[np.sort(drawn)]])


def separate(
    groups: Groups,
    share: Floats,
    counts: Ints,
    most: int,
    known: RankOneCuts,
    seeds: Seeds | None = None,
    params: SeparationParameters | None = None,
    limit: Limit = NO_LIMIT,
) -> RankOneCuts:
    """Up to `most` violated cuts that are not known, the most violated ones for their width, spread over the row types.

    share: float64 (C,), how often each group is used. counts: int64 (t,), rows of each row type. limit: after which
    only those are returned that are found by then.
    """
    p = params or SeparationParameters()
    seeds = seeds or Seeds(p.seeds)
    used = share > 1e-7
    few = groups.subset(used)
    of_type, copies_of_type = few.by_type(len(counts))
    point = FractionalGroups(*few.types, few.copies, share[used], *of_type, copies_of_type, counts)
    linked, every = links(point), len(counts)
    sets, violations = _joined(lambda at, end: smallest_sets(point, linked, at, end, p.nearly), every, p.at_once, limit)
    order = np.argsort(-violations, kind="stable")
    violated = order[violations[order] > p.least_violation]
    chosen = sets[seeds.of(order[sets[order, 2] >= 0], p.strongest)]

    def grown(d: int) -> tuple[Any, ...]:
        """The larger ones with this denominator."""
        return _joined(
            lambda at, end: enlarged(point, chosen[at:end], d, p.widest, p.least_violation),
            len(chosen), p.at_once, limit,
        )  # fmt: skip

    with ThreadPoolExecutor(seeds.threads) as executor:
        larger = list(executor.map(grown, DENOMINATORS))
    small = np.full((len(violated), p.widest), -1)
    small[:, :3] = sets[violated]
    found = [(small, (small >= 0).astype(np.int64), violations[violated]), *larger]
    denominators = np.repeat((2, *DENOMINATORS), [len(each) for _, _, each in found])
    types, weights, over = (np.concatenate(each) for each in zip(*found, strict=True))
    # a wide cut is a part of more groups and says less about each
    first = np.argsort(-over / np.sqrt((types >= 0).sum(axis=1)), kind="stable")
    return _choose(types[first], weights[first], denominators[first], most, len(counts), known, p.touching)


def _joined(find: Callable[[int, int], tuple[Any, ...]], count: int, at_once: int, limit: Limit) -> tuple[Any, ...]:
    """What is found for so many of them at a time, from the first one to the end, as arrays; nothing more after the
    limit."""
    parts = [find(0, min(at_once, count))]
    for at in range(at_once, count, at_once):
        if limit.over:
            break
        parts.append(find(at, min(at + at_once, count)))
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def _choose(
    sets: Ints, weights: Ints, denominators: Ints, most: int, types: int, known: RankOneCuts, touching: int
) -> RankOneCuts:
    """The first ones, in lowest terms, none twice, and no row type in too many. sets: row types, -1 for none."""
    seen: set[Cut] = {(tuple(i), tuple(p), d) for i, p, d in known.each()}
    touched = [0] * types
    cuts: list[Cut] = []
    for each, by, denominator in zip(sets.tolist(), weights.tolist(), denominators.tolist(), strict=True):
        chosen = [i for i in each if i >= 0]
        if any(touched[i] >= touching for i in chosen):
            continue
        pairs = sorted(zip(chosen, by, strict=False))
        shared = math.gcd(denominator, *by[: len(chosen)])
        cut = tuple(i for i, _ in pairs), tuple(p // shared for _, p in pairs), denominator // shared
        if cut in seen:
            continue
        seen.add(cut)
        for i in chosen:
            touched[i] += 1
        cuts.append(cut)
        if len(cuts) == most:
            break
    return RankOneCuts.of(cuts)
