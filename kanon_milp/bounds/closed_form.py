"""What the closed form of the Lagrangian subproblems (`kanon_milp.kernels.closed_form`) takes and finds."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.covers import ordered_covers
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Ints, Ints32

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


def sorted_covers(covers: Ragged[np.int32], multipliers: NDArray[Scalar]) -> Ints32:
    """The values of the covers, each with its row types by falling multiplier."""
    return ordered_covers(*covers, np.argsort(-multipliers, kind="stable"))
