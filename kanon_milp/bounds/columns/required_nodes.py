"""Nodes of branch and bound under requirements of sensitive values."""

from __future__ import annotations

from dataclasses import replace

from kanon_milp.bounds.columns.node_bounds import NodeBounds, NodePoint, Proof
from kanon_milp.bounds.columns.required_program import RequiredProgram, exact_cuts, exact_fixing
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Dropped, with_pairs
from kanon_milp.system.arrays import Flags, Floats
from kanon_milp.system.limit import Limit


class RequiredNodes(NodeBounds):
    """From a point with cuts, for this instance.

    charges: θ to begin with, float64 (G,), none where no work is charged. All nodes have the same ones, which pricing
    makes better: any are valid.
    """

    added = 40  # more of them make groups hard to find
    careful = True

    def __init__(self, instance: Instance, start: NodePoint, groups: Groups, charges: Floats) -> None:
        super().__init__(instance, start, groups)
        self.charges = charges

    def program(self, pairs: Flags, at: NodePoint) -> RequiredProgram:
        """As `NodeBounds.program`."""
        fewer, charges = with_pairs(self.instance, pairs), self.charges
        program = RequiredProgram.from_point(fewer, at.prices.multipliers, charges)
        return replace(program, cuts=at.cuts, start=at.prices, thetas=charges if len(charges) else program.thetas)

    def prove(self, node: Dropped, at: NodePoint) -> Proof:
        """As `NodeBounds.prove`."""
        charges = self.charges[node.origin] if len(self.charges) else None
        prices = at.prices
        exact = exact_cuts(node.instance, prices.multipliers, at.cuts, prices.cut_multipliers, charges=charges)

        def possible(cutoff: int, limit: Limit) -> Flags:
            return exact_fixing(node.instance, exact, cutoff, limit).possible(node.instance)[1]

        return Proof(exact.value, possible)
