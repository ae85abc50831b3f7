"""The exact check of groups: what the requirements themselves say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import UndecidedError
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.privacy.base import facts_of, least_rows, satisfies
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Ints

FEW = 16  # times a group's row types are fewer than all joint values, from which on these are not gone through


class _Different(NamedTuple):
    """A requirement that a group has exactly if it has so many rows at least, and of some attributes so many different
    values: of_value: the attribute's value of each joint value, int64 (J,)."""

    requirement: Requirement
    least: int
    attributes: tuple[tuple[Ints, int], ...]

    def holds(self, held: Ints, size: int) -> bool:
        """held: joint values that the group has, int64."""
        return size >= self.least and all(
            _distinct(of_value[held], len(of_value)) >= different for of_value, different in self.attributes
        )


def _distinct(values: Ints, domain: int) -> int:
    """How many different ones of so many values these are."""
    if len(values) * FEW < domain:
        return len(np.unique(values))
    return int(np.count_nonzero(np.bincount(values)))


class GroupCheck:
    """Whether rows of some types, together, satisfy every requirement; equal counts are checked once.

    code: joint sensitive value of each row type, int64 (t,), one for all where requirements ask for more than sizes but
    about no attribute; None where sizes are all.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        attributes = instance.problem.attributes
        self.code: Ints | None = None
        self._values: list[tuple[Label, ...]] = []
        if attributes or not instance.problem.size_only:
            self.code, self._values = instance.sensitive_codes(attributes)
        self._different = [] if self.code is None else list(filter(None, map(self._counting, self._requirements)))
        counted = [each.requirement for each in self._different]
        self._others = [each for each in self._requirements if each not in counted]
        self._known: dict[tuple[bool, bytes], bool] = {}

    @property
    def _requirements(self) -> Sequence[Requirement]:
        return self.instance.problem.requirements

    def _counting(self, requirement: Requirement) -> _Different | None:
        """A requirement that nothing but different values are counted for: no group has to be listed value by value
        then, which takes long where there are thousands."""
        facts = facts_of(requirement, self.instance.table_group)
        if not facts or not all(each.counts_values for each in facts):
            return None
        different = []
        for each in facts:
            column, numbers = self.instance.problem.attributes.index(each.attribute), dict[Label, int]()
            codes = [numbers.setdefault(value[column], len(numbers)) for value in self._values]
            different.append((np.array(codes, dtype=np.int64), each.different))
        return _Different(requirement, least_rows(requirement, self.instance.table_group), tuple(different))

    def by_value(self, members: NDArray[np.integer[Any]], rows: Ints) -> Ints:
        """Numbers of rows by joint value, int64; their sum alone where sizes are all."""
        if self.code is None:
            return np.array([rows.sum()], dtype=np.int64)
        return np.bincount(self.code[members], weights=rows, minlength=len(self._values)).astype(np.int64)

    def accepts(self, g: int | None, members: NDArray[np.integer[Any]], rows: Ints) -> bool:
        """Whether candidate g, or (None) any group that is not exempt, may have so many rows of each member."""
        if self.code is None or len(members) * FEW >= len(self._values):
            return self.holds(g, self.by_value(members, rows))
        held, at = np.unique(self.code[members], return_inverse=True)
        counts = np.bincount(at, weights=rows).astype(np.int64)
        return self._holds(g, held[counts > 0], counts[counts > 0])

    def holds(self, g: int | None, counts: Ints) -> bool:
        """Whether a candidate may have these counts, or (None) any group that is not exempt."""
        held = np.flatnonzero(counts)
        return self._holds(g, held, counts[held])

    def _holds(self, g: int | None, held: Ints, counts: Ints) -> bool:
        """The same of so many rows of each of these joint values alone."""
        size = int(counts.sum())
        if g is not None and size < self.instance.least[g]:
            return False
        exempt = g is not None and bool(self.instance.exempt[g])
        for each in self._different:
            if not (exempt and each.requirement.exempts) and not each.holds(held, size):
                return False
        if not self._others:
            return True
        key = exempt, held.tobytes() + counts.tobytes()
        if key not in self._known:
            asked = [r for r in self._others if not (exempt and r.exempts)]
            try:
                self._known[key] = all(satisfies(requirement, self._group(held, counts)) for requirement in asked)
            except UndecidedError:  # there may be other groups, of which it is known
                self._known[key] = False
        return self._known[key]

    def refused(self, assignment: Assignment, among: Ints | None = None) -> Ints:
        """Candidates whose groups do not satisfy all requirements, int64. among: only these candidates are looked at.

        For requirements that judge groups alone (`Problem.separable`).
        """
        looked = np.ones(len(assignment.rows), np.bool_) if among is None else np.isin(assignment.candidate, among)
        order = np.flatnonzero(looked)
        order = order[np.argsort(assignment.candidate[order], kind="stable")]
        used, begin = np.unique(assignment.candidate[order], return_index=True)
        groups = zip(used.tolist(), np.split(order, begin[1:]), strict=True) if len(used) else ()
        bad = [
            g for g, entries in groups if not self.accepts(g, assignment.row_type[entries], assignment.rows[entries])
        ]
        return np.array(bad, dtype=np.int64)

    def _group(self, held: Ints, counts: Ints) -> Group:
        if self.code is None:
            return Group(int(counts.sum()), table_group=self.instance.table_group)
        tuples = {self._values[value]: count for value, count in zip(held.tolist(), counts.tolist(), strict=True)}
        return Group.of(self.instance.problem.attributes, tuples, self.instance.table_group)


class UnplacedCheck(GroupCheck):
    """The check of groups of rows that are still unplaced."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._table = np.zeros(0, dtype=np.int64)
        if self.code is not None:
            self._table = np.bincount(self.code, weights=instance.types.counts).astype(np.int64)
        self._left = self._table.copy()

    def take(self, members: NDArray[np.integer[Any]], rows: Ints) -> None:
        """Rows that are placed are no longer left over."""
        if self.code is not None:
            np.subtract.at(self._left, self.code[members], rows)

    def most(self, g: int | None, members: NDArray[np.integer[Any]], rows: Ints) -> Ints | None:
        """As many of these rows as candidate g, or (None) any group that is not exempt, may have: all, or those below a
        cap on each value; None for none."""
        if g is not None and rows.sum() < self.instance.least[g]:
            return None
        if self.code is None:
            return rows if self.accepts(g, members, rows) else None
        counts = self.by_value(members, rows)
        if self._leaves_enough(g, counts):
            return rows
        # the same cap for each value, or a cap in proportion to the table
        capped = [
            self._largest(g, int(counts.max()), lambda cap: np.minimum(counts, cap)),
            self._largest(g, 64, lambda part: np.minimum(counts, self._share(counts, part))),
        ]
        found = max((c for c in capped if c is not None), key=lambda c: int(c.sum()), default=None)
        return None if found is None else self._take(members, rows, found)

    def _share(self, counts: Ints, part: int) -> Ints:
        """In 64 steps: from no rows to a cap at which the rarest value keeps all of its rows."""
        present = counts > 0
        most = (counts[present] / self._table[present]).max()
        share: Ints = np.ceil(self._table * most * part / 64).astype(np.int64)
        return share

    def _largest(self, g: int | None, top: int, cap: Callable[[int], Ints]) -> Ints | None:
        """The counts under the largest cap that is accepted, as far as halving finds it."""
        best: Ints | None = None
        low, high = 0, top
        while high - low > 1:
            middle = (low + high) // 2
            counts = cap(middle)
            if self._leaves_enough(g, counts):
                best, low = counts, middle
            else:
                high = middle
        return best

    def _leaves_enough(self, g: int | None, counts: Ints) -> bool:
        """Whether these counts satisfy the requirements, and what is then left over, as one group, does as well, if it
        did before: where unions can break a requirement, it need not."""
        rest = self._left - counts
        return self.holds(g, counts) and (not rest.any() or self.holds(None, rest) or not self.holds(None, self._left))

    def _take(self, members: NDArray[np.integer[Any]], rows: Ints, counts: Ints) -> Ints:
        """The first rows of each value, as many as its count."""
        assert self.code is not None
        code = self.code[members]
        order = np.argsort(code, kind="stable")
        before = np.cumsum(rows[order]) - rows[order]
        first = np.concatenate([[True], code[order][1:] != code[order][:-1]])
        within = before - np.maximum.accumulate(np.where(first, before, 0))
        taken = np.zeros_like(rows)
        taken[order] = np.clip(counts[code[order]] - within, 0, rows[order])
        return taken
