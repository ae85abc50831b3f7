"""What requirements, as they are written down, ask of a group at least: its size, and sensitive values to take from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.verify.definitions import BY_NAME
from kanon_milp.verify.definitions.base import AtLeast, Limits, Supply
from kanon_milp.verify.original import Original
from kanon_milp.verify.stated import K_ANONYMITY


@dataclass(frozen=True)
class Least:
    """What every group of a released row needs. size: κ. supplies: what the rows must hold that it can stand for."""

    size: int
    supplies: tuple[Supply, ...]


@dataclass(frozen=True)
class SizeConditions:
    """What groups of fully suppressed rows need, and all others. possible: False only where no table has what is
    asked for, since the table as one group has more of a value than its share, and every union of groups would not.
    limits: by attribute, on the values of every group, also of one that is exempt from k."""

    exempt: Least
    strict: Least
    possible: bool
    limits: Mapping[str, Limits]


def size_conditions(requirements: Sequence[Mapping[str, Any]], table: Original, suppressed_rows: str) -> SizeConditions:
    """What the requirements ask of a group at least; fully suppressed rows are exempt from k alone.

    requirements: as `kanon_milp.verify.stated` reads them. Raises InputError for what makes no sense for the table.

    A group of s ≥ κ rows that has a requirement about shares is within them still if it is scaled down to κ rows, so
    the rows it is taken from hold that many: that is a supply, and so is a number of different values.
    """
    rules = [(_least_of(requirement, table), requirement["name"] == K_ANONYMITY) for requirement in requirements]
    free = [rule for rule, is_k in rules if not (is_k and suppressed_rows == "exempt")]
    most = table.n + 1  # as good as any larger number: there is no such group
    strict = min(max((rule.size for rule, _ in rules), default=1), most)
    besides_k = min(max((rule.size for rule, is_k in rules if not is_k), default=1), most)
    exempt = besides_k if suppressed_rows == "exempt" else strict
    first = Least(exempt, tuple(s for rule in free for s in rule.supplies(exempt)))
    second = Least(strict, tuple(s for rule, _ in rules for s in rule.supplies(strict)))
    limits: dict[str, Limits] = {}
    for each in (limit for rule in free for limit in rule.limits):
        limits[each.attribute] = limits[each.attribute].both(each) if each.attribute in limits else each
    return SizeConditions(first, second, all(rule.possible for rule, _ in rules), limits)


def _least_of(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    name = requirement["name"]
    try:
        return BY_NAME[name].least(requirement, table)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"the parameters of {name} cannot be read") from None
