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
from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.packing_cuts import type_sets

__all__ = [
    "DENOMINATOR",
    "BoundLimit",
    "Certificate",
    "DualPoint",
    "ExactDual",
    "certified_instance",
    "certify",
    "evaluate",
    "exact_value",
    "lagrangian",
    "proven_bound",
    "round_dual",
    "round_multipliers",
    "type_sets",
]
