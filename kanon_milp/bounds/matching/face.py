"""Points of the matching program that are nearly integral: what tables are made from.

The best points of the program are many, and the simplex method ends in one with many fractional groups. Among them, one
that is cheapest at random costs, which prefer pairs, has only small odd cycles of pairs; odd-set cuts take these away.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kanon_milp.bounds.matching.odd_sets import find_cuts
from kanon_milp.bounds.matching.program import add_columns, add_cut_rows, run_within
from kanon_milp.bounds.matching.proof import MatchingProof
from kanon_milp.bounds.matching.small_groups import SmallGroups, cut_coefficients
from kanon_milp.solvers.highs import new_highs
from kanon_milp.system.arrays import Floats
from kanon_milp.system.limit import Limit

STEEP = 50.0  # times the random costs is a reduced cost of `mean` units
TRIPLE = 1.0  # random cost of a triple above that of a pair
ROUNDS = 12  # of cuts
FEW_CUTS = 12  # in a round: not worth another one
CERTAIN = 1e-6


def nearly_integral(proof: MatchingProof, groups: SmallGroups, mean: float, seed: int, limit: Limit) -> Floats | None:
    """How often each group is used, float64 (C,), by a point that costs hardly more than the proof's bound; None where
    it ends before there is one.

    groups: of low reduced costs. mean: loss of a row, in units.
    """
    space, types = proof.space, proof.space.types
    random = np.random.default_rng(seed)
    reduced = proof.reduced_costs(groups) / proof.denominator / mean
    cost = STEEP * reduced + random.random(groups.count) + TRIPLE * (groups.sizes == 3)
    highs: Any = new_highs()
    right, none = space.counts.astype(np.float64), np.zeros(0, np.int32)
    highs.addRows(types, right, right, 0, np.zeros(types, np.int32), none, np.zeros(0))
    add_columns(highs, cost, groups.matrix(types))
    cuts = proof.cuts
    if cuts.count:
        # with what they lack of equality as a column, at its reduced cost
        add_cut_rows(highs, cut_coefficients(groups, cuts, types), cuts.limits(space.counts), 0)
        rows = np.arange(types, types + cuts.count, dtype=np.int32)
        limits = cuts.limits(space.counts).astype(np.float64)
        highs.changeRowsBounds(cuts.count, rows, limits, limits)
        lacking = STEEP * proof.cut_multipliers / proof.denominator / mean
        slack = sp.vstack([sp.csr_array((types, cuts.count)), sp.identity(cuts.count)])
        add_columns(highs, lacking, sp.csc_array(slack))
    share = None
    for _ in range(ROUNDS):
        if not run_within(highs, limit):
            break
        highs.setOptionValue("presolve", "off")
        share = np.array(highs.getSolution().col_value)[: groups.count]
        if (np.abs(share - np.rint(share)) < CERTAIN).all():
            break
        found = find_cuts(groups, share, space.counts, cuts)
        if found.count < FEW_CUTS:
            break
        cuts = cuts.joined(found)
        add_cut_rows(highs, cut_coefficients(groups, found, types), found.limits(space.counts), 0)
    return share
