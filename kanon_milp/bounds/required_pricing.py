"""Closed candidates without a list of them under requirements about sensitive values.

Every group that is required has κ rows or more, so φ_g is not below that of sizes alone, and only candidates for which
that is negative can have φ_g < 0. These are listed, with all row types that they cover, and solved one by one with what
their relaxations say of values (`kanon_milp.bounds.relaxations`). So L counts all candidates.

A point is λ of the row types, then the multipliers of numbers of groups, which are added to φ either way; an evaluator
has charges after these.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds.closure_pricing import ClosurePricing
from kanon_milp.bounds.dual import NEVER, DualPoint, ExactDual, prove, round_dual
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.packing_cuts import TypeSets
from kanon_milp.bounds.parameters import PricingParameters, SubproblemParameters, ValuedPricingParameters
from kanon_milp.bounds.pattern_pricing import PatternPricing, Priced, box
from kanon_milp.bounds.priced_ascent import PricedAscent
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import priced_by_vectors
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.presolve.reductions import supports
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import NO_LIMIT, Limit
from kanon_milp.system.parameters import DEFAULT, Parameters

if TYPE_CHECKING:
    from kanon_milp.system.worker_pool import Pool


class RequiredPricing(PatternPricing):
    """The closed candidates of a problem with sensitive values, with the charges of those that were looked at last."""

    def __init__(
        self,
        problem: Problem,
        types: RowTypes,
        threads: int = 1,
        params: Parameters = DEFAULT,
        pool: Pool | None = None,
    ) -> None:
        """types: one for each (quasi-identifier, sensitive) tuple. Raises ValueError where nothing is asked about
        values, and as `PatternPricing`."""
        super().__init__(problem, types, pool)
        self._know_values(threads, params)

    def _know_values(self, threads: int, params: Parameters) -> None:
        relaxations = relaxations_of(self.root)
        if not relaxations:
            raise ValueError("no requirement is about a sensitive attribute")
        self._threads, self._effort = threads, params.of(SubproblemParameters)
        charged = sum(relaxation.closeness is not None for relaxation in relaxations)
        self._charges, self._charged = np.zeros((charged, 0)), np.zeros(0, np.int64)

    def _near(self, point: Floats, open_limit: float, pair_limit: float, also: Instance | None) -> Priced:
        """As of sizes, by what their relaxations say: with the pairs below the limit, without which a group may lack
        values."""
        multipliers, of_groups = self.split(point)
        limit = open_limit * self.cell
        _, vector, indptr, members = self._price(multipliers, limit, math.inf, True, of_groups=of_groups)
        instance, keys = self._instance(vector, indptr, members, also)
        at = RequiredEvaluator(
            instance, point, self._charges_of(keys), self._threads, sets=self.sets, params=self._effort
        )
        point = at.start()
        if len(self._charges):
            better = at.refined(point, BoundLimit(math.inf), final=False)
            point = point if better is None else better
            self._keep(keys, point)
        evaluation = at(point, everything=True)
        candidates = instance.candidates
        always = np.isin(candidates.vector, self._whole) & (np.diff(candidates.indptr) == self.types.count)
        if also is not None:
            always[self.numbers(Priced(evaluation.value, instance, keys), also)] = True
        keep = always | (evaluation.phi < limit)
        of_pair = candidates.candidate_of_pair()
        reduced = candidates.cost[of_pair] - multipliers[candidates.members]
        pairs = keep[of_pair] & (always[of_pair] | (reduced < pair_limit * self.cell))
        return Priced(evaluation.value, _with_pairs(instance, keep, pairs), keys[keep])

    def exact(self, dual: ExactDual) -> int:
        """As of sizes, with the charges at hand."""
        instance, charged = self.open_candidates(dual)
        return prove(instance, charged, params=self._effort).total

    def open_candidates(self, dual: ExactDual) -> tuple[Instance, ExactDual]:
        """The candidates whose groups can be below 0, with all that they cover, and the point with the charges at
        hand of these; what others add to L is 0."""
        self._refuse(dual)
        of_groups = self.of_groups(dual)
        _, vector, indptr, members = self._price(dual.multipliers, 0, NEVER, True, dual.denominator, of_groups)
        instance, keys = self._instance(vector, indptr, members)
        charges = np.rint(self._charges_of(keys) * dual.denominator).astype(np.int64)
        return instance, replace(dual, charges=charges)

    def evaluator(self, priced: Priced, centre: Floats, width: float, threads: int, params: Parameters) -> _Boxed:
        """With the charges at hand."""
        return _Boxed(
            priced.instance, centre, self._charges_of(priced.keys), width, threads, params.of(SubproblemParameters),
            self.sets,
        )  # fmt: skip

    def charges(self, point: Floats) -> Floats:
        """What comes after the multipliers."""
        return point[self.types.count + self.sets.lists :]

    def ascent_parameters(self, params: Parameters) -> PricingParameters:
        """Those under requirements about values."""
        return params.of(ValuedPricingParameters)

    def learn(self, priced: Priced, point: Floats) -> None:
        """Keep the charges."""
        self._keep(priced.keys, point)

    def _keep(self, keys: Ints, point: Floats) -> None:
        if len(self._charges):
            self._charged, self._charges = keys, self.charges(point).reshape(len(self._charges), -1)

    def _charges_of(self, keys: Ints) -> Floats:
        """Of these candidates, one relaxation after the other; 0 where they are not known."""
        found = np.zeros((len(self._charges), len(keys)))
        if len(self._charged):
            at = np.minimum(np.searchsorted(self._charged, keys), len(self._charged) - 1)
            found[:] = np.where(self._charged[at] == keys, self._charges[:, at], 0.0)
        return found.reshape(-1)


class RequiredClosurePricing(RequiredPricing, ClosurePricing):
    """The same where level vectors are too many to be gone through. limit: of all looks."""

    def __init__(
        self,
        problem: Problem,
        types: RowTypes,
        threads: int = 1,
        params: Parameters = DEFAULT,
        limit: Limit = NO_LIMIT,
        pool: Pool | None = None,
    ) -> None:
        ClosurePricing.__init__(self, problem, types, params, limit, pool)
        self._know_values(threads, params)


def required_pricing_of(
    problem: Problem,
    types: RowTypes,
    threads: int = 1,
    params: Parameters = DEFAULT,
    limit: Limit = NO_LIMIT,
    pool: Pool | None = None,
) -> RequiredPricing:
    """As `pricing_of`."""
    if priced_by_vectors(problem, types):
        return RequiredPricing(problem, types, threads, params, pool)
    return RequiredClosurePricing(replace(problem, min_groups=None), types, threads, params, limit, pool)


def priced_point(
    problem: Problem, types: RowTypes, dual: DualPoint, start: Floats | None, limit: Limit, seconds: float
) -> tuple[Instance, DualPoint]:
    """Multipliers for a certificate, raised in so many seconds, and the candidates that are open at them.

    start: those of row types to begin with; dual: has those of numbers of groups. Groups of a few rows are not looked
    at one by one, which a certificate cannot say.
    Raises InputError where what they prove is not known by the limit.
    """
    params = Parameters({"subproblems.tried": 0})
    source, part = required_pricing_of(problem, types, params=params, limit=limit), limit.part(seconds)
    start = None if start is None else np.concatenate([start, dual.of_numbers(source.sets)])
    ascent = PricedAscent(source, params=params, start=start)
    while not (part.over or ascent.stalled):
        ascent.rise(part)
    instance, exact = source.open_candidates(round_dual(ascent.best))
    assert exact.charges is not None
    return instance, replace(ascent.best, charges=exact.charges / exact.denominator)


class _Boxed(RequiredEvaluator):
    """L over some of the candidates in a box around a point."""

    def __init__(
        self,
        instance: Instance,
        centre: Floats,
        charges: Floats,
        width: float,
        threads: int,
        params: SubproblemParameters,
        sets: TypeSets,
    ) -> None:
        self._box = box(instance, centre, width)
        super().__init__(instance, centre, charges, threads, sets=sets, params=params)

    def within(self, point: Floats) -> Floats:
        """The nearest point of the box; charges are free."""
        point[: self.multipliers] = np.clip(point[: self.multipliers], *self._box)
        return point

    def average(self, weight: float) -> None:
        """Nobody asks for the averages of rows."""


def _with_pairs(instance: Instance, keep: Flags, pairs: Flags) -> Instance:
    """Some of the candidates with some of their pairs."""
    candidates = instance.candidates
    number = np.cumsum(keep) - 1
    of_pair, members = number[candidates.candidate_of_pair()[pairs]].astype(np.int32), candidates.members[pairs]
    count = int(keep.sum())
    return replace(
        instance,
        candidates=replace(
            candidates,
            vector=candidates.vector[keep],
            cost=candidates.cost[keep],
            support=supports(instance.types.counts, of_pair, members, count),
            indptr=indptr_of(np.bincount(of_pair, minlength=count)),
            members=members,
        ),
        exempt=instance.exempt[keep],
    )
