"""The phase of large-neighbourhood search under requirements: some groups at a time are made anew, side by side."""

from __future__ import annotations

import concurrent.futures as cf
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kanon_milp.formulations import FORMULATIONS
from kanon_milp.formulations.restricted import Answer, solve_restricted
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.large_neighbourhoods import growth, limited_options, next_done
from kanon_milp.heuristics.requirements.neighbourhoods import Landscape, Neighbourhood, declare, rows_of
from kanon_milp.heuristics.worker_pool import Pool
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import Limit, Over

FIRST_ENTRIES = 60  # (row type, group) of the table that the first neighbourhood frees
SMALLEST = 10
# of what is left, for one neighbourhood, and seconds at least and at most: a few large ones find what many small ones
# do not where values are few
SLICE_SHARE, SHORTEST_SLICE, LONGEST_SLICE = 0.25, 2.0, 20.0


@dataclass(frozen=True, eq=False)
class _Task:
    """A neighbourhood that is being solved. columns: of its pairs; largest: it cannot be larger."""

    hood: Neighbourhood
    columns: Ints
    options: SolverOptions
    largest: bool
    call: tuple[LinearModel, SolverAdapter, SolverOptions, dict[int, float]]


@dataclass
class Sizes:
    """How many entries of the table the next neighbourhood frees: learned from those before, from turn to turn.

    share, most: of what is left, for one neighbourhood, and seconds for it at most.
    """

    entries: float = FIRST_ENTRIES
    share: float = SLICE_SHARE
    most: float = LONGEST_SLICE


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
) -> tuple[Assignment, bool]:
    """Improve a table that satisfies all requirements, as many neighbourhoods side by side as there are workers.

    options: of the solver; limits, seed and gap are set here. on_better: called after each improvement. Returns the
    table, and True if a neighbourhood of all rows was solved to the end: with these pairs nothing is better.
    """
    sizes, random = sizes or Sizes(), np.random.default_rng(seed)
    busy = np.zeros(landscape.instance.candidates.count, np.bool_)
    running: dict[cf.Future[Answer], _Task] = {}
    begun = 0
    try:
        while not effort.ended(table.cost):
            while len(running) < max(1, pool.workers) and begun != effort.neighbourhoods:
                everything = sizes.entries >= len(table.rows) and not running
                hood = landscape.cut_out(table, math.ceil(sizes.entries), busy, random, everything=everything)
                begun += 1
                if hood is None:
                    break
                seconds = min(sizes.most, max(sizes.share * effort.left, SHORTEST_SLICE), effort.left)
                limited = limited_options(adapter, options, effort, seed + begun, seconds)
                task = effort.call(_task, hood, adapter, limited, everything)
                busy[hood.part.chosen] = True
                interrupt = effort.interrupt if pool.workers == 0 else None
                running[pool.submit(_solve, *task.call, interrupt)] = task
            future = next_done(list(running), effort, table.cost) if running else None
            if future is None:
                break
            task = running.pop(future)
            busy[task.hood.part.chosen] = False
            answer = _solve(*task.call, effort.interrupt) if pool.lost(future) else future.result()
            better = None
            if answer.x is not None:
                better = landscape.put_back(table, task.hood, rows_of(task.hood, task.columns, answer.x))
            if better is not None:
                table = better
                on_better(table)
            if answer.optimal and task.largest:
                return table, True
            factor = growth(answer, task.options, counted=effort.counted)
            sizes.entries = min(max(sizes.entries * factor, SMALLEST), len(table.rows) + 1.0)
    except Over:
        pass
    for future in running:
        future.cancel()
    return table, False


def _task(hood: Neighbourhood, adapter: SolverAdapter, options: SolverOptions, largest: bool) -> _Task:
    model = declare(hood)
    options = adapter.suited(options, FORMULATIONS["strong"].tune(hood.part))
    start = model.start(hood.start, sizes=True)
    return _Task(hood, model.columns, options, largest, (model.linear, adapter, options, start))


def _solve(
    model: LinearModel,
    adapter: SolverAdapter,
    options: SolverOptions,
    start: dict[int, float],
    interrupt: threading.Event | None = None,
) -> Answer:
    return solve_restricted(model, adapter, options, Limit(interrupt=interrupt), start=start, checked=False)
