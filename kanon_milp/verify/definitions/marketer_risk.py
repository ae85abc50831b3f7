"""The verifier's definition of marketer risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.verify.definitions import AtLeast, Definition, MeanRule, Rule
from kanon_milp.verify.definitions.prosecutor_risk import threshold
from kanon_milp.verify.tables import Original


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """The mean over rows; whose the rows are is not asked."""
    if any(table.keys[unit].n_unique() < table.n for unit in table.units):
        raise InputError(f"{table.source}: marketer risk is an average over rows, and a unit has several of them")
    return [MeanRule(threshold(requirement.marketer_risk, "marketer_risk"))]


def _least(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Any group may be of one row, if one group of all rows is few enough."""
    most = MeanRule(threshold(requirement["marketer_risk"], "marketer_risk")).most_groups(table.n)
    return AtLeast(1 if most else table.n + 1, possible=most > 0, groups=most or None)


DEFINITION = Definition(
    "MarketerRisk",
    "marketer_risk",
    _rules,
    {"marketer_risk": "number"},
    _least,
    term="marketer risk",
)
