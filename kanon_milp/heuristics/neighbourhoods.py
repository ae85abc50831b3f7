"""Large-neighbourhood search: some groups of a table at a time are made anew by a MILP, side by side.

This is what the search is like whatever is required. What is cut out of a table, and how an answer goes back, is for a
`Rebuildable`: single rows where sizes are all that is required (`size_neighbourhoods`), numbers of rows elsewhere
(`valued_neighbourhoods`).
"""

from __future__ import annotations

import concurrent.futures as cf
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from kanon_milp.heuristics.effort import Effort
from kanon_milp.solvers.adapter import Capability, Setting, SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.solvers.proof import INTEGRAL_GAP
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.system.limit import Over
from kanon_milp.system.parameters import number, parameters
from kanon_milp.system.worker_pool import Pool

_POLL = 0.2  # seconds between two looks at the clock
SHORTEST = 0.1  # seconds for a solver


@parameters("neighbourhoods")
@dataclass(frozen=True)
class NeighbourhoodParameters:
    """Tuned on Adult, its first rows and all of them: k = 2 to 100, and l-diversity and t-closeness."""

    grow: float = number(1.15, "times as large is the next one if this was optimal within a third of its time", least=1)
    grow_fast: float = number(
        1.4, "times as large is the next one if this was optimal within a tenth of its time", least=1
    )
    shrink: float = number(0.8, "times as large is the next one if this was not optimal", most=1)
    nodes: int = number(50, "for one where work is counted instead of time and no other number is given", least=1)
    first_pairs: int = number(6_000, "pairs of the first one where sizes are all that is required", least=1)
    counted_pairs: int = number(
        2_000, "pairs of each one where work is counted, at most: 50 nodes of 6,000 may take a minute", least=1
    )
    counted_emd_entries: int = number(
        2_500, "of the matrix of one under t-closeness where work is counted: the root of 5,500 takes minutes", least=1
    )
    seconds: float = number(
        3.0, "for one neighbourhood at most: on Adult what takes longer is rarely worth it; 0: none"
    )
    seen_seconds: float = number(8.0, "for one over the pairs of the tables that annealing has seen at most")
    first_entries: int = number(60, "(row type, group) that the first one frees under requirements", least=1)
    fewest_entries: int = number(10, "(row type, group) that one frees under requirements, at least", least=1)
    share: float = number(
        0.25, "of the time left, for one under requirements: a few large ones find what many do not", most=1
    )
    shortest: float = number(2.0, "seconds for one under requirements")
    longest: float = number(20.0, "seconds for one under requirements at most; 0: none")
    small: int = number(12, "row types of a group that is always freed completely", least=1)
    sample: int = number(20, "row types of one candidate's cover that are freed at a time", least=1)
    outside: int = number(4, "open groups outside, the cheapest, that a row may join")
    tries: int = number(30, "draws for each entry that is to be freed", least=1)


DEFAULT = NeighbourhoodParameters()


class Timed(Protocol):
    """An answer of a solver: whether it is optimal, and how many seconds it took."""

    @property
    def optimal(self) -> bool:
        """Whether the solver says that nothing is better."""

    @property
    def seconds(self) -> float:
        """How long it took."""


A = TypeVar("A", bound=Timed)
H = TypeVar("H")
Call = Callable[[threading.Event | None], A]


@dataclass
class Sizes:
    """How large the next neighbourhood is, learned from those before, from turn to turn.

    size: in rows or entries of the table, no more than `largest`. share, shortest, longest: of the time left for
    one, and seconds for it.
    """

    size: float = DEFAULT.first_entries
    share: float = DEFAULT.share
    longest: float = DEFAULT.longest
    shortest: float = DEFAULT.shortest
    smallest: float = DEFAULT.fewest_entries
    largest: float = math.inf

    @classmethod
    def of(cls, params: NeighbourhoodParameters, longest: float | None = None) -> Sizes:
        """Those to begin with under requirements."""
        most = params.longest if longest is None else longest
        return cls(params.first_entries, params.share, most, params.shortest, params.fewest_entries)

    def seconds(self, left: float) -> float:
        """For the next one, of those that are left."""
        return min(self.longest, max(self.share * left, self.shortest), left)


class Rebuildable(ABC, Generic[H, A]):
    """A table, what is cut out of it, and how an answer goes back into it. groups: how many there may be."""

    groups: int

    @property
    @abstractmethod
    def loss(self) -> int:
        """What the table loses."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """The size of a neighbourhood that is all of the table."""

    @abstractmethod
    def cut_out(self, size: int, busy: Flags, *, everything: bool) -> H | None:
        """A neighbourhood of about this size; None if there is no loss that may be looked at. busy: bool (groups,),
        those that may not change."""

    @abstractmethod
    def busy_with(self, hood: H) -> Ints:
        """The groups that may not change while a neighbourhood is solved, int64."""

    @abstractmethod
    def call(self, hood: H, adapter: SolverAdapter, options: SolverOptions) -> Call[A]:
        """What solves a neighbourhood; picklable. Raises `Over` at a limit."""

    @abstractmethod
    def put_back(self, hood: H, answer: A) -> bool:
        """Put an answer into the table if the loss falls; whether it does."""


@dataclass(frozen=True, eq=False)
class _Task(Generic[H, A]):
    """A neighbourhood that is being solved; largest: it cannot be larger."""

    hood: H
    options: SolverOptions
    largest: bool
    call: Call[A]


def search_neighbourhoods(
    table: Rebuildable[H, A],
    adapter: SolverAdapter,
    options: SolverOptions,
    pool: Pool,
    effort: Effort,
    seed: int,
    sizes: Sizes,
    params: NeighbourhoodParameters = DEFAULT,
) -> bool:
    """Improve a table, as many neighbourhoods side by side as there are workers.

    options: of the solver; limits, seed and gap are set here. True if a neighbourhood of all rows was solved to the
    end: with the pairs that it may have nothing is better.
    """
    busy = np.zeros(table.groups, np.bool_)
    running: dict[cf.Future[A], _Task[H, A]] = {}
    begun, exhausted = 0, False
    try:
        while not (exhausted or effort.ended(table.loss)):
            while len(running) < max(1, pool.workers) and begun != effort.neighbourhoods:
                everything = sizes.size >= table.largest and not running
                hood = table.cut_out(math.ceil(sizes.size), busy, everything=everything)
                if hood is None:
                    break
                seconds = sizes.seconds(effort.left)
                limited = limited_options(adapter, options, effort, seed + begun, seconds, params)
                task = _Task(hood, limited, everything, table.call(hood, adapter, limited))
                begun += 1
                busy[table.busy_with(hood)] = True
                running[pool.submit(task.call, effort.interrupt if pool.workers == 0 else None)] = task
            future = next_done(list(running), effort, table.loss) if running else None
            if future is None:
                break
            task = running.pop(future)
            busy[table.busy_with(task.hood)] = False
            answer = task.call(effort.interrupt) if pool.lost(future) else future.result()
            table.put_back(task.hood, answer)
            exhausted = answer.optimal and task.largest
            factor = growth(answer, task.options, counted=effort.counted, params=params)
            sizes.size = min(max(sizes.size * factor, sizes.smallest), sizes.largest, table.largest + 1.0)
    except Over:
        pass
    for future in running:
        future.cancel()
    return exhausted


def limited_options(
    adapter: SolverAdapter,
    options: SolverOptions,
    effort: Effort,
    seed: int,
    seconds: float,
    params: NeighbourhoodParameters = DEFAULT,
) -> SolverOptions:
    """Options of one neighbourhood: so many seconds, or, where work is counted, so many nodes, or what else the solver
    counts."""
    plain = replace(options, threads=1, seed=seed, gap=0.0, absolute_gap=INTEGRAL_GAP, log_file=None)
    if effort.counted:
        left = None if math.isinf(effort.left) else max(effort.left, SHORTEST)
        if options.node_limit is None and Capability.NODE_LIMIT not in adapter.capabilities:
            return adapter.suited(replace(plain, time_limit=left), [Setting.SAME_WORK])
        return replace(plain, time_limit=left, node_limit=options.node_limit or params.nodes)
    return replace(plain, time_limit=max(seconds, SHORTEST))


def growth(answer: Timed, options: SolverOptions, *, counted: bool, params: NeighbourhoodParameters = DEFAULT) -> float:
    """By how much the next neighbourhood is larger."""
    if not answer.optimal:
        return params.shrink
    if counted or options.node_limit is not None or options.time_limit is None:
        return params.grow
    share = answer.seconds / options.time_limit
    return params.grow_fast if share < 0.1 else params.grow if share < 1 / 3 else 1.0


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
