"""The verifier's definition of (α,k)-anonymity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kanon_milp.system.arrays import Flags
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions import (
    AtLeast,
    Definition,
    Rule,
    SizeRule,
    ValueRule,
    claimed_number,
    column_name,
    count,
    meant,
    rows_by_value,
    shortest,
    within,
)
from kanon_milp.verify.numbers import exact, integer
from kanon_milp.verify.tables import Original


def _alpha_k_anonymity(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least k rows, and no value (of those named) has more than the share α of them (Wong et al. 2006); k units
    beside it where the table has a unit of protection."""
    alpha, k = exact(requirement.alpha, "alpha"), integer(requirement.k, "k")
    values = None if requirement.values is None else frozenset(requirement.values)

    def holds(counts: Counts) -> Flags:
        limited = np.array([values is None or value in values for value in counts.values], dtype=bool)
        return (counts.size >= k) & counts.every(~limited[counts.value] | counts.entry_shares.at_most(alpha))

    named = {} if values is None else {"values": len(requirement.values)}
    return [
        *(
            ValueRule("alpha_k_anonymity", (name,), {"alpha": alpha, "alpha_k": k, "sensitive": name, **named}, holds)
            for name in meant(requirement.sensitive, table)
        ),
        *(SizeRule(k, unit=unit) for unit in table.units),
    ]


def _alpha(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Which values are meant is not written down, so only shares of all of them say something."""
    k, counts = count(requirement["alpha_k"]), rows_by_value(requirement["sensitive"], table)
    if "values" in requirement:
        return AtLeast(k)
    shares = within(dict.fromkeys(counts, claimed_number(requirement["alpha"])), requirement["sensitive"], counts)
    return AtLeast(max(k, shares.size), shares.supplies, shares.possible, shares.limits)


DEFINITION = Definition(
    "AlphaKAnonymity",
    "alpha_k_anonymity",
    _alpha_k_anonymity,
    {"alpha": shortest, "alpha_k": count, "sensitive": column_name, "values": count},
    _alpha,
    frozenset({"values"}),
    term="(alpha,k)-anonymity",
)
