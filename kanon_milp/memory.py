"""How much memory a model would take, and how much there is."""

from __future__ import annotations

import os

from kanon_milp.instance import Instance

PAIR_BYTES = (
    2_400  # measured: Pyomo, the arrays for the solver and the solver's own, for one (row type, candidate) pair
)
SHARE = 0.9  # of what is free


def too_large(instance: Instance) -> str:
    """Why the model of an instance cannot be declared here; empty if it can, or nobody knows."""
    needed, free = instance.candidates.pairs * PAIR_BYTES, available_bytes()
    if free is None or needed <= SHARE * free:
        return ""
    return (
        f"the model of {instance.candidates.pairs:,} (row type, candidate) pairs would take about "
        f"{needed / 2**30:.1f} GB and {free / 2**30:.1f} GB are free; give a pattern mask, fewer quasi-identifiers, "
        "or a sample of the rows"
    )


def available_bytes() -> int | None:
    """Memory that is free for new programs, None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
