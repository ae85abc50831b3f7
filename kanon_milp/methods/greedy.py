"""The method `greedy`: Algorithm 1 of the pattern-guided paper, extended to all group requirements; proves nothing."""

from __future__ import annotations

from kanon_milp.heuristics.pattern_greedy import greedy_division
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem

NO_TABLE = (
    "greedy has found no table: no pattern fits all rows, or not even all rows together satisfy the requirements; "
    "another method may find one"
)


def refuses(problem: Problem) -> str:
    """Why greedy is no method for this problem; empty if it is."""
    if problem.objective != "loss":
        return f"the objective is {problem.objective}"
    if side_constraints(problem):
        return "there are side constraints"
    if any(isinstance(r, KAnonymity) and not r.merge_closed for r in problem.requirements):
        return "a requirement is about more than one group"
    return ""


def solve_greedy(session: Session) -> Result:
    """Form groups from the cheapest pattern to the most expensive (Bredereck et al. 2013, Algorithm 1)."""
    with session.clock.step("search"):
        found = greedy_division(session.prepared.before, session.limit)
    return session.finish(None, message=NO_TABLE) if found is None else session.finish_division(found)
