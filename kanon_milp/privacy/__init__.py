"""Privacy requirements: one file each, one line each in `REQUIREMENTS`."""

from kanon_milp.privacy.base import Group, Requirement
from kanon_milp.privacy.k_anonymity import KAnonymity

REQUIREMENTS: dict[str, type[Requirement]] = {
    "k": KAnonymity,
}

__all__ = ["REQUIREMENTS", "Group", "KAnonymity", "Requirement"]
