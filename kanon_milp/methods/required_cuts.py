"""Rank-1 cuts for the hybrid method under requirements, and what they prove."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction

from kanon_milp.bounds import BoundLimit
from kanon_milp.bounds.columns.cut_rounds import CutRounds
from kanon_milp.bounds.dual import DualPoint, Proof, can_be_priced
from kanon_milp.bounds.parameters import FixingParameters
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.errors import InputError
from kanon_milp.methods.phases import Known
from kanon_milp.methods.sizes_phases import CutParams, small_groups
from kanon_milp.solvers import Progress
from kanon_milp.system.arrays import Flags
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("valued_cuts")
@dataclass(frozen=True)
class ValuedCutParams:
    """Rank-1 cuts under requirements of sensitive values."""

    row_types: int = number(3_000, "of one master problem, at most")
    proof_margin: float = number(1.5, "times what the last proof has taken are left for the next one")
    slow: float = number(0.4, "times what cuts have taken so far is too long for the next unit: branching is faster")


class RequiredCuts:
    """Goes on with its rounds from turn to turn.

    possible: whether there is still something to gain: requirements that it can price, few row types, no counted work,
    and a next unit that does not take too long. rounds: what has been done so far; None before there is something.
    exact, point: the best point so far, in integers, and without its cuts for searches to go by; None before there is
    one.
    """

    def __init__(self, known: Known) -> None:
        self.known, self.session, self.tracker = known, known.session, known.tracker
        session, instance, self.params = known.session, known.instance, known.get(ValuedCutParams)
        few = instance.types.count <= self.params.row_types
        some = not known.counted and few and small_groups(instance, known.get(CutParams))
        self.possible = some and bool(session.problem.attributes) and can_be_priced(instance)
        self.exact: Proof | None = None
        self.point: DualPoint | None = None
        self.rounds: CutRounds | None = None
        self._fixing: ReducedCosts | None = None
        self._turns, self._seconds = 0, 0.0  # of rounds with cuts, and seconds of all rounds
        self._proof_seconds = 0.0

    @property
    def begun(self) -> bool:
        """Whether there are multipliers with cuts."""
        return self.rounds is not None

    def rise(self, point: DualPoint, turn: Limit, limit: Limit) -> None:
        """A turn of rounds, and its proof. point: to begin with, with charges. turn: after which no other round is
        begun."""
        if not self.possible or turn.over:
            return
        if self.rounds is None:
            self.rounds = CutRounds(self.session.instance, point, self.tracker.best, self.session.parameters)
        proof = self.params.proof_margin * self._proof_seconds
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
            self.possible = self.possible and missing <= pace * self.params.slow * self._seconds
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
        if self.exact is None or self.exact.value <= value:
            return None
        instance = self.session.instance
        try:
            if self._fixing is None:
                self._fixing = ReducedCosts(
                    self.exact.dual,
                    incumbent,
                    params=self.session.parameters.of(FixingParameters),
                    limit=limit,
                    proof=self.exact,
                )
            found = replace(self._fixing, incumbent=incumbent)
            found.possible(instance)  # looks at the size of the numbers; what it finds is kept
        except InputError:
            return None
        return found

    def _show(self, value: float) -> None:
        self.tracker.show(Progress(0.0, None, value))

    @property
    def converged(self) -> bool:
        """Whether its linear program is near its value over all groups."""
        return self.rounds is not None and self.point is not None and self.rounds.converged

    def near(self, open_limit: float, pair_limit: float) -> Flags:
        """As `CutRounds.near`. Only where it is `begun`."""
        assert self.rounds is not None
        return self.rounds.near(open_limit, pair_limit)
