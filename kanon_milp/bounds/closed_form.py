"""What the closed form of the Lagrangian subproblems (`kanon_milp.kernels.closed_form`) takes and finds."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.covers import ordered_covers
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Ints, Ints32
from kanon_milp.system.jit import compiled_part

Scalar = TypeVar("Scalar", np.float64, np.int64)


class PricedCandidates(NamedTuple, Generic[Scalar]):
    """Candidates of an instance, or some that stand next to each other, as the subproblems need them.

    indptr, members: the covers, as in `Candidates`, each in the order that the function asks for. cost, least: w_g and
    κ_g, (G,). surcharge: σ_g ≥ 0, (G,), what opening a candidate costs besides its rows; part of φ_g.
    """

    indptr: Ints
    members: Ints32
    cost: NDArray[Scalar]
    least: NDArray[Scalar]
    surcharge: NDArray[Scalar]


class PricedRows(NamedTuple, Generic[Scalar]):
    """Row types and what their rows are worth. counts: n_i, (t,). multipliers: λ_i, (t,).

    order: (t,), what the covers are sorted by, falling; rise: no multiplier is above its order by more than that.
    """

    counts: NDArray[Scalar]
    multipliers: NDArray[Scalar]
    order: NDArray[Scalar]
    rise: Scalar


class Found(NamedTuple, Generic[Scalar]):
    """What is found of each candidate, (G,): φ_g, and the marginal cost: the highest reduced cost among the rows that
    are taken only to reach κ, 0 where there are none."""

    phi: NDArray[Scalar]
    marginal: NDArray[Scalar]


class Heap(NamedTuple, Generic[Scalar]):
    """Scratch space for the cheapest rows of one candidate: reduced costs, ascending, and row types."""

    keys: NDArray[Scalar]
    items: Ints


@compiled_part
def add_cheapest(
    members: Ints32, begin: int, end: int, w: Scalar, need: Scalar, rows: PricedRows[Scalar], heap: Heap[Scalar]
) -> tuple[int, Scalar, Scalar]:
    """The cheapest `need` > 0 rows whose reduced cost is not negative, of the cover members[begin:end].

    Returns (entries, over, value): the row types heap.items[:entries] with reduced costs heap.keys[:entries], the
    cheapest first; of the rows of the last one `over` are too many. value: Σ r_i x_i of these rows. over < 0 if there
    are too few.
    """
    counts, multipliers, order, rise = rows
    keys, items = heap
    entries = 0
    held = w * 0
    for at in range(begin, end):
        i = members[at]
        if held >= need and w - order[i] - rise >= keys[entries - 1]:
            break
        reduced = w - multipliers[i]
        if reduced >= 0 and (held < need or reduced < keys[entries - 1]):
            # in covers that are nearly sorted, close to the end
            e = entries
            while e > 0 and keys[e - 1] > reduced:
                keys[e], items[e] = keys[e - 1], items[e - 1]
                e -= 1
            keys[e], items[e] = reduced, i
            entries += 1
            held += counts[i]
            while held - counts[items[entries - 1]] >= need:
                entries -= 1
                held -= counts[items[entries]]
    over = held - need
    value = w * 0
    if over >= 0:
        for e in range(entries):
            value += counts[items[e]] * keys[e]
        value -= over * keys[entries - 1]
    return entries, over, value


def sorted_covers(covers: Ragged[np.int32], multipliers: NDArray[Scalar]) -> Ints32:
    """The values of the covers, each with its row types by falling multiplier."""
    return ordered_covers(*covers, np.argsort(-multipliers, kind="stable"))
