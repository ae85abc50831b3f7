"""Nodes of branch and bound where nothing but sizes of groups is required."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kanon_milp.bounds.closed_form import PricedCandidates
from kanon_milp.bounds.columns.node_bounds import NodeBounds, NodePoint, Proof
from kanon_milp.bounds.columns.program import GroupProgram, Prices
from kanon_milp.bounds.dual import DualPoint, exact_value, round_dual
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped, with_pairs
from kanon_milp.system.arrays import Flags
from kanon_milp.system.limit import Limit


class SizesNodes(NodeBounds):
    """From multipliers with cuts, for this instance; its packing cuts keep theirs in all nodes."""

    def __init__(self, instance: Instance, dual: DualPoint, groups: Groups) -> None:
        super().__init__(
            instance, NodePoint(Prices(dual.multipliers, dual.cut_multipliers), dual.rank_one_cuts), groups
        )
        self._dual = dual
        packing = PackingCuts.of(instance, dual.sets)
        surcharge = packing.surcharge(dual.packing_multipliers, instance.candidates.count)
        self._surcharge = surcharge.astype(np.float64)
        # what the packing cuts cost on the right side; the linear programs know nothing of it
        self.constant = float(packing.limits @ dual.packing_multipliers) if dual.sets.lists else 0.0

    def program(self, pairs: Flags, at: NodePoint) -> GroupProgram:
        """As `NodeBounds.program`."""
        candidates = with_pairs(self.instance, pairs).candidates
        priced = PricedCandidates(
            candidates.indptr, candidates.members, candidates.cost.astype(np.float64),
            self.instance.least.astype(np.float64), self._surcharge,
        )  # fmt: skip
        return GroupProgram(priced, self.instance.types.counts, at.cuts, at.prices)

    def prove(self, node: Dropped, at: NodePoint) -> Proof:
        """As `NodeBounds.prove`."""
        multipliers, cut_multipliers = at.prices.multipliers, at.prices.cut_multipliers
        exact = round_dual(
            replace(self._dual, multipliers=multipliers, rank_one_cuts=at.cuts, cut_multipliers=cut_multipliers)
        )

        def possible(cutoff: int, limit: Limit) -> Flags:
            del limit  # it is quick
            return ReducedCosts(exact, cutoff).possible(node.instance)[1]

        return Proof(exact_value(node.instance, exact), possible)
