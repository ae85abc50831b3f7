"""The method `matching`: optimal 2-anonymity and 2-diversity by simplex matching, groups of two and three rows.

Both problems are in P (Blocki, Williams 2010, Theorem 1.1; Liang, Yuan 2013, Theorem 11), as they ask for a perfect
matching by pairs and triples where a triple costs at least half of what its pairs cost (Anshelevich, Karagiozova 2007).
Here a linear program with priced groups and odd-set cuts proves the bound (`kanon_milp.bounds.matching`), one of its
points that is nearly integral is rounded to a table, and where the two do not meet, an integer program over the groups
that a better table may have ends it. Where these groups are too many, the rest of a time limit goes to the hybrid
method, with what is known by then.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction

from kanon_milp.methods.arguments import groups_not_alone
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.problem.privacy import AlphaKAnonymity, KAnonymity, LDiversity, Requirement
from kanon_milp.problem.problem import Problem

GONE_ON = "simplex matching did not settle it, so the hybrid method went on"
LARGEST_TYPES = 1 << 20  # row types: a group is told apart by one number of 64 bits


def refuses(problem: Problem) -> str:
    """Why simplex matching is not for this problem; empty if it is."""
    if reason := groups_not_alone(problem):
        return reason
    for requirement in problem.requirements:
        if reason := _not_covered(requirement):
            return reason
    if len(problem.attributes) > 1:
        return "2-diversity of several sensitive attributes is no matching (with three of them it is NP-hard)"
    if not problem.attributes and all(isinstance(r, KAnonymity) and r.k == 1 for r in problem.requirements):
        return "k is 1, which asks for nothing"
    return ""


def _not_covered(requirement: Requirement) -> str:
    """Why a requirement is more than groups of two and three rows can be priced for; empty if it is not."""
    if type(requirement) is KAnonymity and requirement.unit is not None:
        return f'k counts different values of "{requirement.unit}", and groups of two and three rows may be one of them'
    if type(requirement) is KAnonymity:
        return "" if requirement.k <= 2 else f"k is {requirement.k}; groups of two and three are enough for k = 2 alone"
    if type(requirement) is LDiversity:
        if requirement.form != "frequency":
            return f"the {requirement.form} form of l-diversity has groups that are no union of pairs and triples"
        exact = requirement.exact
        return "" if exact == 2 else f"l is {exact}; groups of two and three are enough for l = 2 alone"
    if type(requirement) is AlphaKAnonymity and requirement.values is None:
        if requirement.exact != Fraction(1, 2):
            return f"alpha is {requirement.exact}; groups of two and three are enough for alpha = 1/2 alone"
        return "" if requirement.k <= 2 else f"k is {requirement.k}; groups of two and three are enough for k = 2 alone"
    return f"{requirement.spelled} is not 2-anonymity or 2-diversity (the frequency form of l-diversity with l = 2)"


def solve_matching(session: Session) -> Result:
    """Bound, table, and an integer program for what is left between them, until they meet or the time is over."""
    # compiled code that nothing else needs
    from kanon_milp.methods.matching_phases import PHASES, Matching
    from kanon_milp.methods.scheduler import begun, outcome_of, run_phases

    instance, limit = session.instance, replace(session.limit, interrupt=session.interrupt or threading.Event())
    if instance.types.count > LARGEST_TYPES:
        message = f"the table has more than {LARGEST_TYPES:,} row types, too many for simplex matching; use search"
        return session.end_early("error", message)
    with begun(Matching, session, limit) as known:
        run_phases(known, [kind() for kind in PHASES])
    if known.ended or known.settled or limit.over or limit.seconds is None:
        return session.end(outcome_of(known))
    from kanon_milp.methods.hybrid import solve_hybrid  # the same

    result = solve_hybrid(session, known.tracker)
    message = "; ".join(each for each in (GONE_ON, result.message) if each)
    return replace(result, message=message, phases=(*known.log, *result.phases))
