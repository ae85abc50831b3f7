"""The method `portfolio`: the hybrid method and direct MILP side by side, where nobody knows which one will be quicker.

One model goes to the solver in a process of its own, on one thread, while the hybrid method has the others: a phase
that runs while all of the hybrid method's do. What it has found goes to the same tracker; a proof ends both.
"""

from __future__ import annotations

import concurrent.futures as cf
import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from kanon_milp.formulations import get_formulation
from kanon_milp.heuristics.worker_pool import ProcessPool
from kanon_milp.methods.direct import settled
from kanon_milp.methods.phases import Estimate, Known, LastModel, Phase
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session, limit_of
from kanon_milp.methods.started import solve_started
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import SolverAdapter, SolverOptions, StopReason
from kanon_milp.solvers.proof import REGISTERED, Backing
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import Parameters, number, parameters

FIRST = "direct MILP, which ran in the background, ended first"
FAILED = "direct MILP, which ran in the background, failed: "


@parameters("portfolio")
@dataclass(frozen=True)
class PortfolioParams:
    """Direct MILP in a process of its own."""

    earlier: float = number(0.5, "seconds before the end of the session at which it is to end")
    patience: float = number(2.0, "seconds for its last table and bound to arrive, once the time is over")
    poll: float = number(0.1, "seconds between two looks at it", least=1e-3)


@dataclass(frozen=True, eq=False)
class Answer:
    """What direct MILP has found. groups: of the released rows, None where there is no table."""

    stop_reason: str
    groups: RowGroups | None
    bound: Fraction | None
    backed_by: tuple[Backing, ...]
    message: str
    used: frozenset[str] = frozenset()  # names of parameters that it has looked up


def solve_portfolio(session: Session) -> Result:
    """Both methods, until one of them ends with a proof or the time is over; the hybrid method alone on one thread."""
    from kanon_milp.methods.hybrid import solve_hybrid

    asked = session.options
    if asked.threads < 2:
        return solve_hybrid(session)
    with ProcessPool(1) as pool:
        direct = DirectMilp(session, pool)  # it begins before anything is compiled
        found = solve_hybrid(replace(session, options=replace(asked, threads=asked.threads - 1)), more=[direct])
    return replace(found, solver=replace(found.solver, options=asked, threads=asked.threads))


class DirectMilp(Phase):
    """One model of everything, in a process of its own."""

    name = "direct MILP"
    step = ""
    concurrent = True
    worker = False

    def __init__(self, session: Session, pool: ProcessPool) -> None:
        self._pool, self._begun, left = pool, False, session.limit.seconds
        self._params = session.parameters.of(PortfolioParams)
        ends = None if left is None else time.time() + left - self._params.earlier
        options, formulation = replace(session.options, threads=1, log_file=None), session.formulation.name
        self._answer = pool.submit(
            _direct, session.problem, session.adapter, formulation, options, ends, session.parameters
        )

    def applies(self, known: Known) -> bool:
        """At once."""
        return not self._begun

    def estimate(self, known: Known) -> Estimate:
        """It takes nobody's time."""
        return Estimate(0.0, 1.0)

    def run(self, known: Known, limit: Limit) -> None:
        """Until it has answered, or has had its time."""
        self._begun, answer = True, self._answer
        until = Limit(known.whole.ends + self._params.patience, limit.interrupt)
        while not (answer.done() or until.over):
            cf.wait([answer], self._params.poll)
        if not answer.done():
            return
        if self._pool.lost(answer):
            known.notes.append(self._pool.losses())
        elif (error := answer.exception()) is not None:
            known.notes.append(FAILED + str(error))
        else:
            self._take(known, answer.result())

    @staticmethod
    def _take(known: Known, answer: Answer) -> None:
        """Go on with its table and its bound."""
        known.session.parameters.used.update(answer.used)
        if known.settled:
            return
        if answer.stop_reason == "infeasible":
            known.refuted = LastModel((0, 0), answer.backed_by, answer.message, StopReason.INFEASIBLE)
            known.ended = True
            return
        if answer.stop_reason in ("optimal", "gap_limit"):
            known.notes.append(FIRST)
        elif answer.stop_reason == "error":
            known.notes.append(FAILED + answer.message)
        if answer.bound is not None:
            # behind a registered bound there is nothing but a user's word, so it is kept apart
            backed_by = answer.backed_by[:1] if answer.backed_by[:1] == (REGISTERED,) else answer.backed_by
            known.tracker.higher(math.ceil(answer.bound / known.instance.levels.unit), backed_by)
        if answer.groups is not None:
            known.keep(assignment_of_groups(known.session.prepared, answer.groups))


def _direct(
    problem: Problem,
    adapter: SolverAdapter,
    formulation: str,
    options: SolverOptions,
    ends: float | None,
    params: Parameters,
) -> Answer:
    """Direct MILP in a process of its own. ends: seconds of `time.time()`, None for no limit."""
    clock, chosen = Clock(), get_formulation(formulation)
    options = replace(options, time_limit=None if ends is None else max(ends - time.time(), 0.1))
    prepared = presolve(problem, clock, reduced=chosen.reduced, merge=True, limit=limit_of(clock, options, None))
    session = Session(prepared, chosen, adapter, options, clock, parameters=params)
    result = settled(session) or solve_started(session)
    # the names of a user's code are added in the end
    backed_by = cast("tuple[Backing, ...]", result.backed_by)
    return Answer(
        result.stop_reason, result.placed, result.exact_bound, backed_by, result.message, frozenset(params.used)
    )
