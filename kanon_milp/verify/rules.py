"""What requirements say of a table, for all groups at once: the verifier's own definitions, over counts.

Nothing but the parameters that the user gave is taken from a requirement: numbers are read here, and which sensitive
attributes are meant is settled here. Only a requirement of the user's own making is asked whether it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kanon_milp.errors import InputError, own_code, type_in_words
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions import BY_KIND
from kanon_milp.verify.definitions.base import Bools, Rule, ValueRule
from kanon_milp.verify.ground import built_in
from kanon_milp.verify.original import Original
from kanon_milp.verify.plain import TableData


def rules_of(requirement: Any, table: Original, given: TableData) -> list[Rule]:
    """What a requirement says of a table: one rule for each sensitive attribute that it is about.

    given: the table as the user's own requirements want to see it. Raises InputError where it makes no sense.
    """
    known = BY_KIND.get(built_in(requirement) or "")
    return list(_own(requirement, table, given) if known is None else known.rules(requirement, table))


def _own(requirement: Any, table: Original, given: TableData) -> Sequence[Rule]:
    """A requirement of the user's making, asked about each kind of group once; it sees all sensitive attributes where
    it names none."""

    def judged(bound: Any, group: object) -> bool:
        with own_code(f"{type(bound).__name__}.holds", "return True or False"):
            found = bound.holds(group)
        if not isinstance(found, bool | np.bool_):
            raise InputError(f"{type(bound).__name__}.holds must return True or False, found {type_in_words(found)}")
        return bool(found)

    def rule(bound: Any) -> Rule:
        def holds(counts: Counts) -> Bools:
            first, kind = counts.alike
            return np.array([judged(bound, counts.as_group(g)) for g in first.tolist()], dtype=bool)[kind]

        names = tuple(bound.attributes)
        return ValueRule(str(bound.name), names or table.sensitive, dict(bound.describe()), holds, own=names)

    with own_code(f"{type(requirement).__name__}.bind", "return a tuple of requirements, such as (self,)"):
        found = requirement.bind(given)
    if not isinstance(found, tuple | list) or not found:
        raise InputError(f"{type(requirement).__name__}.bind must return a tuple of requirements, such as (self,)")
    return [rule(bound) for bound in found]
