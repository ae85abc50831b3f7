"""Row assignment: from open candidates to an integral assignment, as a minimum-cost flow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanon_milp.errors import SolverError
from kanon_milp.instance import Instance
from kanon_milp.solvers.base import LinearModel, SolverOptions, StopReason
from kanon_milp.solvers.highs import HighsAdapter

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Assignment:
    """How many rows of which type each candidate receives: parallel int64 arrays with one entry for each non-zero
    number.

    Entries are ordered by row type, then candidate. cost: total loss in units of `Levels.unit`.
    """

    row_type: Ints
    candidate: Ints
    rows: Ints
    cost: int

    @classmethod
    def from_pairs(cls, instance: Instance, rows: Ints) -> Assignment:
        """Take the number of rows of every pair, in the order of `Candidates.members`."""
        candidate = instance.candidates.candidate_of_pair().astype(np.int64)
        row_type = instance.candidates.members.astype(np.int64)
        used = np.flatnonzero(rows)
        used = used[np.lexsort((candidate[used], row_type[used]))]
        cost = int(rows[used] @ instance.candidates.cost[candidate[used]])
        return cls(row_type[used], candidate[used], rows[used], cost)


def assign_rows(instance: Instance, open_candidates: NDArray[np.bool_]) -> Assignment:
    """Cheapest assignment that gives each open candidate its smallest group (Homogeneity paper, Lemma 1).

    The rows are a transportation problem with lower bounds, a minimum-cost flow: supplies n_i, each open candidate
    receives at least k rows (1 where fully suppressed rows are exempt), so every vertex that the simplex method ends
    in is
    integral. Raises SolverError if the open candidates cannot hold all rows.
    """
    candidates = instance.candidates
    pair_open = open_candidates[candidates.candidate_of_pair()]
    pair = np.flatnonzero(pair_open)
    row_type = candidates.members[pair]
    candidate = candidates.candidate_of_pair()[pair]
    opened = np.flatnonzero(open_candidates)
    position = np.full(candidates.count, -1, dtype=np.int64)
    position[opened] = np.arange(len(opened))
    least = np.where(instance.exempt[opened], 1, max(r.smallest_group for r in instance.problem.privacy))
    t, arcs = instance.types.count, len(pair)
    ones = np.ones(arcs)
    supply = sp.csr_array((ones, (row_type, np.arange(arcs))), shape=(t, arcs))
    demand = sp.csr_array((ones, (position[candidate], np.arange(arcs))), shape=(len(opened), arcs))
    n = instance.types.counts.astype(float)
    flow = LinearModel(
        name="row_assignment",
        c=candidates.cost[candidate].astype(float),
        offset=0.0,
        A=sp.csr_array(sp.vstack([supply, demand], format="csr")),
        row_lower=np.concatenate([n, least.astype(float)]),
        row_upper=np.concatenate([n, np.full(len(opened), np.inf)]),
        lower=np.zeros(arcs),
        upper=n[row_type],
        integer=np.zeros(arcs, dtype=bool),
        variable_names=tuple(f"x{j}" for j in range(arcs)),
        constraint_names=tuple(f"r{r}" for r in range(t + len(opened))),
    )
    solved = HighsAdapter().solve(flow, SolverOptions(extra={"solver": "simplex"}))
    if solved.stop_reason is not StopReason.OPTIMAL or solved.x is None:
        raise SolverError(f"the open candidates cannot hold all rows ({solved.stop_reason.value})")
    rows = np.round(solved.x).astype(np.int64)
    if np.abs(solved.x - rows).max(initial=0.0) > 1e-6 or flow.violation(rows.astype(float)) > 0:
        raise SolverError("the row assignment ended in a point that is not integral")
    everything = np.zeros(candidates.pairs, dtype=np.int64)
    everything[pair] = rows
    return Assignment.from_pairs(instance, everything)
