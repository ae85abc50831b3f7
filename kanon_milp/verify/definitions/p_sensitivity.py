"""The verifier's definition of p-sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kanon_milp.verify.definitions import Definition, Rule, different, of_each
from kanon_milp.verify.numbers import integer
from kanon_milp.verify.tables import Original


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least p different values (Truta, Vinay 2006)."""
    p = integer(requirement.p, "p")
    return of_each("p_sensitivity", requirement, table, {"p": p}, lambda counts: counts.distinct >= p)


DEFINITION = Definition(
    "PSensitivity",
    "p_sensitivity",
    _rules,
    {"p": "count", "sensitive": "column"},
    lambda requirement, table: different(requirement["p"], [requirement["sensitive"]], table),
    term="p-sensitivity",
)
