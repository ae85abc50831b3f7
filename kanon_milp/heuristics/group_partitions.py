"""Better tables where the cost is one of whole groups: neighbourhoods of set partitioning over a pool of groups.

Some groups of the table and those that have rows in common with them through cheap groups of the pool are freed, and
their rows are placed anew, at the least cost, in groups of the pool. The cost of what comes out is added up from its
groups, whatever the solver says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from kanon_milp.formulations.arrays import set_partitioning
from kanon_milp.formulations.restricted import Answer, solve_restricted
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Flags, Floats, Ints, Ints32
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import DEFAULT, Parameters, number, parameters

FINE = 2.0**20  # parts of the mean cost of a row: solvers may stop one of them from the optimum


@parameters("group_partitions")
@dataclass(frozen=True)
class PartitionParameters:
    """Neighbourhoods of tables with a cost of whole groups. Tuned on Tarragona and Census, k = 3, 4, 5."""

    rows: int = number(120, "rows that a neighbourhood places anew, at first", least=2)
    most: int = number(450, "rows that a neighbourhood places anew, at most", least=2)
    growth: float = number(1.05, "times as many after a program that was solved to the end", least=1)
    shrink: float = number(0.8, "times as many after one that was not", most=1)
    seconds: float = number(4.0, "for a program, at most")
    cheap: float = number(3.0, "times the mean gap of a group is the reduced cost of groups that link others")


@dataclass(frozen=True, eq=False)
class Pool:
    """Groups, none twice. rows: int32 (C, largest), ascending, -1 for no row, last. costs: float64 (C,)."""

    rows: Ints32
    costs: Floats

    @classmethod
    def of(cls, rows: Ints32, costs: Callable[[Ints32], Floats]) -> Pool:
        """From groups in any order, some perhaps twice."""
        largest = np.iinfo(np.int32).max
        ordered = np.sort(np.where(rows < 0, largest, rows), axis=1)
        ordered = np.unique(ordered, axis=0).astype(np.int32)
        ordered[ordered == largest] = -1
        return cls(ordered, costs(ordered))

    def matrix(self, chosen: Ints, n: int) -> sp.csr_array:
        """Which rows each of these groups has, (n, groups)."""
        rows = self.rows[chosen]
        at, _ = np.nonzero(rows >= 0)
        held = rows[rows >= 0]
        return sp.csr_array((np.ones(len(held)), (held, at)), shape=(n, len(chosen)))


class Partitions:
    """The best table of a pool, and programs over parts of it. table: int32 (G, largest), as `Pool.rows`."""

    def __init__(
        self, pool: Pool, table: Ints32, costs: Callable[[Ints32], Floats], n: int, seed: int,
        params: Parameters = DEFAULT,
    ) -> None:  # fmt: skip
        self.pool, self.table, self.n, self._costs = pool, table, n, costs
        self._params, self._random = params.of(PartitionParameters), np.random.default_rng(seed)
        self._of_group = costs(table)
        self.cost = float(self._of_group.sum())
        self.rows = float(self._params.rows)

    def improve(
        self, reduced: Floats, gap: float, adapter: SolverAdapter, options: SolverOptions, limit: Limit,
        patience: int, on_better: Callable[[Ints32], object],
    ) -> None:  # fmt: skip
        """Programs until the limit, or so many in a row that find nothing. reduced: reduced cost of each group of the
        pool; gap: between table and bound."""
        low = np.flatnonzero(reduced <= self._params.cheap * gap / max(len(self.table), 1))
        held = self.pool.rows[low]
        at, _ = np.nonzero(held >= 0)
        links = sp.csr_array((np.ones(len(at)), (held[held >= 0], at)), shape=(self.n, len(low)))
        failed = 0
        while not limit.over and failed < patience:
            freed = self._freed(links, held)
            every = bool(freed.all())
            answer = self._solve(freed, adapter, options, limit.part(self._params.seconds))
            if answer is None:
                failed += 1
                continue
            failed = 0 if answer[1] else failed + 1
            if answer[1]:
                on_better(self.table)
            if answer[0] and every:
                return
            change = self._params.growth if answer[0] else self._params.shrink
            self.rows = min(max(change * self.rows, 2 * self.table.shape[1]), self._params.most)

    def solve(self, cheap: Flags, adapter: SolverAdapter, options: SolverOptions, limit: Limit) -> bool:
        """One program over some of the pool; whether that was solved to the end, or they are no more than the table
        has. cheap: bool (C,)."""
        if int(cheap.sum()) <= len(self.table):
            return True
        whole, self.pool = self.pool, Pool(self.pool.rows[cheap], self.pool.costs[cheap])
        try:
            found = self._solve(np.ones(len(self.table), np.bool_), adapter, options, limit)
        finally:
            self.pool = whole
        return found is not None and found[0]

    def _freed(self, links: sp.csr_array, held: Ints32) -> Flags:
        """Groups of the table around one of them, by number."""
        group = np.empty(self.n, np.int64)
        for g, rows in enumerate(self.table):
            group[rows[rows >= 0]] = g
        sizes = (self.table >= 0).sum(axis=1)
        freed = np.zeros(len(self.table), np.bool_)
        if self.rows >= self.n:
            return ~freed
        begin = int(self._random.integers(len(self.table)))
        freed[begin] = True
        rows, count = self.table[begin][self.table[begin] >= 0].tolist(), int(sizes[begin])
        for _ in range(40 * int(self.rows)):
            if count >= self.rows:
                break
            row = rows[int(self._random.integers(len(rows)))]
            first, last = links.indptr[row], links.indptr[row + 1]
            if first == last:
                continue
            column = held[links.indices[int(self._random.integers(first, last))]]
            for g in set(group[column[column >= 0]].tolist()):
                if not freed[g]:
                    freed[g] = True
                    count += int(sizes[g])
                    rows.extend(self.table[g][self.table[g] >= 0].tolist())
        return freed

    def _solve(
        self, freed: Flags, adapter: SolverAdapter, options: SolverOptions, limit: Limit
    ) -> tuple[bool, bool] | None:
        """Place the rows of these groups anew; whether that was solved to the end, and whether it is better."""
        free = np.zeros(self.n + 1, np.bool_)
        free[self.table[freed]] = True
        free[-1] = True  # -1 is no row
        columns = np.flatnonzero(free[self.pool.rows].all(axis=1))
        rows = np.concatenate([self.pool.rows[columns], self.table[freed]])
        costs = np.concatenate([self.pool.costs[columns], self._of_group[freed]])
        if len(columns) <= int(freed.sum()):
            return None
        free[-1] = False
        start = np.concatenate([np.zeros(len(columns)), np.ones(int(freed.sum()))])
        answer = _partition(rows, costs, free[:-1], start, self.cost / self.n, adapter, options, limit)
        if answer.x is None:
            return None
        chosen = np.flatnonzero(answer.x > 0.5)
        placed = np.sort(rows[chosen][rows[chosen] >= 0])
        if not np.array_equal(placed, np.flatnonzero(free[:-1])):
            return None
        better = float(costs[chosen].sum()) < float(self._of_group[freed].sum()) - 1e-9 * self.cost / self.n
        if better:
            self.table = np.concatenate([self.table[~freed], rows[chosen]])
            self._of_group = np.concatenate([self._of_group[~freed], costs[chosen]])
            self.cost = float(self._of_group.sum())
        return answer.optimal, better


def partition_model(rows: Ints32, costs: Floats, free: Flags, unit: float) -> LinearModel:
    """Each free row in one of these groups. unit: of costs, about that of a row."""
    at, _ = np.nonzero(rows >= 0)
    held = rows[rows >= 0]
    matrix = sp.csr_array((np.ones(len(held)), (held, at)), shape=(len(free), len(rows)))
    left = np.flatnonzero(free)
    return set_partitioning(
        sp.csr_array(matrix[left]), np.rint(costs * (FINE / max(unit, 1e-300))), np.ones(len(left)), np.ones(len(rows))
    )


def _partition(
    rows: Ints32, costs: Floats, free: Flags, start: Floats, unit: float, adapter: SolverAdapter,
    options: SolverOptions, limit: Limit,
) -> Answer:  # fmt: skip
    model = partition_model(rows, costs, free, unit)
    options = replace(options, threads=1, gap=0.0, log_file=None, node_limit=None)
    return solve_restricted(model, adapter, options, limit, start=start, checked=False)
