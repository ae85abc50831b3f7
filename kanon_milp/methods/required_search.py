"""The search of the hybrid method under requirements: constructions, annealings, neighbourhoods of the best table.

Points of the required bound lead it, or those with rank-1 cuts where there are some.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from kanon_milp.bounds.dual import DualPoint, Proof
from kanon_milp.heuristics.annealing import AnnealingParameters, SeenPairs
from kanon_milp.heuristics.construction import ConstructionParameters
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.neighbourhoods import NeighbourhoodParameters, Sizes
from kanon_milp.heuristics.set_partitioning import SmallGroupParameters, SmallGroupTables
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.heuristics.valued_annealing import ValuedAnnealingParameters, anneal
from kanon_milp.heuristics.valued_construction import PricedCandidates, construct, rounded
from kanon_milp.heuristics.valued_neighbourhoods import Landscape, rebuild
from kanon_milp.methods.phases import Known
from kanon_milp.methods.required_cuts import RequiredCuts
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.system.arrays import Flags
from kanon_milp.system.parameters import number, parameters

T = TypeVar("T")


@parameters("valued_search")
@dataclass(frozen=True)
class ValuedSearchParams:
    """The search under requirements of sensitive values: constructions, annealings, neighbourhoods."""

    construction_share: float = number(0.3, "of a search, at most", most=1)
    quick_share: float = number(
        0.15, "of a search; tables are constructed anew in each turn if the last one took no more than that"
    )
    risen: int = number(
        200, "a rise of the bound by one part in so many has tables constructed anew even if that takes long"
    )
    promising: float = number(
        1.3, "times the loss of the best table, for a constructed one to be annealed in its place"
    )
    few_values: int = number(
        3, "joint values, up to which annealing begins at the best table and has the smaller share"
    )
    annealing_share: float = number(0.85, "of the first search, for annealing", most=1)
    annealing_share_few: float = number(0.3, "of the first search, for annealing where joint values are few")
    least_share: float = number(0.1, "of a search, for each of annealing and neighbourhoods", most=1)
    worthwhile: float = number(0.002, "part of the loss, below which what annealing gains in a turn is little")
    slower_share: float = number(0.5, "of the next search, at most, for annealing that has gained little", most=1)
    seen_share: float = number(
        0.5, "of the time for neighbourhoods, for those over the pairs that annealings have seen", most=1
    )
    seen_seconds: float = number(8.0, "seconds for one neighbourhood over the pairs that annealings have seen")
    near_gap: float = number(0.05, "relative gap, up to which pairs near the multipliers are looked at")
    near_open: float = number(1.5, "cells, up to which candidates near the multipliers cost more by them")
    near_pair: float = number(3.0, "cells, up to which pairs near the multipliers cost more by them")
    middle_gap: float = number(0.25, "relative gap, up to which it is the next two")
    middle_open: float = number(
        3.0, "cells, up to which candidates at a middling distance cost more by the multipliers"
    )
    middle_pair: float = number(6.0, "cells, up to which pairs at a middling distance cost more by the multipliers")
    far: float = number(12.0, "cells, of both elsewhere")


class RequiredSearch:
    """Goes on from turn to turn with what has paid; better tables go to the tracker."""

    def __init__(self, known: Known, cuts: RequiredCuts) -> None:
        self.known, self.session, self.tracker, self.pool = known, known.session, known.tracker, known.pool
        self.params = known.get(ValuedSearchParams)
        instance = known.instance
        self._neighbourhoods = known.get(NeighbourhoodParameters)
        self._cuts, self._check, self._sizes = cuts, GroupCheck(instance), Sizes.of(self._neighbourhoods)
        self._seen = SeenPairs.of(instance, known.get(AnnealingParameters))
        self._seen_sizes = Sizes.of(self._neighbourhoods, self.params.seen_seconds)
        # value of the bound when a table was constructed last, and how long that took
        self._constructed_at: Fraction | None = None
        self._construction_seconds = 0.0
        # a constructed table that was annealed last, as a multiple of what became of it
        self._promise = self.params.promising
        # what is gained a second, and by annealing as a part of the loss
        self._annealed, self._rebuilt, self._annealed_by = 0.0, 0.0, math.inf
        self._tables = SmallGroupTables(instance, known.get(SmallGroupParameters))
        few = len(instance.sensitive_codes(self.session.problem.attributes)[1]) <= self.params.few_values
        # whether annealing begins at the averages of the bound, not at the best table: with few values the groups that
        # have too many rows of one hardly ever get rid of them
        self._from_averages = not few
        self._first_share = self.params.annealing_share_few if few else self.params.annealing_share

    def improve(self, point: DualPoint, proof: Proof, effort: Effort, seed: int, *, first_turn: bool) -> None:
        """A table constructed anew, or else the best one, is annealed; then neighbourhoods of the best one."""
        instance, start = self.session.instance, self.tracker.best
        leading = self._cuts.point or point
        # the first turn is too short for the averages to become a table; later ones have no use for a construction then
        averages = self._from_averages and not first_turn
        first = rounded(instance, leading, self.known.get(ConstructionParameters)) if averages else None
        new = self._constructed(proof.value, leading, effort, seed) if start is None or first is None else None
        # annealing may make the best table of one that is not, since scarce values are where they are needed
        if new is not None and (start is None or new.cost < self._promise * start.cost):
            start = new
        if start is None or effort.ended(start.cost):
            return
        before, session, accept = self.tracker.best, self.session, self.known.accept
        self._tables.improve(before or start, point, session.adapter, session.options, effort, seed, accept)
        if self.tracker.best is not None and self.tracker.best is not before:
            start = self.tracker.best
        if effort.ended(start.cost):
            return
        if first is not None and self.tracker.best is not None:
            start = self.tracker.best
        cost = start.cost if self.tracker.best is None else self.tracker.best.cost
        part = _part(effort, self._annealing_share(first_turn=first_turn))
        annealed, self._annealed = self._gain(
            lambda: anneal(
                PricedCandidates.of(instance, leading),
                start,
                part,
                self.pool,
                seed,
                self.known.accept,
                first,
                self._seen,
                self.known.get(ValuedAnnealingParameters),
                effort,
            )
        )
        self.known.keep(annealed)
        self._annealed_by = (cost - annealed.cost) / max(cost, 1)
        # what gains little is not gone on with
        if not first_turn:
            self._from_averages = self._from_averages == (self._annealed_by >= self.params.worthwhile)
        if start is new:
            self._promise = start.cost / max(annealed.cost, 1)
        if self.tracker.best is not None and not effort.ended(self.tracker.best.cost):
            _, self._rebuilt = self._gain(lambda: self._rebuild(proof, effort, seed))

    def _constructed(self, value: Fraction, leading: DualPoint, effort: Effort, seed: int) -> Assignment | None:
        """A table constructed with the multipliers at hand; None where these are hardly better than those of the last
        one, or groups would be refused."""
        last, began = self._constructed_at, time.perf_counter()
        if last is not None and self.tracker.best is not None:
            quick = effort.counted or self._construction_seconds <= self.params.quick_share * effort.left
            if value <= last + (0 if quick else abs(last) / self.params.risen):
                return None
        self._constructed_at = value
        PricedCandidates.of(self.session.instance, leading)  # known from here on, and no part of the share
        part, params = _part(effort, self.params.construction_share), self.known.get(ConstructionParameters)
        new = construct(self.session.instance, leading, part, seed, params)
        self._construction_seconds = time.perf_counter() - began
        self.known.keep(new)
        return None if new is None or len(self._check.refused(new)) else new

    def _annealing_share(self, *, first_turn: bool) -> float:
        """What part of a search annealing takes: by what it and neighbourhoods have gained."""
        gained = self._annealed + self._rebuilt
        share = self._annealed / gained if gained > 0 else self._first_share
        params = self.params
        little = not first_turn and self._annealed_by < params.worthwhile
        return min(max(share, params.least_share), params.slower_share if little else 1 - params.least_share)

    def _gain(self, search: Callable[[], T]) -> tuple[T, float]:
        """What a search returns, and by how much it has improved the best table in a second."""
        began, before = time.perf_counter(), self.tracker.best
        found, after = search(), self.tracker.best
        fallen = 0 if before is None or after is None else before.cost - after.cost
        return found, fallen / max(time.perf_counter() - began, 1e-3)

    def _rebuild(self, proof: Proof, effort: Effort, seed: int) -> None:
        """Neighbourhoods of the best table: over the pairs that annealings have seen, then near the multipliers."""
        count = effort.neighbourhoods
        if self._seen and count != 1:
            some = (
                effort.part(self.params.seen_share * effort.left)
                if count is None
                else replace(effort, neighbourhoods=count // 2)
            )
            self._rebuild_over(self._seen.cheapest(), some, seed, self._seen_sizes)
            effort = effort if count is None else replace(effort, neighbourhoods=count - count // 2)
        best = self.tracker.best
        assert best is not None
        if not effort.ended(best.cost):
            self._rebuild_over(self._near(proof, best), effort, seed, self._sizes)

    def _rebuild_over(self, allowed: Flags, effort: Effort, seed: int, sizes: Sizes) -> None:
        """Neighbourhoods over these pairs, bool (pairs,)."""
        session, best = self.session, self.tracker.best
        assert best is not None
        params = self._neighbourhoods
        if effort.ended(best.cost) or not sizes.longest:
            return
        landscape = Landscape(session.instance, allowed, self._check, params)
        adapter, options, better = session.adapter, session.options, self.tracker.better
        table, _ = rebuild(landscape, best, adapter, options, self.pool, effort, seed, better, sizes, params)
        self.known.keep(table)

    def _near(self, proof: Proof, best: Assignment) -> Flags:
        """The pairs near the multipliers, bool (pairs,)."""
        instance = self.session.instance
        gap = 1 - float(proof.value) / max(best.cost, 1)
        params = self.params
        open_limit, pair_limit = params.far, params.far
        if gap <= params.near_gap:
            open_limit, pair_limit = params.near_open, params.near_pair
        elif gap <= params.middle_gap:
            open_limit, pair_limit = params.middle_open, params.middle_pair
        cell = cell_cost(instance)
        if self._cuts.begun:
            allowed = self._cuts.near(open_limit * cell, pair_limit * cell)
        else:
            allowed = proof.near(open_limit * cell, pair_limit * cell)
        return allowed & self.known.possible(best.cost + 1)


def _part(effort: Effort, share: float) -> Effort:
    """A share of the time that is left, where time is what counts."""
    return effort if effort.counted else effort.part(share * effort.left)
