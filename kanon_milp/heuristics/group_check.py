"""The exact check of groups: what the requirements themselves say of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import UndecidedError
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.privacy import Group, KAnonymity
from kanon_milp.problem.privacy.base import satisfies

Ints = NDArray[np.int64]


class GroupCheck:
    """Whether rows of some types, together, satisfy every requirement; equal counts are checked once.

    code: joint sensitive value of each row type, int64 (t,), None where no requirement is about one.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        attributes = instance.problem.attributes
        self.code: Ints | None = None
        self._values: list[tuple[Label, ...]] = []
        if attributes:
            self.code, self._values = instance.sensitive_codes(attributes)
        self._known: dict[tuple[bool, bytes], bool] = {}

    def by_value(self, members: NDArray[np.integer[Any]], rows: Ints) -> Ints:
        """Numbers of rows by joint value, int64; their sum alone where no requirement is about one."""
        if self.code is None:
            return np.array([rows.sum()], dtype=np.int64)
        return np.bincount(self.code[members], weights=rows, minlength=len(self._values)).astype(np.int64)

    def holds(self, g: int | None, counts: Ints) -> bool:
        """Whether a candidate may have these counts, or (None) any group that is not exempt."""
        if g is not None and counts.sum() < self.instance.least[g]:
            return False
        key = (g is not None and bool(self.instance.exempt[g]), counts.tobytes())
        if key not in self._known:
            problem = self.instance.problem
            asked = [r for r in problem.requirements if not (key[0] and isinstance(r, KAnonymity))]
            try:
                self._known[key] = all(satisfies(requirement, self._group(counts)) for requirement in asked)
            except UndecidedError:  # there may be other groups, of which it is known
                self._known[key] = False
        return self._known[key]

    def _group(self, counts: Ints) -> Group:
        if self.code is None:
            return Group(int(counts.sum()), whole=self.instance.whole)
        tuples = {self._values[value]: int(counts[value]) for value in np.flatnonzero(counts).tolist()}
        return Group.of(self.instance.problem.attributes, tuples, self.instance.whole)
