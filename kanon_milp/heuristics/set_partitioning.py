"""Tables from groups, as set partitioning programs: of the columns of a linear program, of small groups, of pairs and
triples.

* The columns that the linear programs of branch and bound use nearly are a table near its end: a restricted master
  heuristic (Joncour, Michel, Sadykov, Sverdlov, Vanderbeck 2010).
* Where requirements allow groups of a few rows (`bounds.small_groups`), nearly all groups of a good table are such, and
  the relaxation of the program over those of low reduced cost is tight: first 200 rows of Adult, ordered distance of
  ages, t = 0.3 and 0.2: 100 and 289.5, optima 100 and 290. Moves of single rows hardly find the way from one such table
  to a better one. It is solved for all rows, or for some at a time where that takes too long.
* A point of the matching program, rounded where it is integral, leaves a small integer program over pairs and triples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.matching.pairs_and_triples import SmallGroups
from kanon_milp.formulations.arrays import Constraints, set_partitioning
from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.grouping import assignment_of, pairs_at, tighten_groups
from kanon_milp.heuristics.neighbourhoods import growth, limited_options
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.kernels.small_groups import FloatSmallGroups, list_small_groups
from kanon_milp.presolve.assignment import Assignment, Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters

LEAST_SECONDS = 0.1
CERTAIN = 1e-6


@parameters("small_groups")
@dataclass(frozen=True)
class SmallGroupParameters:
    """Programs over small groups. Tuned on the first rows of Adult under t-closeness, 200 to 5,000."""

    widest: float = number(2.0, "cells that a group may cost more than its multipliers")
    narrower: float = number(0.7, "times as much, again and again, where there are too many", most=0.99)
    narrowest: float = number(0.01, "cells, where that ends", least=1e-6)
    most: int = number(60_000, "groups of the first program: all of 5,000 rows is solved in seconds", least=1)
    share: float = number(0.8, "of the time left, for one program", most=1)
    shrink: float = number(0.5, "times as many rows in the next program if one was not solved to the end", most=1)
    searched: float = number(0.8, "of a search; 0: none", most=1)
    idle: float = number(0.3, "of a search where the last one has gained nothing", most=1)
    more: int = number(2, "times as many groups once a program of all rows was solved", least=1)
    smallest: int = number(30, "rows of a program, at least", least=1)
    draws: int = number(30, "draws for each row that is to be freed", least=1)


DEFAULT = SmallGroupParameters()


@dataclass(frozen=True, eq=False)
class Columns:
    """Groups that may be part of a good table.

    rows: int64 (C, most), row types, -1 for no row. candidate: int64 (C,), the cheapest one that has them all. cost:
    int64 (C,), loss of each in units. of_type: bool CSR (t, C), the groups that have rows of a type.
    """

    rows: Ints
    candidate: Ints
    cost: Ints
    of_type: sp.csr_array

    @classmethod
    def near(
        cls,
        instance: Instance,
        point: DualPoint,
        most: int = DEFAULT.most,
        params: SmallGroupParameters = DEFAULT,
    ) -> Columns | None:
        """Those whose reduced cost is lowest, about so many; None where there are none, or more than one relaxation
        says what is required."""
        at = RequiredEvaluator(instance, point.multipliers)
        relaxed, multipliers = at.relaxed[0], np.ascontiguousarray(point.multipliers)
        small = relaxed.small
        if len(at.relaxed) != 1 or small is None or not instance.problem.merge_closed:
            return None
        count = instance.candidates.count
        few = FloatSmallGroups(at.subproblems(0, 0, count, multipliers, np.zeros(count)), small, np.zeros(count))
        width, complete = params.widest, False
        while not complete and width >= params.narrowest:
            complete, candidate, types = list_small_groups(few, width * cell_cost(instance), most)
            width *= params.narrower
        if not len(candidate):
            return None
        types = -np.sort(-types, axis=1)
        size = (types >= 0).sum(axis=1)
        cost = size * instance.candidates.cost[candidate]
        # the same rows under a candidate that costs more are of no use
        order = np.lexsort((cost, *types.T))
        types, candidate, cost = types[order], candidate[order], cost[order]
        first = np.concatenate([[True], (types[1:] != types[:-1]).any(axis=1)])
        types, candidate, cost = types[first], candidate[first], cost[first]
        group, place = np.nonzero(types >= 0)
        shape = (instance.types.count, len(cost))
        return cls(types, candidate, cost, sp.csr_array((np.ones(len(group)), (types[group, place], group)), shape))


@dataclass(frozen=True, eq=False)
class _Freed:
    """Groups of a table whose rows are placed anew. candidates: int64, which; counts: int64 (t,), their rows; columns:
    int64, the groups that these can form."""

    candidates: Ints
    counts: Ints
    columns: Ints


class Partition:
    """Improves a table by programs over the same columns; what it has learned of their size stays.

    rows: how many the next program frees; infinite for all.
    """

    def __init__(
        self,
        instance: Instance,
        columns: Columns,
        rows: float = math.inf,
        params: SmallGroupParameters = DEFAULT,
    ) -> None:
        self.instance, self.columns, self.rows, self._params = instance, columns, rows, params

    def improve(
        self,
        table: Assignment,
        adapter: SolverAdapter,
        options: SolverOptions,
        effort: Effort,
        seed: int,
        on_better: Callable[[Assignment], None],
    ) -> tuple[Assignment, bool]:
        """A table that is no worse, and whether there is none better of these columns and the groups of the table.
        on_better: called after each improvement."""
        random, begun, n = np.random.default_rng(seed), 0, self.instance.types.n
        while not effort.ended(table.cost) and begun != effort.neighbourhoods:
            begun += 1
            freed = self._free(table, random)
            if freed is None:
                break
            model, start = self._program(table, freed)
            limited = limited_options(adapter, options, effort, seed + begun, self._params.share * effort.left)
            stop = Limit(interrupt=effort.interrupt)
            answer = solve_restricted(model, adapter, limited, stop, start=start, checked=False)
            if answer.x is not None:
                better = self._replaced(table, freed, np.rint(answer.x).astype(np.int64))
                if better is not None and better.cost < table.cost:
                    table = better
                    on_better(table)
            if answer.optimal and int(freed.counts.sum()) == n:
                return table, True
            if answer.optimal:
                self.rows *= growth(answer, limited, counted=effort.counted)
            else:
                self.rows = max(self._params.shrink * min(self.rows, n), self._params.smallest)
        return table, False

    def _free(self, table: Assignment, random: np.random.Generator) -> _Freed | None:
        """Groups around a random one with a loss: those with rows that a column has beside rows of those before."""
        instance, columns = self.instance, self.columns
        cost = instance.candidates.cost[table.candidate] * table.rows
        freed = np.zeros(instance.candidates.count, np.bool_)
        if self.rows >= instance.types.n:
            freed[:] = True
        elif cost.sum() == 0:
            return None
        else:
            size = np.bincount(table.candidate, weights=table.rows, minlength=instance.candidates.count)
            by_type = np.searchsorted(table.row_type, np.arange(instance.types.count + 1))
            by_candidate = np.argsort(table.candidate, kind="stable")
            used = table.candidate[by_candidate]
            types: list[int] = []
            held = 0

            def take(entry: int) -> None:
                """Free the group of an entry of the table."""
                nonlocal held
                g = table.candidate[entry]
                if not freed[g]:
                    freed[g] = True
                    held += int(size[g])
                    begin, end = np.searchsorted(used, [g, g + 1])
                    types.extend(table.row_type[by_candidate[begin:end]].tolist())

            take(int(random.choice(len(cost), p=cost / cost.sum())))
            for _ in range(int(self._params.draws * self.rows)):
                if held >= self.rows:
                    break
                i = types[random.integers(len(types))]
                begin, end = columns.of_type.indptr[i : i + 2]
                if begin == end:
                    continue
                for j in columns.rows[columns.of_type.indices[random.integers(begin, end)]].tolist():
                    if j >= 0:
                        take(int(random.integers(by_type[j], by_type[j + 1])))
        entries = freed[table.candidate]
        counts = np.bincount(table.row_type[entries], weights=table.rows[entries], minlength=instance.types.count)
        padded = np.append(counts > 0, True)  # -1 is no row
        return _Freed(
            np.unique(table.candidate[entries]),
            counts.astype(np.int64),
            np.flatnonzero(padded[columns.rows].all(axis=1)),
        )

    def _program(self, table: Assignment, freed: _Freed) -> tuple[LinearModel, dict[int, float]]:
        """Each freed row is in one of the columns, or in the group that it was in; and the start that changes
        nothing."""
        columns, types = self.columns, np.flatnonzero(freed.counts)
        entries = np.isin(table.candidate, freed.candidates)
        place = np.searchsorted(freed.candidates, table.candidate[entries])
        shape = (self.instance.types.count, len(freed.candidates))
        old = sp.csr_array((table.rows[entries].astype(np.float64), (table.row_type[entries], place)), shape)
        matrix = sp.csr_array(sp.hstack([columns.of_type[:, freed.columns], old])[types])
        loss = self.instance.candidates.cost[table.candidate[entries]] * table.rows[entries]
        counts = freed.counts[types]
        most = np.repeat([counts.max(initial=0), 1], [len(freed.columns), len(freed.candidates)])
        cost = np.concatenate([columns.cost[freed.columns], np.bincount(place, weights=loss)])
        model = set_partitioning(matrix, cost, counts, most)
        # complete: solvers spend time on what a start leaves open
        start = np.concatenate([np.zeros(len(freed.columns)), np.ones(len(freed.candidates))])
        return model, dict(enumerate(start.tolist()))

    def _replaced(self, table: Assignment, freed: _Freed, times: Ints) -> Assignment | None:
        """The table with these groups in place of those freed; None where the answer does not place each row once."""
        new, old = times[: len(freed.columns)], times[len(freed.columns) :]
        if (times < 0).any() or (old > 1).any():
            return None
        gone = np.isin(table.candidate, freed.candidates[old == 0])
        rows = self.columns.rows[freed.columns]
        there = (rows >= 0) & (new > 0)[:, None]
        of = np.nonzero(there)[0]
        types = np.concatenate([table.row_type[~gone], rows[there]])
        candidate = np.concatenate([table.candidate[~gone], self.columns.candidate[freed.columns][of]])
        number = np.concatenate([table.rows[~gone], new[of]])
        placed = np.bincount(types, weights=number, minlength=self.instance.types.count)
        if (placed != self.instance.types.counts).any():
            return None
        return tighten_groups(self.instance, assignment_of(self.instance, types, candidate, number))


class SmallGroupTables:
    """Tables of small groups from turn to turn, as the bound rises."""

    def __init__(self, instance: Instance, params: SmallGroupParameters = DEFAULT) -> None:
        self.instance, self._params = instance, params
        self._partition: Partition | None = None
        self._most, self._value, self._share = params.most, -math.inf, params.searched

    def improve(
        self,
        table: Assignment,
        point: DualPoint,
        adapter: SolverAdapter,
        options: SolverOptions,
        effort: Effort,
        seed: int,
        on_better: Callable[[Assignment], None],
    ) -> None:
        """Part of a search, from a table that satisfies all requirements; nothing where these allow no small groups.
        on_better: told of better tables, whose groups are not yet checked for requirements that bounds do not know."""
        if point.ascent is None or not self._params.searched:
            return
        if point.value > self._value:
            columns = Columns.near(self.instance, point, self._most, self._params)
            self._partition = None if columns is None else Partition(self.instance, columns, params=self._params)
            self._value = point.value
        if self._partition is None:
            return
        part = effort if effort.counted else effort.part(self._share * effort.left)
        found, done = self._partition.improve(table, adapter, options, part, seed, on_better)
        self._share = self._params.searched if found.cost < table.cost else self._params.idle
        if done:  # more groups next time, also at the same point
            self._most, self._value = self._params.more * self._most, -math.inf


def best_of_groups(
    instance: Instance, groups: Groups, most: int, adapter: SolverAdapter, options: SolverOptions, limit: Limit
) -> Assignment | None:
    """A table of some of the groups, each as often as it fits, which loses `most` units or less; None where none is
    found within the limit.

    Two groups of one candidate are one in the table: whether that is allowed is not looked at.
    """
    if not groups.count or limit.over:
        return None
    seconds = None if limit.seconds is None else max(limit.seconds, LEAST_SECONDS)
    options = replace(options, threads=1, gap=0.0, log_file=None, time_limit=seconds)
    stop = Limit(interrupt=limit.interrupt)
    answer = solve_restricted(_program(instance, groups, most), adapter, options, stop, checked=False)
    if answer.x is None:
        return None
    times = np.rint(answer.x).astype(np.int64)
    of = groups.types.list_of_value()
    rows = np.zeros(instance.candidates.pairs, np.int64)
    np.add.at(rows, pairs_at(instance, groups.types.values, groups.candidate[of]), groups.copies * times[of])
    placed = np.bincount(instance.candidates.members, weights=rows, minlength=instance.types.count)
    found = (times >= 0).all() and (placed == instance.types.counts).all()
    return Assignment.from_pairs(instance, rows) if found else None


def _program(instance: Instance, groups: Groups, most: int) -> LinearModel:
    """Each row in one group, and the loss."""
    of, counts = groups.types.list_of_value(), instance.types.counts
    loss = np.bincount(of, weights=groups.copies, minlength=groups.count) * instance.candidates.cost[groups.candidate]
    matrix = sp.csr_array((groups.copies, (groups.types.values, of)), (instance.types.count, groups.count))
    cheap = Constraints(sp.csr_array(loss[None]), np.array([-np.inf]), np.array([float(most)]))
    return set_partitioning(matrix, loss, counts, groups.most(counts), cheap)


def table_of(instance: Instance, groups: SmallGroups, times: Ints) -> Assignment:
    """The table with each group so many times, int64 (C,). Raises SolverError unless it places each row once."""
    each = np.repeat(times, 3)
    flat, candidate = groups.rows.ravel(), np.repeat(groups.candidate, 3)
    there = (flat >= 0) & (each > 0)
    return assignment_of(instance, flat[there], candidate[there], each[there])


def partition_model(groups: SmallGroups, counts: Ints) -> LinearModel:
    """Place so many rows of each type in groups, at the least loss. counts: int64 (t,)."""
    matrix = sp.csr_array(groups.matrix(len(counts)))
    rows = np.flatnonzero((counts > 0) | (np.diff(matrix.indptr) > 0))
    most = np.full(groups.count, counts.max(initial=0))
    return set_partitioning(sp.csr_array(matrix[rows]), groups.cost, counts[rows], most)


@dataclass(eq=False)
class Rounded:
    """The groups that are settled, and the rows that are open.

    settled: int64 (C,), how often each group is used. left: int64 (t,), rows of each type that are in none of these.
    """

    groups: SmallGroups
    counts: Ints
    settled: Ints
    left: Ints

    @classmethod
    def of(cls, groups: SmallGroups, share: Floats, counts: Ints) -> Rounded:
        """With all that is used integrally, and the integral part of the rest."""
        settled = np.floor(share + CERTAIN).astype(np.int64)
        found = cls(groups, counts, settled, counts.copy())
        found._count()
        return found

    def _count(self) -> None:
        self.left = self.counts - self.groups.matrix(len(self.counts)) @ self.settled

    @property
    def open_groups(self) -> Flags:
        """Groups that the open rows can form, bool (C,)."""
        rows = self.groups.rows
        padded = np.append(self.left, len(rows))  # -1 is no row
        enough: Flags = np.asarray((padded[rows] > 0).all(axis=1))
        # of the same type, as many as there are
        same = 1 + (rows[:, 2] == rows[:, 1]).astype(np.int64) + (rows[:, 2] == rows[:, 0])
        enough &= (padded[rows[:, 2]] >= same) & (padded[rows[:, 1]] >= 1 + (rows[:, 1] == rows[:, 0]))
        return enough

    def parts(self) -> list[tuple[Ints, Ints]]:
        """What falls apart: open row types, and the groups that they can form, by number; int64."""
        open_types = np.flatnonzero(self.left > 0)
        possible = np.flatnonzero(self.open_groups)
        matrix = sp.csr_array(self.groups.subset(possible).matrix(len(self.counts)))[open_types]
        count, label = connected_components(matrix @ matrix.T, directed=False)
        place = np.zeros(len(self.counts), np.int64)
        place[open_types] = label
        of_group = place[self.groups.rows[possible, 2]]
        order, types_order = np.argsort(of_group, kind="stable"), np.argsort(label, kind="stable")
        ends = np.arange(1, count)
        groups = np.split(possible[order], np.searchsorted(of_group[order], ends))
        types = np.split(open_types[types_order], np.searchsorted(label[types_order], ends))
        return list(zip(types, groups, strict=True))

    def settle(self, groups: Ints, times: Ints) -> bool:
        """Use these groups, by number, so often; whether there are rows for them, else nothing changes."""
        before = self.settled.copy()
        np.add.at(self.settled, groups, times)
        self._count()
        if (times >= 0).all() and (self.left >= 0).all():
            return True
        self.settled = before
        self._count()
        return False

    def widen(self, types: Ints, most: int, random: np.random.Generator) -> bool:
        """Open settled groups of which rows could be together with rows of these types, as many as `most`; whether
        there are any."""
        wanted = np.zeros(len(self.counts) + 1, np.bool_)
        wanted[types] = True
        rows = self.groups.rows
        beside = wanted.copy()
        beside[rows[wanted[rows].any(axis=1)]] = True
        beside[-1] = False  # -1 is no row
        near = np.flatnonzero((self.settled > 0) & beside[rows].any(axis=1))
        if not len(near):
            return False
        chosen = near if len(near) <= most else random.choice(near, most, replace=False)
        self.settled[chosen] = 0
        self._count()
        return True
