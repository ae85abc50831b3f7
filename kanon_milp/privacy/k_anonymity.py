"""k-anonymity: every group has at least k rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from kanon_milp.errors import InputError, kind_of
from kanon_milp.expressions import weighted_sum
from kanon_milp.privacy.base import Group, Requirement

if TYPE_CHECKING:
    from kanon_milp.instance import Instance
    from kanon_milp.table import Table


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """Each group has at least k rows (Samarati 2001; Bredereck et al. 2013, constraint (3)).

    Merge-closed: sizes add up. Integral: with `open` fixed, what is left is a transportation problem with lower bounds.
    """

    k: int
    name: ClassVar[str] = "k_anonymity"
    merge_closed: ClassVar[bool] = True
    integral: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer):
            raise InputError(f"k must be a whole number, found {kind_of(self.k)}")
        if self.k < 1:
            raise InputError(f"k must be at least 1, found {self.k}")

    def check(self, table: Table) -> None:
        """Refuse k > n."""
        if self.k > table.n:
            raise InputError(f"k = {self.k} is larger than the number of rows of {table.source} ({table.n})")

    @property
    def smallest_group(self) -> int:
        """The size k itself."""
        return int(self.k)

    def holds(self, group: Group) -> bool:
        """At least k rows."""
        return group.size >= self.k

    def viable(self, instance: Instance) -> NDArray[np.bool_]:
        """A cover of fewer than k rows never becomes a group."""
        return instance.candidates.support >= self.k

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: Instance) -> None:
        """Σ_i x[i,g] ≥ k·y[g]."""
        exempt, members = instance.exempt, instance.candidates.cover_lists()

        # an open group has at least k rows; where fully suppressed rows are exempt, theirs needs only to be non-empty
        @block.Constraint(model.CANDIDATES)
        def size(_block: pyo.Block, g: int) -> object:
            least = 1 if exempt[g] else self.k
            xs = [model.assign[i, g] for i in members[g]]
            return (0, weighted_sum([1] * len(xs) + [-least], [*xs, model.open[g]]), None)

    def describe(self) -> dict[str, object]:
        """The parameter k."""
        return {"k": int(self.k)}
