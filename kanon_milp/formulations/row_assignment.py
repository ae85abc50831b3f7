"""Row assignment: from open candidates to an integral assignment, as a minimum-cost flow; and Row Assignment and p-Row
Assignment, the problems of the homogeneity paper (Bredereck, Nichterlein, Niedermeier, Philip 2012), on plain arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kanon_milp.errors import InputError, SolverError, type_in_words
from kanon_milp.formulations.arrays import Constraints, placed, program
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.arguments import integer
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
    empty. allowed: bool (cells,), those that may have rows. different: int64 (G,), how many cells of each group must
    not be empty, whichever these are; None where there is no such number.
    """

    of_pair: Ints
    filled: Flags
    allowed: Flags
    different: Ints | None = None

    @classmethod
    def from_point(cls, instance: Instance, x: Floats, *, exclusive: bool) -> Cells | None:
        """Keep every cell that has a full row in a point; with `exclusive`, no other cell may have any.

        None where no requirement is about a sensitive attribute.
        """
        if not instance.problem.attributes:
            return None
        of_pair = _cells_of_pairs(instance)
        rows = np.bincount(of_pair, weights=x)
        filled = rows > 1 - 1e-5
        return cls(of_pair, filled, filled if exclusive else np.ones_like(filled))

    @classmethod
    def to_choose(cls, instance: Instance, different: Ints) -> Cells:
        """All cells may be empty or not, as long as each group has so many different ones, int64 (G,)."""
        of_pair = _cells_of_pairs(instance)
        none = np.zeros(int(of_pair.max(initial=-1)) + 1, dtype=np.bool_)
        return cls(of_pair, none, ~none, different)


def _cells_of_pairs(instance: Instance) -> Ints:
    """The cell of each pair by number, int64 (pairs,)."""
    code, values = instance.sensitive_codes(instance.problem.attributes)
    candidates = instance.candidates
    cell = candidates.candidate_of_pair().astype(np.int64) * len(values) + code[candidates.members]
    number: Ints = np.unique(cell, return_inverse=True)[1].astype(np.int64)
    return number


def assign_rows(instance: Instance, open_candidates: Flags, cells: Cells | None = None) -> Assignment:
    """As `cheapest_assignment`; raises SolverError if the open candidates cannot hold all rows."""
    found = cheapest_assignment(instance, open_candidates, cells)
    if found is None:
        raise SolverError("the open candidates cannot hold all rows (infeasible)")
    return found


def cheapest_assignment(instance: Instance, open_candidates: Flags, cells: Cells | None = None) -> Assignment | None:
    """Cheapest assignment that gives each open candidate its smallest group (Homogeneity paper, Lemma 1), each cell
    that must not be empty a row, and each group as many different cells as it needs (Lemma 3, p-Row Assignment); None
    where the open candidates cannot hold all rows.

    The rows are a transportation problem with lower bounds on cells (sensitive value within group) inside groups, a
    minimum-cost flow: supplies n_i, each open candidate receives at least its smallest size (k; 1 where fully
    suppressed rows are exempt), each cell named at least one row. So every vertex that the simplex method ends in is
    integral.
    """
    candidates = instance.candidates
    of_pair = candidates.candidate_of_pair()
    pair_open = open_candidates[of_pair]
    if cells is not None:
        pair_open &= cells.allowed[cells.of_pair]
    pair = np.flatnonzero(pair_open)
    group = of_pair[pair]
    rows = _cheapest_flow(
        candidates.members[pair],
        group,
        candidates.cost[group],
        instance.types.counts,
        np.where(open_candidates, instance.least, 0),
        None if cells is None else replace(cells, of_pair=cells.of_pair[pair]),
    )
    if rows is None:
        return None
    everything = np.zeros(candidates.pairs, dtype=np.int64)
    everything[pair] = rows
    return Assignment.from_pairs(instance, everything)


def _cheapest_flow(
    row_type: NDArray[np.integer[Any]],
    group: NDArray[np.integer[Any]],
    cost: Ints,
    counts: Ints,
    least: Ints,
    cells: Cells | None,
) -> Ints | None:
    """Rows of each arc, int64 (arcs,), at the least cost; None where there are too few of them for these groups.

    row_type, group, cost: of each arc. counts: n_i, int64 (t,). least: int64 (groups,), the fewest rows of each, 0 for
    a group that need not be. cells: of each arc.
    """
    arcs, opened = len(row_type), np.flatnonzero(least > 0)
    sums, floors = [_incidence(group, opened)], [least[opened]]
    columns = arcs
    if cells is not None:
        filled = np.flatnonzero(cells.filled)
        sums.append(_incidence(cells.of_pair, filled))
        floors.append(np.ones(len(filled), dtype=np.int64))
    if cells is not None and cells.different is not None:
        # z of a cell counts as one of the different cells that a group has: Σ x ≥ z, Σ z ≥ p, 0 ≤ z ≤ 1
        choosing = np.flatnonzero((least > 0) & (cells.different > 1))
        cell, first = np.unique(cells.of_pair, return_index=True)
        of_cell = group[first].astype(np.int64)
        cell, of_cell = (each[np.isin(of_cell, choosing)] for each in (cell, of_cell))
        one = sp.eye_array(len(cell), format="csr")
        sums = [sp.csr_array(sp.hstack([each, sp.csr_array((each.shape[0], len(cell)))])) for each in sums]
        sums.append(sp.csr_array(sp.hstack([_incidence(cells.of_pair, cell), -one])))
        sums.append(sp.csr_array(sp.hstack([sp.csr_array((len(choosing), arcs)), _incidence(of_cell, choosing)])))
        floors += [np.zeros(len(cell), dtype=np.int64), cells.different[choosing]]
        columns += len(cell)
    lower, claims = np.concatenate(floors), columns - arcs
    flow = program(
        "row assignment",
        np.concatenate([cost, np.zeros(claims, dtype=np.int64)]),
        np.concatenate([counts[row_type], np.ones(claims, dtype=np.int64)]),
        np.zeros(columns, dtype=np.bool_),
        placed(row_type, counts, columns),
        Constraints(sp.csr_array(sp.vstack(sums)), lower, np.full(len(lower), np.inf)),
    )
    solver = get()
    solved = solver.solve(flow, solver.suited(SolverOptions(), [Setting.VERTEX]))
    if solved.stop_reason is StopReason.INFEASIBLE:
        return None
    if solved.stop_reason is not StopReason.OPTIMAL or solved.x is None:
        raise SolverError(f"a row assignment has not been solved ({solved.stop_reason.value})")
    rows = np.round(solved.x).astype(np.int64)
    if np.abs(solved.x - rows).max(initial=0.0) > 1e-6 or flow.violation(rows.astype(float)) > 0:
        raise SolverError("the row assignment ended in a point that is not integral")
    found: Ints = rows[:arcs]
    return found


MOST = 2**31 - 1  # of any number that a row assignment is given: solvers count in floating point


def row_assignment(k: int, omega: object, n: object, a: object, s: int | None = None) -> Ints | None:
    """Row Assignment of the homogeneity paper: the cheapest g with (1)-(3); None where none keeps (4).

    k: fewest rows of each output row type. omega: suppressions of a row in each, integers (t_out,). n: rows of each
    input row type, integers (t_in,). a: 1 where rows of an input row type may go to an output row type, (t_in, t_out).
    s: the cost bound (4), None for no bound.
    Returns g(i, j), the rows that go from type i to type j, int64 (t_in, t_out); its cost is `(g @ omega).sum()`. It is
    a minimum-cost flow (their Lemma 1). Raises InputError for what is no such input.
    """
    supply = _numbers(n, "n", 1)
    found = p_row_assignment(0, k, omega, supply[:, None], a, s)
    return None if found is None else np.ascontiguousarray(found[:, 0])


def p_row_assignment(p: int, k: int, omega: object, n: object, a: object, s: int | None = None) -> Ints | None:
    """p-Row Assignment: the same with (5)-(9), at least p different values in each output row type.

    p: fewest values. n: rows of each input row type with each value of the private column, integers (t_in, |Σ|); the
    other arguments as of `row_assignment`.
    Returns g(i, σ, j), int64 (t_in, |Σ|, t_out). It is a minimum-cost flow, too (their Lemma 3).
    """
    p, k = integer(p, "p", least=0), integer(k, "k", least=0)
    most = None if s is None else integer(s, "s", least=0)
    cost, supply, allowed = _numbers(omega, "omega", 1), _numbers(n, "n", 2), _numbers(a, "a", 2)
    (types, values), groups = supply.shape, len(cost)
    if allowed.shape != (types, groups) or allowed.max(initial=0) > 1:
        raise InputError(
            f"a: 0 or 1 is expected for each of {types} input and {groups} output row types, an array ({types}, "
            f"{groups}); found {allowed.shape if allowed.shape != (types, groups) else 'other numbers'}"
        )
    if max(k, p) * groups > int(supply.sum()):
        return None
    i, sigma, j = np.nonzero(np.broadcast_to((allowed > 0)[:, None], (types, values, groups)))
    cell = j * values + sigma
    none = np.zeros(groups * values, dtype=np.bool_)
    rows = _cheapest_flow(
        i * values + sigma,
        j,
        cost[j],
        supply.ravel(),
        np.full(groups, max(k, p), dtype=np.int64),
        Cells(cell, none, ~none, np.full(groups, p, dtype=np.int64)),
    )
    if rows is None:
        return None
    found = np.zeros((types, values, groups), dtype=np.int64)
    found[i, sigma, j] = rows
    return found if most is None or int((found @ cost).sum()) <= most else None


def _numbers(given: object, what: str, dimensions: int) -> Ints:
    """An array of nonnegative integers; raises InputError for what is none."""
    expected = f"an array of {dimensions} dimension{'s' if dimensions > 1 else ''}, integers from 0 to {MOST}"
    try:
        found = np.asarray(given)
    except ValueError:
        raise InputError(f"{what}: {expected}, is expected") from None
    if found.dtype.kind not in "iub" or found.ndim != dimensions or not found.size:
        shape = f"{found.shape} of {found.dtype}" if isinstance(given, np.ndarray | list) else type_in_words(given)
        raise InputError(f"{what}: {expected}, is expected, found {shape}")
    if found.min() < 0 or found.max() > MOST:
        raise InputError(f"{what}: {expected}, is expected, found another number")
    return found.astype(np.int64)


def _incidence(of_arc: NDArray[np.integer[Any]], chosen: Ints) -> sp.csr_array:
    """Rows that sum up the arcs of each chosen group or cell; arcs of others are in none."""
    position = np.full(int(max(of_arc.max(initial=-1), chosen.max(initial=-1))) + 1, -1, dtype=np.int64)
    position[chosen] = np.arange(len(chosen))
    at = position[of_arc]
    arcs = np.flatnonzero(at >= 0)
    return sp.csr_array((np.ones(len(arcs)), (at[arcs], arcs)), shape=(len(chosen), len(of_arc)))


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
    opened = np.flatnonzero(open_candidates)
    in_group = _incidence(of_pair[pair], opened)
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
