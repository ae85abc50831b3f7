"""The cheapest table of given groups: a set partitioning program over the columns of a linear program.

A restricted master heuristic (Joncour, Michel, Sadykov, Sverdlov, Vanderbeck 2010): near the end of branch and bound
the groups that its linear programs use nearly are a table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from kanon_milp.heuristics.grouping import pairs_at
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.solvers.checked import tried
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.proof import INTEGRAL_GAP
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
    limited = replace(
        options, threads=1, gap=0.0, absolute_gap=INTEGRAL_GAP, log_file=None,
        time_limit=None if limit.seconds is None else max(limit.seconds, LEAST_SECONDS),
    )  # fmt: skip
    model = _program(instance, groups, most)
    answer = tried(adapter, limited, lambda: adapter.solve(model, limited, interrupt=limit.interrupt))
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
    of = groups.types.list_of_value()
    loss = np.bincount(of, weights=groups.copies, minlength=groups.count) * instance.candidates.cost[groups.candidate]
    rows = np.concatenate([groups.types.values, np.full(groups.count, instance.types.count)])
    columns = np.concatenate([of, np.arange(groups.count)])
    values = np.concatenate([groups.copies.astype(np.float64), loss])
    counts, none = instance.types.counts.astype(np.float64), ("",)
    return LinearModel(
        name="groups",
        c=loss.astype(np.float64),
        offset=0.0,
        A=sp.csr_array((values, (rows, columns)), (instance.types.count + 1, groups.count)),
        constraint_lower=np.append(counts, -np.inf),
        constraint_upper=np.append(counts, float(most)),
        lower=np.zeros(groups.count),
        upper=groups.most(instance.types.counts).astype(np.float64),
        integer=np.ones(groups.count, np.bool_),
        variable_names=none * groups.count,
        constraint_names=none * (instance.types.count + 1),
        integral=True,
    )
