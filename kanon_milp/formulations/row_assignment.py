"""Row assignment: from open candidates to an integral assignment, as a minimum-cost flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanon_milp.errors import SolverError
from kanon_milp.formulations.arrays import Constraints, placed, program
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import get
from kanon_milp.solvers.adapter import Setting
from kanon_milp.solvers.call import SolverOptions, StopReason
from kanon_milp.system.arrays import Flags, Floats, Ints

MISSING = 4.0  # times what the most expensive row costs is the price of one that is missing
PRICED = 1e-6  # what a smallest size costs if it costs anything


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of one sensitive value (or joint value) in one group, for all groups.

    of_pair: int64 (pairs,), the cell of each (row type, candidate) pair. filled: bool (cells,), those that must not be
    empty. allowed: bool (cells,), those that may have rows.
    """

    of_pair: Ints
    filled: Flags
    allowed: Flags

    @classmethod
    def from_point(cls, instance: Instance, x: Floats, *, exclusive: bool) -> Cells | None:
        """Keep every cell that has a full row in a point; with `exclusive`, no other cell may have any.

        None where no requirement is about a sensitive attribute.
        """
        attributes = instance.problem.attributes
        if not attributes:
            return None
        code, values = instance.sensitive_codes(attributes)
        candidates = instance.candidates
        cell = candidates.candidate_of_pair().astype(np.int64) * len(values) + code[candidates.members]
        of_pair = np.unique(cell, return_inverse=True)[1].astype(np.int64)
        rows = np.bincount(of_pair, weights=x)
        filled = rows > 1 - 1e-5
        return cls(of_pair, filled, filled if exclusive else np.ones_like(filled))


def assign_rows(instance: Instance, open_candidates: Flags, cells: Cells | None = None) -> Assignment:
    """Cheapest assignment that gives each open candidate its smallest group (Homogeneity paper, Lemma 1) and each cell
    that must not be empty a row (Lemma 3, p-Row Assignment).

    The rows are a transportation problem with lower bounds on cells (sensitive value within group) inside groups, a
    minimum-cost flow: supplies n_i, each open candidate receives at least its smallest size (k; 1 where fully
    suppressed rows are exempt), each cell named at least one row. So every vertex that the simplex method ends in is
    integral. Raises SolverError if the open candidates cannot hold all rows.
    """
    candidates = instance.candidates
    pair_open = open_candidates[candidates.candidate_of_pair()]
    if cells is not None:
        pair_open &= cells.allowed[cells.of_pair]
    pair = np.flatnonzero(pair_open)
    row_type = candidates.members[pair]
    arcs = len(pair)
    in_group, opened = _incidence(candidates.candidate_of_pair()[pair], np.flatnonzero(open_candidates))
    sums, least = [in_group], [instance.least[opened]]
    if cells is not None:
        in_cell, filled = _incidence(cells.of_pair[pair], np.flatnonzero(cells.filled))
        sums.append(in_cell)
        least.append(np.ones(len(filled), dtype=np.int64))
    counts, floors = instance.types.counts, np.concatenate(least)
    flow = program(
        "row assignment",
        candidates.cost[candidates.candidate_of_pair()[pair]],
        counts[row_type],
        np.zeros(arcs, dtype=np.bool_),
        placed(row_type, counts, arcs),
        Constraints(sp.csr_array(sp.vstack(sums)), floors, np.full(len(floors), np.inf)),
    )
    solver = get()
    solved = solver.solve(flow, solver.suited(SolverOptions(), [Setting.VERTEX]))
    if solved.stop_reason is not StopReason.OPTIMAL or solved.x is None:
        raise SolverError(f"the open candidates cannot hold all rows ({solved.stop_reason.value})")
    rows = np.round(solved.x).astype(np.int64)
    if np.abs(solved.x - rows).max(initial=0.0) > 1e-6 or flow.violation(rows.astype(float)) > 0:
        raise SolverError("the row assignment ended in a point that is not integral")
    everything = np.zeros(candidates.pairs, dtype=np.int64)
    everything[pair] = rows
    return Assignment.from_pairs(instance, everything)


def _incidence(of_arc: NDArray[np.integer[Any]], chosen: Ints) -> tuple[sp.csr_array, Ints]:
    """Rows that sum up the arcs of each chosen group or cell; arcs of others are in none."""
    position = np.full(int(max(of_arc.max(initial=-1), chosen.max(initial=-1))) + 1, -1, dtype=np.int64)
    position[chosen] = np.arange(len(chosen))
    at = position[of_arc]
    arcs = np.flatnonzero(at >= 0)
    return sp.csr_array((np.ones(len(arcs)), (at[arcs], arcs)), shape=(len(chosen), len(of_arc))), chosen


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows in open candidates, some of which may be too few for their smallest group.

    rows: int64 (pairs,). short: bool (G,), those with too few rows. scarce: bool (G,), those whose smallest size makes
    the rows more expensive, the short ones among them. worth: float64 (t,), what one more row of each row type would
    cost: less than in the cheapest group that is not scarce, where scarce ones want it.
    """

    rows: Ints
    short: Flags
    scarce: Flags
    worth: Floats


def place_rows(instance: Instance, open_candidates: Flags) -> Placed | None:
    """As `assign_rows`, with as few rows missing as possible; None where some row has no open candidate."""
    from scipy.optimize import linprog  # takes long to import

    candidates, least = instance.candidates, instance.least
    of_pair = candidates.candidate_of_pair()
    pair = np.flatnonzero(open_candidates[of_pair])
    arcs, t = len(pair), instance.types.count
    if len(np.unique(candidates.members[pair])) < t:
        return None
    in_group, opened = _incidence(of_pair[pair], np.flatnonzero(open_candidates))
    supply = sp.csr_array((np.ones(arcs), (candidates.members[pair], np.arange(arcs))), shape=(t, arcs + len(opened)))
    cost = candidates.cost[of_pair[pair]].astype(float)
    penalty = MISSING * (1.0 + cost.max(initial=0.0))
    solve: Any = linprog  # its types know no sparse arrays
    answer = solve(
        np.concatenate([cost, np.full(len(opened), penalty)]),
        A_ub=-sp.hstack([in_group, sp.eye_array(len(opened))], format="csr"),
        b_ub=-least[opened].astype(float),
        A_eq=supply,
        b_eq=instance.types.counts.astype(float),
        method="highs-ds",
    )
    if answer.x is None:
        return None
    rows = np.zeros(candidates.pairs, dtype=np.int64)
    rows[pair] = np.round(answer.x[:arcs]).astype(np.int64)
    size = np.bincount(of_pair, weights=rows, minlength=candidates.count)
    short, scarce = open_candidates & (size < least), np.zeros(candidates.count, dtype=np.bool_)
    scarce[opened[answer.ineqlin.marginals < -PRICED]] = True
    received = np.bincount(candidates.members, weights=rows, minlength=t)
    if (received != instance.types.counts).any():
        return None
    return Placed(rows, short, scarce | short, np.asarray(answer.eqlin.marginals))
