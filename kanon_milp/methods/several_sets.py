"""A good first table where several sets of quasi-identifiers are k-anonymous, each by its own columns.

Such classes add up groups, so that no group can be judged alone, as the hybrid method does. But each set alone is a
k-anonymity problem over its own columns, and the sets are linked by what rows release in the columns that they share
(`presolve.linked_sets`): that gives a bound (`bounds.linked`), and tables by moves that keep all sets k-anonymous
(`heuristics.linked_annealing`). Where nothing else is required, the model of all sets side by side is solved to the end
(`LinkedModels`). Where there are other requirements, too, the bound holds as it is, and the table is one that is
k-anonymous in all columns together, which is so in each set of them. Then neighbourhoods of it are searched by the
complete model with most pairs left out: row types near each other take any candidates that release the same as now in
the columns that are held, and all others stay as they are. These steps are phases; direct MILP has the rest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds import BoundLimit
from kanon_milp.errors import InputError
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.methods.direct import settled, solve_milp
from kanon_milp.methods.outcome import Bound, Outcome
from kanon_milp.methods.phases import Estimate, Known, LastModel, Phase
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session, limit_of
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.linked_sets import LinkedSets, linked_sets
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.reductions import Dropped, with_pairs
from kanon_milp.presolve.resources import PAIR_SECONDS
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.privacy.instance_data import projections
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit, Over
from kanon_milp.system.parameters import number, parameters

if TYPE_CHECKING:
    from kanon_milp.bounds.linked import LinkedModel


@parameters("sets")
@dataclass(frozen=True)
class SetsParams:
    """Bound, tables and models where several sets of quasi-identifiers are k-anonymous."""

    fewest_pairs: int = number(2_000, "pairs; smaller models are soon solved")
    linking_share: float = number(0.2, "of the time left, at most, for arrays", most=1)
    bound_share: float = number(0.2, "of the time left, for the bound", most=1)
    bound_seconds: float = number(60.0, "seconds for it, at most")
    evaluations: int = number(2_000, "iterations of the bound, where work is counted instead of time")
    anneal_share: float = number(
        0.3, "of the time left, for annealing, where the complete model can be declared afterwards", most=1
    )
    most_share: float = number(
        0.8, "of the time left, for annealing, where the complete model cannot be declared afterwards", most=1
    )
    anneal_seconds: float = number(30.0, "seconds for it where there is no time limit")
    brief_share: float = number(0.1, "of the time left, for it, where the model of all sets comes next", most=1)
    brief_seconds: float = number(5.0, "seconds for it then, at most")
    joint_share: float = number(0.15, "of the time left, for the table of all columns", most=1)
    joint_seconds: float = number(30.0, "seconds for it, at most")
    joint_rounds: int = number(20, "neighbourhoods of it, where work is counted instead of time", least=1)
    share: float = number(0.4, "of the time left, for neighbourhoods", most=1)
    seconds: float = number(60.0, "seconds for them where there is no time limit")
    near_pairs: int = number(1_000, "pairs that the first neighbourhoods free")
    wider: float = number(1.5, "times as many in the next one, after a model that was solved quickly", least=1)
    narrower: float = number(0.6, "times as many after one that was not solved", most=1)
    turn_seconds: float = number(5.0, "seconds for one of them, at most")
    patience: int = number(4, "rounds of them that find nothing")
    counted: int = number(4, "annealings and rounds, where work is counted instead of time")
    nodes: int = number(50, "nodes of the solver for each neighbourhood, where work is counted, at most", least=1)
    ahead: int = number(5, "units above the bound, of the first tables that models look for; doubled each time")
    smaller: float = number(
        0.95, "of the pairs of the model of all better tables, at most, has a model of the first tables", most=1
    )
    model_pairs: int = number(40_000, "pairs of a model of all sets; more are not solved in minutes")


class LinkedKnown(Known):
    """What phases know where sets of quasi-identifiers are linked. linked: the sets, and what links them; None before
    that is known, and where it cannot be. annealed: the table that was annealed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.params = self.get(SetsParams)
        self.linked: LinkedSets | None = None
        self.annealed: Assignment | None = None
        self.by_nodes = self.session.options.node_limit is not None

    def keep(self, table: Assignment | None) -> None:
        """Take a table if it is the cheapest, and the verifier accepts it: no group can be judged alone."""
        if table is None or (self.best is not None and self.best.cost <= table.cost):
            return
        if self.session.release(table).report.ok:
            self.tracker.better(table)

    @property
    def sets_alone(self) -> bool:
        """Whether nothing but sets of quasi-identifiers is required."""
        return all(isinstance(each, KAnonymity) for each in self.session.problem.requirements)

    @property
    def has_model(self) -> bool:
        """Whether the model of the sets is all there is to it, and likely to be solved."""
        if self.linked is None or not self.sets_alone or self.by_nodes:
            return False
        return (
            self.session.formulation.name == "strong" and self.linked.parts.candidates.pairs <= self.params.model_pairs
        )

    @property
    def fits(self) -> bool:
        """Whether there is time to declare the complete model."""
        return self.instance.candidates.pairs * PAIR_SECONDS <= self.limit.left


def solve_from_good_table(session: Session) -> Result:
    """Direct MILP, from a bound and a good table where several sets of quasi-identifiers have their own k."""
    problem, params = session.problem, session.parameters.of(SetsParams)
    few = session.instance.candidates.pairs < params.fewest_pairs
    of_labels = session.instance.levels.cells is not None  # what links sets has costs of level vectors
    linked = not (problem.separable or problem.table.keys_match)
    if not linked or problem.objective != "loss" or few or of_labels:
        return solve_milp(session)
    from kanon_milp.methods.scheduler import begun, outcome_of, run_phases

    limit = replace(session.limit, interrupt=session.interrupt or threading.Event())
    sides = side_constraints(problem)
    with begun(LinkedKnown, session, limit) as known:
        run_phases(known, [LinkedBound()] if sides else [kind() for kind in PHASES])
    tracker = known.tracker
    if known.ended or (known.settled and not limit.asked and not sides):
        return session.end(outcome_of(known))
    bound = Outcome(bound=Bound(tracker.proven * session.instance.levels.unit, tracker.proven_by))
    begin = session if sides or known.best is None else replace(session, known=known.best)
    result = solve_milp(begin, known=bound if tracker.proven > 0 else None)
    return replace(result, phases=(*known.log, *result.phases))


def _of(known: Known) -> LinkedKnown:
    assert isinstance(known, LinkedKnown)
    return known


class _LinkedPhase(Phase):
    """One of those of linked sets, which come once each, in their order."""

    step = "search"

    def __init__(self) -> None:
        self._done = False

    def applies(self, known: Known) -> bool:
        """Once."""
        return not self._done and self._useful(_of(known))

    def estimate(self, known: Known) -> Estimate:
        """The same for all: of those that apply the first one is next."""
        return Estimate(1.0, 1.0)

    def run(self, known: Known, limit: Limit) -> None:
        """Once."""
        self._done = True
        self._run(_of(known), limit)

    def _useful(self, known: LinkedKnown) -> bool:
        return True

    def _run(self, known: LinkedKnown, limit: Limit) -> None:
        raise NotImplementedError


class LinkedBound(_LinkedPhase):
    """What links the sets, and the best multipliers that are found within a part of the time."""

    name = "linked bound"
    step = "bound"

    def _run(self, known: LinkedKnown, limit: Limit) -> None:
        params = known.params
        try:
            # None where some row has no class that is large enough
            known.linked = limit.share(params.linking_share).call(linked_sets, known.instance)
        except Over:
            return
        if known.linked is None:
            return
        from kanon_milp.bounds.linked import linked_bound, proven_units

        if known.by_nodes:
            limits = BoundLimit(limit.ends, limit.interrupt, iterations=params.evaluations)
        else:
            left = params.bound_seconds
            left = left if limit.seconds is None else min(params.bound_share * limit.left, left)
            limits = BoundLimit(time.perf_counter() + left, limit.interrupt)
        known.dual = linked_bound(known.linked, limits, known.session.options.threads)
        try:
            known.tracker.higher(proven_units(known.linked, known.dual), ("own bound",))
        except InputError:  # exact numbers would need more than 64 bits
            return


class LinkedAnnealing(_LinkedPhase):
    """A table by annealing, where nothing but sets of quasi-identifiers is required."""

    name = "linked annealing"

    def _useful(self, known: LinkedKnown) -> bool:
        return known.sets_alone and known.dual is not None

    def _run(self, known: LinkedKnown, limit: Limit) -> None:
        known.keep(suppress_all(known.instance))
        if known.best is None or known.linked is None or known.dual is None:
            return
        from kanon_milp.heuristics.linked_annealing import LinkedAnnealingParameters, anneal_sets

        params, annealings = known.params, known.params.counted if known.by_nodes else None
        if not known.by_nodes:
            share = params.anneal_share if known.fits else params.most_share
            left = params.anneal_seconds if limit.seconds is None else limit.left * share
            if known.has_model:
                left = min(left, params.brief_share * limit.left, params.brief_seconds)
            limit = limit.part(left)
        effort, seed = Effort(limit.ends, limit.interrupt, annealings), known.session.options.seed
        moves = known.get(LinkedAnnealingParameters)
        known.annealed = anneal_sets(known.linked, known.best, known.dual.phi, effort, seed, moves)
        known.keep(known.annealed)


class LinkedModels(_LinkedPhase):
    """Models of the tables up to some loss, which grows until there is one."""

    name = "linked models"
    step = ""

    def _useful(self, known: LinkedKnown) -> bool:
        return known.has_model and known.annealed is not None and known.best is not None

    def _run(self, known: LinkedKnown, limit: Limit) -> None:
        """Model after model, until table and bound meet or the time is over."""
        assert known.linked is not None
        assert known.dual is not None
        assert known.best is not None
        option, group = known.linked.places(known.best)
        if (option < 0).any() or (group < 0).any():  # rows in classes that are too small
            return
        from kanon_milp.bounds.linked import LinkedExtras

        try:
            extras = LinkedExtras.of(known.linked, known.dual.multipliers)
        except InputError:  # exact numbers would need more than 64 bits
            return
        ahead = known.params.ahead
        while not known.settled and not limit.over:
            loss, near = known.best.cost - 1, known.tracker.bound + ahead
            model = extras.up_to(loss, known.best)
            if near < loss:
                smaller = extras.up_to(near, known.best)
                if len(smaller.pairs) <= known.params.smaller * len(model.pairs):
                    loss, model = near, smaller
            last = loss == known.best.cost - 1  # the model of all better tables
            if not self._decide(known, model, loss, limit) or last:
                break
            ahead *= 2
        known.ended = known.settled or limit.over

    @staticmethod
    def _decide(known: LinkedKnown, left: LinkedModel, loss: int, limit: Limit) -> bool:
        """The cheapest table of one model, which has all up to this loss; False where it was not solved to the end."""
        session, tracker = known.session, known.tracker
        assert known.best is not None
        model, start = left.model(), left.start(known.best)
        with session.clock.step("solve"):
            answer = solve_restricted(
                model, session.adapter, session.options, limit, start=start, most=loss + 1, on_progress=tracker.show
            )
        known.model = LastModel((model.variables, model.constraints), answer.backed_by, answer.message)
        if answer.bound is not None:
            tracker.higher(answer.bound, answer.backed_by)
        table = None if answer.x is None else left.table(answer.x)
        known.keep(table)
        return table is not None and answer.solved


class JointTable(_LinkedPhase):
    """A table that is k-anonymous in all columns together, by the hybrid method, where none was annealed."""

    name = "joint table"

    def _useful(self, known: LinkedKnown) -> bool:
        return known.annealed is None

    def _run(self, known: LinkedKnown, limit: Limit) -> None:
        from kanon_milp.methods.hybrid import solve_hybrid

        session, params, clock = known.session, known.params, Clock()
        seconds = None if known.by_nodes else min(params.joint_share * limit.left, params.joint_seconds)
        options = replace(session.options, time_limit=seconds, node_limit=None, gap=0.0, log_file=None)
        within = limit_of(clock, options, session.interrupt)
        prepared = presolve(stricter(session.problem), clock, merge=True, limit=within)
        rounds = params.joint_rounds if known.by_nodes else None
        joint = Session(
            session.adapter, options, clock, "search", session.interrupt, rounds,
            parameters=session.parameters, prepared=prepared, formulation=session.formulation,
        )  # fmt: skip
        result = settled(joint) or solve_hybrid(joint)
        if result.placed is not None:
            known.keep(assignment_of_groups(session.prepared, result.placed))


class SetNeighbourhoods(_LinkedPhase):
    """Neighbourhoods of the best table, until none of several finds anything."""

    name = "neighbourhoods of sets"

    def _useful(self, known: LinkedKnown) -> bool:
        return known.best is not None

    def _run(self, known: LinkedKnown, limit: Limit) -> None:
        params, fruitless, rounds = known.params, 0, 0
        if not known.by_nodes:
            share = params.share if known.fits else 1.0
            limit = limit.part(params.seconds if limit.seconds is None else share * limit.left)
        random = np.random.default_rng(known.session.options.seed)
        kinds = list(_held(known.session.problem))
        sizes = [float(params.near_pairs)] * len(kinds)
        assert known.best is not None
        while fruitless < params.patience and not (known.by_nodes and rounds >= params.counted):
            before, rounds = known.best.cost, rounds + 1
            for kind, held in enumerate(kinds):
                if limit.over:
                    return
                pairs = neighbourhood(known.instance, known.best, held, int(sizes[kind]), random)
                began = time.perf_counter()
                found, solved = self._rebuilt(known, known.best, pairs, limit)
                if not solved:
                    sizes[kind] *= params.narrower
                elif not known.by_nodes and time.perf_counter() - began < params.turn_seconds / 2:
                    sizes[kind] *= params.wider
                known.keep(found)
            fruitless = 0 if known.best.cost < before else fruitless + 1

    @staticmethod
    def _rebuilt(known: LinkedKnown, table: Assignment, pairs: Flags, limit: Limit) -> tuple[Assignment | None, bool]:
        """The best table of these pairs that the solver finds, None if it finds none; and whether none is better."""
        session, params = known.session, known.params
        step = _only(session.instance, pairs)
        rest = step.instance
        limit = limit if known.by_nodes else limit.part(params.turn_seconds)
        try:
            model = RestrictedModel.of(rest, session.formulation, limit)
        except Over:
            return None, False
        options = session.adapter.suited(replace(session.options, log_file=None), session.formulation.tune(rest))
        if options.node_limit is not None:
            options = replace(options, node_limit=min(options.node_limit, params.nodes))
        here = replace(table, candidate=np.searchsorted(step.origin, table.candidate))
        answer = solve_restricted(model.linear, session.adapter, options, limit, start=model.start(here))
        return None if answer.x is None else step.invert(model.assignment(answer.x)), answer.solved


PHASES: tuple[type[_LinkedPhase], ...] = (LinkedBound, LinkedAnnealing, LinkedModels, JointTable, SetNeighbourhoods)


def stricter(problem: Problem) -> Problem:
    """The same with the largest of these k for all columns together: each table of it is one of the problem."""
    least = max(each.k for each in problem.requirements if isinstance(each, KAnonymity))
    others = [each for each in problem.requirements if not isinstance(each, KAnonymity)]
    return replace(problem, privacy=[KAnonymity(least), *others], name=f"{problem.name}, all columns together")


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
    order = np.argsort(distance, kind="stable")
    pairs = np.cumsum(np.bincount(members[free], minlength=types.count)[order])
    near = np.zeros(types.count, dtype=bool)
    near[order[: max(int(np.searchsorted(pairs, most_pairs, side="right")), 1)]] = True
    used = np.isin(members * count + of_pair, table.row_type * count + table.candidate)
    found: Flags = (free & near[members]) | used
    return found


def _only(instance: Instance, pairs: Flags) -> Dropped:
    """The instance with only these pairs, bool (pairs,); its row types keep the values that classes are read off."""
    fewer = replace(with_pairs(instance, pairs), types=instance.types)
    keep = fewer.candidates.support > 0
    return Dropped("neighbourhood", instance, fewer.subset(keep), np.flatnonzero(keep))
