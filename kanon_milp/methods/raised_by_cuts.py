"""Rank-1 cuts for the hybrid method under requirements: what they prove, and the tables that they lead to."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds import BoundLimit
from kanon_milp.errors import InputError
from kanon_milp.heuristics.annealing import SeenPairs
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.heuristics.worker_pool import Effort, Pool
from kanon_milp.methods.guide import MODEL_PAIRS
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import Progress
from kanon_milp.system.arrays import Flags
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds.columns.cut_rounds import CutRounds
    from kanon_milp.bounds.dual import DualPoint, Proof
    from kanon_milp.bounds.reduced_costs import ReducedCosts

LARGEST = 3_000  # row types of one master problem
PROOF_MARGIN = 1.5  # times what the last proof has taken are left for the next one
SLOW = 0.4  # times what cuts have taken so far is too long for the next unit: branching raises it faster
# tables of the pairs near the multipliers with cuts, as one model: candidates and pairs up to so many cells, at first;
# wider by this factor where it was solved to the end, narrower where it was not
NARROW, NARROW_PAIRS, WIDER, NARROWER = 0.5, 3.0, 1.5, 0.85
DIVING_SHARE, LESS_DIVING = 0.8, 0.2  # of a search, for diving; after a search whose dives have found nothing
MOST_DIVES = 100  # in one search
# in a group: cuts about a few row types say little about larger ones (nothing for k = 25 on 5,000 rows of Adult, as on
# all of them), and looking for them takes minutes at k = 100
CUT_ROWS = 15


def small_groups(instance: Instance) -> bool:
    """Whether groups are small enough for rank-1 cuts."""
    return float(np.median(instance.least)) <= CUT_ROWS


class RaisedByCuts:
    """Goes on with its rounds from turn to turn.

    possible: whether there is still something to gain: requirements that it can price, few row types, no counted work,
    and a next unit that does not take too long. rounds: what has been done so far; None before there is something.
    exact, point: the best point so far, in integers, and without its cuts for searches to go by; None before there is
    one.
    """

    def __init__(self, session: Session, tracker: Tracker) -> None:
        self.session, self.tracker = session, tracker
        instance = session.instance
        self.possible = session.iterations is None and instance.types.count <= LARGEST and small_groups(instance)
        if self.possible and session.problem.attributes:
            from kanon_milp.bounds.dual import can_be_priced  # imports the compiler

            self.possible = can_be_priced(instance)
        else:
            self.possible = False
        self.exact: Proof | None = None
        self.point: DualPoint | None = None
        self.rounds: CutRounds | None = None
        self._fixing: ReducedCosts | None = None
        self._turns, self._seconds = 0, 0.0  # of rounds with cuts, and seconds of all rounds
        self._proof_seconds, self._width = 0.0, NARROW
        self._dive_seconds, self._diving_share = 0.0, DIVING_SHARE

    @property
    def begun(self) -> bool:
        """Whether there are multipliers with cuts."""
        return self.rounds is not None

    def rise(self, point: DualPoint, turn: Limit, limit: Limit) -> None:
        """A turn of rounds, and its proof. point: to begin with, with charges. turn: after which no other round is
        begun."""
        if not self.possible or turn.over:
            return
        from kanon_milp.bounds.columns.cut_rounds import CutRounds  # imports the compiler

        if self.rounds is None:
            self.rounds = CutRounds(self.session.instance, point, self.tracker.best)
        proof = PROOF_MARGIN * self._proof_seconds
        share, whole = (each.part(max(each.left - proof, 0.0)) for each in (turn, limit))
        best = self.tracker.best
        target = None if best is None else math.ceil(best.cost * (1 - self.session.options.gap))
        began, before = time.perf_counter(), self.rounds.value
        self.possible = self.rounds.go_on(BoundLimit(share.ends, share.interrupt, target), self._show, whole=whole)
        self._seconds += time.perf_counter() - began
        self._turns += self.rounds.at.rank_one_cuts.count > 0
        if self._turns > 1:  # the first one has to find its groups
            pace = (self.rounds.value - before) / max(time.perf_counter() - began, 1e-3)
            missing = math.floor(self.rounds.value) + 1 - self.rounds.value
            self.possible = self.possible and missing <= pace * SLOW * self._seconds
        began = time.perf_counter()
        try:
            exact = self.rounds.proof()
        except InputError:  # exact numbers would need more than 64 bits
            self.possible = False
            return
        if self.exact is None or exact.value > self.exact.value:
            self.exact, self.point, self._fixing = exact, self.rounds.averages(), None
            self.tracker.higher(math.ceil(exact.value), ("own bound",))
        self._proof_seconds = time.perf_counter() - began

    def fixing(self, incumbent: int, value: Fraction, limit: Limit) -> ReducedCosts | None:
        """What better tables than an incumbent leave out, where there is an `exact` point that proves more than
        `value`; None elsewhere, and where exact numbers would need more than 64 bits."""
        from kanon_milp.bounds.reduced_costs import ReducedCosts  # imports the compiler

        if self.exact is None or self.exact.value <= value:
            return None
        instance = self.session.instance
        try:
            if self._fixing is None:
                self._fixing = ReducedCosts(self.exact.dual, incumbent, limit=limit, proof=self.exact)
            found = replace(self._fixing, incumbent=incumbent)
            found.possible(instance)  # looks at the size of the numbers; what it finds is kept
        except InputError:
            return None
        return found

    def dive(
        self, effort: Effort, seed: int, pool: Pool, keep: Callable[[Assignment], None], seen: SeenPairs | None
    ) -> None:
        """Tables by diving, each annealed, in a share of the time. Only where it is `converged`. seen: as in `anneal`.

        The rest is for `narrow`, whose models may need more than a few seconds: where dives find nothing, the two take
        turns.
        """
        from kanon_milp.heuristics.rounding import dive
        from kanon_milp.heuristics.valued_annealing import anneal  # these import the compiler
        from kanon_milp.heuristics.valued_construction import Guide

        instance, point, known = self.session.instance, self.point, self.tracker.best
        check, effort = GroupCheck(instance), effort.part(self._diving_share * effort.left)
        assert self.rounds is not None
        assert point is not None
        for number in range(MOST_DIVES):
            best, began = self.tracker.best, time.perf_counter()
            if best is None or effort.ended(best.cost) or effort.left < self._dive_seconds:
                break
            first = dive(instance, point, self.rounds.groups, best, effort, seed + number)
            if not len(check.refused(first)):
                keep(first)
            start = self.tracker.best or best
            keep(anneal(Guide.of(instance, point), start, effort, pool, seed + number, keep, first, seen))
            self._dive_seconds = time.perf_counter() - began
        fruitless = self.tracker.best is known and self._diving_share == DIVING_SHARE
        self._diving_share = LESS_DIVING if fruitless else DIVING_SHARE

    def narrow(self, effort: Effort, seed: int, pool: Pool, keep: Callable[[Assignment], None]) -> None:
        """All rows at once with the few pairs near the multipliers, then with more of them. Only where it is `begun`.

        These multipliers say so much better which pairs a good table has that the model can be solved to the end.
        """
        from kanon_milp.heuristics.neighbourhoods import Sizes
        from kanon_milp.heuristics.valued_neighbourhoods import Landscape, rebuild  # imports the compiler

        session, instance = self.session, self.session.instance
        cell, check = cell_cost(instance), GroupCheck(instance)
        done = True
        while done and self.tracker.best is not None and not effort.ended(self.tracker.best.cost):
            allowed = self.near(self._width * cell, NARROW_PAIRS * self._width * cell)
            if int(allowed.sum()) > MODEL_PAIRS:
                return
            table, done = rebuild(
                Landscape(instance, allowed, check), self.tracker.best, session.adapter, session.options,
                pool, effort, seed, self.tracker.better, Sizes(instance.types.n, 1.0, math.inf),
            )  # fmt: skip
            keep(table)
            self._width *= WIDER if done else NARROWER
            if allowed.all():
                return  # there is no wider one

    def _show(self, value: float) -> None:
        self.tracker.show(Progress(0.0, None, value))

    @property
    def converged(self) -> bool:
        """Whether its linear program is worth diving."""
        return self.rounds is not None and self.point is not None and self.rounds.converged

    def near(self, open_limit: float, pair_limit: float) -> Flags:
        """As `CutRounds.near`. Only where it is `begun`."""
        assert self.rounds is not None
        return self.rounds.near(open_limit, pair_limit)
