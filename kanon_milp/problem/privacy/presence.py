"""The rows that count different sensitive values in a group."""

from __future__ import annotations

from collections.abc import Sequence

import pyomo.environ as pyo

from kanon_milp.problem.expressions import weighted_sum
from kanon_milp.problem.privacy.cells import Rows
from kanon_milp.problem.privacy.instance_data import InstanceData


def declare_presence(
    block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData, attributes: Sequence[str], least: int
) -> None:
    """At least so many different values in an open group: z[g,σ] = 1 claims that g receives a row with value σ."""
    rows = Rows(model, instance, attributes)
    block.CELLS = pyo.Set(dimen=2, initialize=rows.index(), ordered=pyo.Set.InsertionOrder)
    block.present = pyo.Var(block.CELLS, domain=pyo.Binary)

    # a value that is claimed occurs: Σ_i x[i,σ,g] ≥ z[g,σ]
    @block.Constraint(block.CELLS)
    def occurs(b: pyo.Block, g: int, value: int) -> object:
        xs = rows.with_value(g, value)
        return (0, weighted_sum([*[1] * len(xs), -1], [*xs, b.present[g, value]]), None)

    # each value counts once in an open group and not at all in a closed one (this makes the LP bound stronger)
    @block.Constraint(block.CELLS)
    def once(b: pyo.Block, g: int, value: int) -> object:
        return b.present[g, value] <= model.open[g]

    # and enough different ones are claimed: Σ_σ z[g,σ] ≥ p·y[g]
    @block.Constraint(model.CANDIDATES)
    def different(b: pyo.Block, g: int) -> object:
        zs = [b.present[g, value] for value in rows.values(g)]
        return (0, weighted_sum([*[1] * len(zs), -least], [*zs, model.open[g]]), None)
