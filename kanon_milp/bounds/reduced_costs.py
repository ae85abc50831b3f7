"""Reduced-cost fixing: candidates and pairs that no solution better than the incumbent uses.

Not among the reductions of `presolve`: they need multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from kanon_milp.bounds.dual import NEVER, TOO_FINE, ExactDual, Proof, priced_cuts, prove, required_phi
from kanon_milp.bounds.parameters import FixingParameters
from kanon_milp.errors import InputError
from kanon_milp.kernels.covers import pairs_within
from kanon_milp.kernels.pricing import possible_pairs
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Candidates, Instance
from kanon_milp.presolve.part import Part
from kanon_milp.presolve.ragged import indptr_of, split_evenly
from kanon_milp.presolve.reductions import Dropped, Reduction, drop_pairs, merged_types
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.system.limit import NO_LIMIT, Limit

SOME = 1_000_000  # pairs that are looked at in one go


@dataclass(frozen=True, eq=False)
class ReducedCosts(Reduction[Dropped]):
    """Drop candidates and pairs whose reduced cost is too high for anything better than a table at hand.

    dual: multipliers as integers, for the row types of the instance that it is applied to (`bounds.round_dual`; any are
    valid). incumbent: loss U of a table, in units of `Levels.unit`. kept: a table whose candidates and pairs stay as
    well, whatever they cost; what is left has a solution then. limit: until which pairs are looked at one by one.
    proof: what the point proves, where that is known.

    Keeps every solution with a loss below U, so every optimal one if U is not optimal, and adds none. Solutions that
    cost U or more may be lost, the incumbent among them: where row types are left without a candidate, or what is left
    has no solution, nothing is better than the incumbent. Valid for the objective "loss", with all side constraints,
    for requirements that are merge-closed or not.

    Proof. Losses are integer numbers of units, so a solution better than U costs at most U - 1. Let it open g, with a
    group whose reduced cost, surcharge and terms of cuts included, is v ≥ φ_g. The other candidates contribute at least
    min(0, φ_h) each, so its loss is at least L - min(0, φ_g) + v (`bounds.lagrangian_bound`). So y_g = 0 if
    L + max(0, φ_g) > U - 1, and x_ig = 0 if L - min(0, φ_g) + v > U - 1 for every v of a group with a row of type i.

    Of sizes alone v ≥ φ_g + max(0, r_ig - ρ_g), where r_ig = w_g - λ_i and ρ_g is the highest reduced cost among the
    rows that the closed form takes only to reach κ_g, 0 where it takes none: if r_ig < 0 or the closed form takes a row
    of type i, it costs nothing more; else the best with such a row is the row instead of one at ρ_g (exchange
    argument), or besides all others where κ_g is reached without. This holds under all requirements, too. With rank-1
    cuts a depth-first search finds out whether there is a v that is low enough. A candidate whose pairs that are left
    cover fewer than κ_g rows is in no such solution either.

    Under requirements, φ_g looks at the sizes of groups and at how many rows of each joint sensitive value they have,
    and at nothing else. Let a group have m rows of the joint sensitive value σ of row type i, let r_(1) ≤ r_(2) ≤ ...
    be the reduced costs of all rows with σ that g covers, and r_i that of type i.
    (1) Beside the one row of type i the others with σ cost no less than r_(1) + ... + r_(m-1). With the m cheapest rows
    with σ in their place no number changes that φ_g is about: v ≥ φ_g + r_i - r_(m), and v ≥ φ_g.
    (2) All that it has of other values costs no less than their rows with a negative reduced cost together, o_σ:
    v ≥ o_σ + r_(1) + ... + r_(m-1) + r_i.
    The least over m of the larger of the two is a lower bound of v. Where r_(m) ≤ 0, (1) is at least φ_g + r_i; from
    there on (2) rises with m, and (1) falls only where m reaches another row type, up to type i itself: the first such
    m of each type is looked at.
    (3) With the size as the only requirement, as above.
    (4) Few pairs that are left are each looked at for themselves. Let φ' be what φ is for a copy of g of which one row
    of type i costs less by some M ≥ 0. A group of g with such a row is one of the copy whose reduced cost is v - M:
    v ≥ φ' + M. With M = U - L groups without it hardly matter.
    With rank-1 cuts φ_g is with their terms, which are not negative: (1) to (4) speak of v without them.

    What is left is no longer what recoding the table gives, so its row types have no values (`without_values`).
    """

    dual: ExactDual
    incumbent: int
    kept: Assignment | None = None
    limit: Limit = NO_LIMIT
    proof: Proof | None = None
    params: FixingParameters = field(default_factory=FixingParameters, repr=False)
    _known: dict[Instance, tuple[Flags, Flags]] = field(default_factory=dict, init=False, repr=False)
    name: ClassVar[str] = "reduced_costs"

    def accepts(self, problem: Problem) -> bool:
        """The loss as objective, and whatever is asked of each group alone."""
        return problem.objective == "loss" and problem.separable

    def _apply(self, instance: Instance) -> Dropped:
        possible, pairs = self.possible(instance)
        if self.kept is not None:
            of_pair, used = instance.candidates.candidate_of_pair(), self.kept.rows_of_pairs(instance) > 0
            pairs = pairs | used
            possible = possible | (np.bincount(of_pair[used], minlength=instance.candidates.count) > 0)
        return drop_pairs(self.name, instance, possible, pairs)

    def possible(self, instance: Instance) -> tuple[Flags, Flags]:
        """What can be part of a solution better than the incumbent: candidates, bool (G,), and pairs, bool (pairs,) in
        the order of `Candidates.members`, in exact integers. Raises InputError where the numbers could leave the range
        of int64."""
        if instance not in self._known:
            self._known.clear()
            known = self.proof if self.proof is not None and self.proof.instance is instance else None
            dual = self.dual
            if dual.charges is not None and dual.sets.lists:  # (2) knows nothing of packing cuts, sizes do
                known, dual = None, replace(dual, charges=None)
            found = prove(instance, dual) if known is None else known
            self._known[instance] = self._of_sizes(found) if dual.charges is None else self._required(found)
        return self._known[instance]

    def _of_sizes(self, found: Proof) -> tuple[Flags, Flags]:
        """By the closed form and its marginal costs."""
        dual, instance = self.dual, found.instance
        assert found.marginal is not None
        slack = (self.incumbent - 1) * dual.denominator - found.total
        slack = max(-1, min(slack, NEVER - 1))  # a candidate that can never be opened is out in any case
        opened = np.maximum(found.phi, 0)
        candidates = opened <= slack
        if dual.rank_one_cuts.count:
            return self._with_rank_one(found, slack)
        # compared without a sum, which could leave the range
        left = slack - np.where(candidates, opened, 0)
        multipliers, indptr = dual.multipliers[: instance.types.count], instance.candidates.indptr
        costs, members = instance.candidates.cost * dual.denominator, instance.candidates.members
        pairs = np.zeros(len(members), np.bool_)
        # some at a time: as arrays of their own, the numbers of all pairs take gigabytes on large tables
        looked = np.flatnonzero(candidates)
        for some in split_evenly(looked, np.diff(indptr)[looked], SOME):
            lengths = np.diff(indptr)[some]
            here = np.repeat(indptr[some] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
            more = (
                np.repeat(costs[some], lengths) - multipliers[members[here]] - np.repeat(found.marginal[some], lengths)
            )
            pairs[here] = np.maximum(more, 0) <= np.repeat(left[some], lengths)
        return candidates, pairs

    def _with_rank_one(self, found: Proof, slack: int) -> tuple[Flags, Flags]:
        """A pair can be part of it if its candidate has a group with such a row whose value is no higher than what is
        left for it. slack: U - 1 - L."""
        dual, instance, candidates = self.dual, found.instance, found.instance.candidates
        assert found.candidates is not None
        if candidates.pairs > self.params.searched:
            # φ is a lower bound of every group's value, whatever rows it holds
            possible = np.maximum(found.phi, 0) <= slack
            return possible, possible[candidates.candidate_of_pair()]
        # its own part of L comes back: L - min(0, φ) + (value of the group) ≤ U - 1
        below = slack + np.minimum(found.phi, 0) + 1
        multipliers = np.ascontiguousarray(dual.multipliers, dtype=np.int64)
        pairs = possible_pairs(
            *found.candidates, instance.types.counts, multipliers, *priced_cuts(dual, instance.types.count),
            below, self.params.nodes, self.params.steps,
        )  # fmt: skip
        return np.logical_or.reduceat(pairs, candidates.indptr[:-1]), pairs

    def _required(self, found: Proof) -> tuple[Flags, Flags]:
        """By (1) to (4)."""
        dual, instance = found.dual, found.instance
        candidates, counts, denominator = instance.candidates, instance.types.counts, dual.denominator
        highest = max(map(abs, dual.multipliers.tolist()), default=0)
        if 4 * (int(candidates.cost.max(initial=0)) * denominator + highest) * instance.types.n >= NEVER:
            raise InputError(TOO_FINE)
        # v without the terms of cuts is at least `plain`, with them at least `phi`
        plain, phi = found.without_and_with_cuts
        total = found.total - sum(found.phi[found.phi < 0].tolist()) + sum(phi[phi < 0].tolist())
        slack = (self.incumbent - 1) * denominator - total
        opened = (plain < NEVER) & (phi < NEVER)
        opened &= np.maximum(phi, 0) <= min(slack, NEVER - 1) if slack >= 0 else False
        code, _ = instance.sensitive_codes(instance.problem.attributes)
        # every group's v may be as high as this: its own part of L comes back
        most = np.array([slack + min(each, 0) for each in phi.tolist()], dtype=object)
        most = np.where(opened, most, -1).clip(-NEVER, NEVER - 1).astype(np.int64)
        order = np.lexsort((-dual.multipliers, code))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        of_pair = candidates.candidate_of_pair()
        sort = np.lexsort((rank[candidates.members], of_pair))
        possible = np.zeros(candidates.pairs, np.bool_)
        costs = candidates.cost * denominator
        pairs_within(
            candidates.indptr, candidates.members[sort], costs, opened, np.where(opened, plain, 0), most,
            counts, np.ascontiguousarray(dual.multipliers), code, possible,
        )  # fmt: skip
        pairs = np.zeros(candidates.pairs, np.bool_)
        pairs[sort] = possible
        sizes = prove(instance, ExactDual(dual.multipliers, denominator=denominator))
        assert sizes.marginal is not None
        more = costs[of_pair] - dual.multipliers[candidates.members] - sizes.marginal[of_pair]
        pairs &= np.where(opened, sizes.phi, 0)[of_pair] + np.maximum(more, 0) <= most[of_pair]
        looked = np.flatnonzero(pairs)
        assert dual.charges is not None
        charged_or_quick = bool(len(dual.charges)) or not found.priced
        if charged_or_quick and int(candidates.covers.lengths[of_pair[looked]].sum()) <= self.params.looked_at:
            ends = np.cumsum(candidates.covers.lengths[of_pair[looked]])
            for some in np.split(looked, np.flatnonzero(np.diff(ends // self.params.at_once)) + 1):
                if self.limit.over:
                    break
                pairs[some] = _with_each(found, some, slack + 1) <= most[of_pair[some]]
            opened = opened & (np.bincount(of_pair[pairs], minlength=candidates.count) > 0)
        return opened, pairs


def _with_each(found: Proof, pairs: Ints, less: int) -> Ints:
    """For each of these pairs a lower bound of the reduced costs of all groups with such a row, as long as that is
    below what a better table may have. less: M."""
    dual, instance = found.dual, found.instance
    assert dual.charges is not None
    copies, origin, forced = with_a_row(instance, pairs)
    multipliers = dual.multipliers[origin] + np.where(forced, less, 0)
    charges = dual.charges.reshape(-1, instance.candidates.count)[:, copies.chosen].ravel()
    phi = required_phi(copies, ExactDual(multipliers, charges=charges, denominator=dual.denominator))
    lifted: Ints = np.where(phi < NEVER, phi + less, NEVER)
    return lifted


def with_a_row(instance: Instance, pairs: Ints) -> tuple[Part, Ints, Flags]:
    """A copy of its candidate for each of these pairs, in which one row of its row type is a row type of its own.

    Returns an instance of the copies with the sensitive values of all (no table: its row types overlap), for each of
    its row types that of the instance, int64, and whether it is such a single row, bool.
    """
    candidates, t, counts = instance.candidates, instance.types.count, instance.types.counts
    of, alone = candidates.candidate_of_pair()[pairs].astype(np.int64), candidates.members[pairs].astype(np.int64)
    lengths = candidates.covers.lengths[of]
    copy = np.repeat(np.arange(len(pairs)), lengths)
    at = np.repeat(candidates.indptr[of] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    member = candidates.members[at].astype(np.int64)
    # row types t.. 2t-1 are one row each, 2t.. 3t-1 the other rows of the same type
    own = member == alone[copy]
    more = counts[alone] > 1
    member = np.concatenate([np.where(own, member + t, member), alone[more] + 2 * t])
    copy = np.concatenate([copy, np.flatnonzero(more)])
    order = np.lexsort((member, copy))
    member, copy = member[order].astype(np.int32), copy[order]
    origin = np.tile(np.arange(t), 3)
    rows = np.concatenate([counts, np.ones(t, np.int64), counts - 1])
    copies = Candidates(
        candidates.vector[of],
        candidates.cost[of],
        candidates.support[of],
        indptr_of(np.bincount(copy, minlength=len(pairs))),
        member,
    )
    part = Part(
        problem=instance.problem,
        types=merged_types(instance.types, origin, rows),
        levels=instance.levels,
        candidates=copies,
        exempt=instance.exempt[of],
        table_group=instance.table_group,
        of=instance,
        origin=origin,
        chosen=of,
        free=3 * t,
    )
    return part, origin, np.repeat([False, True, False], t)
