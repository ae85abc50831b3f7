"""The verifier's definition of k-anonymity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.verify.definitions import AtLeast, Definition, Rule, SizeRule, different
from kanon_milp.verify.definitions.prosecutor_risk import THRESHOLDS
from kanon_milp.verify.numbers import integer
from kanon_milp.verify.tables import Original


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least k rows (Samarati 2001), or at least k rows that are released alike in some columns; where the table has
    a unit of protection, rows of at least k different units."""
    given, (unit, *_) = requirement.quasi_identifiers, (*table.units, None)
    if given is None:
        return [SizeRule(integer(requirement.k, "k"), unit=unit)]
    named = {given} if isinstance(given, str) else set(given)
    if not named or not named <= set(table.quasi_identifiers):
        raise InputError(
            f"{table.source}: k-anonymity of a set of quasi-identifiers: one of its names is not a quasi-identifier"
        )
    columns = tuple(name for name in table.quasi_identifiers if name in named)
    everything = len(columns) == len(table.quasi_identifiers)
    return [SizeRule(integer(requirement.k, "k"), None if everything else columns, unit)]


def _least(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """So many rows, or units; where some of the quasi-identifiers are meant, rows of several groups can be alike in
    them."""
    if "risk" in requirement and Fraction(requirement["risk"]) * requirement["k"] < 1:
        raise ValueError  # k rows are too few for that risk
    if "unit" in requirement:
        if requirement["unit"] != table.unit or "quasi_identifiers" in requirement:
            raise ValueError
        return different(requirement["k"], [requirement["unit"]], table)
    if "missing_keys" in requirement:  # rows of several groups match
        return AtLeast(1)
    if "quasi_identifiers" not in requirement:
        return AtLeast(requirement["k"])
    if not set(requirement["quasi_identifiers"]) <= set(table.quasi_identifiers):
        raise ValueError
    return AtLeast(1)


DEFINITION = Definition(
    "KAnonymity",
    "k_anonymity",
    _rules,
    {
        "k": "count",
        "quasi_identifiers": "columns",
        "unit": "column",
        "missing_keys": ("match",),
        "risk": "number",
        "preset": tuple(THRESHOLDS),
    },
    _least,
    optional=("quasi_identifiers", "unit", "missing_keys", "risk", "preset"),
    exempts=True,
    term="k-anonymity",
)
