"""What the exit code of a command says. It imports next to nothing, as whoever listens to signals needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kanon_milp.methods.result import Result

OPTIMAL, BAD_INPUT, INFEASIBLE, UNPROVEN, NO_TABLE, UNVERIFIED = 0, 2, 3, 4, 5, 6


def exit_code(result: Result) -> int:
    """0 proven optimal and verified; 3 proven infeasible; 4 a verified table without proof of optimality; 5 no table;
    6 a table that the verifier refuses."""
    if result.report is not None and not result.report.ok:
        return UNVERIFIED
    if result.is_optimal:
        return OPTIMAL
    if result.proof == "infeasible":
        return INFEASIBLE
    return UNPROVEN if result.verified else NO_TABLE
