"""The Lagrangian bound of several sets of quasi-identifiers: what links them is relaxed.

    L(λ) = Σ_i n_i min_o (w_io + Σ_{q part of o} λ_q) + Σ_P min(0, φ_P),
    φ_P = min { Σ_q (c_P - λ_q) x_q : Σ_q x_q ≥ κ_P, 0 ≤ x_q ≤ n_q }

in the notation of `kanon_milp.presolve.linked_sets`. L is a lower bound on the loss of every table that is k-anonymous
in each set, for any λ: add Σ_q λ_q (Σ_{i,o} z_io - Σ_P x_qP) = 0 to its loss; what is left falls apart into one choice
of an option for each row and one problem for each candidate, closed (0) or open (φ_P), as for one set
(`kanon_milp.bounds.lagrangian_bound`). λ_q is what a row of part q is worth: the weights of columns that several sets
share are split between these, for each part by itself. The largest L is the value of the linear relaxation of that
model, whose pairs are those of each set alone: 2^|s| a row and not 2^m.

Other requirements and side constraints only take solutions away.

What they leave to decide up to some loss is one model of all sets side by side. It is that of
`kanon_milp.presolve.linked_sets`, without what reduced costs rule out. Let L be the bound at some multipliers λ above.
A solution that gives a row of type i option o, and in each set s candidate P_s of the part q_s of o, loses at least

    L + r_io + Σ_s (max(0, φ_P) + max(0, c_P - λ_q - ρ_P)),   r_io = w_io + Σ_q λ_q - min_o' (w_io' + Σ_q λ_q)

where ρ_P is what the closed form of P pays for the last row that it takes only to reach κ_P. For L falls apart into
rows and candidates: this row takes no option that costs less, and no two of the P_s are the same. (That a candidate
with such a row costs so much more is shown for one set in `bounds.reduced_costs`.) So an option or a pair
can be left out if the least such sum over all rows with it is above the loss; what the options that are left have no
part of, and candidates with fewer than κ rows left, as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from kanon_milp.bounds.dual import DENOMINATOR, NEVER, TOO_FINE, DualPoint, ExactDual, prove, round_multipliers
from kanon_milp.bounds.evaluation import Evaluation, Evaluator
from kanon_milp.bounds.lagrangian_bound import VolumeAlgorithm
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.errors import InputError
from kanon_milp.formulations.arrays import Constraints, large_enough, placed, program, sums
from kanon_milp.formulations.arrays import linked as linked_pairs
from kanon_milp.kernels.volume import dot
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.linked_sets import LinkedSets
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Floats, Ints


class LinkedEvaluator(Evaluator):
    """L(λ) over the parts of all sets."""

    def __init__(self, linked: LinkedSets, threads: int = 1) -> None:
        self.linked = linked
        self._weight = linked.option_cost.astype(np.float64)
        self._begin = linked.options.indptr[:-1]
        self._rows = linked.instance.types.counts.astype(np.float64)
        super().__init__(linked.parts, threads)

    def __call__(self, point: Floats, *, everything: bool = False) -> Evaluation:
        """L and a subgradient: rows that take an option with this part, less those that candidates take."""
        below, phi, taken = self.closed_forms(point, everything)
        linked = self.linked
        cost = self._weight + point[linked.option_parts].sum(axis=1)
        least = np.minimum.reduceat(cost, self._begin)
        # the first of equally cheap options
        first = np.flatnonzero(cost == least[linked.option_type])
        chosen = first[np.unique(linked.option_type[first], return_index=True)[1]]
        asked = np.zeros(self.types)
        for s in range(linked.sets):
            asked += np.bincount(linked.option_parts[chosen, s], weights=self._rows, minlength=self.types)
        return Evaluation(below + dot(self._rows, least), phi, asked - taken)


def linked_bound(linked: LinkedSets, limit: BoundLimit, threads: int = 1) -> DualPoint:
    """Maximize L by the volume algorithm, until it no longer rises or the limit: a point over the parts."""
    ascent = VolumeAlgorithm(LinkedEvaluator(linked, threads), limit)
    ascent.ceiling = float(linked.instance.levels.most) * linked.instance.types.n
    ascent.maximize(packing_cuts=False)
    return ascent.end()


def proven_units(linked: LinkedSets, point: DualPoint, denominator: int = DENOMINATOR) -> int:
    """⌈L⌉ at λ rounded to multiples of 1/denominator, computed in integers: no table loses fewer units.

    Raises InputError where the numbers could leave the range of int64.
    """
    lambdas = round_multipliers(point.multipliers, denominator)
    phi = prove(linked.parts, ExactDual(lambdas, denominator=denominator)).phi
    least = np.minimum.reduceat(option_costs(linked, lambdas, denominator), linked.options.indptr[:-1])
    total: int = sum(phi[phi < 0].tolist()) + int(linked.instance.types.counts @ least)
    return -(-total // denominator)


def option_costs(linked: LinkedSets, lambdas: Ints, denominator: int) -> Ints:
    """w_io + Σ λ_q of each option times the denominator, int64 (o,); lambdas: int64 (parts,), in multiples of
    1/denominator. Raises InputError where a sum over rows could leave the range of int64."""
    largest = int(linked.option_cost.max()) * denominator + linked.sets * int(np.abs(lambdas).max())
    if largest * linked.instance.types.n >= NEVER:
        raise InputError(TOO_FINE)
    cost: Ints = linked.option_cost * denominator + lambdas[linked.option_parts].sum(axis=1)
    return cost


@dataclass(frozen=True, eq=False)
class LinkedExtras:
    """What a table loses more than the bound if it uses an option or a pair, at least, in multiples of 1/denominator.

    total: L. options: int64 (o,). pairs: int64 (pairs of `parts`,).
    """

    linked: LinkedSets
    denominator: int
    total: int
    options: Ints
    pairs: Ints

    @classmethod
    def of(cls, linked: LinkedSets, multipliers: Floats, denominator: int = DENOMINATOR) -> LinkedExtras:
        """At these multipliers, float64 (parts,), rounded. Raises InputError where the numbers could leave the range of
        int64."""
        candidates, parts = linked.parts.candidates, linked.option_parts
        lambdas = round_multipliers(multipliers, denominator)
        cost = option_costs(linked, lambdas, denominator)
        found = prove(linked.parts, ExactDual(lambdas, denominator=denominator))
        assert found.marginal is not None
        least = np.minimum.reduceat(cost, linked.options.indptr[:-1])
        total = sum(found.phi[found.phi < 0].tolist()) + int(linked.instance.types.counts @ least)

        of_pair, members, most = candidates.candidate_of_pair(), candidates.members, NEVER // (linked.sets + 2)
        taken = candidates.cost[of_pair] * denominator - lambdas[members] - found.marginal[of_pair]
        # no number above `most`, so that no sum is too large: less is a lower bound, too
        alone = np.minimum(np.maximum(found.phi[of_pair], 0), most // 2) + np.clip(taken, 0, most // 2)
        cheapest = np.full(linked.parts.types.count, most, dtype=np.int64)  # in the set of the part
        np.minimum.at(cheapest, members, alone)
        options = np.minimum(cost - least[linked.option_type], most) + cheapest[parts].sum(axis=1)
        elsewhere = np.full(linked.parts.types.count, NEVER // 2, dtype=np.int64)  # but for the set of the part
        for s in range(linked.sets):
            np.minimum.at(elsewhere, parts[:, s], options - cheapest[parts[:, s]])
        return cls(linked, denominator, total, options, alone + elsewhere[members])

    def up_to(self, loss: int, table: Assignment | None = None) -> LinkedModel:
        """The model of all tables that lose no more units than this, and of one more that is kept."""
        linked = self.linked
        slack = loss * self.denominator - self.total
        options, pairs = self.options <= slack, self.pairs <= slack
        kept_options, kept_pairs = np.zeros_like(options), np.zeros_like(pairs)
        if table is not None:
            option, group = linked.places(table)
            kept_options[option] = True
            for s in range(linked.sets):
                kept_pairs[linked.pair_at(linked.option_parts[option, s], group[:, s])] = True
        candidates = linked.parts.candidates
        of_pair, members = candidates.candidate_of_pair(), candidates.members
        rows = linked.parts.types.counts[members]
        before = -1
        while before != (before := int(options.sum()) + int(pairs.sum())):
            support = np.bincount(of_pair, weights=rows * pairs, minlength=candidates.count)
            pairs &= (support >= linked.parts.sizes)[of_pair]
            there = np.bincount(members[pairs], minlength=linked.parts.types.count) > 0
            options &= there[linked.option_parts].all(axis=1)
            wanted = np.zeros_like(there)
            wanted[linked.option_parts[options]] = True
            pairs &= wanted[members]
        return LinkedModel(linked, np.flatnonzero(options | kept_options), np.flatnonzero(pairs | kept_pairs))


@dataclass(frozen=True, eq=False)
class LinkedModel:
    """What is left. options, pairs: int64, ascending numbers of those of `linked` and of its `parts`."""

    linked: LinkedSets
    options: Ints
    pairs: Ints

    @cached_property
    def candidates(self) -> Ints:
        """Those with a pair that is left, int64 (C,), ascending."""
        return np.unique(self._of_pair)

    @cached_property
    def _of_pair(self) -> Ints:
        return self.linked.parts.candidates.candidate_of_pair()[self.pairs].astype(np.int64)

    @cached_property
    def _part(self) -> Ints:
        return self.linked.parts.candidates.members[self.pairs].astype(np.int64)

    def model(self) -> LinearModel:
        """Variables: rows of each option, rows of each pair, whether each candidate is open; all integer."""
        linked, parts = self.linked, self.linked.parts
        options, pairs, count = len(self.options), len(self.pairs), len(self.candidates)
        places, columns = parts.types.count, options + pairs + count
        option_type, position = linked.option_type[self.options], np.searchsorted(self.candidates, self._of_pair)
        counts, most = linked.instance.types.counts, parts.types.counts[self._part]
        x = options + np.arange(pairs)
        # Σ_P x_qP = Σ_{i,o: q is a part of o} z_io
        received = sums(self._part, x, (places, columns))
        for s in range(linked.sets):
            of_option = linked.option_parts[self.options, s].astype(np.int64)
            received = received - sums(of_option, np.arange(options), (places, columns))
        return program(
            "linked sets",
            np.concatenate([linked.option_cost[self.options], parts.candidates.cost[self._of_pair], np.zeros(count)]),
            np.concatenate([counts[option_type], most, np.ones(count)]),
            np.ones(columns, dtype=np.bool_),
            placed(option_type, counts, columns),
            Constraints(sp.csr_array(received), np.zeros(places), np.zeros(places)),
            large_enough(x, position, parts.sizes[self.candidates], options + pairs, columns),
            linked_pairs(x, most, options + pairs + position, columns),
        )

    def start(self, table: Assignment) -> Floats:
        """The point of a table that was kept, float64 (variables,)."""
        linked = self.linked
        option, group = linked.places(table)
        x = np.zeros(len(self.options) + len(self.pairs) + len(self.candidates))
        np.add.at(x, np.searchsorted(self.options, option), table.rows)
        for s in range(linked.sets):
            pair = linked.pair_at(linked.option_parts[option, s], group[:, s])
            np.add.at(x, len(self.options) + np.searchsorted(self.pairs, pair), table.rows)
        x[len(self.options) + len(self.pairs) + np.searchsorted(self.candidates, np.unique(group))] = 1
        return x

    def table(self, x: Floats) -> Assignment | None:
        """The table of a point; None where the instance has no candidate for what it releases."""
        linked, options, pairs = self.linked, len(self.options), len(self.pairs)
        rows = np.rint(x[: options + pairs]).astype(np.int64)
        option = np.repeat(self.options, rows[:options])
        group = np.empty((len(option), linked.sets), dtype=np.int64)
        part, of_pair = np.repeat(self._part, rows[options:]), np.repeat(self._of_pair, rows[options:])
        for s in range(linked.sets):
            here = linked.set_of[of_pair] == s
            asked, received = (
                np.argsort(linked.option_parts[option, s], kind="stable"),
                np.argsort(part[here], kind="stable"),
            )
            group[asked, s] = of_pair[here][received]
        distinct, lengths = np.unique(np.column_stack([option, group]), axis=0, return_counts=True)
        return linked.table(distinct[:, 0], distinct[:, 1:], lengths.astype(np.int64))
