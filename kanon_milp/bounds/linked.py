"""The Lagrangian bound of several sets of quasi-identifiers: what links them is relaxed.

    L(λ) = Σ_i n_i min_o (w_io + Σ_{q part of o} λ_q) + Σ_P min(0, φ_P),
    φ_P = min { Σ_q (c_P - λ_q) x_q : Σ_q x_q ≥ κ_P, 0 ≤ x_q ≤ n_q }

in the notation of `kanon_milp.presolve.linked_sets`. L is a lower bound on the loss of every table that is k-anonymous
in each set, for any λ: add Σ_q λ_q (Σ_{i,o} z_io - Σ_P x_qP) = 0 to its loss; what is left falls apart into one choice
of an option for each row and one problem for each candidate, closed (0) or open (φ_P), as for one set
(`kanon_milp.bounds.lagrangian_bound`). λ_q is what a row of part q is worth: the weights of columns that several sets
share are split between these, for each part by itself. The largest L is the value of the linear relaxation of that
model, whose pairs are those of each set alone: 2^|s| a row and not 2^m.

Other requirements and side constraints only take solutions away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kanon_milp.bounds.dual import DENOMINATOR, NEVER, ExactDual, exact_subproblems, round_multipliers
from kanon_milp.bounds.limits import BoundLimit
from kanon_milp.bounds.volume import Ascent, Evaluation, Evaluator
from kanon_milp.errors import InputError
from kanon_milp.presolve.linked_sets import LinkedSets
from kanon_milp.system.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class LinkedPoint:
    """A point of the dual.

    multipliers: float64 (parts,), λ. value: L in units of `Levels.unit`, in floating point (`proven_units` is what
    proves). phi: float64 (G,), φ. evaluations: how many it took.
    """

    multipliers: Floats
    value: float
    phi: Floats
    evaluations: int


class LinkedEvaluator(Evaluator):
    """L(λ) over the parts of all sets."""

    def __init__(self, linked: LinkedSets, threads: int = 1) -> None:
        self.linked = linked
        self._weight = linked.option_cost.astype(np.float64)
        self._begin = linked.options.indptr[:-1]
        self._rows = linked.instance.types.counts.astype(np.float64)
        super().__init__(linked.parts, threads)

    def __call__(self, point: Floats, *, everything: bool = False) -> Evaluation:
        """L and a subgradient: rows that take an option with this part, less those that candidates take."""
        below, phi, taken = self.closed_forms(point, everything)
        linked = self.linked
        cost = self._weight + point[linked.option_parts].sum(axis=1)
        least = np.minimum.reduceat(cost, self._begin)
        # the first of equally cheap options
        first = np.flatnonzero(cost == least[linked.option_type])
        chosen = first[np.unique(linked.option_type[first], return_index=True)[1]]
        asked = np.zeros(self.types)
        for s in range(linked.sets):
            asked += np.bincount(linked.option_parts[chosen, s], weights=self._rows, minlength=self.types)
        return Evaluation(below + float(self._rows @ least), phi, asked - taken)


def linked_bound(linked: LinkedSets, limit: BoundLimit, threads: int = 1) -> LinkedPoint:
    """Maximize L by the volume algorithm, until it no longer rises or the limit."""
    ascent = Ascent(LinkedEvaluator(linked, threads), limit)
    ascent.ceiling = float(linked.instance.levels.costs.max()) * linked.instance.types.n
    ascent.maximize(packing_cuts=False)
    found = ascent.end()
    return LinkedPoint(found.multipliers, found.value, found.phi, found.evaluations)


def proven_units(linked: LinkedSets, point: LinkedPoint, denominator: int = DENOMINATOR) -> int:
    """⌈L⌉ at λ rounded to multiples of 1/denominator, computed in integers: no table loses fewer units.

    Raises InputError where the numbers could leave the range of int64.
    """
    lambdas = round_multipliers(point.multipliers, denominator)
    phi = exact_subproblems(linked.parts, ExactDual(lambdas, denominator)).phi
    least = np.minimum.reduceat(option_costs(linked, lambdas, denominator), linked.options.indptr[:-1])
    total: int = sum(phi[phi < 0].tolist()) + int(linked.instance.types.counts @ least)
    return -(-total // denominator)


def option_costs(linked: LinkedSets, lambdas: Ints, denominator: int) -> Ints:
    """w_io + Σ λ_q of each option times the denominator, int64 (o,); lambdas: int64 (parts,), in multiples of
    1/denominator. Raises InputError where a sum over rows could leave the range of int64."""
    largest = int(linked.option_cost.max()) * denominator + linked.sets * int(np.abs(lambdas).max())
    if largest * linked.instance.types.n >= NEVER:
        raise InputError("the multipliers are too large or too fine for exact numbers; use a smaller denominator")
    cost: Ints = linked.option_cost * denominator + lambdas[linked.option_parts].sum(axis=1)
    return cost
