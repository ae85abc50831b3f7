"""The set-partitioning formulation: every group is a variable. For tiny tables, complete, no columns generated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.formulations.strong import add_assignment, add_objective_and_sides, add_sets
from kanon_milp.presolve.assignment import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.problem.privacy.base import satisfies, term_of
from kanon_milp.problem.privacy.diversity import Numbers, unsplittable
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags

Held = tuple[tuple[int, int], ...]  # (number of a joint sensitive value, rows that have it)

LARGEST = 200_000  # groups listed, and vectors of numbers by sensitive value looked at
WAY_OUT = (
    "it is meant for tiny tables: use the strong formulation (the default), a pattern mask, fewer quasi-identifiers, "
    "or a sample of the rows"
)


@dataclass(frozen=True)
class GroupShape:
    """What groups of a candidate look like. cells: its row types by joint sensitive value; numbers: rows of each cell
    in a group, one vector for each possibility."""

    cells: list[list[int]]
    numbers: list[Numbers]

    def count(self, counts: Sequence[int]) -> int:
        """How many groups these are: Σ over the vectors of Π over the cells of the ways to choose so many rows.

        Exact up to `LARGEST`, beyond it only more than that.
        """
        if not self.numbers:
            return 0
        largest = [max(column) for column in zip(*self.numbers, strict=True)]
        ways = [_ways([counts[i] for i in cell], most) for cell, most in zip(self.cells, largest, strict=True)]
        total = 0
        for numbers in self.numbers:
            total += math.prod(of_cell[rows] for of_cell, rows in zip(ways, numbers, strict=True))
            if total > LARGEST:
                break
        return total

    def groups(self, counts: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
        """The groups themselves, as (row type, rows) ascending."""
        known: dict[tuple[int, int], list[list[tuple[int, int]]]] = {}
        for numbers in self.numbers:
            choices = []
            for cell, rows in enumerate(numbers):
                if rows and (cell, rows) not in known:
                    known[cell, rows] = list(_choices(self.cells[cell], counts, rows))
                if rows:
                    choices.append(known[cell, rows])
            for parts in itertools.product(*choices):
                yield sorted(itertools.chain.from_iterable(parts))


def enumerate_groups(instance: Instance) -> Groups:
    """All groups of all candidates.

    Raises InputError where they are too many, or a requirement is not about single groups.
    """
    shapes = shapes_of(instance)
    counts = instance.types.counts.tolist()
    total = 0
    for g, shape in enumerate(shapes):
        total += shape.count(counts)
        if total > LARGEST:
            candidates = f"{g + 1:,} of {len(shapes):,} candidates"
            raise InputError(
                f"the groups formulation lists all groups that candidates can receive, and {candidates} already have "
                f"more than {LARGEST:,} ({instance.types.count:,} row types, {instance.types.n:,} rows); {WAY_OUT}"
            )
    candidate, sizes, types, copies = [], [], [], []
    for g, shape in enumerate(shapes):
        for group in shape.groups(counts):
            candidate.append(g)
            sizes.append(len(group))
            types += [i for i, _ in group]
            copies += [rows for _, rows in group]
    entries = Ragged(indptr_of(np.array(sizes, np.int64)), np.array(types, np.int64))
    return Groups(np.array(candidate, np.int64), entries, np.array(copies, np.int64))


def shapes_of(instance: Instance) -> list[GroupShape]:
    """The shape of each candidate's groups."""
    problem, counts = instance.problem, instance.types.counts.tolist()
    if problem.table.keys_match:
        raise InputError(
            "the groups formulation needs requirements that each group meets on its own, and with missing keys that "
            "match any value k-anonymity is about several groups together: use the strong formulation"
        )
    if not problem.separable:
        raise InputError(
            "the groups formulation needs requirements that each group meets on its own; k-anonymity of some of the "
            "quasi-identifiers adds up groups that are released alike there: use the strong formulation"
        )
    for each in problem.requirements:
        if each.asks_of_labels:
            raise InputError(
                f"the groups formulation decides about groups by their rows alone, and {term_of(type(each))} is about "
                "what is released: use the strong formulation"
            )
    if problem.size_only:
        shapes = []
        for cover, least in zip(instance.candidates.cover_lists(), instance.least.tolist(), strict=True):
            rows = sum(counts[i] for i in cover)
            shapes.append(GroupShape([cover], [(size,) for size in range(least, min(rows, 2 * least - 1) + 1)]))
        return shapes
    vectors = GroupVectors(instance)
    code = instance.sensitive_codes(problem.attributes)[0].tolist()
    shapes = []
    for g, cover in enumerate(instance.candidates.cover_lists()):
        by_value: dict[int, list[int]] = {}
        for i in cover:
            by_value.setdefault(code[i], []).append(i)
        values = sorted(by_value)
        cells = [by_value[value] for value in values]
        held = tuple((value, sum(counts[i] for i in cell)) for value, cell in zip(values, cells, strict=True))
        shapes.append(GroupShape(cells, vectors.numbers(held, exempt=bool(instance.exempt[g]))))
    return shapes


class GroupVectors:
    """Vectors of numbers of rows by joint sensitive value that make up a group, each checked once, exactly."""

    def __init__(self, instance: Instance) -> None:
        problem = instance.problem
        self._instance = instance
        self._merge_closed = problem.merge_closed
        self._values = instance.sensitive_codes(problem.attributes)[1]
        # what is exempt is so from k alone
        others = [r for r in problem.requirements if not r.exempts]
        self._requirements = {True: others, False: list(problem.requirements)}
        self._known: dict[tuple[bool, Held], bool] = {}
        self._numbers: dict[tuple[bool, Held], list[Numbers]] = {}
        self._looked_at = 0

    def numbers(self, held: Held, *, exempt: bool) -> list[Numbers]:
        """The vectors listed for a cover that holds these rows."""
        found = self._numbers.get((exempt, held))
        if found is None:
            self._looked_at += math.prod(rows + 1 for _, rows in held)
            if self._looked_at > LARGEST:
                raise InputError(
                    f"the groups formulation looks at all numbers of rows by sensitive value, and these are more than "
                    f"{LARGEST:,} ({self._instance.types.count:,} row types, {self._instance.types.n:,} rows); "
                    f"{WAY_OUT}"
                )
            holds = np.zeros([rows + 1 for _, rows in held], dtype=bool)
            values = [value for value, _ in held]
            for numbers in itertools.product(*(range(rows + 1) for _, rows in held)):
                holds[numbers] = self._holds(
                    tuple(each for each in zip(values, numbers, strict=True) if each[1]), exempt
                )
            found = unsplittable(holds) if self._merge_closed else _true_in(holds)
            self._numbers[exempt, held] = found
        return found

    def _holds(self, counts: Held, exempt: bool) -> bool:
        """Whether so many rows of these joint values are a group; no rows are none."""
        if not counts:
            return False
        found = self._known.get((exempt, counts))
        if found is None:
            tuples = {self._values[value]: rows for value, rows in counts}
            group = Group.of(self._instance.problem.attributes, tuples, self._instance.table_group)
            found = all(satisfies(requirement, group) for requirement in self._requirements[exempt])
            self._known[exempt, counts] = found
        return found


def _true_in(holds: Flags) -> list[Numbers]:
    return [tuple(vector) for vector in np.argwhere(holds).tolist()]


def _ways(counts: Sequence[int], most: int) -> list[int]:
    """By number of rows up to `most`, in how many ways they can be taken from row types with these counts.

    The coefficients of Π_i (1 + z + ... + z^n_i). They only grow with each row type, so that it ends once there are
    too many ways to take `most` rows: all smaller numbers have a way by then.
    """
    ways = [1] + [0] * most
    for count in counts:
        sums = list(itertools.accumulate(ways))
        ways = [total - (sums[rows - count - 1] if rows > count else 0) for rows, total in enumerate(sums)]
        if ways[most] > LARGEST:
            break
    return ways


def _choices(cell: Sequence[int], counts: Sequence[int], rows: int) -> Iterator[list[tuple[int, int]]]:
    """The ways to take so many rows from the row types of a cell, as (row type, rows) ascending."""
    # rest[at]: how many rows the row types from this place on have
    rest = list(itertools.accumulate((counts[i] for i in reversed(cell)), initial=0))[::-1]
    chosen: list[tuple[int, int]] = []

    def extend(at: int, open_rows: int) -> Iterator[list[tuple[int, int]]]:
        if not open_rows:
            yield chosen.copy()
            return
        for taken in range(min(counts[cell[at]], open_rows), max(0, open_rows - rest[at + 1]) - 1, -1):
            if taken:
                chosen.append((cell[at], taken))
            yield from extend(at + 1, open_rows - taken)
            if taken:
                chosen.pop()

    yield from extend(0, rows)


def build_groups(instance: Instance) -> pyo.ConcreteModel:
    """Partition the rows into groups: use[c] says how often group c, a_ic rows of each row type i, is used.

    Set partitioning is Σ_c a_ic use[c] = n_i at least Σ_c w_g(c) |c| use[c]; here through assign[i,g] = Σ_{c of g} a_ic
    use[c], so that objectives, side constraints and whatever reads `assign` and `open` are those of the other
    formulations. What requirements ask for is in the list of groups: the model has no constraints for them.

    The list (see `enumeration`) has the groups that cannot be split, if requirements are merge-closed: what a
    candidate receives in a solution is a union of such, and each union is allowed. It is complete for every objective
    and side constraint, since these count loss and open candidates and splitting changes neither. Otherwise it has all
    groups, and a candidate receives at most one.

    For k-anonymity its linear relaxation is worth as much as that of the strong formulation. Proof. A point of the
    latter has, for y[g] > 0, x[g]/y[g] in {Σx ≥ κ, 0 ≤ x ≤ n}, whose vertices are integral; each splits into groups of
    κ to 2κ-1 rows. Conversely groups add up to Σ_i x[i,g] ≥ κ Σ_c use[c] ≥ κ y[g], and `linked` is the same constraint.
    So nothing is gained before cuts over groups are added, such as those of rank 1 in `bounds.rank_one_cuts`.
    """
    groups = enumerate_groups(instance)
    m = pyo.ConcreteModel(name=instance.problem.name)
    add_sets(m, instance)
    m.GROUPS = pyo.RangeSet(0, groups.count - 1, doc="groups c")
    most = groups.most(instance.types.counts).tolist()

    add_assignment(m, instance, pyo.NonNegativeIntegers)
    m.use = pyo.Var(
        m.GROUPS,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, c: (0, most[c]),
        doc="θ[c]: how often group c is used",
    )

    groups_of: list[list[int]] = [[] for _ in m.CANDIDATES]
    groups_with: dict[tuple[int, int], list[int]] = {pair: [] for pair in m.PAIRS}
    a: dict[tuple[int, int], int] = {}  # a_ic, rows of type i in group c
    for c, (g, types, copies) in enumerate(groups.each()):
        groups_of[g].append(c)
        for i, rows in zip(types, copies, strict=True):
            groups_with[i, g].append(c)
            a[i, c] = rows

    # Σ_{c of g} a_ic θ[c] = x[i,g]
    @m.Constraint(m.PAIRS, doc="rows come in one of the groups")
    def received(m: pyo.ConcreteModel, i: int, g: int) -> object:
        return sum(a[i, c] * m.use[c] for c in groups_with[i, g]) == m.assign[i, g]

    # Σ_{c of g} θ[c] ≥ y[g], or = y[g], where a union may not be a group
    @m.Constraint(m.CANDIDATES, doc="an open candidate has a group")
    def formed(m: pyo.ConcreteModel, g: int) -> object:
        used = sum(m.use[c] for c in groups_of[g])
        return used >= m.open[g] if instance.problem.merge_closed else used == m.open[g]

    add_objective_and_sides(m, instance)
    return m
