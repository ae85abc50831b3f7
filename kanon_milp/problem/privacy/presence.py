"""The constraints that count different sensitive values in a group."""

from __future__ import annotations

from collections.abc import Sequence

import pyomo.environ as pyo

from kanon_milp.problem.privacy.cells import Rows, cells
from kanon_milp.problem.privacy.instance_data import InstanceData
from kanon_milp.system.arrays import Flags


def declare_presence(
    block: pyo.Block,
    model: pyo.ConcreteModel,
    instance: InstanceData,
    attributes: Sequence[str],
    least: int,
    free: Flags | None = None,
) -> None:
    """At least so many different values in an open group: z[g,σ] = 1 claims that g receives a row with value σ.

    free: bool (G,), candidates for which one value is enough.
    """
    rows = Rows(model, instance, attributes)
    block.CELLS = cells(rows)
    block.present = pyo.Var(block.CELLS, domain=pyo.Binary, doc="z[g,σ]: 1 claims that g receives a row with value σ")

    @block.Constraint(block.CELLS, doc="a value that is claimed occurs")
    def occurs(b: pyo.Block, g: int, value: int) -> object:
        return rows.with_value(g, value) >= b.present[g, value]

    # this makes the bound of the linear relaxation stronger
    @block.Constraint(block.CELLS, doc="a value counts once in an open group, and not in one that is not open")
    def once(b: pyo.Block, g: int, value: int) -> object:
        return b.present[g, value] <= model.open[g]

    @block.Constraint(model.CANDIDATES, doc="an open group has so many different values")
    def different(b: pyo.Block, g: int) -> object:
        needed = 1 if free is not None and free[g] else least
        return sum(b.present[g, value] for value in rows.values(g)) >= needed * model.open[g]
