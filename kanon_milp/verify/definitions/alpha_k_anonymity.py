"""The verifier's definition of (α,k)-anonymity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from kanon_milp.system.arrays import Flags
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions import AtLeast, Definition, Rule, SizeRule, of_each, rows_by_value, within
from kanon_milp.verify.numbers import exact, integer
from kanon_milp.verify.tables import Original


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least k rows, and no value (of those named) has more than the share α of them (Wong et al. 2006); k units
    as well where the table has a unit of protection."""
    alpha, k = exact(requirement.alpha, "alpha"), integer(requirement.k, "k")
    values = None if requirement.values is None else frozenset(requirement.values)

    def holds(counts: Counts) -> Flags:
        limited = np.array([values is None or value in values for value in counts.values], dtype=bool)
        return (counts.size >= k) & counts.every(~limited[counts.value] | counts.entry_shares.at_most(alpha))

    named = {} if values is None else {"values": len(requirement.values)}
    rules = of_each("alpha_k_anonymity", requirement, table, {"alpha": alpha, "alpha_k": k, **named}, holds)
    return [*rules, *(SizeRule(k, unit=unit) for unit in table.units)]


def _least(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Which values are meant is not written down, so only shares of all of them say something."""
    k, attribute = requirement["alpha_k"], requirement["sensitive"]
    rows_by_value(attribute, table)
    if "values" in requirement:
        return AtLeast(k)
    alpha = Fraction(requirement["alpha"])
    shares = within(lambda _: alpha, attribute, table)
    return AtLeast(max(k, shares.size), shares.supplies, shares.possible, shares.limits)


DEFINITION = Definition(
    "AlphaKAnonymity",
    "alpha_k_anonymity",
    _rules,
    {"alpha": "number", "alpha_k": "count", "sensitive": "column", "values": "count"},
    _least,
    optional=("values",),
    term="(alpha,k)-anonymity",
)
