"""A good first table where several sets of quasi-identifiers are k-anonymous, each by its own columns.

Such classes add up groups, so that no group can be judged alone, as the hybrid method does. But each set alone is a
k-anonymity problem over its own columns, and the sets are linked by what rows release in the columns that they share
(`presolve.linked_sets`): that gives a bound (`bounds.linked`), and tables by moves that keep all sets k-anonymous
(`heuristics.linked_annealing`). Where nothing else is required, the model of all sets side by side is solved to the end
(`LinkedCore`). Where there are other requirements, too, the bound holds as it is, and the table is one that is
k-anonymous in all columns together, which is so in each set of them. Then neighbourhoods of it are searched by the
complete model with most pairs left out: row types near each other take any candidates that release the same as now in
the columns that are held, and all others stay as they are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds import BoundLimit
from kanon_milp.errors import InputError
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.heuristics.worker_pool import Effort
from kanon_milp.methods.direct import settled, solve_milp
from kanon_milp.methods.outcome import UNKNOWN, Bound, Outcome, Scale
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session, limit_of
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.linked_sets import LinkedSets, linked_sets
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.ragged import indptr_of
from kanon_milp.presolve.reductions import Dropped, supports
from kanon_milp.presolve.resources import PAIR_SECONDS
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.privacy.cells import projections
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit, Over

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint
    from kanon_milp.bounds.linked import LinkedExtras, LinkedModel

FEWEST_PAIRS = 2_000  # smaller models are soon solved
LINKING_SHARE = 0.2  # of the time left, at most, for arrays
BOUND_SHARE, BOUND_SECONDS = 0.2, 60.0  # of the time left, and at most, for the bound
COUNTED_EVALUATIONS = 2_000  # of it, where work is counted instead of time
# of the time left, for annealing, where the complete model can be declared afterwards and where not; seconds without a
# limit
ANNEAL_SHARE, MOST_SHARE, ANNEAL_SECONDS = 0.3, 0.8, 30.0
BRIEF_SHARE, BRIEF_SECONDS = 0.1, 5.0  # the same where the model of all sets comes next
JOINT_SHARE, JOINT_SECONDS = 0.15, 30.0  # of the time limit, and at most, for the table of all columns
JOINT_ROUNDS = 20  # neighbourhoods of it, where work is counted instead of time
SHARE, SECONDS = 0.4, 60.0  # of the time left, for neighbourhoods; seconds where there is no time limit
NEAR_PAIRS = 1_000  # that the first neighbourhoods free
WIDER, NARROWER = 1.5, 0.6  # times as many in the next one, after a model that was solved, and one that was not
TURN_SECONDS = 5.0  # for one of them, at most; none is widened after half of that, nor where work is counted
PATIENCE = 4  # rounds of them that find nothing
COUNTED = 4  # annealings and rounds, where work is counted instead of time
NODES = 50  # for each neighbourhood of these, at most


def solve_from_good_table(session: Session) -> Result:
    """Direct MILP, from a bound and a good table where several sets of quasi-identifiers have their own k."""
    problem, instance = session.problem, session.instance
    if problem.separable or problem.objective != "loss" or instance.candidates.pairs < FEWEST_PAIRS:
        return solve_milp(session)
    table, bound, point = None, UNKNOWN, None
    with session.clock.step("bound"):
        linked = _linked(session)
        if linked is not None:
            point, units = _bound(session, linked)
            bound = Bound(units * instance.levels.unit, ("own bound",))
    if not side_constraints(problem):
        with session.clock.step("search"):
            started = None
            if linked is not None and point is not None:
                started = _annealed(session, linked, point)
        if linked is not None and point is not None and started is not None and LinkedCore.applies(session, linked):
            core = _core(session, linked, point, started, bound)
            if core is not None and core.solve():
                return _ended(session, core)
            if core is not None:
                started, bound = (
                    core.tracker.best,
                    Bound(core.tracker.proven * instance.levels.unit, core.tracker.proven_by),
                )
        with session.clock.step("search"):
            table = _good_table(session, started)
    if table is not None:
        session = replace(session, known=table)
        if bound.value is not None and table.cost * instance.levels.unit <= bound.value:
            return session.end(session.fallback(Outcome(bound=bound)))
    return solve_milp(session, known=None if bound.value is None else Outcome(bound=bound))


def _core(
    session: Session, linked: LinkedSets | None, point: DualPoint, table: Assignment, bound: Bound
) -> LinkedCore | None:
    """What is to be solved from this table and bound; None where that is too much, exact numbers would need more than
    64 bits, or the table has rows in classes that are too small."""
    if linked is None or not LinkedCore.applies(session, linked):
        return None
    option, group = linked.places(table)
    if bound.value is None or (option < 0).any() or (group < 0).any():
        return None
    from kanon_milp.bounds.linked import LinkedExtras  # compiled code

    try:
        extras = LinkedExtras.of(linked, point.multipliers)
    except InputError:
        return None
    tracker = Tracker(session.instance.levels.unit, session.clock.began, session.on_progress)
    tracker.higher(int(bound.value / session.instance.levels.unit), ("own bound",))
    if session.release(table).report.ok:
        tracker.better(table)
    return None if tracker.best is None else LinkedCore(session, extras, tracker, session.limit)


def _ended(session: Session, core: LinkedCore) -> Result:
    """The result of the models of all sets."""
    tracker, unit = core.tracker, session.instance.levels.unit
    assert tracker.best is not None
    reason = "gap_limit" if core.settled else session.limit.reason
    outcome = Outcome(
        size=core.size, bound=Bound(tracker.proven * unit, tracker.proven_by), trajectory=tuple(tracker.trajectory)
    )
    found = session.release(tracker.best)
    return session.end(outcome.stopped(reason, core.message).with_table(found, Scale.of_problem(session.instance)))


def _linked(session: Session) -> LinkedSets | None:
    """The sets and what links them; None where the time is too short, or some row has no class that is large enough."""
    try:
        return session.limit.share(LINKING_SHARE).call(linked_sets, session.instance)
    except Over:
        return None


def _bound(session: Session, linked: LinkedSets) -> tuple[DualPoint, int]:
    """The best multipliers that are found within the limit, and what they prove; 0 where exact numbers would need more
    than 64 bits."""
    from kanon_milp.bounds.linked import linked_bound, proven_units  # compiled code, as below

    limit = session.limit
    if session.options.node_limit is not None:
        limits = BoundLimit(limit.ends, limit.interrupt, iterations=COUNTED_EVALUATIONS)
    else:
        left = BOUND_SECONDS if limit.seconds is None else min(BOUND_SHARE * limit.left, BOUND_SECONDS)
        limits = BoundLimit(time.perf_counter() + left, limit.interrupt)
    point = linked_bound(linked, limits, session.options.threads)
    try:
        return point, proven_units(linked, point)
    except InputError:
        return point, 0


def _annealed(session: Session, linked: LinkedSets, point: DualPoint) -> Assignment | None:
    """A table by annealing, where nothing but sets of quasi-identifiers is required; None where it has no table to
    start with."""
    from kanon_milp.heuristics.linked_annealing import LinkedAnnealingParameters, anneal_sets

    if not all(isinstance(each, KAnonymity) for each in session.problem.requirements):
        return None
    starts = [each for each in (session.first, suppress_all(session.instance)) if each is not None]
    starts = [each for each in starts if session.release(each).report.ok]
    if not starts or session.limit.over:
        return None
    limit, annealings = session.limit, None
    if session.options.node_limit is not None:
        annealings = COUNTED
    else:
        fits = session.instance.candidates.pairs * PAIR_SECONDS <= limit.left
        left = ANNEAL_SECONDS if limit.seconds is None else limit.left * (ANNEAL_SHARE if fits else MOST_SHARE)
        if LinkedCore.applies(session, linked):
            left = min(left, BRIEF_SHARE * limit.left, BRIEF_SECONDS)
        limit = limit.part(left)
    start = min(starts, key=lambda each: each.cost)
    effort, params = Effort(limit.ends, limit.interrupt, annealings), session.parameters.of(LinkedAnnealingParameters)
    return anneal_sets(linked, start, point.phi, effort, session.options.seed, params)


def _good_table(session: Session, annealed: Assignment | None) -> Assignment | None:
    """The best table found, which is valid; None where none is."""
    others = (_of_all_columns(session) if annealed is None else annealed, session.first)
    valid = [each for each in others if each is not None and session.release(each).report.ok]
    if not valid:
        return None
    table = min(valid, key=lambda each: each.cost)
    limit = session.limit
    if session.options.node_limit is None:
        fits = session.instance.candidates.pairs * PAIR_SECONDS <= limit.left
        seconds = SECONDS if limit.seconds is None else limit.left * (SHARE if fits else 1.0)
        limit = limit.part(seconds)
    return _improved(session, table, limit)


def _of_all_columns(session: Session) -> Assignment | None:
    """A table that is k-anonymous in all columns together, by the hybrid method; None where that would be late."""
    from kanon_milp.methods.hybrid import solve_hybrid  # compiled code that nothing else here needs

    options, clock = session.options, Clock()
    counted = options.node_limit is not None
    left = session.limit.left
    seconds = None if counted else min(JOINT_SHARE * left, JOINT_SECONDS)
    options = replace(options, time_limit=seconds, node_limit=None, gap=0.0, log_file=None)
    prepared = presolve(stricter(session.problem), clock, merge=True, limit=limit_of(clock, options, session.interrupt))
    joint = Session(
        prepared,
        session.formulation,
        session.adapter,
        options,
        clock,
        "search",
        session.interrupt,
        JOINT_ROUNDS if counted else None,
    )
    result = settled(joint) or solve_hybrid(joint)
    if result.groups is None:
        return None
    return assignment_of_groups(session.prepared, result.groups)


def stricter(problem: Problem) -> Problem:
    """The same with the largest of these k for all columns together: each table of it is one of the problem."""
    least = max(each.k for each in problem.requirements if isinstance(each, KAnonymity))
    others = [each for each in problem.requirements if not isinstance(each, KAnonymity)]
    return replace(problem, privacy=[KAnonymity(least), *others], name=f"{problem.name}, all columns together")


def _improved(session: Session, table: Assignment, limit: Limit) -> Assignment:
    """The best table after neighbourhoods of it, until none of several finds anything, or the limit."""
    best, fruitless, rounds = table, 0, 0
    random = np.random.default_rng(session.options.seed)
    counted = session.options.node_limit is not None
    kinds = list(_held(session.problem))
    sizes = [float(NEAR_PAIRS)] * len(kinds)
    while fruitless < PATIENCE and not (counted and rounds >= COUNTED):
        before, rounds = best.cost, rounds + 1
        for kind, held in enumerate(kinds):
            if limit.over:
                return best
            pairs = neighbourhood(session.instance, best, held, int(sizes[kind]), random)
            began = time.perf_counter()
            found, solved = _rebuilt(session, best, pairs, limit)
            if not solved:
                sizes[kind] *= NARROWER
            elif not counted and time.perf_counter() - began < TURN_SECONDS / 2:
                sizes[kind] *= WIDER
            if found is not None and found.cost < best.cost and session.release(found).report.ok:
                best = found
        fruitless = 0 if best.cost < before else fruitless + 1
    return best


def _held(problem: Problem) -> Iterator[Sequence[str]]:
    """The columns that are held in the neighbourhoods of a round: those beside each set, then none."""
    names = problem.table.quasi_identifiers
    for each in problem.requirements:
        if isinstance(each, KAnonymity) and each.quasi_identifiers is not None:
            yield [name for name in names if name not in each.quasi_identifiers]
    yield []


def neighbourhood(
    instance: Instance, table: Assignment, held: Sequence[str], most_pairs: int, random: np.random.Generator
) -> Flags:
    """Pairs of a neighbourhood, bool (pairs,): those of the table, and about some row type drawn at random as many row
    types as `most_pairs` allows, with all candidates that release the same as the table does in these columns.
    """
    types, candidates, count = instance.types, instance.candidates, instance.candidates.count
    of_pair, members = candidates.candidate_of_pair().astype(np.int64), candidates.members.astype(np.int64)
    projection = projections(instance, held)[0] if held else np.zeros(count, dtype=np.int64)
    most = int(projection.max(initial=0)) + 1
    now = np.unique(table.row_type * most + projection[table.candidate])
    free = np.isin(members * most + projection[of_pair], now)
    centre = types.codes[random.integers(types.count)]
    distance = (types.codes != centre).sum(axis=1) + random.random(types.count)
    order = np.argsort(distance)
    pairs = np.cumsum(np.bincount(members[free], minlength=types.count)[order])
    near = np.zeros(types.count, dtype=bool)
    near[order[: max(int(np.searchsorted(pairs, most_pairs, side="right")), 1)]] = True
    used = np.isin(members * count + of_pair, table.row_type * count + table.candidate)
    found: Flags = (free & near[members]) | used
    return found


def _rebuilt(session: Session, table: Assignment, pairs: Flags, limit: Limit) -> tuple[Assignment | None, bool]:
    """The best table of these pairs that the solver finds, None if it finds none; and whether none is better."""
    step = _only(session.instance, pairs)
    rest = step.instance
    limit = limit if session.options.node_limit is not None else limit.part(TURN_SECONDS)
    try:
        model = RestrictedModel.of(rest, session.formulation, limit)
    except Over:
        return None, False
    options = session.adapter.suited(replace(session.options, log_file=None), session.formulation.tune(rest))
    if options.node_limit is not None:
        options = replace(options, node_limit=min(options.node_limit, NODES))
    here = replace(table, candidate=np.searchsorted(step.origin, table.candidate))
    answer = solve_restricted(model.linear, session.adapter, options, limit, start=model.start(here))
    return None if answer.x is None else step.invert(model.assignment(answer.x)), answer.solved


def _only(instance: Instance, pairs: Flags) -> Dropped:
    """The instance with only these pairs, bool (pairs,); its row types keep the values that classes are read off."""
    candidates = instance.candidates
    members, of_pair = candidates.members[pairs], candidates.candidate_of_pair()[pairs]
    support = supports(instance.types.counts, of_pair, members, candidates.count)
    indptr = indptr_of(np.bincount(of_pair, minlength=candidates.count))
    fewer = replace(candidates, support=support, indptr=indptr, members=members)
    keep = support > 0
    return Dropped("neighbourhood", instance, replace(instance, candidates=fewer).subset(keep), np.flatnonzero(keep))


AHEAD = 5  # units above the bound, of the first tables that are looked for; doubled each time
SMALLER = 0.95  # of the pairs of the model of all better tables, at most, has one of the first tables
MODEL_PAIRS = 40_000  # more are not solved in minutes


@dataclass(eq=False)
class LinkedCore:
    """Models of the tables up to some loss, which grows until there is one.

    size: variables and constraints of the last model. message: what the solver said.
    """

    session: Session
    extras: LinkedExtras
    tracker: Tracker
    limit: Limit
    size: tuple[int, int] = (0, 0)
    message: str = ""

    @staticmethod
    def applies(session: Session, linked: LinkedSets) -> bool:
        """Whether the model of the sets is all there is to it, and likely to be solved."""
        problem = session.problem
        alone = all(isinstance(each, KAnonymity) for each in problem.requirements) and not side_constraints(problem)
        stated = session.formulation.name == "strong" and session.options.node_limit is None
        return alone and stated and linked.parts.candidates.pairs <= MODEL_PAIRS

    @property
    def settled(self) -> bool:
        """Whether table and bound are near enough to each other."""
        best = self.tracker.best
        return best is not None and self.tracker.bound >= best.cost * (1 - self.session.options.gap)

    def solve(self) -> bool:
        """Model after model, until table and bound meet or the time is over; False where something else goes on."""
        ahead = AHEAD
        while not self.settled and not self.limit.over:
            best = self.tracker.best
            assert best is not None
            loss, near = best.cost - 1, self.tracker.bound + ahead
            model = self.extras.up_to(loss, best)
            if near < loss and len((smaller := self.extras.up_to(near, best)).pairs) <= SMALLER * len(model.pairs):
                loss, model = near, smaller
            if not self._decide(model, loss) or loss == best.cost - 1:
                break  # the model of all better tables was the last one
            ahead *= 2
        return self.settled or self.limit.over

    def _decide(self, left: LinkedModel, loss: int) -> bool:
        """The cheapest table of one model, which has all up to this loss; False where it was not solved to the end."""
        session, tracker, limit = self.session, self.tracker, self.limit
        assert tracker.best is not None
        model, start = left.model(), left.start(tracker.best)
        self.size = (model.variables, model.constraints)
        with session.clock.step("solve"):
            answer = solve_restricted(
                model, session.adapter, session.options, limit, start=start, most=loss + 1, on_progress=tracker.show
            )
        self.message = answer.message
        if answer.bound is not None:
            tracker.higher(answer.bound, answer.backed_by)
        table = None if answer.x is None else left.table(answer.x)
        if table is not None and session.release(table).report.ok:
            tracker.better(table)
        return table is not None and answer.solved
