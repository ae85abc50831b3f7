"""The method `greedy`: Algorithm 1 of the pattern-guided paper, extended to all group requirements; proves nothing."""

from __future__ import annotations

from kanon_milp.heuristics.greedy import greedy_partition
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session

NO_TABLE = (
    "greedy has found no table: no pattern fits all rows, or not even all rows together satisfy the requirements; "
    "another method may find one"
)

CUT_SHORT = "the limit was reached before every pattern was gone through"


def solve_greedy(session: Session) -> Result:
    """Form groups from the cheapest pattern to the most expensive (Bredereck et al. 2013, Algorithm 1)."""
    limit = session.limit
    with session.clock.step("search"):
        found = greedy_partition(session.prepared.before, limit)
        short = CUT_SHORT if limit.over else ""
    return session.finish(None, message=NO_TABLE) if found is None else session.finish_partition(found, message=short)
