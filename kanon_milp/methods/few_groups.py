"""At most or at least so many groups, at minimum loss: a Lagrangian bound with a multiplier of their number, tables by
interchange and by splitting groups, and the core problem that both leave.

The limits on the number of groups are two of the packing cuts (`bounds.packing_cuts`). Their multipliers make groups as
few or as many as they must be, so that few candidates are left by fixing, and the linear relaxation is close, as that
of p-median problems is.
"""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from kanon_milp.bounds.dual import prove, round_dual
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.packing_cuts import first_sets
from kanon_milp.bounds.parameters import SubproblemParameters
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.errors import InputError
from kanon_milp.heuristics.interchange import InterchangeParameters, interchange
from kanon_milp.heuristics.splitting import split_groups
from kanon_milp.methods.hybrid import limit_of_search
from kanon_milp.methods.model_phases import RestrictedModel
from kanon_milp.methods.outcome import Bound
from kanon_milp.methods.phases import ByShare, Estimate, Known, Phase
from kanon_milp.methods.required_phases import Lagrangian, RequiredBoundParams
from kanon_milp.methods.result import Result
from kanon_milp.methods.scheduler import begun, outcome_of, run_phases
from kanon_milp.methods.session import Session
from kanon_milp.methods.sizes_phases import LagrangianParams
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers.proof import Backing
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("few_groups")
@dataclass(frozen=True)
class FewGroupsParams:
    """Tables of at most or at least so many groups."""

    share: float = number(0.2, "of the time, at most", most=1)
    gain: float = number(0.6, "expected share of the gap that they close")
    required_share: float = number(0.1, "of the time, for the bound that knows of values as well, at most", most=1)
    required_gain: float = number(0.2, "expected share of the gap that it closes")
    reserve: float = number(
        0.05,
        "of the time left, for the solver to stop (HiGHS takes seconds) and for its rows to be placed",
        most=1,
    )
    binds: float = number(
        1.2, "times as many groups as are allowed, that the relaxation without the limit has, if that is sure to bind"
    )


class LimitBinds(Phase):
    """Ends the problem without a limit on groups where its relaxation has far more of them.

    most: the limit. ended: set then.
    """

    name = "limit on groups"
    step = ""

    def __init__(self, most: int, ended: threading.Event) -> None:
        self._most, self._ended, self._run = most, ended, False

    def applies(self, known: Known) -> bool:
        """Once there are multipliers."""
        return known.dual is not None and known.dual.open_share is not None and not self._run

    def estimate(self, known: Known) -> Estimate:
        """It takes no time."""
        return Estimate(0.0, 1.0)

    def run(self, known: Known, limit: Limit) -> None:
        """Look at the average of the open candidates."""
        self._run, dual = True, known.dual
        assert dual is not None
        assert dual.open_share is not None
        if dual.open_share.sum() > known.get(FewGroupsParams).binds * self._most:
            self._ended.set()


class GroupsLagrangian(Lagrangian):
    """Multipliers of sizes and of the number of groups, whatever else is required."""

    def run(self, known: Known, limit: Limit) -> None:
        """Until its share is over, or it proves the table at hand."""
        params = known.get(LagrangianParams)
        seconds = math.inf if limit.seconds is None else min(params.share * limit.left, params.seconds)
        self._rise(known, limit, seconds, params.evaluations)


class GroupsRequired(Phase):
    """Multipliers of values and of the number of groups, from where those of sizes stand; given up soon where values
    add nothing, as in few large groups."""

    name = "required bound"
    step = "bound"

    def __init__(self) -> None:
        self._run = False

    def applies(self, known: Known) -> bool:
        """Once, where something is required of values that bounds know of."""
        return known.dual is not None and not self._run and bool(relaxations_of(known.instance))

    def estimate(self, known: Known) -> Estimate:
        """Once there is a table."""
        params = known.get(FewGroupsParams)
        return Estimate(known.seconds(params.required_share), params.required_gain)

    def run(self, known: Known, limit: Limit) -> None:
        """Some iterations, and the rest of its share if these have raised it."""
        self._run, dual, session, best = True, known.dual, known.session, known.best
        assert dual is not None
        params, sets = known.get(RequiredBoundParams), first_sets(session.instance)
        part, point = limit.part(known.get(FewGroupsParams).required_share * limit.left), None
        for iterations in (params.stalled_after, params.counted_iterations if known.counted else None):
            before = dual.value if point is None else point.value
            point = required_bound(
                session.instance,
                np.concatenate([dual.multipliers, dual.of_numbers(sets)]),
                None if best is None else float(best.cost),
                None if known.counted or part.seconds is None else part.left,
                iterations,
                known.tracker.show,
                limit.interrupt,
                point=point,
                threads=session.options.threads,
                sets=sets,
                params=session.parameters,
            )
            if part.over or point.value - before < params.stalled * abs(point.value):
                break
        assert point is not None
        with suppress(InputError):  # exact numbers would need more than 64 bits
            proof = prove(session.instance, round_dual(point), params=known.get(SubproblemParameters))
            known.required = point.multipliers
            known.tracker.higher(proof.bound, ("own bound",))


class Splitting(Phase):
    """Splitting of groups until there are enough.

    table: of the problem without side constraints, over the instance with them.
    """

    name = "splitting"

    def __init__(self, table: Assignment | None) -> None:
        self._table = table

    def applies(self, known: Known) -> bool:
        """Where there is such a table."""
        return self._table is not None

    def estimate(self, known: Known) -> Estimate:
        """It takes little time."""
        return Estimate(0.0, 1.0)

    def run(self, known: Known, limit: Limit) -> None:
        """Once."""
        table, self._table = self._table, None
        assert table is not None
        known.keep(split_groups(known.instance, table, known.session.problem.min_groups or 1, limit))


class FewGroups(ByShare):
    """Interchange of open candidates, and splitting of groups where they are too few."""

    name = "interchange"
    numbers = FewGroupsParams

    def __init__(self) -> None:
        self._run = False

    def applies(self, known: Known) -> bool:
        """Once there are multipliers, where the number has a limit."""
        limited = known.session.problem.most_groups is not None
        return limited and known.dual is not None and not self._run

    def run(self, known: Known, limit: Limit) -> None:
        """Once."""
        self._run, dual, problem = True, known.dual, known.session.problem
        assert dual is not None
        assert problem.most_groups is not None
        part, params = limit.part(known.get(FewGroupsParams).share * limit.left), known.get(InterchangeParameters)
        share = np.zeros(len(dual.phi)) if dual.open_share is None else dual.open_share
        found = interchange(known.instance, dual.phi, share, problem.most_groups, part, params)
        known.keep(None if found is None else split_groups(known.instance, found, problem.min_groups or 1, limit))


def limits_groups(problem: Problem) -> bool:
    """Whether these phases are for the problem."""
    return (problem.most_groups is not None or problem.min_groups is not None) and problem.objective == "loss"


def solve_few_groups(session: Session, free: Bound, table: Assignment | None) -> Result:
    """What bound, interchange and core problem make of it. free: what is proven of the problem without side
    constraints. table: of that problem, over the instance with them."""
    session = replace(session, method="search")
    tracker = Tracker(session.instance.levels.unit, session.clock.began, session.on_progress)
    limit = limit_of_search(session).share(1 - session.parameters.of(FewGroupsParams).reserve)
    with begun(Known, session, limit, tracker) as known:
        if free.value is not None:
            tracker.higher(int(free.value / session.instance.levels.unit), cast(tuple[Backing, ...], free.backed_by))
        run_phases(known, [Splitting(table), GroupsLagrangian(), FewGroups(), GroupsRequired(), RestrictedModel()])
    return session.end(outcome_of(known))
