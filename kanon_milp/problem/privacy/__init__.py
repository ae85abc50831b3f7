"""Privacy requirements: one file each, one line each in `KINDS`."""

from kanon_milp.problem.privacy.alpha import AlphaKAnonymity
from kanon_milp.problem.privacy.base import Requirement, Shortfall
from kanon_milp.problem.privacy.beta_likeness import BetaLikeness
from kanon_milp.problem.privacy.delta_disclosure import DeltaDisclosure
from kanon_milp.problem.privacy.k_anonymity import KAnonymity
from kanon_milp.problem.privacy.l_diversity import LDiversity
from kanon_milp.problem.privacy.p_sensitivity import PSensitivity
from kanon_milp.problem.privacy.t_closeness import TCloseness
from kanon_milp.problem.records import Group

KINDS: tuple[type[Requirement], ...] = (
    KAnonymity,
    PSensitivity,
    LDiversity,
    TCloseness,
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
)
REQUIREMENTS: dict[str, type[Requirement]] = {kind.letter: kind for kind in KINDS}

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
