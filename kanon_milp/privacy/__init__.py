"""Privacy requirements: one file each, one line each in `REQUIREMENTS`."""

from kanon_milp.privacy.alpha import AlphaKAnonymity
from kanon_milp.privacy.base import Requirement, Shortfall
from kanon_milp.privacy.beta_likeness import BetaLikeness
from kanon_milp.privacy.delta_disclosure import DeltaDisclosure
from kanon_milp.privacy.k_anonymity import KAnonymity
from kanon_milp.privacy.l_diversity import LDiversity
from kanon_milp.privacy.p_sensitivity import PSensitivity
from kanon_milp.privacy.t_closeness import TCloseness
from kanon_milp.records import Group

REQUIREMENTS: dict[str, type[Requirement]] = {
    "k": KAnonymity,
    "p": PSensitivity,
    "l": LDiversity,
    "t": TCloseness,
    "alpha": AlphaKAnonymity,
    "beta": BetaLikeness,
    "delta": DeltaDisclosure,
}

__all__ = [
    "REQUIREMENTS",
    "AlphaKAnonymity",
    "BetaLikeness",
    "DeltaDisclosure",
    "Group",
    "KAnonymity",
    "LDiversity",
    "PSensitivity",
    "Requirement",
    "Shortfall",
    "TCloseness",
]
