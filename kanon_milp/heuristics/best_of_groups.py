"""The cheapest table of given groups: a set partitioning program over the columns of a linear program.

A restricted master heuristic (Joncour, Michel, Sadykov, Sverdlov, Vanderbeck 2010): near the end of branch and bound
the groups that its linear programs use nearly are a table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from kanon_milp.formulations.arrays import Constraints, set_partitioning
from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.presolve.assignment import Assignment, Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.limit import Limit

LEAST_SECONDS = 0.1


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
