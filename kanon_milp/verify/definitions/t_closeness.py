"""The verifier's definition of t-closeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kanon_milp.verify.definitions import (
    AtLeast,
    Definition,
    Limits,
    Rule,
    Supply,
    ValueRule,
    attributes_of,
    first_size,
    rows_by_value,
)
from kanon_milp.verify.ground import ground
from kanon_milp.verify.numbers import exact
from kanon_milp.verify.tables import Original


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """The earth mover's distance to the entire table is at most t (Li, Li, Venkatasubramanian 2007)."""
    t, distance = exact(requirement.t, "t"), ground(requirement.distance, "t-closeness: distance")

    def rule(name: str) -> Rule:
        values = table.keys[name].alias("").unique().sort(nulls_last=True).to_list()
        geometry = distance.over(values, f'{table.source}: column "{name}"')
        parameters = {"t": t, "distance": distance.name, "form": requirement.form, "sensitive": name}
        return ValueRule("t_closeness", (name,), parameters, lambda counts: geometry.within(counts, t), distance)

    return [rule(name) for name in attributes_of(requirement, table)]


def _least(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Equal distance: a group of s rows shares at least (1-t)·s with the reference, Σ min(S_σ, s·r_σ/n).

    Integer numbers of rows nearest to s·r_σ/n are all ⌊s·r_σ/n⌋ and one more where the fractional part is largest; what
    they share with it is the floors and these fractional parts. Other distances are not written down.
    """
    attribute, t, n = requirement["sensitive"], Fraction(requirement["t"]), table.n
    counts = rows_by_value(attribute, table)
    shares = {value: Fraction(rows, n) for value, rows in counts.items()}
    if requirement["distance"] != "equal":
        return AtLeast(1)

    def close(s: int) -> bool:
        floors = sum(s * rows // n for rows in counts.values())
        fractions = sorted((s * rows % n for rows in counts.values()), reverse=True)
        return bool(floors * n + sum(fractions[: s - floors]) >= (1 - t) * s * n)

    return AtLeast(
        first_size(close, table),
        lambda k: [Supply.of(attribute, {v: share * k for v, share in shares.items()}, (1 - t) * k)],
        limits=(Limits(attribute, {v: p + t for v, p in shares.items()}, {v: p - t for v, p in shares.items()}, 1, t),),
    )


DEFINITION = Definition(
    "TCloseness",
    "t_closeness",
    _rules,
    {
        "t": "number",
        "distance": ("equal", "ordered", "numeric", "hierarchical", "matrix"),
        "form": ("short", "transport"),
        "sensitive": "column",
    },
    _least,
    term="t-closeness",
)
