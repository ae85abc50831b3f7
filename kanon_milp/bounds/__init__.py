"""Lower bounds on the loss: the Lagrangian bound and its certificate."""

from kanon_milp.bounds.certificate import Certificate, certified_instance, certify
from kanon_milp.bounds.lagrangian import (
    DENOMINATOR,
    DualPoint,
    evaluate,
    exact_value,
    lagrangian,
    proven_bound,
    round_multipliers,
)

__all__ = [
    "DENOMINATOR",
    "Certificate",
    "DualPoint",
    "certified_instance",
    "certify",
    "evaluate",
    "exact_value",
    "lagrangian",
    "proven_bound",
    "round_multipliers",
]
