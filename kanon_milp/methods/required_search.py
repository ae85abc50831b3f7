"""The search of the hybrid method under requirements: constructions, annealings, neighbourhoods of the best table.

Points of the required bound lead it, or those with rank-1 cuts where there are some.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from kanon_milp.bounds.dual import DualPoint, Proof
from kanon_milp.heuristics.annealing import SeenPairs
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.grouping import tighten_groups
from kanon_milp.heuristics.neighbourhoods import Sizes
from kanon_milp.heuristics.rounding import rounded
from kanon_milp.heuristics.set_partitioning import SmallGroupTables
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.heuristics.valued_annealing import anneal
from kanon_milp.heuristics.valued_construction import Guide, construct
from kanon_milp.heuristics.valued_neighbourhoods import Landscape, rebuild
from kanon_milp.heuristics.worker_pool import Effort, Pool
from kanon_milp.methods.raised_by_cuts import RaisedByCuts
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.system.arrays import Flags

T = TypeVar("T")

CONSTRUCTION_SHARE = 0.3  # of a search, at most
QUICK_SHARE = 0.15  # of a search; tables are constructed anew in each turn if the last one took no more than that
RISEN = Fraction(1, 200)  # relative rise of the bound after which tables are constructed anew even if that takes long
PROMISING = 1.3  # times the loss of the best table, for a constructed one to be annealed in its place
FEW_VALUES = 3  # joint values
ANNEALING_SHARES = ((FEW_VALUES, 0.3), (math.inf, 0.85))  # of a search, where there are so many joint values at most
LEAST_SHARE = 0.1  # of a search, for each of annealing and neighbourhoods
# part of the loss that annealing gains in a turn, below which it takes no more than this share of the next search
WORTHWHILE, SLOWER_SHARE = 0.002, 0.5
NARROW_SHARE = 0.7  # of the time for neighbourhoods, for models of all rows by multipliers with cuts
# the same, for neighbourhoods over the pairs that annealings have seen, and seconds for one of them
SEEN_SHARE, SEEN_SLICE = 0.5, 8.0
# relative gap up to which candidates and pairs of these reduced costs, in cells, are looked at
WIDTHS = ((0.05, 1.5, 3.0), (0.25, 3.0, 6.0), (math.inf, 12.0, 12.0))


class RequiredSearch:
    """Goes on from turn to turn with what has paid; better tables go to the tracker.

    possible: the pairs that a better table than one of this loss could have, bool (pairs,).
    """

    def __init__(
        self, session: Session, tracker: Tracker, pool: Pool, cuts: RaisedByCuts, possible: Callable[[int], Flags]
    ) -> None:
        self.session, self.tracker, self.pool = session, tracker, pool
        instance = session.instance
        self._cuts, self._possible, self._check, self._sizes = cuts, possible, GroupCheck(instance), Sizes()
        self._seen, self._seen_sizes = SeenPairs.of(instance), Sizes(longest=SEEN_SLICE)
        # value of the bound when a table was constructed last, and how long that took
        self._constructed_at: Fraction | None = None
        self._construction_seconds = 0.0
        # a constructed table that was annealed last, as a multiple of what became of it
        self._promise = PROMISING
        # what is gained a second, and by annealing as a part of the loss
        self._annealed, self._rebuilt, self._annealed_by = 0.0, 0.0, 0.0
        self._tables = SmallGroupTables(instance)
        values = len(instance.sensitive_codes(session.problem.attributes)[1])
        # whether annealing begins at the averages of the bound, not at the best table: with few values the groups that
        # have too many rows of one hardly ever get rid of them
        self._from_averages = values > FEW_VALUES
        self._first_share = next(share for most, share in ANNEALING_SHARES if values <= most)

    def keep(self, table: Assignment | None) -> None:
        """If each of its groups satisfies all requirements; where these allow it, each group as cheap as its rows."""
        if table is not None:
            tight = tighten_groups(self.session.instance, table) if self.session.problem.merge_closed else table
            self._accept(tight)

    def _accept(self, table: Assignment) -> None:
        """As `keep`, but quick."""
        best = self.tracker.best
        if (best is None or table.cost < best.cost) and not len(self._check.refused(table)):
            self.tracker.better(table)

    def improve(self, point: DualPoint, proof: Proof, effort: Effort, seed: int, *, first_turn: bool) -> None:
        """A table constructed anew, or else the best one, is annealed; then neighbourhoods of the best one."""
        instance, start = self.session.instance, self.tracker.best
        leading = self._cuts.point or point
        # the first turn is too short for the averages to become a table; later ones have no use for a construction then
        first = rounded(instance, leading) if self._from_averages and not first_turn else None
        new = self._constructed(proof.value, leading, effort, seed) if start is None or first is None else None
        # annealing may make the best table of one that is not, since scarce values are where they are needed
        if new is not None and (start is None or new.cost < self._promise * start.cost):
            start = new
        if start is None or effort.ended(start.cost):
            return
        known, session = self.tracker.best, self.session
        self._tables.improve(known or start, point, session.adapter, session.options, effort, seed, self._accept)
        if self.tracker.best is not None and self.tracker.best is not known:
            start = self.tracker.best
        if self._cuts.converged and not effort.counted:
            self._cuts.dive(effort, seed, self.pool, self.keep, self._seen)
            start = self.tracker.best or start
        if effort.ended(start.cost):
            return
        if first is not None and self.tracker.best is not None:
            start = self.tracker.best
        before = start.cost if self.tracker.best is None else self.tracker.best.cost
        part = _part(effort, self._annealing_share(first_turn=first_turn))
        annealed, self._annealed = self._gain(
            lambda: anneal(Guide.of(instance, leading), start, part, self.pool, seed, self._accept, first, self._seen)
        )
        self.keep(annealed)
        self._annealed_by = (before - annealed.cost) / max(before, 1)
        # what gains little is not gone on with
        if not first_turn:
            self._from_averages = self._from_averages == (self._annealed_by >= WORTHWHILE)
        if start is new:
            self._promise = start.cost / max(annealed.cost, 1)
        if self.tracker.best is not None and not effort.ended(self.tracker.best.cost):
            _, self._rebuilt = self._gain(lambda: self._rebuild(proof, effort, seed))

    def _constructed(self, value: Fraction, leading: DualPoint, effort: Effort, seed: int) -> Assignment | None:
        """A table constructed with the multipliers at hand; None where these are hardly better than those of the last
        one, or groups would be refused."""
        last, began = self._constructed_at, time.perf_counter()
        if last is not None and self.tracker.best is not None:
            quick = effort.counted or self._construction_seconds <= QUICK_SHARE * effort.left
            if value <= last + (0 if quick else RISEN * abs(last)):
                return None
        self._constructed_at = value
        new = construct(self.session.instance, leading, _part(effort, CONSTRUCTION_SHARE), seed)
        self._construction_seconds = time.perf_counter() - began
        self.keep(new)
        return None if new is None or len(self._check.refused(new)) else new

    def _annealing_share(self, *, first_turn: bool) -> float:
        """What part of a search annealing takes: by what it has gained beside neighbourhoods."""
        gained = self._annealed + self._rebuilt
        share = self._annealed / gained if gained > 0 else self._first_share
        most = SLOWER_SHARE if not first_turn and self._annealed_by < WORTHWHILE else 1 - LEAST_SHARE
        return min(max(share, LEAST_SHARE), most)

    def _gain(self, search: Callable[[], T]) -> tuple[T, float]:
        """What a search returns, and by how much it has improved the best table in a second."""
        began, before = time.perf_counter(), self.tracker.best
        found, after = search(), self.tracker.best
        fallen = 0 if before is None or after is None else before.cost - after.cost
        return found, fallen / max(time.perf_counter() - began, 1e-3)

    def _rebuild(self, proof: Proof, effort: Effort, seed: int) -> None:
        """Neighbourhoods of the best table: over the pairs that annealings have seen, then near the multipliers."""
        if self._cuts.begun and not effort.counted:
            self._cuts.narrow(effort.part(NARROW_SHARE * effort.left), seed, self.pool, self.keep)
        count = effort.neighbourhoods
        if self._seen and count != 1:
            some = (
                effort.part(SEEN_SHARE * effort.left) if count is None else replace(effort, neighbourhoods=count // 2)
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
        if effort.ended(best.cost):
            return
        landscape = Landscape(session.instance, allowed, self._check)
        adapter, options, better = session.adapter, session.options, self.tracker.better
        table, _ = rebuild(landscape, best, adapter, options, self.pool, effort, seed, better, sizes)
        self.keep(table)

    def _near(self, proof: Proof, best: Assignment) -> Flags:
        """The pairs near the multipliers, bool (pairs,)."""
        instance = self.session.instance
        gap = 1 - float(proof.value) / max(best.cost, 1)
        open_limit, pair_limit = next((a, b) for most, a, b in WIDTHS if gap <= most)
        cell = cell_cost(instance)
        if self._cuts.begun:
            allowed = self._cuts.near(open_limit * cell, pair_limit * cell)
        else:
            allowed = proof.near(open_limit * cell, pair_limit * cell)
        return allowed & self._possible(best.cost + 1)


def _part(effort: Effort, share: float) -> Effort:
    """A share of the time that is left, where time is what counts."""
    return effort if effort.counted else effort.part(share * effort.left)
