"""The inner loops of the volume algorithm.

Compiled instead of numpy's products: these would start threads for vectors of this length, which then wait.
"""

from __future__ import annotations

from kanon_milp.system.arrays import Floats, Ints, Ints32


def dot(a: Floats, b: Floats) -> float:
    """Σ a_i b_i."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def spread(indptr: Ints, nested: Ints32, multipliers: Floats, surcharge: Floats) -> None:
    """σ = Σ μ over the sets that a candidate is nested in. indptr, nested: per set the candidates that are."""
    for g in range(len(surcharge)):
        surcharge[g] = 0.0
    for s in range(len(multipliers)):
        for at in range(indptr[s], indptr[s + 1]):
            surcharge[nested[at]] += multipliers[s]


def add_shares(indptr: Ints, nested: Ints32, share: Floats, into: Floats) -> None:
    """Add to each set the shares of the candidates that are nested in it."""
    for s in range(len(into)):
        for at in range(indptr[s], indptr[s + 1]):
            into[s] += share[nested[at]]


def move(trial: Floats, best: Floats, direction: Floats, scale: Floats, rise: float, free: int) -> bool:
    """trial = best + s · scale · direction with the s at which this promises this rise; False for no direction.

    Entries from `free` on stay at least 0.
    """
    norm = 0.0
    for i in range(free):
        norm += scale[i] * direction[i] * direction[i]
    for i in range(free, len(best)):
        norm += scale[i] * direction[i] * direction[i] if max(best[i], direction[i]) > 0 else 0.0
    if norm < 1e-12:
        return False
    for i in range(len(best)):
        trial[i] = best[i] + rise / norm * scale[i] * direction[i]
    for i in range(free, len(best)):
        trial[i] = max(trial[i], 0.0)
    return True


def mix(average: Floats, ahead: Floats, scale: Floats, share: Floats, phi: Floats, weight: float) -> tuple[float, bool]:
    """Mix the new subgradient and open candidates into the averages; its weight, and whether it points the same way.

    The weight α makes |α·new + (1-α)·average| least, in the norm of `scale`, between a tenth of the weight allowed
    and all of it.
    """
    old, new, both = 0.0, 0.0, 0.0
    for i in range(len(average)):
        old += scale[i] * average[i] * average[i]
        new += scale[i] * ahead[i] * ahead[i]
        both += scale[i] * average[i] * ahead[i]
    apart = old + new - 2 * both
    alpha = weight
    if apart > 0:
        alpha = min(max((old - both) / apart, weight / 10), weight)
    for i in range(len(average)):
        average[i] += alpha * (ahead[i] - average[i])
    for g in range(len(share)):
        opened = 1.0 if phi[g] < 0 else 0.0
        share[g] += alpha * (opened - share[g])
    return alpha, both > 0
