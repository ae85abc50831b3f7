"""The method `milp` as users call it: where one model alone would have no good table for long, it is given one.

Where several sets of quasi-identifiers are k-anonymous, that is the search of `methods.several_sets`. Elsewhere, where
the model is likely to take most of the time, or none can be declared, it is the phases of the hybrid method in a part
of the time. Direct MILP itself is no phase: it knows objectives, side constraints and models of users, which have no
tracker, and says what is in conflict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kanon_milp.bounds.built_in import cheapest_loss
from kanon_milp.methods.arguments import groups_not_alone
from kanon_milp.methods.direct import solve_milp
from kanon_milp.methods.outcome import Bound, Outcome, Scale
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.resources import LARGE, PAIR_SECONDS, SOLVE_SECONDS, too_large, too_long
from kanon_milp.solvers.proof import REGISTERED
from kanon_milp.system.parameters import number, parameters


@parameters("good_table")
@dataclass(frozen=True)
class GoodTableParams:
    """When direct MILP is given a table of the hybrid method."""

    share: float = number(0.3, "of the time left, for that, where the model is likely to take longer than it", most=1)
    pairs: int = number(LARGE, "(row type, candidate) pairs of the model, at least")
    pair_seconds: float = number(PAIR_SECONDS + SOLVE_SECONDS, "a pair, that a model is likely to take")


def solve_started(session: Session) -> Result:
    """Direct MILP, from a good table where it has none for long by itself."""
    if session.problem.asks_of_labels and session.problem.separable:
        return _cheapest(session) or solve_milp(session)
    if groups_not_alone(session.problem):
        from kanon_milp.methods.several_sets import solve_from_good_table  # for sets of quasi-identifiers alone

        return solve_from_good_table(session)
    left, params = session.limit.seconds, session.parameters.of(GoodTableParams)
    pairs = session.instance.candidates.pairs
    slow = left is not None and pairs >= params.pairs and pairs * params.pair_seconds > params.share * left
    if left is None or not slow or session.formulation.name != "strong" or session.options.node_limit is not None:
        return solve_milp(session)
    return _from_search(session, left, 1 - params.share)


def _cheapest(session: Session) -> Result | None:
    """The first table, where each row has the cheapest candidate that it may have, as under journalist risk alone."""
    first, instance = session.first, session.instance
    if first is None or session.problem.objective != "loss" or first.cost > (least := cheapest_loss(instance)):
        return None
    found = session.release(first)
    if not found.report.ok:  # side constraints
        return None
    bound = Bound(least * instance.levels.unit, ("own bound",))
    return session.end(Outcome(bound=bound).with_table(found, Scale.of_problem(instance)))


def _from_search(session: Session, left: float, rest: float) -> Result:
    """The hybrid method, then one model with its table and its bound; the former alone where none can be declared.
    left: seconds; rest: the share of them that the model has."""
    from kanon_milp.methods.hybrid import solve_hybrid

    why = too_large(session.instance) or too_long(session.instance, rest * left)
    asked = session.options
    assert asked.time_limit is not None
    until = asked.time_limit if why else asked.time_limit - rest * left
    first = solve_hybrid(replace(session, options=replace(asked, time_limit=until)))
    first = replace(first, solver=replace(first.solver, options=asked))
    if why:
        return replace(first, message="; ".join(each for each in (first.message, why) if each))
    if first.stop_reason != "time_limit":
        return first
    bound = Bound(first.exact_bound, first.backed_by)
    known = Outcome(trajectory=first.trajectory, phases=first.phases)
    # behind a registered bound there is nothing but a user's word, so it is kept apart
    known = replace(known, registered=bound) if bound.backed_by[:1] == (REGISTERED,) else replace(known, bound=bound)
    if first.placed is not None:
        session = replace(session, known=assignment_of_groups(session.prepared, first.placed))
    result = solve_milp(session, known=known)
    return replace(result, dual=first.dual, required=first.required)
