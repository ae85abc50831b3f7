"""Annealing under requirements: on the set of open candidates, with violations as a part of the energy."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from kanon_milp.heuristics.annealing import Chain, Draw, Moves, Schedule, SeenPairs, run_chains
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.grouping import group_sizes, tighten_groups
from kanon_milp.heuristics.moves import commit
from kanon_milp.heuristics.repair import repair
from kanon_milp.heuristics.state import cell_cost, draw, total, uniform
from kanon_milp.heuristics.valued_chains import reroute
from kanon_milp.heuristics.valued_construction import Guide
from kanon_milp.heuristics.valued_moves import dissolve, mend_some, pull, relocate, shift, swap
from kanon_milp.heuristics.valued_state import Counted, CountedBoard, own_copy, take_back, wide
from kanon_milp.heuristics.worker_pool import Effort, InlinePool, Pool
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.jit import compiled_in_place

OPEN_LIMIT, PAIR_LIMIT = 3.0, 12.0  # cells: φ of candidates, and reduced costs of pairs that are looked at
HOT, COLD = 0.5, 0.1  # temperatures, in cells
PRICE = 60.0  # cells for a unit of violation: nearly no table on the way has any, the construction had none
SOFT = 20.0  # the same at first, where the start has violations
# shares of the moves: pulls, groups dissolved, rows relocated, rows shifted; the others swap. With few values pulls
# succeed; with many they hardly ever do, and take thirty times as long as a move of one row, the less so where groups
# have LARGE times as many rows as they must
FEW_VALUES, LARGE = 3, 4
SHARES_OF_FEW, SHARES_OF_MANY = (0.4, 0.05, 0.0, 0.25), (0.05, 0.02, 0.4, 0.2)
SHARES_OF_LARGE = (0.01, 0.02, 0.4, 0.2)
MENDED = 16  # while a group has a violation, each so many moves one is mended
MOST_REPAIRED = 10  # groups with a violation in a table that is worth an exact repair
LOOKS = 200  # options of rows that chains look at after each segment, for every move in it
LOOKED = 1000  # moves between two looks at whether there is a better table
MOVES = Moves(first=2000)
QUICK_MOVES = Moves(first=2000, counted=4000)  # where most of them are
REPORTING = 0.1  # of the time, for tables on the way, but for the first and the last one


def anneal(
    guide: Guide,
    start: Assignment,
    effort: Effort,
    pool: Pool | None,
    seed: int,
    on_better: Callable[[Assignment], None],
    first: Assignment | None = None,
    seen: SeenPairs | None = None,
) -> Assignment:
    """As many annealings from a table as there are workers, each with a seed of its own; the best table found, never
    worse than the start.

    start: satisfies every requirement, and so does whatever is reported and returned. Where a requirement is not
    merge-closed, is about several groups together, or tells nothing but the size, the start is returned.
    first: where to begin instead; its groups may violate requirements. seen: gets the pairs of the tables between
    segments that violate nearly nothing.
    """
    instance, problem = guide.instance, guide.instance.problem
    if not guide.priced or not problem.separable or not all(r.merge_closed for r in problem.requirements):
        return start
    candidates, of_pair = instance.candidates, instance.candidates.candidate_of_pair()
    cell = cell_cost(instance)
    allowed = guide.phi[of_pair] <= OPEN_LIMIT * cell
    allowed &= candidates.cost[of_pair] - guide.multipliers[candidates.members] <= PAIR_LIMIT * cell
    begin = first or start
    board = CountedBoard.of(instance, allowed, begin, seed)
    if board.counted.rules.silent:
        return start
    best, check = start, GroupCheck(instance)
    pending: Chain | None = None
    looked, took = time.perf_counter(), 0.0

    def better(chain: Chain) -> None:
        """Take what a chain has found; as that is slow, not every time, unless work is counted."""
        nonlocal pending, looked, took
        pending, began = chain, time.perf_counter()
        if effort.counted or began - looked > took / REPORTING:
            take(chain.best)
            pending, looked = None, time.perf_counter()
            took = looked - began

    def take(group: Ints32) -> None:
        nonlocal best
        board.restore(group)
        placed = board.placed() if board.counted.total[1] == 0 else repair(instance, board.placed(), effort, check)
        if placed is None:
            return
        tightened = repair(instance, tighten_groups(instance, placed), effort, check)
        if tightened is not None and tightened.cost < best.cost:
            best = tightened
            on_better(best)

    workers = InlinePool() if pool is None else pool
    chains = [Chain.of(board.board, seed + number) for number in range(max(1, workers.workers))]
    schedule = Schedule(HOT * cell, COLD * cell)
    # chains do not know what the rows lose that never move
    never = begin.cost - chains[0].loss
    effort = replace(effort, enough=effort.enough - never)
    chains = [replace(chain, loss=start.cost - never) for chain in chains]
    few = len(board.counted.rules.columns) <= FEW_VALUES
    shares = np.cumsum(SHARES_OF_FEW if few else SHARES_OF_LARGE if _large(instance, begin) else SHARES_OF_MANY)
    run = partial(segment, board.counted, Draw.by_phi(board.board, guide.phi), shares, SOFT if first else PRICE)
    look = None if seen is None else partial(_look, seen, board)
    run_chains(chains, run, lambda _: schedule, workers, effort, better, MOVES if few else QUICK_MOVES, look)
    if pending is not None:
        take(pending.best)
    return best


def _look(seen: SeenPairs, board: CountedBoard, chains: list[Chain]) -> None:
    for chain in chains:
        board.restore(chain.group)
        if board.counted.total[1] <= MOST_REPAIRED:
            seen.add(board.board, chain.group, _repaired(board.counted))


def _repaired(c: Counted) -> int:
    """What it takes to repair the violations of a table: about what they are priced at."""
    return math.ceil(PRICE * float(c.price[1] * c.total[0]))


def _large(instance: Instance, table: Assignment) -> bool:
    """Whether most rows are in groups of several times the smallest size."""
    size = group_sizes(instance, table)[table.candidate]
    large = size >= LARGE * np.maximum(instance.least[table.candidate], 1)
    return int(table.rows[large].sum()) > int(table.rows.sum()) / 2


def segment(
    counted: Counted, draws: Draw, shares: Floats, soft: float, chain: Chain, hot: float, cold: float, moves: int
) -> Chain:
    """Go on with a chain for so many moves, while the temperature falls from `hot` to `cold`.

    shares: as in `make_moves`. soft: cells for a unit of violation at HOT, that rise up to PRICE. Nothing
    that is handed in is changed, so it may run in any process.
    """
    c = own_copy(counted, chain.group, chain.random)
    price = min(soft * (HOT * c.price[1] / cold) ** 2, PRICE)
    began = time.perf_counter()
    best = chain.best.copy()
    loss = make_moves(c, moves, np.array([hot, cold, price]), shares, draws.chance, draws.alias, best, chain.loss)
    reroute(c, LOOKS * moves)
    # a few groups may keep their violation to the end
    repaired = total(c.state) + _repaired(c)
    if c.total[1] <= MOST_REPAIRED and repaired < loss:
        best, loss = c.state.group.copy(), repaired
    rate = moves / max(time.perf_counter() - began, 1e-6)
    return Chain(c.state.group, c.state.random, best, loss, chain.made + moves, rate)


@compiled_in_place
def make_moves(
    c: Counted, count: int, heat: Floats, shares: Floats, chance: Floats, alias: Ints, best: Ints32, lowest: int
) -> int:
    """Make so many moves while the temperature falls from heat[0] to heat[1], violations at heat[2] cells; one whose
    energy, loss and priced violations, rises by more than -T·log(u) is taken back. shares: up to each kind of move,
    float64 (4,).

    The cheapest table without violations goes into `best`; returns its loss, or `lowest` if none is cheaper than that.
    """
    s, rows, loss = c.state, len(c.state.group), total(c.state)
    c.price[0] = heat[2] * c.price[1]
    for number in range(count + 1):
        if (number % LOOKED == 0 or number == count) and c.total[1] == 0 and loss < lowest:
            lowest = loss
            for r in range(rows):
                best[r] = s.group[r]
        if number == count:
            break
        temperature = heat[0] * (heat[1] / heat[0]) ** (number / count)
        limit, before = -temperature * math.log(uniform(s)), c.total[0]
        kind = uniform(s)
        if c.total[1] > 0 and number % MENDED == 0:
            change = mend_some(c, limit)
        elif kind < shares[0]:
            g = draw(s) % len(alias)
            if uniform(s) > chance[g]:
                g = alias[g]
            change = pull(c, g, limit)
        elif kind < shares[1]:
            change = dissolve(c, wide(s.group[draw(s) % rows]), limit)
        elif kind < shares[2]:
            change = relocate(c, draw(s) % rows, limit)
        elif kind < shares[3]:
            change = shift(c, draw(s) % rows, limit)
        else:
            change = swap(c, draw(s) % rows, limit)
        if s.logged[0] > 0 and change + c.price[0] * (c.total[0] - before) <= limit:
            loss += int(change)
            commit(s)
        else:
            take_back(c)
    return lowest
