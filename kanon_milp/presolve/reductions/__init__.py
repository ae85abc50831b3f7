"""Exact reductions: one file each, with what it preserves, its proof, the problems it is valid for and its inverse.

`REDUCTIONS` leave the row types as they are. A model that users read and extend is declared over what `OPEN` leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Reduction, Step, apply_all, restore, restore_values
from kanon_milp.presolve.reductions.dominance import Dominance, Viability
from kanon_milp.presolve.reductions.kernel import Kernel, PrintedKernel
from kanon_milp.presolve.reductions.signature import EqualSignature
from kanon_milp.system.limit import NO_LIMIT, Limit

REDUCTIONS: tuple[Reduction[Step], ...] = (Viability(), Dominance())
# what holds whatever constraint or objective is added to the model
OPEN: tuple[Reduction[Step], ...] = (Viability(),)
# after these, where nobody looks at single row types
MERGING: tuple[Reduction[Step], ...] = (EqualSignature(),)


def reduce(
    instance: Instance, reductions: Sequence[Reduction[Step]] = REDUCTIONS, limit: Limit = NO_LIMIT
) -> list[Step]:
    """Apply the reductions that are valid for the problem, in order, as many as the limit allows."""
    return apply_all(instance, reductions, limit)


__all__ = [
    "MERGING",
    "OPEN",
    "REDUCTIONS",
    "Dominance",
    "EqualSignature",
    "Kernel",
    "PrintedKernel",
    "Reduction",
    "Step",
    "Viability",
    "reduce",
    "restore",
    "restore_values",
]
