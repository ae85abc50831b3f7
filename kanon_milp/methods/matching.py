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

from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session

GONE_ON = "simplex matching did not settle it, so the hybrid method went on"
LARGEST_TYPES = 1 << 20  # row types: a group is told apart by one number of 64 bits


def solve_matching(session: Session) -> Result:
    """Bound, table, and an integer program for what is left between them, until they meet or the time is over."""

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
