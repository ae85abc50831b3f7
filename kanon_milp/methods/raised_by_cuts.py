"""Rank-1 cuts for the hybrid method under requirements: what they prove, and the pairs that they say are worth it."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds import BoundLimit
from kanon_milp.errors import InputError
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import Progress
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds.columns.required_program import ExactCuts, RequiredCuts
    from kanon_milp.bounds.required import RequiredPoint
    from kanon_milp.bounds.required_reduced_costs import RequiredReducedCosts

LARGEST = 3_000  # row types of one master problem
PROOF_MARGIN = 1.5  # times what the last proof has taken are left for the next one


# in a group: cuts about a few row types say little about larger ones (nothing for k = 25 on 5,000 rows of Adult, as on
# all of them), and looking for them takes minutes at k = 100
CUT_ROWS = 15


def small_groups(instance: Instance) -> bool:
    """Whether groups are small enough for rank-1 cuts."""
    return float(np.median(instance.least)) <= CUT_ROWS


class RaisedByCuts:
    """Goes on with its rounds from turn to turn.

    possible: whether there is still something to gain: requirements that it can price, few row types, no counted work.
    exact, point: the best point so far, in integers, and without its cuts for searches to go by; None before there is one.
    """

    def __init__(self, session: Session, tracker: Tracker) -> None:
        self.session, self.tracker = session, tracker
        instance = session.instance
        self.possible = session.iterations is None and instance.types.count <= LARGEST and small_groups(instance)
        if self.possible and session.problem.attributes:
            from kanon_milp.bounds.columns.required_program import accepts  # imports the compiler

            self.possible = accepts(instance)
        else:
            self.possible = False
        self.exact: ExactCuts | None = None
        self.point: RequiredPoint | None = None
        self._cuts: RequiredCuts | None = None
        self._fixing: RequiredReducedCosts | None = None
        self._proof_seconds = 0.0

    @property
    def begun(self) -> bool:
        """Whether there are multipliers with cuts."""
        return self._cuts is not None

    def rise(self, multipliers: NDArray[np.float64], charges: NDArray[np.float64], limit: Limit) -> None:
        """A turn of rounds, and its proof. multipliers, charges: to begin with."""
        if not self.possible or limit.over:
            return
        from kanon_milp.bounds.columns.required_program import RequiredCuts  # imports the compiler

        if self._cuts is None:
            self._cuts = RequiredCuts(self.session.instance, multipliers, self.tracker.best, charges)
        share, best = limit.part(max(limit.left - PROOF_MARGIN * self._proof_seconds, 0.0)), self.tracker.best
        target = None if best is None else math.ceil(best.cost * (1 - self.session.options.gap))
        self.possible = self._cuts.go_on(BoundLimit(share.ends, share.interrupt, target), self._show)
        began = time.perf_counter()
        try:
            exact = self._cuts.exact()
        except InputError:  # exact numbers would need more than 64 bits
            self.possible = False
            return
        if self.exact is None or exact.value > self.exact.value:
            self.exact, self.point, self._fixing = exact, self._cuts.point(), None
            self.tracker.higher(math.ceil(exact.value), ("own bound",))
        self._proof_seconds = time.perf_counter() - began

    def fixing(self, incumbent: int) -> RequiredReducedCosts:
        """What better tables than an incumbent leave out. Only where there is an `exact` point.

        Raises InputError where exact numbers would need more than 64 bits.
        """
        from kanon_milp.bounds.columns.required_program import exact_fixing  # imports the compiler

        assert self.exact is not None
        if self._fixing is None:
            self._fixing = exact_fixing(self.session.instance, self.exact, incumbent, self.session.limit)
        return replace(self._fixing, incumbent=incumbent)

    def _show(self, value: float) -> None:
        self.tracker.show(Progress(0.0, None, value))

    @property
    def converged(self) -> bool:
        """Whether its linear program is worth diving."""
        return self._cuts is not None and self.point is not None and self._cuts.converged

    @property
    def groups(self) -> Groups:
        """The columns of the master problem. Only where it is `begun`."""
        assert self._cuts is not None
        return self._cuts.groups

    def near(self, open_limit: float, pair_limit: float) -> NDArray[np.bool_]:
        """As `RequiredCuts.near`. Only where it is `begun`."""
        assert self._cuts is not None
        return self._cuts.near(open_limit, pair_limit)
