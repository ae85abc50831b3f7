"""Annealing under requirements: on the set of open candidates, with violations as a part of the energy."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from kanon_milp.heuristics.annealing import Chain, Draw, Moves, Schedule, SeenPairs, run_chains
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.grouping import group_sizes, tighten_groups
from kanon_milp.heuristics.repair import repair
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.heuristics.valued_construction import PricedCandidates
from kanon_milp.heuristics.valued_state import ValuedArrays, ValuedBoard
from kanon_milp.kernels.rows import total
from kanon_milp.kernels.valued_chains import reroute
from kanon_milp.kernels.valued_moves import make_moves
from kanon_milp.kernels.valued_state import ValuedState
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Floats, Ints32
from kanon_milp.system.parameters import number, parameters
from kanon_milp.system.worker_pool import InlinePool, Pool


@parameters("valued_annealing")
@dataclass(frozen=True)
class ValuedAnnealingParameters:
    """Under requirements. Tuned on Adult and CMC: l-diversity, p-sensitivity and t-closeness of few and many values.

    Shares of the moves: pulls, groups dissolved, rows relocated, rows shifted; the others swap. With few values pulls
    succeed; with many they hardly ever do, and take thirty times as long as a move of one row, the less so where groups
    are large.
    """

    open_limit: float = number(3.0, "cells, φ of the candidates that are looked at")
    pair_limit: float = number(12.0, "cells, reduced cost of the pairs that are looked at")
    hot: float = number(0.5, "cells, the temperature at the beginning", least=1e-9)
    cold: float = number(0.1, "cells, the temperature at the end", least=1e-9)
    price: float = number(60.0, "cells for a unit of violation: nearly no table on the way has any")
    soft: float = number(20.0, "cells, the same at first, where the start has violations")
    few_values: int = number(3, "joint values that are few")
    large: int = number(4, "times as many rows as they must have, in groups that are large")
    few_pulls: float = number(0.4, "of the moves pull, where values are few", most=1)
    few_dissolved: float = number(0.05, "of the moves dissolve a group, where values are few", most=1)
    few_relocated: float = number(0.0, "of the moves relocate a row, where values are few", most=1)
    few_shifted: float = number(0.25, "of the moves shift a row, where values are few", most=1)
    many_pulls: float = number(0.05, "of the moves pull, where values are many", most=1)
    many_dissolved: float = number(0.02, "of the moves dissolve a group, where values are many", most=1)
    many_relocated: float = number(0.4, "of the moves relocate a row, where values are many", most=1)
    many_shifted: float = number(0.2, "of the moves shift a row, where values are many", most=1)
    large_pulls: float = number(0.01, "of the moves pull, where values are many and most groups are large", most=1)
    repaired: int = number(100, "groups with a violation in a table that is worth an exact repair")
    looks: int = number(200, "options of rows that chains look at after each segment, for every move in it")
    first: int = number(2000, "moves of the first segment, while their rate is not known", least=1)
    each: int = number(6000, "moves for each row at most", least=1)
    counted: int = number(1000, "moves for each row where work is counted, and values are few", least=1)
    counted_quick: int = number(
        4000, "moves for each row where work is counted, values are many, and most moves quick", least=1
    )
    reporting: float = number(0.1, "of the time, for tables on the way, but for the first and the last", least=1e-6)

    def shares(self, *, few: bool, large: bool) -> Floats:
        """Up to each kind of move, float64 (4,)."""
        if few:
            each = (self.few_pulls, self.few_dissolved, self.few_relocated, self.few_shifted)
        else:
            pulls = self.large_pulls if large else self.many_pulls
            each = (pulls, self.many_dissolved, self.many_relocated, self.many_shifted)
        return np.cumsum(each)

    def moves(self, *, few: bool) -> Moves:
        """How many."""
        return Moves(self.first, self.each, self.counted if few else self.counted_quick)


DEFAULT = ValuedAnnealingParameters()


def anneal(
    pricing: PricedCandidates,
    start: Assignment,
    effort: Effort,
    pool: Pool | None,
    seed: int,
    on_better: Callable[[Assignment], None],
    first: Assignment | None = None,
    seen: SeenPairs | None = None,
    params: ValuedAnnealingParameters = DEFAULT,
    repairs: Effort | None = None,
) -> Assignment:
    """As many annealings from a table as there are workers, each with a seed of its own; the best table found, never
    worse than the start.

    start: satisfies every requirement, and so does whatever is reported and returned. Where a requirement is not
    merge-closed, is about several groups together, or tells nothing but the size, the start is returned.
    first: where to begin instead; its groups may violate requirements. seen: gets the pairs of the tables between
    segments that violate nearly nothing. repairs: the end of the exact repair of tables, where the last one has longer
    than the effort.
    """
    instance, problem = pricing.instance, pricing.instance.problem
    if not pricing.priced or not problem.separable or not all(r.merge_closed for r in problem.requirements):
        return start
    candidates, of_pair = instance.candidates, instance.candidates.candidate_of_pair()
    cell = cell_cost(instance)
    allowed = pricing.phi[of_pair] <= params.open_limit * cell
    allowed &= candidates.cost[of_pair] - pricing.multipliers[candidates.members] <= params.pair_limit * cell
    begin = first or start
    board = ValuedBoard.of(instance, allowed, begin, seed)
    if board.arrays.rules.silent:
        return start
    best, check, repairs = start, GroupCheck(instance), repairs or effort
    pending: Chain | None = None
    looked, took = time.perf_counter(), 0.0

    def better(chain: Chain) -> None:
        """Take what a chain has found; as that is slow, not every time, unless work is counted."""
        nonlocal pending, looked, took
        pending, began = chain, time.perf_counter()
        if effort.counted or began - looked > took / params.reporting:
            take(chain.best)
            pending, looked = None, time.perf_counter()
            took = looked - began

    def take(group: Ints32) -> None:
        nonlocal best
        board.restore(group)
        placed = board.placed() if not board.rows.failing else repair(instance, board.placed(), repairs, check)
        if placed is None:
            return
        tightened = repair(instance, tighten_groups(instance, placed), repairs, check)
        if tightened is not None and tightened.cost < best.cost:
            best = tightened
            on_better(best)

    workers = InlinePool() if pool is None else pool
    chains = [Chain.of(board.board, seed + each) for each in range(max(1, workers.workers))]
    schedule = Schedule(params.hot * cell, params.cold * cell)
    # chains do not know what the rows lose that never move
    never = begin.cost - chains[0].loss
    effort = replace(effort, enough=effort.enough - never)
    chains = [replace(chain, loss=start.cost - never) for chain in chains]
    few = len(board.arrays.rules.columns) <= params.few_values
    shares = params.shares(few=few, large=_large(instance, begin, params.large))
    soft = params.soft if first else params.price
    run = partial(segment, board.arrays, Draw.by_phi(board.board, pricing.phi), shares, soft, params)
    look = None if seen is None else partial(_look, seen, board, params)
    run_chains(chains, run, lambda _: schedule, workers, effort, better, params.moves(few=few), look)
    if pending is not None:
        take(pending.best)
    return best


def _look(seen: SeenPairs, board: ValuedBoard, params: ValuedAnnealingParameters, chains: list[Chain]) -> None:
    for chain in chains:
        board.restore(chain.group)
        if board.rows.failing <= params.repaired:
            seen.add(board.board, chain.group, _repaired(board.rows, params.price))


def _repaired(c: ValuedState, price: float) -> int:
    """What it takes to repair the violations of a table: about what they are priced at."""
    return math.ceil(price * (c.cell * c.violated))


def _large(instance: Instance, table: Assignment, times: int) -> bool:
    """Whether most rows are in groups of several times the smallest size."""
    size = group_sizes(instance, table)[table.candidate]
    large = size >= times * np.maximum(instance.least[table.candidate], 1)
    return int(table.rows[large].sum()) > int(table.rows.sum()) / 2


def segment(
    arrays: ValuedArrays,
    draws: Draw,
    shares: Floats,
    soft: float,
    params: ValuedAnnealingParameters,
    chain: Chain,
    hot: float,
    cold: float,
    moves: int,
) -> Chain:
    """Go on with a chain for so many moves, while the temperature falls from `hot` to `cold`.

    shares: as in `make_moves`. soft: cells for a unit of violation at the beginning, that rise up to the price. Nothing
    that is handed in is changed, so it may run in any process.
    """
    own = arrays.own(chain.group, chain.random)
    c, group = own.rows(), own.state.group
    cooled = params.hot * c.cell / cold
    price = min(soft * (cooled * cooled), params.price)
    began = time.perf_counter()
    best = chain.best.copy()
    loss = make_moves(c, moves, np.array([hot, cold, price]), shares, draws.chance, draws.alias, best, chain.loss)
    reroute(c, params.looks * moves)
    # a few groups may keep their violation to the end
    repaired = total(c) + _repaired(c, params.price)
    if c.failing <= params.repaired and repaired < loss:
        best, loss = group.copy(), repaired
    rate = moves / max(time.perf_counter() - began, 1e-6)
    return Chain(group, c.random, best, loss, chain.made + moves, rate)
