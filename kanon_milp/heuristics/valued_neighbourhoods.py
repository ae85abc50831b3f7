"""Large neighbourhoods under requirements: the rows of some groups, and the groups that they may form or join anew.

The sub-model is the strong formulation of this package over a part of the instance (`part.Part`), so every requirement
states itself, one of a user's own as well. Small groups are freed completely; of a large one some rows are, and the
others stay and are constants.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from kanon_milp.formulations import FORMULATIONS
from kanon_milp.formulations.restricted import Answer, RestrictedModel, solve_restricted
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.neighbourhoods import (
    DEFAULT,
    Call,
    NeighbourhoodParameters,
    Rebuildable,
    Sizes,
    search_neighbourhoods,
)
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.part import Moving, Part, viable_pairs
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import SolverOptions, StopReason
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import Limit
from kanon_milp.system.worker_pool import Pool


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A part of the instance, the assignment that it was cut out of, its entries that move, and where the rows are:
    start, int64 (pairs of the part,)."""

    part: Part
    table: Assignment
    free: Flags
    start: Ints

    @property
    def loss(self) -> int:
        """Loss of the start, rows that stay included."""
        return self.loss_of(self.start)

    def loss_of(self, rows: Ints) -> int:
        """Loss of a way to place the rows, int64 (pairs,)."""
        candidates = self.part.candidates
        return int(candidates.cost[candidates.candidate_of_pair()] @ rows)


class Landscape:
    """The pairs that neighbourhoods look at, by row type and by candidate, and how groups are checked.

    allowed: bool (pairs of the instance,). check: one that knows some groups already.
    """

    def __init__(
        self,
        instance: Instance,
        allowed: Flags,
        check: GroupCheck | None = None,
        params: NeighbourhoodParameters = DEFAULT,
    ) -> None:
        candidates = instance.candidates
        self.instance, self._params = instance, params
        of_pair = candidates.candidate_of_pair()[allowed].astype(np.int64)
        members = candidates.members[allowed].astype(np.int64)
        self.covers: Ragged[np.int64] = Ragged(indptr_of(np.bincount(of_pair, minlength=candidates.count)), members)
        order = np.argsort(members, kind="stable")
        self.options: Ragged[np.int64] = Ragged(
            indptr_of(np.bincount(members, minlength=instance.types.count)), of_pair[order]
        )
        self.code, _ = instance.sensitive_codes(instance.problem.attributes)
        self.check = check or GroupCheck(instance)

    def cut_out(
        self, table: Assignment, size: int, busy: Flags, random: np.random.Generator, *, everything: bool = False
    ) -> Neighbourhood | None:
        """A neighbourhood of about `size` entries of the table around a random one; None if there is no loss that may
        be looked at.

        busy: bool (G,), candidates that may not change. everything: all entries that are not busy.
        """
        free = ~busy[table.candidate] if everything else self._grow(table, size, busy, random)
        if not free.any():
            return None
        instance = self.instance
        types, place = np.unique(table.row_type[free], return_inverse=True)
        counts = np.bincount(place, weights=table.rows[free]).astype(np.int64)
        held = np.zeros(instance.candidates.count, np.bool_)  # with rows that stay
        held[table.candidate[~free]] = True
        lengths = self.options.lengths[types]
        at = np.repeat(self.options.indptr[types] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        of_type = np.concatenate([np.repeat(np.arange(len(types)), lengths), place])
        candidate = np.concatenate([self.options.values[at], table.candidate[free]])
        # each pair once, those of the table among them
        key, first = np.unique(candidate * len(types) + of_type, return_index=True)
        now = np.isin(key, table.candidate[free] * len(types) + place)
        candidate, of_type = candidate[first], of_type[first]
        keep = now | ~busy[candidate]
        keep &= (
            now
            | ~held[candidate]
            | _cheapest(of_type, instance.candidates.cost[candidate], held[candidate], self._params.outside)
        )
        moving = Moving(types, counts, candidate[keep], of_type[keep], table, free, self.code)
        now = now[keep]
        stays = held | np.isin(np.arange(len(held)), moving.candidate[now])
        keep = viable_pairs(moving.assemble(instance, np.ones(len(now), np.bool_)), moving, stays)
        if instance.problem.merge_closed:
            keep &= ~_repeated(moving.place, moving.candidate, keep, instance.candidates.cost, stays)
        part = moving.assemble(instance, keep)
        return Neighbourhood(part, table, free, _start(part, table, free))

    def _grow(self, table: Assignment, size: int, busy: Flags, random: np.random.Generator) -> Flags:
        """Which entries of the table are freed: groups that have rows of some candidate, then of one that shares a row
        with them, and so on; candidates with small covers first."""
        cost = self.instance.candidates.cost[table.candidate]
        usable = ~busy[table.candidate] & (cost > 0)
        free = np.zeros(len(cost), np.bool_)
        if not usable.any():
            return free
        by_type = np.searchsorted(table.row_type, np.arange(self.instance.types.count + 1))
        order = np.argsort(table.candidate, kind="stable")
        used = table.candidate[order]
        found: list[int] = []

        def take(entry: int) -> None:
            """Free an entry, with its group if that is small."""
            if free[entry] or not usable[entry]:
                return
            begin, end = np.searchsorted(used, table.candidate[entry] + np.arange(2))
            group = order[begin:end] if end - begin <= max(self._params.small, size // 4) else np.array([entry])
            group = group[~free[group]]
            free[group] = True
            found.extend(group.tolist())

        weight = table.rows * cost * usable
        take(int(random.choice(len(cost), p=weight / weight.sum())))
        for _ in range(self._params.tries * size):
            if len(found) >= size:
                break
            i = int(table.row_type[found[random.integers(len(found))]])
            begin, end = self.options.indptr[i : i + 2]
            if begin == end:
                continue
            f = int(self.options.values[random.integers(begin, end)])
            begin, end = self.covers.indptr[f : f + 2]
            if random.random() * (end - begin) > self._params.sample:
                continue
            for j in random.permutation(self.covers.values[begin:end])[: self._params.sample].tolist():
                for entry in range(by_type[j], by_type[j + 1]):
                    if len(found) < size:
                        take(entry)
        return free

    def put_back(self, table: Assignment, hood: Neighbourhood, rows: Ints) -> Assignment | None:
        """A table with the rows of a neighbourhood where an answer has them; None unless the loss falls and all
        groups that change satisfy the requirements.

        table: that of the neighbourhood, or one that differs from it outside only. rows: int64 (pairs of the part,).
        """
        part = hood.part
        pairs = part.free_pairs
        placed = np.bincount(part.candidates.members[pairs], weights=rows[pairs], minlength=part.free)[: part.free]
        if (rows < 0).any() or (placed != part.types.counts[: part.free]).any() or hood.loss_of(rows) >= hood.loss:
            return None
        changed = _replaced(self.instance, table, hood, rows)
        touched = part.chosen[np.unique(part.candidates.candidate_of_pair()[pairs])]
        return None if len(self.check.refused(changed, touched)) else changed


def _replaced(instance: Instance, table: Assignment, hood: Neighbourhood, rows: Ints) -> Assignment:
    """A table without the rows that move, and with these: int64 (pairs of the part,)."""
    part, width = hood.part, instance.candidates.count
    old = hood.table.row_type[hood.free] * width + hood.table.candidate[hood.free]
    key = table.row_type * width + table.candidate
    stays = ~np.isin(key, old)
    new = part.free_pairs & (rows > 0)
    moved = part.origin[part.candidates.members] * width + part.chosen[part.candidates.candidate_of_pair()]
    key, place = np.unique(np.concatenate([key[stays], moved[new]]), return_inverse=True)
    total = np.bincount(place, weights=np.concatenate([table.rows[stays], rows[new]])).astype(np.int64)
    row_type, candidate = np.divmod(key, width)
    return Assignment(row_type, candidate, total, int(total @ instance.candidates.cost[candidate]))


def declare(hood: Neighbourhood) -> RestrictedModel:
    """The strong formulation of a neighbourhood, in which the rows that stay are fixed.

    `assign` is integer, also where a network is left: so the point that comes back is an assignment.
    """
    part = hood.part
    model = FORMULATIONS["strong"].build(part)
    for i, g in zip(part.candidates.members.tolist(), part.candidates.candidate_of_pair().tolist(), strict=True):
        if i >= part.free:
            model.assign[i, g].fix(int(part.types.counts[i]))
            model.open[g].fix(1)
    return RestrictedModel.handed_over(part, model).with_integer_rows()


def rows_of(hood: Neighbourhood, columns: Ints, x: Floats) -> Ints:
    """Rows of each pair of the part at a point of its model."""
    found: Ints = np.where(columns >= 0, np.rint(x[columns]), hood.start).astype(np.int64)
    return found


def _start(part: Part, table: Assignment, free: Flags) -> Ints:
    """Where the rows of a part are, int64 (pairs,)."""
    candidates, width = part.candidates, part.of.types.count
    pairs = part.free_pairs
    start = np.where(pairs, 0, part.types.counts[candidates.members])
    keys = part.chosen[candidates.candidate_of_pair()] * width + part.origin[candidates.members]
    keys = np.where(pairs, keys, -1)
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], table.candidate[free] * width + table.row_type[free])
    start[order[at]] = table.rows[free]
    return start


def _cheapest(of_type: Ints, cost: Ints, among: Flags, most: int) -> Flags:
    """The first few pairs of each row type by cost, of those that are among them, bool (pairs,)."""
    found = np.zeros(len(cost), np.bool_)
    at = np.flatnonzero(among)
    at = at[np.lexsort((cost[at], of_type[at]))]
    if len(at):
        begins = np.flatnonzero(np.diff(of_type[at], prepend=-1))
        number = np.arange(len(at)) - np.repeat(begins, np.diff([*begins.tolist(), len(at)]))
        found[at[number < most]] = True
    return found


def _repeated(place: Ints, candidate: Ints, keep: Flags, cost: Ints, stays: Flags) -> Flags:
    """Pairs, ordered by candidate, of candidates that may have the same rows here as a cheaper one, unless open."""
    again = np.zeros(len(stays), np.bool_)
    at = np.flatnonzero(keep)
    if len(at):
        begin = np.flatnonzero(np.diff(candidate[at], prepend=-1))
        g = candidate[at][begin]
        # sums of random numbers tell sets apart; a mistake would only make the neighbourhood smaller
        random = np.random.default_rng(0).integers(1 << 62, size=int(place.max()) + 1)
        cover = np.add.reduceat(random[place[at]], begin)
        order = np.lexsort((g, cost[g], ~stays[g], cover))
        same = np.diff(cover[order], prepend=cover[order[0]] - 1) == 0
        again[g[order[same & ~stays[g[order]]]]] = True
    found: Flags = again[candidate]
    return found


class _Table(Rebuildable[Neighbourhood, Answer]):
    """A table in a landscape; a neighbourhood's size is the number of its entries."""

    def __init__(
        self,
        landscape: Landscape,
        table: Assignment,
        effort: Effort,
        random: np.random.Generator,
        on_better: Callable[[Assignment], None],
        params: NeighbourhoodParameters,
    ) -> None:
        self._landscape, self.table, self._limit, self._params = landscape, table, effort, params
        self._random, self._on_better = random, on_better
        self.groups = landscape.instance.candidates.count
        self._columns: dict[Neighbourhood, Ints] = {}  # of the pairs of those that are being solved

    @property
    def loss(self) -> int:
        """What the table loses."""
        return self.table.cost

    @property
    def largest(self) -> int:
        """All entries."""
        return len(self.table.rows)

    def cut_out(self, size: int, busy: Flags, *, everything: bool) -> Neighbourhood | None:
        """About so many entries, around a random one."""
        return self._landscape.cut_out(self.table, size, busy, self._random, everything=everything)

    def busy_with(self, hood: Neighbourhood) -> Ints:
        """All that its rows may join."""
        return hood.part.chosen

    def call(self, hood: Neighbourhood, adapter: SolverAdapter, options: SolverOptions) -> Call[Answer]:
        """The model is declared here, since what is required may be a user's own."""
        model = self._limit.call(declare, hood)
        self._columns[hood] = model.columns
        instance, entries = self._landscape.instance, model.linear.A.nnz
        if self._limit.counted and instance.limits_emd and entries > self._params.counted_emd_entries:
            return _left_out
        options = adapter.suited(options, FORMULATIONS["strong"].tune(hood.part))
        return partial(_solve, model.linear, adapter, options, model.start(hood.start, sizes=True))

    def put_back(self, hood: Neighbourhood, answer: Answer) -> bool:
        """A new table, where all groups that change satisfy the requirements."""
        columns = self._columns.pop(hood)
        if answer.x is None:
            return False
        better = self._landscape.put_back(self.table, hood, rows_of(hood, columns, answer.x))
        if better is None:
            return False
        self.table = better
        self._on_better(better)
        return True


def rebuild(
    landscape: Landscape,
    table: Assignment,
    adapter: SolverAdapter,
    options: SolverOptions,
    pool: Pool,
    effort: Effort,
    seed: int,
    on_better: Callable[[Assignment], None],
    sizes: Sizes | None = None,
    params: NeighbourhoodParameters = DEFAULT,
) -> tuple[Assignment, bool]:
    """Improve a table that satisfies all requirements by neighbourhoods (`search_neighbourhoods`). on_better: called
    after each improvement. Returns the table, and whether with these pairs nothing is better."""
    sizes = sizes or Sizes.of(params)
    cutting = _Table(landscape, table, effort, np.random.default_rng(seed), on_better, params)
    done = search_neighbourhoods(cutting, adapter, options, pool, effort, seed + 1, sizes, params)
    return cutting.table, done


def _left_out(interrupt: threading.Event | None = None) -> Answer:
    """Of a model that would take too long."""
    return Answer(StopReason.NODE_LIMIT, None, None, (), "", 0.0)


def _solve(
    model: LinearModel,
    adapter: SolverAdapter,
    options: SolverOptions,
    start: dict[int, float],
    interrupt: threading.Event | None = None,
) -> Answer:
    return solve_restricted(model, adapter, options, Limit(interrupt=interrupt), start=start, checked=False)
