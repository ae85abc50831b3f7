"""The phase of large-neighbourhood search: some groups at a time are made anew, side by side."""

from __future__ import annotations

import concurrent.futures as cf
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.neighbourhood import Neighbourhood, Rebuilt, cut_out, put_back, solve_neighbourhood
from kanon_milp.heuristics.state import Board, total
from kanon_milp.heuristics.worker_pool import Pool
from kanon_milp.solvers.adapter import Capability, Setting, SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.solvers.proof import INTEGRAL_GAP
from kanon_milp.system.arrays import Ints

FIRST_PAIRS = 6_000  # of a neighbourhood
SLICE = 3.0  # seconds for a neighbourhood, at most: on all of Adult what takes longer is rarely worth it
GROW, GROW_FAST, SHRINK = (
    1.15,
    1.4,
    0.8,
)  # the next neighbourhood, if this was optimal in a third, a tenth of it, or not
NODES = 50  # for a neighbourhood, where work is counted instead of time and no other number is given
_POLL = 0.2  # seconds between two looks at the clock
A = TypeVar("A")


class Timed(Protocol):
    """An answer of a solver: whether it is optimal, and how many seconds it took."""

    @property
    def optimal(self) -> bool:
        """Whether the solver says that nothing is better."""

    @property
    def seconds(self) -> float:
        """How long it took."""


@dataclass(frozen=True, eq=False)
class _Task:
    """A neighbourhood that is being solved; groups: those whose rows are in it; largest: it cannot be larger."""

    hood: Neighbourhood
    groups: Ints
    largest: bool
    options: SolverOptions


def rebuild_groups(
    board: Board,
    adapter: SolverAdapter,
    options: SolverOptions,
    pool: Pool,
    effort: Effort,
    seed: int,
    on_better: Callable[[Board], None],
    seconds: float = SLICE,
) -> bool:
    """Improve the table on the board by neighbourhoods, as many side by side as there are workers.

    options: of the solver; limits, seed and gap are set here. on_better: called after each improvement. seconds: for
    each, at most. True if a neighbourhood of all rows was solved to the end: with the pairs on the board nothing is
    better.
    """
    s = board.state
    busy = np.zeros(len(s.cost), dtype=np.bool_)
    size = FIRST_PAIRS * total(s) / max(len(s.options.values), 1)
    running: dict[cf.Future[Rebuilt], _Task] = {}
    begun = 0
    while not effort.ended(total(s)):
        while len(running) < max(1, pool.workers) and begun != effort.neighbourhoods:
            hood = cut_out(board, math.ceil(size), busy)
            if hood is None:
                break
            groups = np.unique(hood.candidates[hood.candidate[hood.start > 0]])
            limited = limited_options(adapter, options, effort, seed + begun, min(seconds, effort.left))
            task = _Task(hood, groups, size >= total(s) and not running, limited)
            busy[task.groups] = True
            interrupt = effort.interrupt if pool.workers == 0 else None
            running[pool.submit(solve_neighbourhood, hood, adapter, task.options, interrupt)] = task
            begun += 1
        future = next_done(list(running), effort, total(s)) if running else None
        if future is None:
            break
        task = running.pop(future)
        busy[task.groups] = False
        if pool.lost(future):
            answer = solve_neighbourhood(task.hood, adapter, task.options, effort.interrupt)
        else:
            answer = future.result()
        if answer.loss < task.hood.loss and put_back(board, task.hood, answer.rows):
            on_better(board)
        elif answer.optimal and task.largest:
            return True
        size = min(size * growth(answer, task.options, counted=effort.counted), total(s) + 1)
    for future in running:
        future.cancel()
    return False


def limited_options(
    adapter: SolverAdapter, options: SolverOptions, effort: Effort, seed: int, seconds: float
) -> SolverOptions:
    """Options of one neighbourhood: so many seconds, or, where work is counted, so many nodes, or what else the solver
    counts."""
    plain = replace(options, threads=1, seed=seed, gap=0.0, absolute_gap=INTEGRAL_GAP, log_file=None)
    if effort.counted:
        left = None if math.isinf(effort.left) else max(effort.left, 0.1)
        if options.node_limit is None and Capability.NODE_LIMIT not in adapter.capabilities:
            return adapter.suited(replace(plain, time_limit=left), [Setting.SAME_WORK])
        return replace(plain, time_limit=left, node_limit=options.node_limit or NODES)
    return replace(plain, time_limit=max(seconds, 0.1))


def growth(answer: Timed, options: SolverOptions, *, counted: bool) -> float:
    """By how much the next neighbourhood is larger."""
    if not answer.optimal:
        return SHRINK
    if counted or options.node_limit is not None or options.time_limit is None:
        return GROW
    share = answer.seconds / options.time_limit
    return GROW_FAST if share < 0.1 else GROW if share < 1 / 3 else 1.0


def next_done(running: list[cf.Future[A]], effort: Effort, loss: int) -> cf.Future[A] | None:
    """The next neighbourhood that is solved, in the order of submission where work is counted; None if it is time to
    stop."""
    waited = running[:1] if effort.counted else running
    while True:
        done, _ = cf.wait(waited, timeout=_POLL, return_when=cf.FIRST_COMPLETED)
        if done:
            return min(done, key=running.index)
        if effort.ended(loss):
            return None
