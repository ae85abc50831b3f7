"""How much memory and time candidates and a model would take, and how much there is."""

from __future__ import annotations

import math

from kanon_milp.presolve.instance import Instance
from kanon_milp.system.processes import available_bytes

# measured for one (row type, candidate) pair: Pyomo, the arrays for the solver, the solver's own; declare, hand over
PAIR_BYTES, PAIR_SECONDS = 2_400, 25e-6
SOLVE_SECONDS = 2e-4  # the same, for the solver on masks of Adult
# measured for one (row type, level vector) pair: 10^7 rows of synthetic microdata under 256 patterns, k = 10, and 10^6
# rows with l = 2 as well
COVER_BYTES, VALUED_BYTES = 75, 115
# the same, and for one level vector: enumerate and reduce
COVER_SECONDS, VECTOR_SECONDS = 4e-7, 1e-4
SHARE = 0.9  # of what is free


def too_long(instance: Instance, seconds: float | None) -> str:
    """Why the model of an instance cannot be declared in so many seconds; empty if it can."""
    wait = instance.candidates.pairs * PAIR_SECONDS
    if seconds is None or wait <= seconds:
        return ""
    return (
        f"the model of {instance.candidates.pairs:,} (row type, candidate) pairs would take about {wait:.0f} s "
        "to declare, more than is left; give more time, a pattern mask, or fewer quasi-identifiers"
    )


def too_large(instance: Instance) -> str:
    """Why the model of an instance cannot be declared in the memory that is free; empty if it can, or nobody knows."""
    needed, free = instance.candidates.pairs * PAIR_BYTES, available_bytes()
    if free is None or needed <= SHARE * free:
        return ""
    return (
        f"the model of {instance.candidates.pairs:,} (row type, candidate) pairs would take about "
        f"{needed / 2**30:.1f} GB and {free / 2**30:.1f} GB are free; give a pattern mask, fewer quasi-identifiers, "
        "or a sample of the rows"
    )


def vectors_in_time(row_types: int, seconds: float) -> float:
    """The candidates of how many level vectors can be enumerated in so many seconds."""
    return seconds / (VECTOR_SECONDS + row_types * COVER_SECONDS)


def vectors_in_memory(row_types: int, *, valued: bool = False) -> float:
    """The candidates of how many level vectors fit into the memory that is free.

    valued: whether there are requirements about sensitive values.
    """
    free = available_bytes()
    return math.inf if free is None else SHARE * free / (row_types * (VALUED_BYTES if valued else COVER_BYTES))
