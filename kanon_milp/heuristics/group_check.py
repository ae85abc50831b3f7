"""The exact check of groups: what the requirements themselves say of them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import UndecidedError
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.privacy.base import ValueLimits, facts_of, is_size_only, least_rows, satisfies
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Floats, Ints

FEW = 16  # times a group's row types or values are fewer than all values, from which on these are not gone through
MOST_DENOMINATOR = 2**20  # of shares, whose products with numbers of rows are to be exact in 64 bits


class _Marginal(NamedTuple):
    """The attributes that a requirement is decided by. of_value: their joint value of each joint value of all, int64
    (J,); values: its labels."""

    names: tuple[str, ...]
    of_value: Ints
    values: list[tuple[Label, ...]]

    def counts(self, held: Ints, counts: Ints) -> tuple[Ints, Ints]:
        """The values that occur where so many rows have each of these joint values, and their rows."""
        of = self.of_value[held]
        if len(held) * FEW < len(self.values):
            found, at = np.unique(of, return_inverse=True)
            return found, np.bincount(at, weights=counts).astype(np.int64)
        rows = np.bincount(of, weights=counts, minlength=len(self.values)).astype(np.int64)
        found = np.flatnonzero(rows)
        return found, rows[found]


class _Different(NamedTuple):
    """A requirement that a group has exactly if it has so many rows at least, and of some attributes so many different
    values."""

    requirement: Requirement
    least: int
    attributes: tuple[tuple[_Marginal, int], ...]

    def holds(self, held: Ints, size: int) -> bool:
        """held: joint values that the group has, int64."""
        return size >= self.least and all(
            _distinct(marginal.of_value[held], len(marginal.values)) >= different
            for marginal, different in self.attributes
        )


class _Shares(NamedTuple):
    """A requirement that a group has exactly if it has so many rows at least, so many different values of an attribute,
    and of each of them no less and no more than these shares: int64 (values,) each, over one denominator."""

    least: int
    different: int
    lower: Ints
    upper: Ints
    denominator: int

    @classmethod
    def of(cls, facts: Sequence[ValueLimits], least: int, marginal: _Marginal) -> _Shares | None:
        """None where there is more to it, or numbers are too large for exact products."""
        none, all_ = Fraction(0), Fraction(1)
        values = [value for (value,) in marginal.values]
        lower = [max(none, *(each.lower.get(value, none) for each in facts)) for value in values]
        upper = [min(all_, *(each.upper.get(value, all_) for each in facts)) for value in values]
        denominator = math.lcm(*(share.denominator for share in (*lower, *upper)))
        if denominator > MOST_DENOMINATOR or any(each.emd is not None for each in facts):
            return None
        # the values of which the largest shares are allowed fill a group, if so many are there
        sums = list(accumulate(sorted(upper, reverse=True)))
        different = max(bisect_left(sums, all_) + 1, *(max(each.different, each.present) for each in facts))
        least_part, most_part = (
            np.array([int(share * denominator) for share in shares], np.int64) for shares in (lower, upper)
        )
        return cls(least, different, least_part, most_part, denominator)

    def hold(self, found: Ints, counts: Ints) -> bool:
        """Whether they do where so many rows have each of these values."""
        size = int(counts.sum())
        if size < self.least or len(found) < self.different:
            return False
        rows = counts * self.denominator
        if (rows > self.upper[found] * size).any() or (rows < self.lower[found] * size).any():
            return False
        return bool(np.count_nonzero(self.lower) == np.count_nonzero(self.lower[found]))


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
        self._values: list[tuple[Label, ...]] = [()]
        if attributes or not instance.problem.size_only:
            self.code, self._values = instance.sensitive_codes(attributes)
        self._marginals: dict[tuple[str, ...], _Marginal] = {}
        self._different: list[_Different] = []
        self._others: list[tuple[Requirement, _Marginal]] = []
        self._shares: dict[int, _Shares | None] = {}  # by numbers of those before
        for requirement in instance.problem.requirements:
            facts = facts_of(requirement, instance.table_group)
            # no group has to be listed joint value by joint value, of which there may be thousands, where less decides
            if facts and all(each.counts_values for each in facts):
                different = tuple((self._marginal((each.attribute,)), each.different) for each in facts)
                least = least_rows(requirement, instance.table_group)
                self._different.append(_Different(requirement, least, different))
            elif facts and all(each.complete for each in facts) and len(requirement.attributes) == 1:
                marginal = self._marginal(requirement.attributes)
                least = least_rows(requirement, instance.table_group)
                self._shares[len(self._others)] = _Shares.of(facts, least, marginal)
                self._others.append((requirement, marginal))
            else:
                alone = is_size_only(requirement) or self.code is None
                self._others.append((requirement, self._marginal(() if alone else attributes)))
        self._known: dict[tuple[int, bytes], bool] = {}

    def _marginal(self, names: tuple[str, ...]) -> _Marginal:
        if names not in self._marginals:
            at = [self.instance.problem.attributes.index(name) for name in names]
            numbers: dict[tuple[Label, ...], int] = {}
            of = [numbers.setdefault(tuple(value[j] for j in at), len(numbers)) for value in self._values]
            self._marginals[names] = _Marginal(names, np.array(of, dtype=np.int64), list(numbers))
        return self._marginals[names]

    def by_value(self, members: NDArray[np.integer[Any]], rows: Ints) -> Ints:
        """Numbers of rows by joint value, int64; their sum alone where sizes are all."""
        if self.code is None:
            return np.array([rows.sum()], dtype=np.int64)
        return np.bincount(self.code[members], weights=rows, minlength=len(self._values)).astype(np.int64)

    def _held(self, members: NDArray[np.integer[Any]], rows: Ints) -> tuple[Ints, Ints]:
        """The joint values that these rows have, rising, and the rows of each, both int64."""
        if self.code is None or len(members) * FEW >= len(self._values):
            counts = self.by_value(members, rows)
            held = np.flatnonzero(counts)
            return held, counts[held]
        held, at = np.unique(self.code[members], return_inverse=True)
        return _present(held, np.bincount(at, weights=rows).astype(np.int64))

    def accepts(self, g: int | None, members: NDArray[np.integer[Any]], rows: Ints) -> bool:
        """Whether candidate g, or (None) any group that is not exempt, may have so many rows of each member."""
        return self._holds(g, *self._held(members, rows))

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
        return all(
            (exempt and requirement.exempts) or self._satisfies(number, *marginal.counts(held, counts))
            for number, (requirement, marginal) in enumerate(self._others)
        )

    def _satisfies(self, number: int, found: Ints, counts: Ints) -> bool:
        """Whether one of the other requirements holds where so many rows have each of these values of its marginal."""
        shares = self._shares.get(number)
        if shares is not None:
            return shares.hold(found, counts)
        key = number, found.tobytes() + counts.tobytes()
        if key not in self._known:
            requirement, marginal = self._others[number]
            tuples = {marginal.values[v]: rows for v, rows in zip(found.tolist(), counts.tolist(), strict=True)}
            try:
                group = Group.of(marginal.names, tuples, self.instance.table_group)
                self._known[key] = satisfies(requirement, group)
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


def _present(held: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """The values that have rows, and the rows of each."""
    return held[counts > 0], counts[counts > 0]


class UnplacedCheck(GroupCheck):
    """The check of groups of rows that are still unplaced."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._table = np.zeros(0, dtype=np.int64)
        if self.code is not None:
            self._table = np.bincount(self.code, weights=instance.types.counts).astype(np.int64)
        self._size = int(self._table.sum())
        self._left = {
            names: np.bincount(each.of_value, weights=self._table).astype(np.int64)
            for names, each in self._marginals.items()
            if self.code is not None
        }
        self._values_left = {names: int(np.count_nonzero(left)) for names, left in self._left.items()}

    def take(self, members: NDArray[np.integer[Any]], rows: Ints) -> None:
        """Rows that are placed are no longer left over."""
        if self.code is None:
            return
        held, counts = self._held(members, rows)
        self._size -= int(counts.sum())
        for names, marginal in self._marginals.items():
            found, taken = marginal.counts(held, counts)
            left = self._left[names]
            left[found] -= taken
            self._values_left[names] -= int(np.count_nonzero(left[found] == 0))

    def most(self, g: int | None, members: NDArray[np.integer[Any]], rows: Ints) -> Ints | None:
        """As many of these rows as candidate g, or (None) any group that is not exempt, may have: all, or those below a
        cap on each value; None for none."""
        if g is not None and rows.sum() < self.instance.least[g]:
            return None
        if self.code is None:
            return rows if self.accepts(g, members, rows) else None
        held, counts = self._held(members, rows)
        if self._leaves_enough(g, held, counts):
            return rows
        exempt = g is not None and bool(self.instance.exempt[g])
        for number, (requirement, marginal) in enumerate(self._others):
            shares = None if exempt and requirement.exempts else self._shares.get(number)
            # no part of a group is within the shares where the entire group has too few values for them
            if shares is not None and _distinct(marginal.of_value[held], len(marginal.values)) < shares.different:
                return None
        # the same cap for each value, or a cap in proportion to the table, in 64 steps: from no rows to a cap at which
        # the rarest value keeps all of its rows
        table = self._table[held]
        most = (counts / table).max(initial=0)
        capped = [
            self._largest(g, held, int(counts.max(initial=0)), lambda cap: np.minimum(counts, cap)),
            self._largest(g, held, 64, lambda part: np.minimum(counts, _rounded_up(table * most * part / 64))),
        ]
        found = max((c for c in capped if c is not None), key=lambda c: int(c.sum()), default=None)
        return None if found is None else self._take(members, rows, held, found)

    def _largest(self, g: int | None, held: Ints, top: int, cap: Callable[[int], Ints]) -> Ints | None:
        """The counts under the largest cap that is accepted, as far as halving finds it."""
        best: Ints | None = None
        low, high = 0, top
        while high - low > 1:
            middle = (low + high) // 2
            counts = cap(middle)
            if self._leaves_enough(g, *_present(held, counts)):
                best, low = counts, middle
            else:
                high = middle
        return best

    def _leaves_enough(self, g: int | None, held: Ints, counts: Ints) -> bool:
        """Whether these counts satisfy the requirements, and what is then left over, as one group, does as well, if it
        did before: where unions can break a requirement, it need not."""
        if not self._holds(g, held, counts):
            return False
        nothing = np.zeros(0, dtype=np.int64)
        return self._size == counts.sum() or self._without(held, counts) or not self._without(nothing, nothing)

    def _without(self, held: Ints, counts: Ints) -> bool:
        """Whether what is left over without these rows satisfies the requirements as one group."""
        size = self._size - int(counts.sum())
        for each in self._different:
            if size < each.least:
                return False
            for marginal, different in each.attributes:
                found, taken = marginal.counts(held, counts)
                gone = np.count_nonzero(self._left[marginal.names][found] == taken)
                if self._values_left[marginal.names] - gone < different:
                    return False
        for number, (_, marginal) in enumerate(self._others):
            rest = self._left[marginal.names].copy()
            found, taken = marginal.counts(held, counts)
            rest[found] -= taken
            present = np.flatnonzero(rest)
            if not self._satisfies(number, present, rest[present]):
                return False
        return True

    def _take(self, members: NDArray[np.integer[Any]], rows: Ints, held: Ints, counts: Ints) -> Ints:
        """The first rows of each value that is held, as many as its count."""
        assert self.code is not None
        code = self.code[members]
        order = np.argsort(code, kind="stable")
        before = np.cumsum(rows[order]) - rows[order]
        first = np.concatenate([[True], code[order][1:] != code[order][:-1]])
        within = before - np.maximum.accumulate(np.where(first, before, 0))
        taken = np.zeros_like(rows)
        at = np.minimum(np.searchsorted(held, code[order]), len(held) - 1)  # of a value without rows: any
        taken[order] = np.clip(counts[at] - within, 0, rows[order])
        return taken


def _rounded_up(shares: Floats) -> Ints:
    return np.ceil(shares).astype(np.int64)
