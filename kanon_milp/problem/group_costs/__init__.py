"""Costs of whole groups: what a group loses depends on all of its rows, not on each row by itself.

One file a kind: the sum of squares and the sum of absolute deviations of microaggregation, the NCP of boxes.
"""

from __future__ import annotations

from kanon_milp.errors import InputError, type_in_words
from kanon_milp.problem.group_costs.absolute import AbsoluteDeviations
from kanon_milp.problem.group_costs.base import GroupCost
from kanon_milp.problem.group_costs.numeric import NumericCost
from kanon_milp.problem.group_costs.squares import SumOfSquares
from kanon_milp.system.extras import Plugins


def _checked(kind: object, what: str) -> type[NumericCost]:
    if not (isinstance(kind, type) and issubclass(kind, NumericCost)):
        raise InputError(f"{what}: a class that is a NumericCost is expected, found {type_in_words(kind)}")
    return kind


# what `Microaggregation(cost=...)` takes, by name
NUMERIC_COSTS: Plugins[type[NumericCost]] = Plugins("group cost", (SumOfSquares, AbsoluteDeviations), _checked)

__all__ = ["NUMERIC_COSTS", "GroupCost", "NumericCost"]
