"""The method `matching`: optimal 2-anonymity and 2-diversity by simplex matching, groups of two and three rows.

Both problems are in P (Blocki, Williams 2010, Theorem 1.1; Liang, Yuan 2013, Theorem 11), as they ask for a perfect
matching by pairs and triples where a triple costs at least half of what its pairs cost (Anshelevich, Karagiozova 2007).
Here a linear program with priced groups and odd-set cuts proves the bound (`kanon_milp.bounds.matching`), one of its
points that is nearly integral is rounded to a table, and where the two do not meet, an integer program over the groups
that a better table may have ends it. Where these groups are too many, the rest of a time limit goes to the hybrid
method, with what is known by then.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds import BoundLimit
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.matching.pairs_and_triples import Space
from kanon_milp.bounds.matching.program import MatchingProgram, nearly_integral, prove
from kanon_milp.bounds.parameters import MatchingParameters
from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.heuristics.set_partitioning import Rounded, partition_model, table_of
from kanon_milp.methods.hybrid import solve_hybrid
from kanon_milp.methods.model_phases import EarlyModel
from kanon_milp.methods.phases import Estimate, Known, LastModel, Phase
from kanon_milp.methods.result import Result
from kanon_milp.methods.scheduler import begun, outcome_of, run_phases
from kanon_milp.methods.session import Session
from kanon_milp.methods.sizes_phases import multipliers_of_sizes
from kanon_milp.solvers import StopReason
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters

if TYPE_CHECKING:
    from kanon_milp.bounds.dual import Proof

GONE_ON = "simplex matching did not settle it, so the hybrid method went on"
LARGEST_TYPES = 1 << 20  # row types: a group is told apart by one number of 64 bits
TOO_MANY = "too many groups are left for an integer program"


@parameters("simplex_matching")
@dataclass(frozen=True)
class MatchingParams:
    """Simplex matching: the linear program, its cuts, and tables of its points. Tuned on Adult."""

    share: float = number(0.25, "of the time limit, for the first multipliers", most=1)
    iterations: int = number(500, "of the Lagrangian bound")
    required_iterations: int = number(300, "of the Lagrangian bound under requirements")
    rounds: int = number(30, "rounds of cuts")
    tries: int = number(3, "tables that are made without the bound having risen in between")
    width: float = number(
        0.05, "reduced cost of the groups that tables are made of, in mean losses of a row, where the bound is tight"
    )
    face: int = number(1_500_000, "groups that tables are made of, at most")
    easy: int = number(20_000, "groups up to which the integer program comes at once")
    closing: int = number(400_000, "groups up to which it comes at all")
    widenings: int = number(6, "times that the rows that are open in a rounded point become more")
    widen: int = number(100, "settled groups whose rows become open at first, then twice as many")
    part_seconds: float = number(5.0, "seconds for the integer program over the rows that are open, at most")


class Matching(Known):
    """What the phases of simplex matching know.

    space: the pairs and triples. start: the first multipliers, float64 (t,), None before there are some. program: with
    the cuts so far; proof: what its best multipliers prove. cut_round: of cuts, -1 before the first; tabled: the
    last one after which a table was made. tries: tables made since the bound has risen. more: whether there may be more
    cuts.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.space, self.params = Space.of(self.instance), self.get(MatchingParams)
        self.start: Floats | None = None
        self.program: MatchingProgram | None = None
        self.proof: Proof | None = None
        self.cut_round, self.tabled, self.tries, self.more = -1, -1, 0, True

    @property
    def raised(self) -> bool:
        """Whether the bound is as high as cuts make it, and tables were made."""
        return self.start is not None and not self.more and self.tabled == self.cut_round


def _of(known: Known) -> Matching:
    assert isinstance(known, Matching)
    return known


class _MatchingPhase(Phase):
    """One of simplex matching. gain: by which they come one after the other."""

    gain = 0.5

    def estimate(self, known: Known) -> Estimate:
        """As long as it takes."""
        return Estimate(known.seconds(1.0), self.gain)


class Multipliers(_MatchingPhase):
    """Those of the Lagrangian bound, and what users have registered."""

    name = "lagrangian"
    step = "bound"

    def applies(self, known: Known) -> bool:
        """Once."""
        known = _of(known)
        return known.start is None

    def run(self, known: Known, limit: Limit) -> None:
        """In a share of the time."""
        known = _of(known)
        instance, tracker, params, session = known.instance, known.tracker, known.params, known.session
        share = limit if limit.seconds is None else limit.part(params.share * limit.left)
        target = None if known.best is None else float(known.best.cost)
        bounded = BoundLimit(share.ends, limit.interrupt, target, params.iterations)
        known.dual = multipliers_of_sizes(session, tracker, bounded)
        known.start = found = known.dual.multipliers
        if not len(known.space.value):
            # two rows of a type, or exempt ones, are groups of their own
            candidates = instance.candidates
            least = np.full(instance.types.count, np.inf)
            np.minimum.at(least, candidates.members, candidates.cost[candidates.candidate_of_pair()])
            known.start = np.where(instance.types.counts > 1, np.minimum(found, least), found)
        elif not share.over:
            known.start = known.required = required_bound(
                instance, found, target, share.seconds, params.required_iterations, tracker.show, limit.interrupt,
                threads=session.options.threads, params=session.parameters,
            ).multipliers  # fmt: skip


class MatchingCuts(_MatchingPhase):
    """A round of odd-set cuts of the program over pairs and triples, with columns until all groups are priced."""

    name = "matching program"
    step = "bound"

    def applies(self, known: Known) -> bool:
        """As long as there are more, after the table of the last round."""
        return (
            isinstance(known, Matching) and known.start is not None and known.more and known.tabled == known.cut_round
        )

    def run(self, known: Known, limit: Limit) -> None:
        """The first round begins with the program without cuts."""
        known = _of(known)
        assert known.start is not None
        known.cut_round += 1
        if known.program is None:
            params = known.get(MatchingParameters)
            known.program = MatchingProgram(known.space, known.start, params)
            known.more = known.program.complete and known.program.solve(limit) and self._prove(known, known.program)
            if not known.more or known.settled or limit.over:
                known.more, known.tabled = False, known.cut_round
                return
        before, cuts = known.tracker.bound, known.program.find_cuts()
        if cuts.count:
            known.program.add_cuts(cuts)
            known.more = known.program.solve(limit) and self._prove(known, known.program)
        known.tries = 0 if known.tracker.bound > before else known.tries + 1
        last = not cuts.count or known.tries == known.params.tries or known.cut_round + 1 >= known.params.rounds
        known.more = known.more and not last

    @staticmethod
    def _prove(known: Matching, program: MatchingProgram) -> bool:
        """What the program's multipliers prove."""
        proof = prove(known.space, program.dual)
        if proof is None:
            return False
        if known.proof is None or proof.value > known.proof.value:
            known.proof = proof
            if len(known.space.value):
                known.required = proof.dual.floats().multipliers
            else:
                known.dual = proof.dual.floats()
        known.tracker.higher(proof.bound, ("own bound",))
        return True


class GroupProgram(_MatchingPhase):
    """The integer program over all groups that a table no more expensive than the best one may have."""

    name = "groups program"
    step = "solve"
    gain = 1.0

    def __init__(self) -> None:
        self._round, self._ended = -1, False

    def applies(self, known: Known) -> bool:
        """After each round of cuts, where groups are few, and in the end."""
        known = _of(known)
        if known.proof is None or known.best is None or self._ended:
            return False
        return known.raised or (self._round < known.cut_round and known.tabled < known.cut_round)

    def run(self, known: Known, limit: Limit) -> None:
        """Each table that costs no more than the best one consists of these groups."""
        known = _of(known)
        assert known.proof is not None
        assert known.best is not None
        self._round, self._ended, params = known.cut_round, known.raised, known.params
        most = params.closing if self._ended else params.easy
        groups, complete = known.space.within(known.proof, known.best.cost, most)
        if not complete:
            return
        session, model = known.session, partition_model(groups, known.space.counts)
        # what costs more than the best table may be missing
        answer = solve_restricted(
            model, session.adapter, session.options, limit, most=known.best.cost, on_progress=known.tracker.show
        )
        if answer.x is not None:
            known.keep(table_of(session.instance, groups, np.rint(answer.x).astype(np.int64)))
        if answer.bound is not None:
            known.tracker.higher(answer.bound, answer.backed_by)
        stopped = None if known.settled else answer.stop_reason
        message = "" if known.settled else answer.message
        known.model = LastModel((model.variables, model.constraints), answer.backed_by, message, stopped)
        known.ended = self._ended


class MatchingTable(_MatchingPhase):
    """A table of groups of low reduced cost: a nearly integral point, rounded, and the rest by integer programs."""

    name = "matching table"

    def __init__(self) -> None:
        self._random: np.random.Generator | None = None

    def applies(self, known: Known) -> bool:
        """After each round of cuts."""
        known = _of(known)
        return known.tabled < known.cut_round

    def run(self, known: Known, limit: Limit) -> None:
        """From the best multipliers."""
        known = _of(known)
        assert known.proof is not None
        known.tabled, proof, params = known.cut_round, known.proof, known.params
        random = self._random = self._random or np.random.default_rng(known.session.options.seed)
        # what the bound lacks of an integer, groups of a table of that loss lack as well
        assert known.program is not None
        width = params.width * known.program.mean + float(proof.bound - proof.value)
        groups, complete = known.space.cheaper(proof.dual, math.ceil(width * proof.dual.denominator), params.face)
        if not complete:
            return
        seed = int(random.integers(1 << 30))
        share = nearly_integral(known.space, proof.dual.floats(), groups, known.program.mean, seed, limit)
        if share is None:
            return
        rounded = Rounded.of(groups, share, known.space.counts)
        for widening in range(params.widenings):
            unplaced = self._complete(known, rounded, limit)
            if not len(unplaced):
                known.keep(table_of(known.instance, groups, rounded.settled))
                return
            if limit.over or not rounded.widen(unplaced, params.widen << widening, random):
                return

    @staticmethod
    def _complete(known: Matching, rounded: Rounded, limit: Limit) -> Ints:
        """Place the open rows at the least loss, part by part; the types of which rows cannot be placed, int64."""
        session, unplaced = known.session, [np.empty(0, np.int64)]
        for types, possible in rounded.parts():
            part = limit.part(known.params.part_seconds)
            if not len(possible) or part.over:
                unplaced.append(types)
                continue
            left = np.zeros_like(rounded.left)
            left[types] = rounded.left[types]
            model = partition_model(rounded.groups.subset(possible), left)
            options = replace(session.options, node_limit=None)
            answer = solve_restricted(model, session.adapter, options, part, checked=False)
            times = None if answer.x is None else np.rint(answer.x).astype(np.int64)
            if times is None or not rounded.settle(possible, times) or rounded.left[types].any():
                unplaced.append(types)
        return np.concatenate(unplaced)


class MatchingCore(EarlyModel):
    """The strong formulation over what fixing leaves: its size does not depend on how many groups there are."""

    def applies(self, known: Known) -> bool:
        """Where groups are too many, and no limit leaves the rest to the hybrid method."""
        known = _of(known)
        return known.raised and known.limit.seconds is None

    def run(self, known: Known, limit: Limit) -> None:
        """In the end."""
        super().run(known, limit)
        known.ended, model = True, known.model
        if model.stopped is None and not known.settled:
            known.model = replace(model, stopped=StopReason.ERROR, message=model.message or TOO_MANY)


PHASES: tuple[type[Phase], ...] = (Multipliers, MatchingCuts, GroupProgram, MatchingTable, MatchingCore)


def solve_matching(session: Session) -> Result:
    """Bound, table, and an integer program for what is left between them, until they meet or the time is over."""
    instance, limit = session.instance, replace(session.limit, interrupt=session.interrupt or threading.Event())
    if instance.types.count > LARGEST_TYPES:
        message = f"the table has more than {LARGEST_TYPES:,} row types, too many for simplex matching; use search"
        return session.end_early("error", message)
    with begun(Matching, session, limit) as known:
        run_phases(known, [kind() for kind in PHASES])
    if known.ended or known.settled or limit.over or limit.seconds is None:
        return session.end(outcome_of(known))
    result = solve_hybrid(session, known.tracker)
    message = "; ".join(each for each in (GONE_ON, result.message) if each)
    return replace(result, message=message, phases=(*known.log, *result.phases))
