"""The phases of simplex matching: multipliers, program and cuts, table, and an integer program for what is left."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from kanon_milp.bounds import BoundLimit, round_dual
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.matching.pairs_and_triples import SmallGroups, Space
from kanon_milp.bounds.matching.program import MatchingProgram, nearly_integral, prove
from kanon_milp.bounds.parameters import FixingParameters, MatchingParameters
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.grouping import tighten_groups
from kanon_milp.heuristics.set_partitioning import Rounded, partition_model, table_of
from kanon_milp.methods.core_problem import CoreProblem
from kanon_milp.methods.session import Session
from kanon_milp.methods.sizes_phases import multipliers_of_sizes
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions import Dropped, Reduction, drop
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import StopReason
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint
    from kanon_milp.bounds.dual import Proof
    from kanon_milp.methods.phases import Known

P = TypeVar("P")

BOUND_SHARE = 0.25  # of the time limit, for the first multipliers
ITERATIONS, REQUIRED_ITERATIONS = 500, 300  # of the Lagrangian bound; of that under requirements
ROUNDS = 30  # of cuts
TRIES = 3  # tables that are made without the bound having risen in between
WIDTH = 0.05  # reduced cost of the groups that tables are made of, in mean losses of a row, where the bound is tight
FACE = 1_500_000  # groups that tables are made of, at most
EASY, CLOSING = 20_000, 400_000  # groups up to which the integer program comes at once, and up to which it comes at all
WIDENINGS, WIDEN = 6, 100  # of the rows that are open in a rounded point; settled groups at first, then twice as many
PART_SECONDS = 5.0  # for the integer program over some of these rows, at most


class _Nothing(Reduction[Dropped]):
    """Keeps all candidates: what a model of everything is an instance of."""

    name = "nothing"

    def accepts(self, problem: Problem) -> bool:
        """Any problem."""
        return True

    def _apply(self, instance: Instance) -> Dropped:
        return drop(self.name, instance, np.ones(instance.candidates.count, np.bool_))


class MatchingPhases:
    """What is known on the way, and the steps that add to it.

    dual, required: multipliers for certificates, as in `Outcome`. size: variables and constraints of the last integer
    program. infeasible_by: who says that there is no table, None where nobody does. unsettled: whether there is time
    left, and nothing more that these phases can do with it.
    """

    def __init__(self, session: Session, tracker: Tracker, limit: Limit) -> None:
        self.session, self.tracker, self.limit = session, tracker, limit
        self.space = Space.of(session.instance)
        self.dual: DualPoint | None = None
        self.required: Floats | None = None
        self.size, self.message = (0, 0), ""
        self.infeasible_by: tuple[Backing, ...] | None = None
        self.unsettled = False
        self.proof: Proof | None = None
        self.mean = 1.0
        self._check = GroupCheck(session.instance)
        self._random = np.random.default_rng(session.options.seed)
        self._stopped: StopReason | None = None

    def keep(self, table: Assignment | None) -> None:
        """Take a complete table if it is valid and the cheapest so far."""
        if table is None:
            return
        table = tighten_groups(self.session.instance, table)
        best = self.tracker.best
        if (best is None or table.cost < best.cost) and not len(self._check.refused(table)):
            self.tracker.better(table)

    @property
    def done(self) -> bool:
        """Whether bound and table are as near to each other as was asked for."""
        best, bound = self.tracker.best, self.tracker.bound
        return best is not None and best.cost <= max(bound, math.floor(bound / (1 - self.session.options.gap)))

    @property
    def settled(self) -> bool:
        """Whether nothing has to be done any more, or somebody wants it to stop."""
        return self.done or self.limit.asked

    def why(self) -> StopReason:
        """Why it would end now."""
        if self.done and self.tracker.best is not None:
            proven = self.tracker.best.cost <= self.tracker.bound
            return StopReason.OPTIMAL if proven else StopReason.GAP_LIMIT
        if self.limit.asked:
            return StopReason.INTERRUPTED
        if self.limit.over:
            return StopReason.TIME_LIMIT
        return self._stopped or StopReason.ERROR

    def run(self) -> None:
        """All of them."""
        clock = self.session.clock
        with clock.step("search"):
            self.keep(self.session.first)
        with clock.step("bound"):
            start = self._multipliers()
        if self.done or self.limit.over:
            return
        if self._raise(start):
            with clock.step("solve"):
                self._close()
            if self.done or self.limit.over or self._stopped is not None:
                return
        if self.limit.seconds is None:
            self._core()
        self.unsettled = not self.limit.over and self.limit.seconds is not None

    def _multipliers(self) -> Floats:
        """Those of the Lagrangian bound, and what users have registered."""
        instance, tracker, limit = self.session.instance, self.tracker, self.limit
        share = limit if limit.seconds is None else limit.part(BOUND_SHARE * limit.left)
        target = None if tracker.best is None else float(tracker.best.cost)
        bounded = BoundLimit(share.ends, limit.interrupt, target, ITERATIONS)
        self.dual = multipliers_of_sizes(self.session, tracker, bounded)
        found = self.dual.multipliers
        if len(self.space.value):
            if not share.over:
                point = required_bound(
                    instance, found, target, share.seconds, REQUIRED_ITERATIONS, tracker.show, limit.interrupt,
                    threads=self.session.options.threads, params=self.session.parameters,
                )  # fmt: skip
                found = self.required = point.multipliers
            return found
        # two rows of a type, or exempt ones, are groups of their own
        candidates = instance.candidates
        least = np.full(instance.types.count, np.inf)
        np.minimum.at(least, candidates.members, candidates.cost[candidates.candidate_of_pair()])
        return np.where(instance.types.counts > 1, np.minimum(found, least), found)

    def _raise(self, start: Floats) -> bool:
        """Columns and cuts until bound and table meet or there are no more cuts, and tables on the way; whether all
        groups were priced."""
        clock, limit, tracker = self.session.clock, self.limit, self.tracker
        with clock.step("bound"):
            program = MatchingProgram(self.space, start, self.session.parameters.of(MatchingParameters))
            self.mean = program.mean
            solved = program.complete and program.solve(limit) and self._prove(program)
        tries = 0
        for _ in range(ROUNDS):
            if not solved or self.done or limit.over:
                break
            before = tracker.bound
            with clock.step("bound"):
                cuts = program.find_cuts()
                if cuts.count:
                    program.add_cuts(cuts)
                    solved = program.solve(limit) and self._prove(program)
            tries = 0 if tracker.bound > before else tries + 1
            with clock.step("solve"):
                if self._easy():
                    break
            with clock.step("search"):
                self._table()
            if not cuts.count or tries == TRIES:
                break
        return self.proof is not None

    def _prove(self, program: MatchingProgram) -> bool:
        """What the program's multipliers prove."""
        proof = prove(self.space, program.dual)
        if proof is None:
            return False
        if self.proof is None or proof.value > self.proof.value:
            self.proof = proof
            if len(self.space.value):
                self.required = proof.dual.floats().multipliers
            else:
                self.dual = proof.dual.floats()
        self.tracker.higher(proof.bound, ("own bound",))
        return True

    def _easy(self) -> bool:
        """Whether so few groups are left that the integer program settles everything now."""
        best, proof = self.tracker.best, self.proof
        if best is None or proof is None or self.done:
            return False
        groups, complete = self.space.within(proof, best.cost, EASY)
        return complete and self._integer_program(groups)

    def _table(self) -> None:
        """A table of groups of low reduced cost: a nearly integral point, rounded, and the rest by integer programs."""
        proof, limit = self.proof, self.limit
        if proof is None or self.done or limit.over:
            return
        # what the bound lacks of an integer, groups of a table of that loss lack as well
        width = WIDTH * self.mean + float(proof.bound - proof.value)
        groups, complete = self.space.cheaper(proof.dual, math.ceil(width * proof.dual.denominator), FACE)
        if not complete:
            return
        seed = int(self._random.integers(1 << 30))
        share = nearly_integral(self.space, proof.dual.floats(), groups, self.mean, seed, limit)
        if share is None:
            return
        rounded = Rounded.of(groups, share, self.space.counts)
        for widening in range(WIDENINGS):
            unplaced = self._complete(rounded)
            if not len(unplaced):
                self.keep(table_of(self.session.instance, groups, rounded.settled))
                return
            if limit.over or not rounded.widen(unplaced, WIDEN << widening, self._random):
                return

    def _complete(self, rounded: Rounded) -> Ints:
        """Place the open rows at the least loss, part by part; the types of which rows cannot be placed, int64."""
        unplaced = [np.empty(0, np.int64)]
        for types, possible in rounded.parts():
            limit = self.limit.part(PART_SECONDS)
            if not len(possible) or limit.over:
                unplaced.append(types)
                continue
            left = np.zeros_like(rounded.left)
            left[types] = rounded.left[types]
            model = partition_model(rounded.groups.subset(possible), left)
            options = replace(self.session.options, node_limit=None)
            answer = solve_restricted(model, self.session.adapter, options, limit, checked=False)
            times = None if answer.x is None else np.rint(answer.x).astype(np.int64)
            if times is None or not rounded.settle(possible, times) or rounded.left[types].any():
                unplaced.append(types)
        return np.concatenate(unplaced)

    def _close(self) -> None:
        """The integer program over all groups that a table no more expensive than the best one may have."""
        best, proof = self.tracker.best, self.proof
        if self.done or self.limit.over or best is None or proof is None:
            return
        groups, complete = self.space.within(proof, best.cost, CLOSING)
        if complete:
            self._integer_program(groups)

    def _integer_program(self, groups: SmallGroups) -> bool:
        """Solve it; whether it came to its end. Each table that costs no more than the best one consists of these."""
        session, tracker, limit = self.session, self.tracker, self.limit
        best = tracker.best
        assert best is not None
        model = partition_model(groups, self.space.counts)
        self.size = (model.variables, model.constraints)
        # what costs more than the best table may be missing
        answer = solve_restricted(
            model, session.adapter, session.options, limit, most=best.cost, on_progress=tracker.show
        )
        if answer.x is not None:
            self.keep(table_of(session.instance, groups, np.rint(answer.x).astype(np.int64)))
        if answer.bound is not None:
            tracker.higher(answer.bound, answer.backed_by)
        if not self.done:
            self._stopped, self.message = answer.stop_reason, answer.message
        return self.done

    def fixing(self, incumbent: int) -> Reduction[Dropped]:
        """Drops what no table below this loss uses."""
        if self.dual is None or len(self.space.value):
            return _Nothing()
        return ReducedCosts(round_dual(self.dual), incumbent, params=self.session.parameters.of(FixingParameters))

    def left(self, incumbent: int) -> int:
        """How many pairs that leaves."""
        return int(self.fixing(incumbent).apply(self.session.instance).instance.candidates.pairs)

    def get(self, kind: type[P]) -> P:
        """Parameters of this kind."""
        return self.session.parameters.of(kind)

    def _core(self) -> None:
        """The strong formulation over what fixing leaves: its size does not depend on how many groups there are."""
        # of what is known it asks for no more than `session`, `tracker`, `keep`, `fixing`, `left`, `settled` and `get`
        core = CoreProblem(cast("Known", self), self.limit)
        self._stopped = core.solve(raising=False)
        self.size, self.message = core.last.size, core.last.message
        if self._stopped is StopReason.INFEASIBLE:
            self.infeasible_by = core.last.backed_by
        elif self._stopped is None and not self.limit.over:
            self.message = self.message or "the groups that are left are too many for an integer program"
