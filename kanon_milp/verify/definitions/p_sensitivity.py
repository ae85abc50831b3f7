"""The verifier's definition of p-sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kanon_milp.verify.definitions import (
    AtLeast,
    Definition,
    Rule,
    ValueRule,
    column_name,
    count,
    different,
    meant,
)
from kanon_milp.verify.numbers import integer
from kanon_milp.verify.tables import Original


def _p_sensitivity(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least p different values (Truta, Vinay 2006)."""
    p = integer(requirement.p, "p")
    return [
        ValueRule("p_sensitivity", (name,), {"p": p, "sensitive": name}, lambda counts: counts.distinct >= p)
        for name in meant(requirement.sensitive, table)
    ]


def _sensitive(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Different values are in different rows."""
    return different(count(requirement["p"]), [requirement["sensitive"]], table)


DEFINITION = Definition(
    "PSensitivity",
    "p_sensitivity",
    _p_sensitivity,
    {"p": count, "sensitive": column_name},
    _sensitive,
    term="p-sensitivity",
)
