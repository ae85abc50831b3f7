"""Costs of whole groups: what a group loses depends on all of its rows, not on each row by itself.

One file a kind: the sum of squares and the sum of absolute deviations of microaggregation, the NCP of boxes.
"""

from __future__ import annotations

from kanon_milp.errors import InputError, type_in_words
from kanon_milp.problem.arguments import text
from kanon_milp.problem.group_costs.absolute import AbsoluteDeviations
from kanon_milp.problem.group_costs.base import GroupCost
from kanon_milp.problem.group_costs.numeric import NumericCost
from kanon_milp.problem.group_costs.own import OwnCost
from kanon_milp.problem.group_costs.squares import SumOfSquares
from kanon_milp.system.extras import Plugins


def _checked(kind: object, what: str) -> type[GroupCost]:
    if not (isinstance(kind, type) and issubclass(kind, GroupCost)):
        raise InputError(f"{what}: a class that is a GroupCost is expected, found {type_in_words(kind)}")
    text(getattr(kind, "name", None), f"name of the group cost {kind.__name__}")
    if kind.__abstractmethods__:
        missing = ", ".join(sorted(kind.__abstractmethods__))
        raise InputError(f"{what}: the group cost {kind.__name__} cannot be registered: it does not say {missing}")
    return kind


# what `Microaggregation(cost=...)` takes, by name
GROUP_COSTS: Plugins[type[GroupCost]] = Plugins("group_cost", (SumOfSquares, AbsoluteDeviations), _checked)


def register_group_cost(kind: type[GroupCost], *, replace: bool = False) -> None:
    """Make a cost of your own known to `Microaggregation(cost=name)`, model files and the command line, in this
    process.

    kind: a subclass of `GroupCost`. replace: replace the registered one of this name. Raises InputError if it is no
    such class, and for a name that is taken.
    """
    GROUP_COSTS.add(kind, replace=replace)


__all__ = ["GROUP_COSTS", "GroupCost", "NumericCost", "OwnCost", "register_group_cost"]
