"""The method `fpt`: Algorithm 1 of the homogeneity paper (Bredereck, Nichterlein, Niedermeier and Philip 2012), exact
for tables of few row types.

Phase 1 guesses the released row types, phase 2 assigns rows to them. The paper guesses binary matrices A, t_in × t_out,
which say what rows may go where; released row j is what the rows that A puts there have in common. So a guess is a set
of candidates, each the cheapest that covers its row types, and different matrices with the same candidates, such as
those with their columns exchanged, are one guess. It is the guess of their Proposition 2, too: which columns each
released row suppresses, and a prototype of it.

The bounds t_out and s of the algorithm's signature are `max_groups` and `cost_bound`; a least number of groups
(`min_groups`) leaves out the guesses of fewer. There is no solution if t_in > t_out + s (Proposition 3), which presolve
tests for every method (`refuse_side_constraints`). Where a group may get any further row (k-anonymity, p-sensitivity)
no more than t_in candidates are needed, or as many as there must be, by Lemma 2: each row goes where it loses least,
but for those that a group needs which is where some row type loses least. Elsewhere rows have to match, and every set
of candidates is a guess.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kanon_milp.errors import InputError, SolverError
from kanon_milp.formulations.restricted import RestrictedModel, solve_restricted
from kanon_milp.formulations.row_assignment import Cells, cheapest_assignment
from kanon_milp.methods.outcome import Outcome, Scale
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.privacy.base import facts_of, is_size_only
from kanon_milp.solvers import SolverOptions, StopReason
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.system.limit import Over
from kanon_milp.system.parameters import number, parameters


@parameters("fpt")
@dataclass(frozen=True)
class FptParams:
    """Guesses of released row types."""

    flows: int = number(2_000_000, "guesses, at most, where rows are assigned by a minimum-cost flow")
    models: int = number(5_000, "guesses, at most, where they are assigned by an integer program")


def solve_fpt(session: Session) -> Result:
    """The best row assignment over all guesses that could be better than the best one so far.

    Phase 2 is a minimum-cost flow where sizes (Lemma 1) and numbers of different values of one attribute (Lemma 3) are
    all that is required, else an ILP. Raises InputError where there are too many guesses.
    """
    problem, instance, limit = session.problem, session.instance, session.limit
    params = session.parameters.of(FptParams)
    few = all(_may_grow(requirement, instance) for requirement in problem.requirements)
    flow = few and len(problem.attributes) <= 1
    fewest = problem.min_groups or 1
    groups = max(instance.types.count, fewest) if few else instance.candidates.count
    groups = min(groups, groups if problem.most_groups is None else problem.most_groups)
    guesses = Guesses(instance, params.flows if flow else params.models, fewest, groups)
    if instance.cost_bound is not None:
        guesses.incumbent = instance.cost_bound + 1
    best: Assignment | None = None
    cells = _different_values(instance) if flow else None
    try:
        with session.clock.step("search"):
            for chosen in guesses.worth_it():
                if limit.over:
                    raise Over
                found = cheapest_assignment(instance, chosen, cells) if flow else _ilp(session, chosen)
                if found is not None and (guesses.incumbent is None or found.cost < guesses.incumbent):
                    best, guesses.incumbent = found, found.cost
    except Over:
        if best is None:
            return session.end_early(limit.reason)
        # the best of all guesses so far, or a table that needs no guess, if that is better
        kept = session.release(best)
        kept = session.constructed(kept.objective) or kept
        return session.end(Outcome().stopped(limit.reason).with_table(kept, Scale.of_problem(instance)))
    if best is None:
        return session.end_infeasible()
    return session.finish(best, bound=best.cost * instance.levels.unit)


def _may_grow(requirement: Requirement, instance: Instance) -> bool:
    """Whether a group that satisfies it does so with any further row."""
    facts = facts_of(requirement, instance.table_group)
    return is_size_only(requirement) or (bool(facts) and all(each.counts_values for each in facts))


def _different_values(instance: Instance) -> Cells | None:
    """How many different values each candidate's group needs; None where it needs none in particular."""
    if not instance.problem.attributes:
        return None
    needed = np.ones(instance.candidates.count, dtype=np.int64)
    for requirement in instance.problem.requirements:
        free = instance.exempt & requirement.exempts
        for each in facts_of(requirement, instance.table_group):
            needed = np.maximum(needed, np.where(free, 1, each.different))
    return Cells.to_choose(instance, needed)


class Guesses:
    """Sets of so many candidates that cover all row types. Raises InputError where there are too many sets.

    incumbent: cost that is to be undercut, that of the best assignment so far; None for any.
    """

    incumbent: int | None = None

    def __init__(self, instance: Instance, most: int, fewest: int, groups: int) -> None:
        candidates, types = instance.candidates, instance.types.count
        usable = np.flatnonzero(candidates.support >= instance.least)
        order = usable[np.argsort(candidates.cost[usable], kind="stable")]
        count = sum(math.comb(len(order), size) for size in range(fewest, min(groups, len(order)) + 1))
        if count > most:
            raise InputError(
                f"the method fpt would guess {count:.2g} sets of released rows of {types} row types, and is for up to "
                f"{most:,}; use another method, such as milp"
            )
        self._instance, self._order, self._fewest, self._most = instance, order, fewest, min(groups, len(order))
        # loss of a row type's rows in each candidate, with room for "none"
        never = int(candidates.cost.max(initial=0)) * instance.types.n + 1
        self._loss = np.full((candidates.count, types), never, dtype=np.int64)
        of_pair = candidates.candidate_of_pair()
        self._loss[of_pair, candidates.members] = candidates.cost[of_pair] * instance.types.counts[candidates.members]
        self._never = never

    def worth_it(self) -> Iterator[Flags]:
        """Sets, bool (G,), whose rows lose less than the incumbent if each goes where it loses least."""
        rest = np.minimum.accumulate(self._loss[self._order][::-1], axis=0)[::-1]  # least loss from here on
        stack: list[tuple[int, list[int], Ints]] = [(0, [], np.full(self._instance.types.count, self._never))]
        while stack:
            at, chosen, least = stack.pop()
            known = self.incumbent
            if len(chosen) + len(self._order) - at < self._fewest:
                continue
            if at == len(self._order) or len(chosen) == self._most:
                yield from self._whole(chosen, least, known)
                continue
            if int(np.minimum(least, rest[at]).sum()) >= (self._never if known is None else known):
                continue
            g = int(self._order[at])
            stack.append((at + 1, chosen, least))
            stack.append((at + 1, [*chosen, g], np.minimum(least, self._loss[g])))

    def _whole(self, chosen: list[int], least: Ints, known: int | None) -> Iterator[Flags]:
        """The set, if it covers every row type at less than the incumbent."""
        if int(least.max(initial=0)) < self._never and (known is None or int(least.sum()) < known):
            opened = np.zeros(self._instance.candidates.count, dtype=bool)
            opened[chosen] = True
            yield opened


def _ilp(session: Session, chosen: Flags) -> Assignment | None:
    """The strong formulation over these candidates alone, of which each need not be used. Raises `Over`."""
    model = RestrictedModel.of(session.instance.subset(chosen), session.formulation, session.limit)
    options = SolverOptions(threads=session.options.threads)
    answer = solve_restricted(model.linear, session.adapter, options, session.limit)
    if answer.stop_reason is StopReason.INFEASIBLE:
        return None
    if answer.stop_reason in (StopReason.TIME_LIMIT, StopReason.INTERRUPTED):
        raise Over
    if answer.x is None or answer.stop_reason is not StopReason.OPTIMAL:
        why = answer.message or answer.stop_reason.value
        raise SolverError(f"{session.adapter.name} has not solved a row assignment: {why}")
    found = model.assignment(answer.x)
    return replace(found, candidate=np.flatnonzero(chosen)[found.candidate])
