"""Full-domain recoding: one level of each column for all rows, and a share of the rows suppressed (Samarati 2001;
LeFevre, DeWitt and Ramakrishnan 2005). What ARX and k-Optimize solve, exactly."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from kanon_milp.errors import InputError, TooManyLevelVectorsError
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.methods.arguments import groups_not_alone
from kanon_milp.methods.result import Result, released_labels
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import expand
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.partition import Partition, released_partition
from kanon_milp.presolve.preparation import presolve
from kanon_milp.problem.arguments import by_column, instance_of, wrong
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.exact import exact_parameter
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import MAX_LEVEL_VECTORS, Hierarchies, Suppression, fully_suppressed, with_levels
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import NO_LIMIT, Limit, Over
from kanon_milp.system.parameters import number, parameters
from kanon_milp.verify import Report, verify

Vector = tuple[int, ...]
Objective = Literal["loss", "precision", "discernibility", "class_size"]
OBJECTIVES = ("loss", "precision", "discernibility", "class_size")
NO_TABLE = "no level vector satisfies the requirements with so few rows suppressed; another method may find a table"
CUT_SHORT = "stopped after {:,} of {:,} level vectors, so there may be a better full-domain table"
NONE_YET = "stopped after {:,} of {:,} level vectors, none of which gives a table; give more time"
TOO_MANY = (
    f"more than {MAX_LEVEL_VECTORS:,} level vectors are possible, and full-domain recoding visits all of them; "
    "set a time limit to get the best table found by then, or use greedy or mondrian, which list none"
)


@parameters("full_domain")
@dataclass(frozen=True)
class FullDomainParams:
    """The method `full_domain`."""

    suppressed: float = number(0.05, "of the rows that may be suppressed", most=1)


@dataclass(frozen=True)
class FullDomain:
    """Full-domain recoding of a table.

    hierarchies: column → Hierarchy, or its paths; columns without one are kept or suppressed. suppression_limit: the
    largest share of the rows, an exact number from 0 to 1, that may be suppressed: those whose class does not satisfy
    the requirements. objective: "loss", as elsewhere, a suppressed row at that of a fully suppressed one; "precision",
    the same with level/height a cell; "discernibility", Σ |class|², a suppressed row at n; "class_size", rows a class.
    weights, level_costs, costs: as in `Hierarchies`. levels: column → the level that it shall have, or several that it
    may have.
    """

    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    suppression_limit: Any = 0
    objective: Objective = "loss"
    weights: Mapping[str, Any] = field(default_factory=dict)
    level_costs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    costs: Mapping[str, Any] | str = field(default_factory=dict)
    levels: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (isinstance(self.objective, str) and self.objective in OBJECTIVES):
            raise wrong("objective", f"one of {', '.join(OBJECTIVES)}", self.objective)
        if not 0 <= self.share <= 1:
            raise InputError(f"suppression_limit must be a share from 0 to 1, found {self.suppression_limit}")
        by_column(self.levels, "levels", lambda level, _: level)
        for what in ("hierarchies", "level_costs"):
            if not isinstance(getattr(self, what), Mapping):
                raise wrong(what, "a mapping from columns", getattr(self, what))
        if not isinstance(self.costs, Mapping | str):
            raise wrong("costs", 'a mapping from columns, or "ncp",', self.costs)
        _ = self.recoding

    @property
    def share(self) -> Fraction:
        """The suppression limit, exactly."""
        return exact_parameter(self.suppression_limit, "suppression_limit")

    @property
    def recoding(self) -> Suppression | Hierarchies:
        """All level vectors of the lattice."""
        if not self.hierarchies and not self.level_costs and not self.costs:
            return Suppression(self.weights)
        return Hierarchies(self.hierarchies, self.weights, self.level_costs, costs=self.costs)


@dataclass(frozen=True, eq=False)
class FullDomainResult:
    """The best full-domain table; where there is none, `levels`, `table`, `labels`, `objective`, `report` are None.

    problem: what the table is verified for: fully suppressed rows need no partners, but together the other
    requirements. levels: of each column. table: in the user's own kind of data frame. suppressed_rows: how many.
    objective: exact, as `FullDomain.objective` says, always the smaller the better. looked_at, lattice: level vectors
    that were evaluated, and all of them.
    """

    problem: Problem
    asked: FullDomain
    levels: dict[str, int] | None
    table: Any
    suppressed_rows: int
    objective: Fraction | None
    report: Report | None
    looked_at: int
    lattice: int

    @property
    def verified(self) -> bool:
        """Whether there is a table, and the verifier accepts it."""
        return self.report is not None and self.report.ok

    @property
    def labels(self) -> Any | None:
        """The columns column, value, level and label: what became of each value of a row that is not suppressed."""
        return None if self.levels is None else released_labels(self.problem.table, self.table, self.levels)


def solve_full_domain(
    table: Table, privacy: Requirement | Sequence[Requirement], asked: FullDomain | None = None
) -> FullDomainResult:
    """The best level vector, by best-first search over the lattice.

    Going up in the lattice only merges classes, and costs never fall, so the classes of a vector bound everything above
    it from below. The search ends when no remaining vector can be better, and is exact. Raises InputError for
    requirements about several groups together, and for more than 2^20 level vectors.
    """
    instance_of(table, Table, "table", "a Table")
    asked = instance_of(FullDomain() if asked is None else asked, FullDomain, "asked", "a FullDomain")
    recoding = with_levels(asked.recoding, table.quasi_identifiers, asked.levels)
    problem = Problem(table, privacy, recoding, suppressed_rows="exempt")
    if reason := groups_not_alone(problem):
        raise InputError(f"full-domain recoding is not for this problem: {reason}")
    instance = presolve(problem, Clock(), enumerated=False).before
    lattice = _Lattice(instance, asked)
    lattice.search()
    best, looked_at = lattice.best, lattice.looked_at
    if best is None:
        return FullDomainResult(problem, asked, None, None, 0, None, None, looked_at, lattice.size)
    partition, suppressed = lattice.partition(best.vector)
    released = released_partition(instance, partition)
    assert released is not None  # the lattice has all vectors
    found = expand(*released).table(problem.table)
    levels = dict(zip(instance.types.names, best.vector, strict=True))
    report = verify(problem, found)
    return FullDomainResult(problem, asked, levels, found, suppressed, best.value, report, looked_at, lattice.size)


def refuses(problem: Problem) -> str:
    """Why full-domain recoding is no method for this problem; empty if it is."""
    if reason := groups_not_alone(problem):
        return reason
    return ""


def solve_method(session: Session) -> Result:
    """The method `full_domain`: least loss, a few of the rows suppressed, in the problem's reading of
    fully suppressed rows. What is best among full-domain tables proves nothing about cell-level ones."""
    limit = session.limit
    with session.clock.step("search"):
        lattice = _searched(session, limit)
    best, numbers = lattice.best, (lattice.looked_at, lattice.size)
    if best is None:
        return session.finish(None, message=NONE_YET.format(*numbers) if limit.over else NO_TABLE)
    short = CUT_SHORT.format(*numbers) if limit.over else ""
    result = session.finish_partition(lattice.partition(best.vector)[0], message=short)
    if result.parts is None:  # a better table, of cells, has taken its place
        return result
    return replace(result, levels=dict(zip(session.prepared.before.types.names, best.vector, strict=True)))


def full_domain_partition(session: Session, limit: Limit) -> Partition | None:
    """The classes of the best level vector that is found until the limit; None where none is."""
    lattice = _searched(session, limit)
    return None if lattice.best is None else lattice.partition(lattice.best.vector)[0]


def _searched(session: Session, limit: Limit) -> _Lattice:
    asked = FullDomain(suppression_limit=session.parameters.of(FullDomainParams).suppressed)
    lattice = _Lattice(session.prepared.before, asked)
    lattice.look(lattice.heights)  # a table, also after the limit
    with suppress(Over):  # within one vector, too: its classes may be many
        limit.call(lattice.search, limit)
    return lattice


class _Found(NamedTuple):
    value: Fraction
    vector: Vector


class _Classes(NamedTuple):
    """Of a level vector: class of each row type, rows of each class, and which classes are not suppressed."""

    of_type: Ints
    sizes: Ints
    kept: Flags


class _Lattice:
    def __init__(self, instance: Instance, asked: FullDomain) -> None:
        self._instance, self._asked = instance, asked
        self.levels = recode(instance.problem, instance.types, fully_suppressed)  # all may be too many
        self._check = GroupCheck(instance)
        self.heights = tuple(column.height for column in self.levels.columns)
        mask = instance.problem.recoding.mask
        self._allowed = None if mask is None else set(map(tuple, self.levels.vectors.tolist()))
        # with levels of columns, the fully suppressed vector is for suppressed rows alone, unless they include it
        named = {} if mask is None else mask.levels
        tops = zip(instance.types.names, self.heights, strict=True)
        self._top = all(height in named.get(name, (height,)) for name, height in tops)
        self._least = instance.smallest_size
        self._most_suppressed = int(asked.share * instance.types.n)
        self.best: _Found | None = None
        self._known: dict[Vector, tuple[_Found | None, Fraction]] = {}

    @property
    def looked_at(self) -> int:
        return len(self._known)

    @property
    def size(self) -> int:
        """How many level vectors there are."""
        return math.prod(height + 1 for height in self.heights)

    def search(self, limit: Limit = NO_LIMIT) -> None:
        """Look at vectors until `best` is the first of the best feasible ones, or until the limit.

        Raises TooManyLevelVectorsError where nobody would see the end of it.
        """
        if self.size > MAX_LEVEL_VECTORS and math.isinf(limit.left):
            raise TooManyLevelVectorsError(TOO_MANY)
        bottom: Vector = (0,) * len(self.heights)
        open_: list[tuple[Fraction, Vector]] = [(Fraction(0), bottom)]
        seen = {bottom}
        self._descend(limit)
        while open_ and not limit.over:
            bound, vector = heapq.heappop(open_)
            if self.best is not None and bound > self.best.value:
                break
            bound = max(bound, self.look(vector)[1])
            if self.best is not None and bound > self.best.value:
                continue
            for j, height in enumerate(self.heights):
                above = (*vector[:j], vector[j] + 1, *vector[j + 1 :])
                if vector[j] < height and above not in seen:
                    seen.add(above)
                    heapq.heappush(open_, (bound, above))

    def _descend(self, limit: Limit) -> None:
        """A first feasible vector: from the fully suppressed one downwards, by the best step that is no worse."""
        at = self.look(self.heights)[0]
        while at is not None and not limit.over:
            below = [(*at.vector[:j], level - 1, *at.vector[j + 1 :]) for j, level in enumerate(at.vector) if level]
            found = (self.look(vector)[0] for vector in below if not limit.over)
            at = min((each for each in found if each is not None and each.value <= at.value), default=None)

    def look(self, vector: Vector) -> tuple[_Found | None, Fraction]:
        """The vector with its value, None where it is not feasible; and the bound from there upwards."""
        if vector not in self._known:
            classes = self.classes(vector)
            found = _Found(self.value(vector, classes), vector) if self._feasible(vector, classes) else None
            if found is not None and (self.best is None or found < self.best):
                self.best = found
            self._known[vector] = found, self.bound(vector, classes)
        return self._known[vector]

    def classes(self, vector: Vector) -> _Classes:
        types, columns = self._instance.types, self.levels.columns
        labels = [
            column.label_of[level, types.codes[:, j]]
            for j, (column, level) in enumerate(zip(columns, vector, strict=True))
        ]
        key = mixed_key(labels, [len(column.labels) for column in columns])
        _, of_type = np.unique(key, return_inverse=True)
        sizes = np.bincount(of_type, weights=types.counts).astype(np.int64)
        kept = sizes >= self._least
        if self._check.code is not None:
            order = np.argsort(of_type, kind="stable")
            ends = np.cumsum(np.bincount(of_type, minlength=len(sizes)))
            for number in np.flatnonzero(kept).tolist():
                inside = order[ends[number - 1] if number else 0 : ends[number]]
                kept[number] = self._check.accepts(None, inside, types.counts[inside])
        return _Classes(of_type, sizes, kept)

    def _feasible(self, vector: Vector, classes: _Classes) -> bool:
        """Whether the mask allows it, few enough rows are suppressed, and these together satisfy what they are not
        exempt from."""
        suppressed = int(classes.sizes[~classes.kept].sum())
        if suppressed > self._most_suppressed:
            return False
        if vector == self.heights and not self._top:
            return False
        used = [vector] if suppressed < self._instance.types.n else []
        if self._allowed is not None and not self._allowed.issuperset([*used, self.heights] if suppressed else used):
            return False
        if not suppressed:
            return True
        rest = np.flatnonzero(~classes.kept[classes.of_type])
        counts = self._check.by_value(rest, self._instance.types.counts[rest])
        return self._check.holds(0 if self._instance.exempt[0] else None, counts)

    def _cell_share(self, vector: Vector) -> Fraction:
        """Sum of level/height over the columns."""
        return sum((Fraction(v, h) for v, h in zip(vector, self.heights, strict=True)), Fraction(0))

    def _cost(self, vector: Vector, rows: Ints) -> Fraction:
        """Loss of so many rows of each row type."""
        columns, cells = self.levels.columns, self.levels.cells
        if cells is None:
            return int(rows.sum()) * sum((c.costs[v] for c, v in zip(columns, vector, strict=True)), Fraction(0))
        codes = self._instance.types.codes
        lost = sum(int(rows @ cost[v, codes[:, j]]) for j, (cost, v) in enumerate(zip(cells, vector, strict=True)))
        return lost * self.levels.unit

    def value(self, vector: Vector, classes: _Classes) -> Fraction:
        """What the objective says of a level vector."""
        n = self._instance.types.n
        kept_rows = int(classes.sizes[classes.kept].sum())
        suppressed = n - kept_rows
        match self._asked.objective:
            case "loss":
                rows, stays = self._instance.types.counts, classes.kept[classes.of_type]
                gone = np.where(stays, 0, rows)
                return self._cost(vector, rows - gone) + self._cost(self.heights, gone)
            case "precision":
                return self._cell_share(vector) * kept_rows + len(vector) * suppressed
            case "discernibility":
                kept = classes.sizes[classes.kept]
                return Fraction(int((kept * kept).sum()) + n * suppressed)
        return Fraction(n, int(classes.kept.sum()) + (suppressed > 0))

    def bound(self, vector: Vector, classes: _Classes) -> Fraction:
        """No vector from this one upwards has a smaller value."""
        n = self._instance.types.n
        match self._asked.objective:
            case "loss":
                return self._cost(vector, self._instance.types.counts)
            case "precision":
                return self._cell_share(vector) * n
            case "discernibility":  # a row's class only grows, and has so many rows at least, or the row costs n
                return Fraction(int((classes.sizes * np.maximum(classes.sizes, min(self._least, n))).sum()))
        return Fraction(n, min(len(classes.sizes), n // self._least) + 1)

    def partition(self, vector: Vector) -> tuple[Partition, int]:
        """The classes as groups, those that are suppressed as one; and the rows of the latter."""
        classes = self.classes(vector)
        suppressed = ~classes.kept[classes.of_type]
        group = np.where(suppressed, len(classes.sizes), classes.of_type)
        _, group = np.unique(group, return_inverse=True)
        at = np.tile(np.array(vector, dtype=np.int16), (int(group.max()) + 1, 1))
        if suppressed.any():
            at[-1] = self.heights
        types = np.arange(self._instance.types.count)
        counts = self._instance.types.counts
        return Partition(group.astype(np.int64), types, counts, at, full_domain=True), int(counts[suppressed].sum())
