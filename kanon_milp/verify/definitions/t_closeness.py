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
    claimed_number,
    column_name,
    first,
    meant,
    one_of,
    rows_by_value,
    shortest,
)
from kanon_milp.verify.ground import ground
from kanon_milp.verify.numbers import exact
from kanon_milp.verify.tables import Original


def _t_closeness(requirement: Any, table: Original) -> Sequence[Rule]:
    """The earth mover's distance to the entire table is at most t (Li, Li, Venkatasubramanian 2007)."""
    t, distance = exact(requirement.t, "t"), ground(requirement.distance, "t-closeness: distance")

    def rule(name: str) -> Rule:
        values = table.keys[name].alias("").unique().sort(nulls_last=True).to_list()
        geometry = distance.over(values, f'{table.source}: column "{name}"')
        parameters = {"t": t, "distance": distance.name, "form": requirement.form, "sensitive": name}
        return ValueRule("t_closeness", (name,), parameters, lambda counts: geometry.within(counts, t), distance)

    return [rule(name) for name in meant(requirement.sensitive, table)]


def _close(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Equal distance: a group of s rows shares at least (1-t)·s with the reference, Σ min(S_σ, s·r_σ/n).

    Whole numbers of rows nearest to s·r_σ/n are all ⌊s·r_σ/n⌋ and one more where the fractional part is largest; what
    they share with it is the floors and these fractional parts. Other distances are not written down.
    """
    attribute, t = requirement["sensitive"], claimed_number(requirement["t"])
    counts, n = rows_by_value(attribute, table), table.n
    shares = {value: Fraction(rows, n) for value, rows in counts.items()}
    if requirement["distance"] != "equal":
        return AtLeast(1)

    def close(s: int) -> bool:
        floors = sum(s * rows // n for rows in counts.values())
        fractions = sorted((s * rows % n for rows in counts.values()), reverse=True)
        return bool(floors * n + sum(fractions[: s - floors]) >= (1 - t) * s * n)

    return AtLeast(
        first(close, n),
        lambda k: [Supply.of(attribute, {v: Fraction(k * rows, n) for v, rows in counts.items()}, (1 - t) * k)],
        limits=(Limits(attribute, {v: p + t for v, p in shares.items()}, {v: p - t for v, p in shares.items()}, 1, t),),
    )


DEFINITION = Definition(
    "TCloseness",
    "t_closeness",
    _t_closeness,
    {
        "t": shortest,
        "distance": one_of("equal", "ordered", "numeric", "hierarchical", "matrix"),
        "form": one_of("short", "transport"),
        "sensitive": column_name,
    },
    _close,
    term="t-closeness",
)
