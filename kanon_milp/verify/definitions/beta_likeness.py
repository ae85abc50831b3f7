"""The verifier's definition of β-likeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kanon_milp.verify.definitions import (
    AtLeast,
    Definition,
    Rule,
    ValueRule,
    claimed_number,
    column_name,
    meant,
    rows_by_value,
    shortest,
    within,
)
from kanon_milp.verify.numbers import exact
from kanon_milp.verify.tables import Original


def _beta_likeness(requirement: Any, table: Original) -> Sequence[Rule]:
    """(q - p)/p ≤ β for the shares q in the group and p in the table of each value (Cao, Karras 2012, basic form)."""
    beta = exact(requirement.beta, "beta")
    return [
        ValueRule(
            "beta_likeness",
            (name,),
            {"beta": beta, "sensitive": name},
            lambda counts: counts.every(counts.gains.at_most(1 + beta)),
        )
        for name in meant(requirement.sensitive, table)
    ]


def _beta(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Shares of 1+β times those of the entire table."""
    counts, factor = rows_by_value(requirement["sensitive"], table), 1 + claimed_number(requirement["beta"])
    shares = {value: factor * Fraction(rows, table.n) for value, rows in counts.items()}
    return within(shares, requirement["sensitive"], counts)


DEFINITION = Definition(
    "BetaLikeness",
    "beta_likeness",
    _beta_likeness,
    {"beta": shortest, "sensitive": column_name},
    _beta,
    term="beta-likeness",
)
