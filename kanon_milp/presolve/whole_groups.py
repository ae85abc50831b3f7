"""Problems whose cost is one of whole groups, as arrays: the points of microaggregation, and what each group must have.

There are no candidates here: any set of rows that has what is required is a group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from kanon_milp.presolve.infeasibility import refuse_one_group
from kanon_milp.presolve.instance import compress_table, table_as_group, types_of
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.group_costs import GroupCost, NumericCost
from kanon_milp.problem.group_costs.base import rows_of
from kanon_milp.problem.privacy.base import facts_of, is_size_only, least_rows, satisfies
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Floats, Ints, Ints32

UNDERFLOW = 1e-280  # floats below this have fewer digits


@dataclass(frozen=True, eq=False)
class PointCosts:
    """Distances of points, exactly and in floating point that errs on the known side.

    points: int64 (p, m), the different points, each column in its smallest unit, from 0 on, below 2^53. counts: int64
    (p,), how many rows each is. of_row: int64 (n,), point of each row. weights: of each column, what a deviation of one
    unit costs. power: 2 for squares, 1 for absolute deviations. least: κ, the fewest rows of a group.

    d(i, j) = Σ_c weights[c] · |points[i, c] - points[j, c]|^power. The sum of squares of a group of s rows around its
    mean is Σ over its pairs of d(i, j) / s.
    """

    points: Ints
    counts: Ints
    of_row: Ints
    weights: tuple[Fraction, ...]
    power: int
    least: int

    @classmethod
    def of(cls, cost: NumericCost, least: int) -> PointCosts:
        """The points of a bound cost."""
        points, of_row, counts = np.unique(cost.points.values, axis=0, return_inverse=True, return_counts=True)
        units = zip(cost.weights, cost.points.scale, strict=True)
        weights = tuple(weight / scale**cost.power for weight, scale in units)
        return cls(points, counts.astype(np.int64), of_row.reshape(-1).astype(np.int64), weights, cost.power, least)

    @cached_property
    def denominator(self) -> int:
        """The common denominator of all distances."""
        return math.lcm(*(weight.denominator for weight in self.weights))

    @cached_property
    def integers(self) -> tuple[int, ...]:
        """The weights in units of 1 / `denominator`; Python's own integers, which may have hundreds of digits."""
        return tuple(int(weight * self.denominator) for weight in self.weights)

    def exact(self, i: int, j: int) -> Fraction:
        """d(i, j)."""
        differences = np.abs(self.points[i] - self.points[j]).tolist()
        found = sum(weight * x**self.power for weight, x in zip(self.integers, differences, strict=True))
        return Fraction(found, self.denominator)

    @cached_property
    def nearest_float(self) -> Floats:
        """d(i, j) as computed, float64 (p, p), with a relative error of at most `error`."""
        found = np.zeros((len(self.points),) * 2)
        for column, weight in zip(self.points.T.astype(np.float64), self.weights, strict=True):
            found += float(weight) * np.abs(column[:, None] - column) ** self.power
        return found

    @property
    def error(self) -> float:
        """Weight, power, product, and the sum of m of them: each rounds by at most 2^-53; doubled for safety."""
        return 2 * (len(self.weights) + 3) * 2.0**-53

    @property
    def below(self) -> Floats:
        """float64 (p, p), not above d(i, j)."""
        return np.where(self.nearest_float < UNDERFLOW, 0.0, self.nearest_float * (1 - self.error))

    @property
    def above(self) -> Floats:
        """float64 (p, p), not below d(i, j), which is 0 where two points are the same."""
        same = np.eye(len(self.points), dtype=bool)
        return np.where(same, 0.0, np.maximum(self.nearest_float * (1 + self.error), UNDERFLOW))


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Rows in groups. group: int64 (n,), group of each row, from 0. cost: exactly."""

    group: Ints
    cost: Fraction


@dataclass(frozen=True, eq=False)
class GroupInstance:
    """A problem with a cost of whole groups.

    cost: bound to the table. types: row types, told apart by what the requirements are about too. of_row: int64 (n,),
    row type of each row. table_group: all rows as a group. row_types: t_in and t_in* of the table. obstacle: why there
    is no solution, where that is known at once.
    """

    problem: Problem
    cost: GroupCost
    types: RowTypes
    of_row: Ints
    table_group: Group
    row_types: tuple[int, int]
    obstacle: str | None

    @classmethod
    def of(cls, problem: Problem) -> GroupInstance:
        """Compress the table; raises ValueError for a problem whose cost is one of rows."""
        if problem.group_cost is None:
            raise ValueError("the recoding has a cost of each row")
        compressed = compress_table(problem)
        types = types_of(problem, compressed)
        of_row = types.type_of_rows(problem.table.keys).astype(np.int64)
        sizes = (compressed.count, compressed.star_count)
        whole, obstacle = table_as_group(types), refuse_one_group(problem, types)
        return cls(problem, problem.group_cost, types, of_row, whole, sizes, obstacle)

    def __repr__(self) -> str:
        """Names and sizes, and no cell."""
        return f"<GroupInstance of {self.problem!r}: {self.types.count} row types, cost {self.cost.name}>"

    @cached_property
    def least(self) -> int:
        """κ ≥ 1, the fewest rows of a group that all requirements together imply."""
        return max(1, *(least_rows(requirement, self.table_group) for requirement in self.problem.requirements))

    @property
    def most(self) -> int | None:
        """2κ - 1, the rows of a group that are enough for an optimum where the cost splits, and only sizes are required
        or what parts have as well (`differing`); else None, and groups may have any size from κ."""
        parts = self.problem.size_only or self.differing is not None
        return 2 * self.least - 1 if self.cost.splits and parts else None

    def table(self, group: Ints) -> GroupTable:
        """These groups with their cost. group: int64 (n,), any numbers."""
        number = np.unique(self.cost.merged(group), return_inverse=True)[1].reshape(-1).astype(np.int64)
        return GroupTable(number, self.cost.of_partition(number))

    def parts(self, group: Ints, largest: int) -> Ints32:
        """The groups of a table as rows, -1 for none; larger ones dealt out, in order of their sensitive values, to
        parts of κ rows or more. group: int64 (n,). Returns int32 (groups, largest)."""
        found = []
        for each in rows_of(group):
            rows = each[np.argsort(self.sensitive_value[each], kind="stable")]
            count = len(rows) // self.least if len(rows) > largest else 1
            dealt = (rows[j::count] for j in range(count))
            found += [np.pad(part, (0, largest - len(part)), constant_values=-1) for part in dealt]
        return np.array(found, np.int32)

    @cached_property
    def one_group(self) -> GroupTable | None:
        """All rows as one group, where that has what is required."""
        found = self.table(np.zeros(len(self.of_row), dtype=np.int64))
        return found if self.satisfies(found) else None

    def satisfies(self, table: GroupTable) -> bool:
        """Whether each group has all that is required."""
        return all(map(self.holds, rows_of(table.group)))

    def holds(self, rows: Ints) -> bool:
        """Whether a group has all that is required. rows: int64 (s,), indices of its rows."""
        if self.problem.size_only:
            return len(rows) >= self.least
        types, counts = self.types, np.bincount(self.of_row[rows], minlength=self.types.count)
        tuples: dict[tuple[str | None, ...], int] = {}
        domains = types.domains[len(types.names) :]
        for i in np.flatnonzero(counts).tolist():
            values = tuple(domain[c] for domain, c in zip(domains, types.star_codes[i].tolist(), strict=True))
            tuples[values] = tuples.get(values, 0) + int(counts[i])
        group = Group.of(types.sensitive, tuples, self.table_group)
        return all(satisfies(requirement, group) for requirement in self.problem.requirements)

    @cached_property
    def sensitive_value(self) -> Ints:
        """The joint value of what the requirements are about as a number, int64 (n,); all 0 where they are about
        none."""
        if not self.problem.attributes:
            return np.zeros(len(self.of_row), dtype=np.int64)
        _, number = np.unique(self.types.star_codes, axis=0, return_inverse=True)
        return number.reshape(-1)[self.of_row].astype(np.int64)

    @cached_property
    def differing(self) -> Ints | None:
        """The sensitive value of each row, int64 (n,), where a group has what is required exactly if it has κ rows or
        more and no value has more than a κ-th of them (frequency l-diversity with k ≤ l); else None.

        Such a group of s rows, in order of their values and dealt out one by one to ⌊s/κ⌋ parts, has parts of κ rows or
        more in which all values differ, since none has more than ⌊s/κ⌋ rows.
        """
        problem, share = self.problem, Fraction(1, self.least)
        facts = [each for one in problem.requirements for each in facts_of(one, self.table_group)]
        known = all(is_size_only(one) or facts_of(one, self.table_group) for one in problem.requirements)
        if len(problem.attributes) != 1 or not known or not all(each.complete for each in facts):
            return None
        values = self.types.domains[-1]
        upper = [min(each.upper.get(value, Fraction(1)) for each in facts) for value in values]
        others = any(each.lower or each.emd or each.different > self.least for each in facts)
        return None if others or set(upper) != {share} else self.sensitive_value

    @cached_property
    def points(self) -> PointCosts | None:
        """The points of microaggregation; None for boxes."""
        return PointCosts.of(self.cost, self.least) if isinstance(self.cost, NumericCost) else None
