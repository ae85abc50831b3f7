"""The verifier's definition of l-diversity in its three forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kanon_milp.errors import InputError, kind_of
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions.base import (
    AtLeast,
    Bools,
    Definition,
    Rule,
    ValueRule,
    different,
    meant,
    one_of,
    one_or_more,
    rows_by_value,
    shortest,
    stated_number,
    within,
)
from kanon_milp.verify.numbers import exact
from kanon_milp.verify.original import Original
from kanon_milp.verify.pairwise import have_partners


def _l_diversity(requirement: Any, table: Original) -> Sequence[Rule]:
    """Frequency: no value has more than 1/l of the rows. Distinct: at least l values. Blocki-Williams: see pairwise."""
    number, form = exact(requirement.l, "l"), requirement.form
    names = meant(requirement.sensitive, table)

    def rule(attributes: tuple[str, ...], sensitive: object, holds: Callable[[Counts], Bools]) -> Rule:
        return ValueRule("l_diversity", attributes, {"l": number, "form": form, "sensitive": sensitive}, holds)

    if form == "frequency":
        return [rule((name,), name, lambda counts: counts.frequency.at_least(number)) for name in names]
    least = -(-number.numerator // number.denominator)
    if form == "distinct":
        return [rule((name,), name, lambda counts: counts.distinct >= least) for name in names]
    if form == "blocki-williams":
        return [rule(names, list(names), lambda counts: have_partners(counts, least))]
    raise InputError(f"the form of l-diversity is unknown to the verifier, found {kind_of(form)}")


def _diverse(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Frequency l-diversity is about shares of 1/l; the other forms need ⌈l⌉ different values."""
    number, sensitive = stated_number(requirement["l"]), requirement["sensitive"]
    if requirement["form"] != "frequency":
        return different(math.ceil(number), [sensitive] if isinstance(sensitive, str) else sensitive, table)
    counts = rows_by_value(sensitive, table)
    return within(dict.fromkeys(counts, 1 / number), sensitive, counts)


DEFINITION = Definition(
    "LDiversity",
    "l_diversity",
    _l_diversity,
    {
        "l": shortest,
        "form": one_of("frequency", "distinct", "blocki-williams"),
        "sensitive": one_or_more,
    },
    _diverse,
)
