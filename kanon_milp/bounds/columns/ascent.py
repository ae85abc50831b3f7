"""Raising the bound by rank-1 cuts: column generation over groups, rows for what is fractional, and again."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kanon_milp.bounds.columns.master import Limits, Master
from kanon_milp.bounds.columns.program import GroupProgram
from kanon_milp.bounds.columns.separation import separate
from kanon_milp.bounds.dual import DualPoint, exact_value, round_dual
from kanon_milp.bounds.packing_cuts import PackingCuts
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.group_lists import Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers.base import OnProgress, Progress

ADDED = 0.3  # rank-1 cuts a round, for each row type
FEWEST = 150
INERTIA = 0.5  # of the average point that violated rows are looked for at
LOOK_BACK = 6  # rounds
STALLED = 0.01  # share of the gap that so many rounds must close to go on


@dataclass(frozen=True)
class RoundLimits:
    """When to stop: a moment of `time.perf_counter`, a number of rounds, an event, or a bound of at least `target` - 1
    (in units), with which nothing is left that is cheaper than the target."""

    target: int | None = None
    ends: float = math.inf
    rounds: int | None = None
    interrupt: threading.Event | None = None

    def reached(self, value: float, rounds: int) -> bool:
        """Whether the bound is good enough, or the time is over."""
        if self.target is not None and value > self.target - 1 + 1e-3:
            return True
        if self.interrupt is not None and self.interrupt.is_set():
            return True
        return (self.rounds is not None and rounds >= self.rounds) or time.perf_counter() > self.ends


def _silent(_: float) -> None:
    return None


def tighten(
    program: GroupProgram,
    groups: Groups,
    limits: RoundLimits,
    constant: float = 0.0,
    on_value: Callable[[float], None] = _silent,
) -> Master:
    """Rounds of column generation and rank-1 cuts. groups: the first columns. constant: what is added to the value of
    the linear program for the bound."""
    master = Master(program, groups)
    inner = Limits(limits.ends, interrupt=limits.interrupt)
    solved = master.solve(inner)
    history, mean = [master.value + constant], master.share
    most = max(FEWEST, math.ceil(ADDED * program.types))
    while solved and not limits.reached(history[-1], len(history) - 1):
        on_value(history[-1])
        # rows that the last few points violate on average serve longer than those of the newest alone
        mean = np.concatenate([mean, np.zeros(len(master.share) - len(mean))])
        mean = INERTIA * mean + (1 - INERTIA) * master.share
        rows = separate(master.groups, mean, program.counts, most, master.rows)
        if not rows.count:
            rows = separate(master.groups, master.share, program.counts, most, master.rows)
        if not rows.count:
            break
        master.add_rows(rows)
        solved = master.solve(inner)
        if solved:
            master.purge_rows()
        history.append(master.value + constant)
        if len(history) > LOOK_BACK:
            left = history[-1] - history[0] if limits.target is None else limits.target - 1 - history[-1]
            if history[-1] - history[-1 - LOOK_BACK] < STALLED * left:
                break
    return master


def raise_bound(
    instance: Instance,
    dual: DualPoint,
    table: Assignment | None,
    limits: RoundLimits,
    on_progress: OnProgress | None = None,
) -> DualPoint:
    """Rounds of column generation and rank-1 cuts from the multipliers of `dual`.

    table: any table, if there is one; its groups are the first columns. Packing cuts keep their multipliers. What
    comes back proves no less than `dual` does. Deterministic for a number of rounds.
    """
    began = time.perf_counter()

    def show(value: float) -> None:
        if on_progress is not None:
            on_progress(Progress(time.perf_counter() - began, None, value))

    # what the held packing cuts cost on the right side; the linear program knows nothing of it
    right = float(PackingCuts.of(instance, dual.sets).limits @ dual.charges) if dual.sets.count else 0.0
    groups = Groups.none() if table is None else Groups.of_assignment(table)
    master = tighten(GroupProgram.of(instance, dual), groups, limits, -right, show)
    better = replace(
        dual,
        multipliers=master.best.multipliers,
        value=master.value - right,
        rank_one=master.rows,
        cuts=master.best.charges,
        evaluations=dual.evaluations + master.iterations,
    )
    return better if exact_value(instance, round_dual(better)) > exact_value(instance, round_dual(dual)) else dual
