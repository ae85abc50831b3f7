"""Lower bounds on the loss: the Lagrangian bound, its cuts and certificates, and bounds of a user's own.

A method asks a bound of `BOUNDS` by `compute(instance, task)` and gets a `ProvenBound`: how many units no table loses
less than, what justifies that, and multipliers where there are any. A bound of your own is a class with three names:

    class Halves:
        name = "halves"

        def accepts(self, instance):
            return not instance.problem.attributes

        def compute(self, instance, task):
            return ProvenBound(units)

    register_bound(Halves())

Direct MILP and the hybrid method ask for it from then on.
"""

from kanon_milp.bounds.built_in import BUILT_IN
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
from kanon_milp.bounds.lagrangian_bound import evaluate, lagrangian
from kanon_milp.bounds.packing_cuts import type_sets
from kanon_milp.bounds.registry import (
    BOUNDS,
    BoundLimit,
    BoundTask,
    LowerBound,
    ProvenBound,
    best_registered,
    register_bound,
    registered_bounds,
    unregister_bound,
)

__all__ = [
    "BOUNDS",
    "DENOMINATOR",
    "BoundLimit",
    "BoundTask",
    "Certificate",
    "DualPoint",
    "ExactDual",
    "LowerBound",
    "ProvenBound",
    "best_registered",
    "certified_instance",
    "certify",
    "evaluate",
    "exact_value",
    "lagrangian",
    "proven_bound",
    "register_bound",
    "registered_bounds",
    "round_dual",
    "round_multipliers",
    "type_sets",
    "unregister_bound",
]

BOUNDS.bring(BUILT_IN)
