"""The annealing phase: chains side by side, in segments between which progress is kept."""

from __future__ import annotations

import concurrent.futures as cf
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kanon_milp.heuristics.annealing import Chain, Draw, Schedule, anneal
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.moves import commit, settle
from kanon_milp.heuristics.seen_pairs import SeenPairs
from kanon_milp.heuristics.state import Board
from kanon_milp.heuristics.worker_pool import Pool

SEGMENTS = 40  # parts of an annealing
_POLL = 0.2  # seconds between two looks at the clock


@dataclass(frozen=True)
class Moves:
    """How many moves an annealing has. first: in its first segment, while their rate is not known. each: for each row,
    at most; counted: the same where work is counted instead of time."""

    first: int = 50_000
    each: int = 6000  # more found nothing better
    counted: int = 1000


# moves between two turns of neighbourhoods, which put together what annealings have seen: for each row, and in all
# where that is more
TURN_EACH, TURN_IN_ALL = 1000, 6_000_000


def anneal_chains(
    board: Board,
    draws: Draw,
    pool: Pool,
    effort: Effort,
    seed: int,
    on_better: Callable[[Board], None],
    seen: SeenPairs | None = None,
) -> None:
    """As many annealings from the table on the board as there are workers, each with a seed of its own; the cheapest
    table that any of them meets is put on the board, and `on_better` is called. The pairs of the tables between
    segments are added to `seen`.

    If it is asked to stop, or a worker is lost, what the segments before have found is kept.
    """

    def better(chain: Chain) -> None:
        board.restore(chain.best)
        settle(board.state)
        commit(board.state)
        on_better(board)

    chains = [Chain.of(board, seed + number) for number in range(max(1, pool.workers))]
    look = None if seen is None else partial(_look, seen, board)
    run = partial(anneal, board.state, draws)
    moves = Moves(each=min(max(TURN_EACH, TURN_IN_ALL // max(len(chains[0].group), 1)), Moves.each))
    run_chains(chains, run, partial(Schedule.of, board), pool, effort, better, moves, look)


def _look(seen: SeenPairs, board: Board, chains: list[Chain]) -> None:
    for chain in chains:
        seen.add(board, chain.group)


def run_chains(
    chains: list[Chain],
    run: Callable[[Chain, float, float, int], Chain],
    schedule_of: Callable[[float], Schedule],
    pool: Pool,
    effort: Effort,
    on_better: Callable[[Chain], None],
    moves: Moves,
    on_segment: Callable[[list[Chain]], None] | None = None,
) -> None:
    """Go on with all chains, segment by segment, and say which one has found a cheaper table.

    run: goes on with a chain between two temperatures, for so many moves; picklable. schedule_of: temperatures for so
    many moves. on_segment: called after each segment.
    """
    clock = _Pace(len(chains[0].group), effort, moves)
    shown = chains[0].loss
    while clock.done < 1 and not effort.ended(shown):
        schedule = schedule_of(clock.expected)
        heat = schedule.at(clock.done), schedule.at(clock.ahead), clock.moves
        tasks = [pool.submit(run, chain, *heat) for chain in chains]
        for number, task in enumerate(tasks):
            if not _finished(task, effort, clock.done > 0):
                return
            chains[number] = run(chains[number], *heat) if pool.lost(task) else task.result()
        best = min(chains, key=lambda chain: chain.loss)
        if best.loss < shown:
            shown = best.loss
            on_better(best)
        if on_segment is not None:
            on_segment(chains)
        clock.step(chains[0])


class _Pace:
    """How far an annealing is, and how many moves the next segment has."""

    def __init__(self, rows: int, effort: Effort, moves: Moves) -> None:
        self._most = rows * (moves.counted if effort.counted else moves.each)
        self._timed = not effort.counted and not math.isinf(effort.ends)
        self._began, self._seconds = time.perf_counter(), effort.left
        self.done = 0.0
        # while the rate is not known, few moves are expected: too hot a beginning spoils a good first table
        self.expected = float(min(self._most, rows)) if self._timed else float(self._most)
        self.moves = min(moves.first, self._most) if self._timed else -(-self._most // SEGMENTS)

    @property
    def ahead(self) -> float:
        """Share of the work that is done after the next segment."""
        return min(self.done + self.moves / max(self.expected, SEGMENTS * self.moves), 1.0)

    def step(self, chain: Chain) -> None:
        """A segment is done."""
        self.done = chain.made / self._most
        if self._timed:
            self.done = max(self.done, (time.perf_counter() - self._began) / max(self._seconds, 1e-6))
            self.expected = max(1.0, min(float(self._most), chain.rate * self._seconds))
            self.moves = max(1000, int(self.expected) // SEGMENTS)


def _finished(task: cf.Future[Chain], effort: Effort, running: bool) -> bool:
    """Wait for a segment; False if it is time to stop before it is done.

    running: workers have done a segment before, so the last one, the coldest, is soon done and worth waiting for.
    """
    while not task.done():
        cf.wait([task], timeout=_POLL)
        if (effort.asked or (effort.left == 0 and not running)) and not task.done():
            return False
    return True
