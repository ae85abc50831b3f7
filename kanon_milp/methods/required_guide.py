"""What leads the hybrid method under requirements other than sizes: the required bound, and what its multipliers guide.

Bound and search take turns, since better multipliers give better constructions and better tables give better targets;
each turn's time is divided by what the last ones have gained. The bound is the required one, then has rank-1 cuts, then
branches. A requirement that tells bounds nothing, such as one of a user's own, has the multipliers of sizes, and is
searched by its `holds` and `declare` alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds import BoundLimit
from kanon_milp.bounds.dual import DENOMINATOR, DualPoint, ExactDual, Proof, prove, round_dual, round_multipliers
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.errors import InputError
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.valued_construction import mended
from kanon_milp.heuristics.worker_pool import Pool
from kanon_milp.methods.core_trials import FEW_PAIR_SECONDS, FEW_WORK_PAIR_SECONDS, CoreTrials
from kanon_milp.methods.guide import MODEL_PAIRS, Guide, few_options, limits_work, multipliers_of_sizes
from kanon_milp.methods.raised_by_cuts import RaisedByCuts
from kanon_milp.methods.required_search import RequiredSearch
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.resources import PAIR_SECONDS
from kanon_milp.solvers.proof import REGISTERED
from kanon_milp.system.arrays import Flags
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint
    from kanon_milp.methods.required_branching import RequiredBranching
    from kanon_milp.methods.sizes_guide import SizesGuide


# seconds of a turn of bound and search together; the first one is short, as many pairs as there are: tables constructed
# with early multipliers may be as good as those with the best ones
TURN_SHARE, SHORTEST, LONGEST, PAIR_TURN = 0.2, 3.0, 90.0, 1e-5
SHORTEST_FEW = 0.6  # where row types have few candidates, and the solver may be quick
SIZES_SHARE = 0.25  # of the first turn, for multipliers of sizes alone to begin with
# where different ones of many values are all that is asked: of the time left, for a search by sizes alone, if no more
# than this part of the groups that are found so fails
BY_SIZES_SHARE, FEW_FAILING = 0.7, 0.2
# times as long as the one before is each turn: good averages are annealed for long; rank-1 cuts do not wait for that
LONGER, LONGER_WITH_CUTS = 3.0, 1.5
LAST, LAST_SHARE = 1.6, 0.4  # turns, or less, that are left are one, with this share for the bound at most
LEAST_SHARE = 0.2  # of a turn, for each of bound and search
# the same for branch and bound, where table and bound are so many units apart, but where a turn gains nothing in so few
# nodes
BRANCHING_SHARE, BRANCH_GAP, FEW_NODES = 0.5, 6, 3
EASY_PAIRS = 2_000  # a core problem of this size goes to the solver at once
# one of this size after so much of the time, where there are cuts after this, a larger one when all else fails
CORE_PAIRS, ROUNDS_SHARE, ROUNDS_SHARE_WITH_CUTS = 50_000, 0.5, 0.85
DECLARED_SHARE = 0.1  # of what is left, for declaring it
PATIENCE = 4  # searches that find nothing while the bound does not rise, before a larger one is all that is left
PROOF_MARGIN = 1.5  # times what the last proof has taken are left for the next one
LATEST = 5.0  # seconds that a turn is late, at most, but for what has to be compiled
STALLED, STALLED_AFTER = 2e-5, 100  # relative rise of the bound in so many iterations that is not worth it
# the same where rank-1 cuts can go on from there, which gains more; where work is charged, and exact in their groups
SLOW, SLOW_AFTER, SLOW_CHARGED = 5e-4, 20, 1e-2
COUNTED_ITERATIONS, COUNTED_TURNS = 200, 1  # of the bound in a turn, after the first one, where work is counted


class RequiredGuide(Guide):
    """Requirements about sensitive attributes, or of a user's own; each is about every group alone."""

    search_part = "valued_search"

    def __init__(self, session: Session, tracker: Tracker, pool: Pool, limit: Limit) -> None:
        super().__init__(session, tracker, pool, limit)
        instance = session.instance
        self._point = DualPoint(np.zeros(session.instance.types.count))
        self._proof: Proof | None = None  # of the point
        self._fixing: ReducedCosts | None = None
        self._proof_seconds, self._late = 0.0, 0.0  # of the last proof, and by how much a turn was late
        self._turns, self._seconds, self._bound_share = 0, 0.0, 0.5
        # whether the bound does not rise any more, and how many searches have found nothing since
        self._stalled, self._fruitless = not session.problem.attributes, 0
        self._cuts = RaisedByCuts(session, tracker)
        self._branching: RequiredBranching | None = None
        self._branched, self._idle = False, False  # nothing more is to be had by branching; its nodes take long
        self._few = few_options(instance)
        pair_seconds = FEW_WORK_PAIR_SECONDS if limits_work(instance) else FEW_PAIR_SECONDS
        self._trials = CoreTrials(session.clock.began, pair_seconds if self._few else math.inf)
        self._sizes: SizesGuide | None = None  # whose table few groups of which do not satisfy the requirements
        self._searched = -1  # the turn that was searched last
        self._rises, self._falls = 0.0, 0.0  # a second, in the last turns
        self._table_search = RequiredSearch(session, tracker, pool, self._cuts, self._possible)

    def keep(self, table: Assignment | None) -> None:
        """As `RequiredSearch.keep`."""
        self._table_search.keep(table)

    def bound(self) -> None:
        """Multipliers of sizes, then those of the required bound; and what users have registered."""
        session, tracker, limit = self.session, self.tracker, self.limit
        instance, counted = session.instance, session.iterations is not None
        shortest = SHORTEST_FEW if self._few else SHORTEST
        usual = max(PAIR_TURN * instance.candidates.pairs, shortest)
        self._seconds = min(max(TURN_SHARE * limit.left, shortest), usual, LONGEST)
        if counts_many_values(session):
            self.dual = self._bound_of_sizes()
        else:
            share = limit if limit.seconds is None else limit.part(SIZES_SHARE * self._seconds)
            iterations = 10 * COUNTED_ITERATIONS if counted else None
            self.dual = multipliers_of_sizes(
                session, tracker, BoundLimit(share.ends, limit.interrupt, self._target, iterations)
            )
        exact = ExactDual(round_multipliers(self.dual.multipliers), denominator=DENOMINATOR)
        self._take(DualPoint(self.dual.multipliers), prove(instance, exact))
        if self._sizes is None:
            self._rise()

    def _bound_of_sizes(self) -> DualPoint:
        """That of `SizesGuide`, which is kept where most groups of its first table satisfy all requirements."""
        from kanon_milp.methods.sizes_guide import SizesGuide  # compiled code

        session = self.session
        relaxed = Tracker(self.tracker.unit, session.clock.began, None)
        relaxed.better(self.tracker.best)
        guide = SizesGuide(session, relaxed, self.pool, self.limit)
        guide.bound()
        self.tracker.higher(relaxed.proven, relaxed.proven_by)
        self.tracker.higher(relaxed.registered, (REGISTERED,))
        if self.wait("search"):
            guide.begin()
        if relaxed.best is not None and relaxed.best is not self.tracker.best:
            failing = GroupCheck(session.instance).refused(relaxed.best)
            if len(failing) <= FEW_FAILING * len(np.unique(relaxed.best.candidate)):
                self._sizes = guide
        return guide.dual

    def begin(self) -> None:
        """Where sizes are nearly all that counts, the search by sizes; its table is mended."""
        guide, self._sizes = self._sizes, None
        if guide is None or self.settled:
            return
        self._take_mended(guide)  # whatever comes after it, this is there
        if not guide.settled:
            limit = self.limit
            guide.limit = limit if limit.seconds is None else limit.part(BY_SIZES_SHARE * limit.left)
            guide.search()
            self._take_mended(guide)

    def _take_mended(self, guide: SizesGuide) -> None:
        """Keep the best table of a search by sizes, with its groups changed until they satisfy all requirements."""
        best = guide.tracker.best
        if best is not None and (self.tracker.best is None or best.cost < self.tracker.best.cost):
            table = mended(self.session.instance, best, guide.dual.phi, self.limit, self.session.options.seed)
            self.keep(table)

    @property
    def _target(self) -> float | None:
        return None if self.tracker.best is None else float(self.tracker.best.cost)

    def _take(self, point: DualPoint, proof: Proof) -> None:
        """Go on with these multipliers if they prove more than those before."""
        if self._proof is None or proof.value > self._proof.value:
            self._point, self._proof = point, proof
            self._fixing, self.required = None, point.multipliers
            self.tracker.higher(proof.bound, ("own bound",))

    @property
    def _value(self) -> Fraction:
        """What is proven by the point."""
        assert self._proof is not None
        return self._proof.value

    def _rise(self) -> None:
        """A turn of the required bound, and its proof."""
        session, limit = self.session, self.limit
        if self._stalled or self.settled or limit.over or not (self.wait("required") and self.wait("proven")):
            return
        began, before, counted = time.perf_counter(), self._value, session.iterations is not None
        # the proof of what is found takes its time as well
        least = PROOF_MARGIN * self._proof_seconds
        seconds = max(min(self._bound_share * self._seconds, limit.left - self._late) - least, 0.0)
        point = required_bound(
            session.instance,
            self._point.multipliers,
            self._target,
            limit.seconds if counted else seconds,
            COUNTED_ITERATIONS if counted else None,
            self.tracker.show,
            limit.interrupt,
            point=None if self._point.ascent is None else self._point,
            threads=session.options.threads,
        )
        tried = point.evaluations - (0 if self._point.ascent is None else self._point.evaluations)
        least_rise, after = (SLOW, SLOW_AFTER) if self._cuts.possible else (STALLED, STALLED_AFTER)
        if self._cuts.possible and point.charges is not None and len(point.charges):
            least_rise = SLOW_CHARGED
        self._stalled = tried >= after and point.value - float(before) < least_rise * abs(point.value)
        proof = time.perf_counter()
        self._late = min(max(proof - began - seconds, 0.0), LATEST)
        if not counted and limit.left < self._proof_seconds:
            return
        try:
            found = prove(session.instance, round_dual(point))
        except InputError:  # exact numbers would need more than 64 bits
            self._stalled = True
            return
        self._proof_seconds = time.perf_counter() - proof
        self._take(point, found)
        self._rises = _averaged(self._rises, float(self._value - before), began)

    def raise_bound(self) -> None:
        """The next turn, divided by what the last one has gained."""
        self._turns += 1
        gained = self._rises + self._falls
        share = self._rises / gained if gained > 0 else 0.5
        least = self._branching_share or LEAST_SHARE
        self._bound_share = min(max(share, least), 1 - LEAST_SHARE)
        longer = LONGER_WITH_CUTS if self._cuts.possible or self._branches else LONGER
        self._seconds = min(longer * self._seconds, LONGEST)
        if self.limit.left < LAST * self._seconds:
            self._seconds = self.limit.left
            self._bound_share = min(self._bound_share, max(least, LAST_SHARE))
        if self._stalled and (self._cuts.possible or self._branches):
            if not self.wait("valued_cuts"):
                return
            began, before = time.perf_counter(), self.tracker.bound
            part = self.limit.part(self._bound_share * self._seconds)
            if self._cuts.possible:
                self._fixing = None
                point = self._point
                known = point if point.charges is not None else replace(point, charges=np.zeros(0))
                self._cuts.rise(known, part, self.limit)
            else:
                self._branch(part)
            rise = float(self.tracker.bound - before)
            self._rises = 0.0 if rise == 0 and self._cuts.converged else _averaged(self._rises, rise, began)
        self._rise()

    @property
    def _branches(self) -> bool:
        """Whether branch and bound goes on from the rank-1 cuts."""
        ended = self._cuts.exact is not None and not self._cuts.possible
        return ended and not self._branched and self.tracker.best is not None

    @property
    def _branching_share(self) -> float:
        """What branch and bound has of a turn at least; 0 where it does not get on, or is far from a proof."""
        best = self.tracker.best
        if best is None or best.cost - self.tracker.bound > BRANCH_GAP:
            return 0.0
        return BRANCHING_SHARE if self._branches and not self._idle else 0.0

    def _branch(self, turn: Limit) -> None:
        """A turn of branch and bound, but for the node that it ends in."""
        from kanon_milp.methods.required_branching import RequiredBranching  # imports the compiler

        assert self._cuts.rounds is not None
        if self._branching is None:
            self._branching = RequiredBranching(self.session, self, self.tracker, self._cuts.rounds)
        before = self._branching.nodes, self.tracker.bound
        self._branched = not self._branching.solve(self.limit, turn)
        few = self._branching.nodes < before[0] + FEW_NODES
        self._idle = few and self.tracker.bound == before[1]

    def worth_raising(self) -> bool:
        """As long as there is time, but for the core problem where that fits."""
        limit, best = self.limit, self.tracker.best
        if self.settled or limit.over:
            return False
        if self.session.iterations is not None:
            return self._turns < COUNTED_TURNS
        pairs = self.session.instance.candidates.pairs if best is None else self.left(best.cost + 1)
        if pairs <= EASY_PAIRS:
            return False
        # a model that cannot be declared in good time is none
        if pairs > MODEL_PAIRS or pairs * PAIR_SECONDS > DECLARED_SHARE * limit.left:
            return True
        if self._fruitless >= (PATIENCE if pairs > CORE_PAIRS else 1):
            return False
        # where work is charged, the relaxation of a model is weak (t = 0.3, 2,804 pairs: not solved in three minutes)
        charges = self._point.charges
        hard = (charges is not None and charges.any()) or self._branching_share
        if best is not None and (self._few or not hard) and self._trials.look(pairs, limit):
            if self._trials.long and self._branching is None and self._cuts.exact is not None:
                self._cuts.possible = self._trials.due = False  # branch and bound is quicker, mostly
                return True
            return False
        share = ROUNDS_SHARE_WITH_CUTS if self._cuts.point is not None else ROUNDS_SHARE
        larger = pairs > CORE_PAIRS or self._branching_share > 0
        return larger or limit.left >= (1 - share) * (limit.ends - self.session.clock.began)

    def rounds(self) -> Iterator[Limit]:
        """One for each trial of the core problem, and the last one."""
        return self._trials.rounds(self.limit)

    @property
    def core_limit(self) -> Limit:
        """Short where it is tried."""
        return self._trials.limit(self.limit)

    @property
    def trying(self) -> bool:
        """In all rounds but the last one."""
        return self._trials.due

    def search(self) -> None:
        """Construct where the multipliers are much better, anneal, and search neighbourhoods."""
        if self.settled or self.limit.over or self._searched == self._turns:
            return
        self._searched = self._turns
        session, began = self.session, time.perf_counter()
        before = None if self.tracker.best is None else self.tracker.best.cost
        seconds = (1 - self._bound_share) * self._seconds
        effort = self.effort if session.iterations is not None else self.effort.part(seconds)
        seed = session.options.seed + 1000 * self._turns
        assert self._proof is not None
        self._table_search.improve(self._point, self._proof, effort, seed, first_turn=self._turns == 0)
        best = self.tracker.best
        if best is None:
            self._fruitless += self._stalled
            return
        fallen = math.inf if before is None else before - best.cost
        self._falls = _averaged(self._falls, fallen, began)
        rises = not self._stalled or self._cuts.possible or self._branches
        self._fruitless = self._fruitless + 1 if fallen == 0 and not rises else 0

    def fixing(self, incumbent: int) -> ReducedCosts:
        """With the multipliers that prove most."""
        if self._fixing is None or self._fixing.incumbent != incumbent:
            proof = self._proof
            assert proof is not None
            found = ReducedCosts(proof.dual, incumbent, limit=self.limit, proof=proof)
            self._fixing = self._cuts.fixing(incumbent, proof.value, self.limit) or found
        return self._fixing

    def _possible(self, incumbent: int) -> Flags:
        """What it leaves, bool (pairs,)."""
        return self.fixing(incumbent).possible(self.session.instance)[1]

    def left(self, incumbent: int) -> int:
        """Pairs that fixing leaves."""
        return int(self._possible(incumbent).sum())


def counts_many_values(session: Session) -> bool:
    """Whether different ones of many values, such as units of protection, are all that is asked beside sizes."""
    relaxations = relaxations_of(session.instance)
    return bool(relaxations) and all(each.plain for each in relaxations)


def _averaged(last: float, gained: float, began: float) -> float:
    """What is gained in a second, with half of the weight what it was before: one turn without luck says little."""
    now = gained / max(time.perf_counter() - began, 1e-3)
    return now if math.isinf(last) else (last + now) / 2
