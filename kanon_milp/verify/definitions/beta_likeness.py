"""The verifier's definition of β-likeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kanon_milp.verify.definitions import AtLeast, Definition, Rule, of_each, within
from kanon_milp.verify.numbers import exact
from kanon_milp.verify.tables import Original


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """(q - p)/p ≤ β for the shares q in the group and p in the table of each value (Cao, Karras 2012, basic form)."""
    beta = exact(requirement.beta, "beta")
    return of_each(
        "beta_likeness", requirement, table, {"beta": beta}, lambda counts: counts.every(counts.gains.at_most(1 + beta))
    )


def _least(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Shares of 1+β times those of the entire table."""
    factor = 1 + Fraction(requirement["beta"])
    return within(lambda rows: factor * Fraction(rows, table.n), requirement["sensitive"], table)


DEFINITION = Definition(
    "BetaLikeness", "beta_likeness", _rules, {"beta": "number", "sensitive": "column"}, _least, term="beta-likeness"
)
