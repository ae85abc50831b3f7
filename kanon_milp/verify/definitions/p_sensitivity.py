"""The verifier's definition of p-sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kanon_milp.verify.definitions import AtLeast, Definition, Rule, different, of_each
from kanon_milp.verify.numbers import integer
from kanon_milp.verify.tables import Original


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least p different values (Truta, Vinay 2006)."""
    p = integer(requirement.p, "p")
    return of_each("p_sensitivity", requirement, table, {"p": p}, lambda counts: counts.distinct >= p)


def _least(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Different values are in different rows."""
    return different(requirement["p"], [requirement["sensitive"]], table)


DEFINITION = Definition(
    "PSensitivity", "p_sensitivity", _rules, {"p": "count", "sensitive": "column"}, _least, term="p-sensitivity"
)
