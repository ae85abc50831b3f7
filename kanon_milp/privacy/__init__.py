"""Privacy requirements: one file each, one line each in `REQUIREMENTS`."""

from collections.abc import Callable
from typing import Any

from kanon_milp.privacy.base import Group, Requirement
from kanon_milp.privacy.k_anonymity import KAnonymity

REQUIREMENTS: dict[str, Callable[[Any], Requirement]] = {
    "k": KAnonymity,
}

__all__ = ["REQUIREMENTS", "Group", "KAnonymity", "Requirement"]
