"""Lower bounds on the loss: the Lagrangian bound, with packing cuts, and its certificate."""

from kanon_milp.bounds.certificate import Certificate, certified_instance, certify
from kanon_milp.bounds.dual import (
    DENOMINATOR,
    DualPoint,
    ExactDual,
    exact_value,
    proven_bound,
    round_dual,
    round_multipliers,
)
from kanon_milp.bounds.lagrangian import evaluate, lagrangian
from kanon_milp.bounds.packing_cuts import RowSets

__all__ = [
    "DENOMINATOR",
    "Certificate",
    "DualPoint",
    "ExactDual",
    "RowSets",
    "certified_instance",
    "certify",
    "evaluate",
    "exact_value",
    "lagrangian",
    "proven_bound",
    "round_dual",
    "round_multipliers",
]
