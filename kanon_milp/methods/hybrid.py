"""The hybrid method (`search`): a Lagrangian bound, a heuristic search, and a restricted MILP, the core problem.

For the minimum loss on tables whose complete model is too large, or would take too long. The multipliers of the bound
lead the search; bound and incumbent together fix candidates and pairs; a small core problem goes to the solver. Each of
these steps is a phase, and the scheduler takes the next one. Which of them apply depends on what is required: some are
for sizes of groups alone, others for all else.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass, replace
from typing import Any

from kanon_milp.methods.branching import Branches
from kanon_milp.methods.model_phases import CondensedModels, EarlyModel, ModelAtBound, RestrictedModel
from kanon_milp.methods.phases import REGISTERED, Known, Phase
from kanon_milp.methods.required_phases import (
    Lagrangian,
    RequiredBound,
    RequiredCutRounds,
    RequiredTableSearch,
    SearchBySizes,
)
from kanon_milp.methods.result import Result
from kanon_milp.methods.scheduler import begun, outcome_of, run_phases
from kanon_milp.methods.session import Session
from kanon_milp.methods.sizes_phases import (
    ConcurrentCuts,
    Construction,
    RankOneCuts,
    TableSearch,
    few_row_types,
)
from kanon_milp.methods.tracker import Tracker
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters

PHASES: tuple[type[Phase], ...] = (
    Lagrangian,
    Construction,
    CondensedModels,
    ModelAtBound,
    EarlyModel,
    RankOneCuts,
    ConcurrentCuts,
    TableSearch,
    Branches,
    SearchBySizes,
    RequiredBound,
    RequiredCutRounds,
    RequiredTableSearch,
    RestrictedModel,
)


OWN_LIMIT = "no time limit was given, so the search ended after {:g} s; name a longer one to give it more"


@parameters("hybrid")
@dataclass(frozen=True)
class HybridParams:
    """The hybrid method as a whole."""

    seconds: float = number(600.0, "where neither a time limit nor an iteration limit is given")


def switch(name: str) -> str:
    """The parameter that says whether the phase of this name is used."""
    return name.replace(" ", "_").replace("-", "_")


PhaseSwitches: type[Any] = parameters("phases")(
    make_dataclass(
        "PhaseSwitches",
        [
            (switch(name), bool, number(True, f"whether the phase {name} is used"))
            for name in dict.fromkeys(phase.name for phase in PHASES)
        ],
        frozen=True,
    )
)


def solve_hybrid(session: Session, tracker: Tracker | None = None, more: Sequence[Phase] = ()) -> Result:
    """Bound, search, fix and solve the core problem, until bound and incumbent meet or the time is over.

    tracker: what another method has found and proven before. more: phases in addition. `session.iterations`:
    neighbourhoods of the search; with it no clock plays a part but a time limit that is given as well. `session.dask`:
    a Dask scheduler whose workers search; else processes of this machine, one a thread.
    """
    with begun(Known, session, limit_of_search(session), tracker) as known:
        switches = session.parameters.of(PhaseSwitches)
        kinds = (*PHASES, *REGISTERED.values())
        known.off = frozenset(each.name for each in kinds if not getattr(switches, switch(each.name), True))
        phases = [*more, *(kind() for kind in kinds if kind.name not in known.off)]
        rounds = known.sizes_only and known.fits and not (few_row_types(known) or known.counted)
        run_phases(known, phases, rounds=rounds)
    outcome = outcome_of(known)
    if outcome.stop_reason == "time_limit" and session.options.time_limit is None:
        outcome = outcome.noted(OWN_LIMIT.format(session.parameters.of(HybridParams).seconds))
    return session.end(outcome)


def limit_of_search(session: Session) -> Limit:
    """That of the session; some minutes where it has neither a time nor an iteration limit."""
    limit = replace(session.limit, interrupt=session.interrupt or threading.Event())
    if session.options.time_limit is not None or session.iterations:
        return limit
    return replace(limit, ends=session.clock.began + session.parameters.of(HybridParams).seconds)
