"""Whether the groups of an assignment satisfy all requirements: exactly, by what each requirement says of a group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import UndecidedError
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy import Group, KAnonymity
from kanon_milp.problem.privacy.base import satisfies

Ints = NDArray[np.int64]


class GroupCheck:
    """Asks `holds` of every requirement; of groups with the same numbers of rows by sensitive value only once.

    For requirements that judge groups alone (`reductions.base.judges_groups_alone`).
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.code, self._values = instance.sensitive_codes(instance.problem.attributes)
        self._known: dict[tuple[bool, bytes], bool] = {}

    def refused(self, assignment: Assignment, among: Ints | None = None) -> Ints:
        """Candidates whose groups do not satisfy a requirement, int64. among: only these candidates are looked at."""
        looked = np.ones(len(assignment.rows), np.bool_) if among is None else np.isin(assignment.candidate, among)
        width = len(self._values)
        key, place = np.unique(
            assignment.candidate[looked] * width + self.code[assignment.row_type[looked]], return_inverse=True
        )
        rows = np.bincount(place, weights=assignment.rows[looked], minlength=len(key)).astype(np.int64)
        used, first = np.unique(key // width, return_index=True)
        ends = [*first[1:].tolist(), len(key)]
        bad = [
            g
            for g, begin, end in zip(used.tolist(), first.tolist(), ends, strict=True)
            if not self.accepts(g, key[begin:end] % width, rows[begin:end])
        ]
        return np.array(bad, dtype=np.int64)

    def accepts(self, g: int, codes: Ints, rows: Ints) -> bool:
        """Whether candidate g may have so many rows of these joint sensitive values; codes ascending."""
        exempt = bool(self._instance.exempt[g])
        key = (exempt, np.stack([codes, rows]).tobytes())
        if key not in self._known:
            self._known[key] = self._ask(exempt, codes, rows)
        return self._known[key]

    def _ask(self, exempt: bool, codes: Ints, rows: Ints) -> bool:
        problem = self._instance.problem
        tuples = {self._values[code]: count for code, count in zip(codes.tolist(), rows.tolist(), strict=True)}
        group = Group.of(problem.attributes, tuples, self._instance.whole)
        asked = [each for each in problem.requirements if not (exempt and isinstance(each, KAnonymity))]
        try:
            return all(satisfies(requirement, group) for requirement in asked)
        except UndecidedError:  # there may be other groups, of which it is known
            return False
