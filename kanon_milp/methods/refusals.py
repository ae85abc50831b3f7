"""Why a problem is not for a method: what several methods ask of a problem, in words for the user."""

from __future__ import annotations

from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.problem.problem import Problem


def groups_not_alone(problem: Problem) -> str:
    """For methods that look for the least loss of groups, each judged alone; empty if nothing is in the way."""
    if problem.objective != "loss":
        return f"the objective is {problem.objective}"
    if sides := side_constraints(problem):
        return f"there are side constraints ({' and '.join(sides.values())}), which are about all groups together"
    if not problem.separable:
        return "k-anonymity of some of the quasi-identifiers is about several groups together"
    return ""


def groups_not_merging(problem: Problem) -> str:
    """For methods that form a group without looking at those that will be released like it; empty if nothing is in the
    way."""
    if reason := groups_not_alone(problem):
        return reason
    if not problem.merge_closed:
        return (
            "two groups that satisfy a requirement may not do so together, which they are once they are released alike"
        )
    return ""
