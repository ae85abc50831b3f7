"""Neighbourhoods where sizes are all that is required: the rows of some groups, and the strong formulation of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from kanon_milp.formulations.arrays import strong_model
from kanon_milp.formulations.restricted import solve_restricted
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.neighbourhoods import (
    DEFAULT,
    Call,
    NeighbourhoodParameters,
    Rebuildable,
    Sizes,
    search_neighbourhoods,
)
from kanon_milp.heuristics.state import Board
from kanon_milp.kernels.moves import exchange, grow
from kanon_milp.kernels.rows import commit, total, undo
from kanon_milp.solvers.adapter import Setting, SolverAdapter
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import Limit
from kanon_milp.system.worker_pool import Pool


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The rows of some groups, and where they may go.

    types, counts: int64 (t,), row types and how many rows of each. candidates: int64 (G,), those of the state that they
    may go to; cost, least: int64 (G,), 0 where the candidate has enough other rows. row_type, candidate: int64
    (pairs,), positions in `types` and `candidates`, ordered by candidate. start: int64 (pairs,), where the rows are.
    """

    types: Ints
    counts: Ints
    candidates: Ints
    cost: Ints
    least: Ints
    row_type: Ints
    candidate: Ints
    start: Ints

    @property
    def loss(self) -> int:
        """Loss of the start."""
        return int(self.cost[self.candidate] @ self.start)

    def model(self) -> LinearModel:
        """The strong constraints; groups with enough other rows need no binary."""
        return strong_model(self.counts, self.row_type, self.candidate, self.cost, self.least)


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """rows: int64 (pairs,), a way to place the rows that is as good as the start or better, and its loss. optimal:
    whether the solver says that there is none better within the neighbourhood. seconds: how long it took."""

    rows: Ints
    loss: int
    optimal: bool
    seconds: float


def solve_neighbourhood(
    hood: Neighbourhood,
    adapter: SolverAdapter,
    options: SolverOptions,
    interrupt: threading.Event | None = None,
) -> Rebuilt:
    """Place the rows of a neighbourhood as well as the solver can; never worse than the start."""
    began = time.perf_counter()
    model = hood.model()
    bound = np.flatnonzero(hood.least > 0)
    opened = np.bincount(hood.candidate, weights=hood.start, minlength=len(hood.least))[bound] > 0
    start = np.concatenate([hood.start, opened]).astype(float)
    stop = Limit(interrupt=interrupt)
    answer = solve_restricted(model, adapter, options, stop, start=start, checked=False)
    rows = hood.start
    if answer.x is not None:
        found = _integral(hood, model, answer.x, adapter)
        if found is not None and hood.cost[hood.candidate] @ found < hood.loss:
            rows = found
    loss = int(hood.cost[hood.candidate] @ rows)
    return Rebuilt(rows, loss, answer.optimal, time.perf_counter() - began)


def _integral(hood: Neighbourhood, model: LinearModel, x: Floats, adapter: SolverAdapter) -> Ints | None:
    """Integer numbers of rows with the open candidates of a point: with these fixed, every vertex is integer
    (Homogeneity paper, Lemma 1)."""
    pairs = len(hood.start)
    if np.abs(x[:pairs] - np.round(x[:pairs])).max(initial=0.0) > 1e-6:
        opened = np.round(x[pairs:])
        fixed = replace(
            model,
            lower=np.concatenate([model.lower[:pairs], opened]),
            upper=np.concatenate([model.upper[:pairs], opened]),
            integer=np.zeros_like(model.integer),
        )
        plain = adapter.suited(SolverOptions(), [Setting.VERTEX])
        vertex = solve_restricted(fixed, adapter, plain, checked=False)
        if vertex.x is None:
            return None
        x = vertex.x
    rows = np.round(x[:pairs]).astype(np.int64)
    size = np.bincount(hood.candidate, weights=rows, minlength=len(hood.least))
    placed = np.bincount(hood.row_type, weights=rows, minlength=len(hood.types))
    valid = (rows >= 0).all() and (placed == hood.counts).all() and ((size == 0) | (size >= hood.least)).all()
    return rows if valid else None


def cut_out(board: Board, size: int, busy: Flags) -> Neighbourhood | None:
    """A neighbourhood of about this loss, around a random group; None if there is no loss that may be looked at.

    busy: bool (G+1,), groups that are in no neighbourhood and take no rows.
    """
    s = board.state
    groups = grow(board.rows, busy.view(np.uint8), size)
    if len(groups) == 0:
        return None
    chosen = np.zeros(len(s.cost), dtype=np.bool_)
    chosen[groups] = True
    rows = np.flatnonzero(chosen[s.group])
    types, counts = np.unique(s.type_of[rows], return_counts=True)
    # all options of these types
    lengths = s.options.indptr[types + 1] - s.options.indptr[types]
    row_type = np.repeat(np.arange(len(types)), lengths)
    offset = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    candidate = s.options.values[np.repeat(s.options.indptr[types], lengths) + offset].astype(np.int64)
    outside = (s.size > 0) & ~chosen
    keep = ~(busy & ~chosen)[candidate]
    keep &= ~(outside[candidate] & _more_expensive(row_type, outside[candidate], len(types)))
    # too few rows here
    support = np.bincount(candidate[keep], weights=counts[row_type[keep]], minlength=len(s.cost))
    keep &= outside[candidate] | (support >= s.least)[candidate]
    row_type, candidate = row_type[keep], candidate[keep]
    order = np.lexsort((row_type, candidate))
    row_type, candidate = row_type[order], candidate[order]
    keep = ~_repeated(row_type, candidate, s.cost * len(s.cost) + np.arange(len(s.cost)), chosen | outside)
    row_type, candidate = row_type[keep], candidate[keep]
    candidates, local = np.unique(candidate, return_inverse=True)
    start_key, start_rows = np.unique(
        s.group[rows].astype(np.int64) * len(types) + np.searchsorted(types, s.type_of[rows]), return_counts=True
    )
    start = np.zeros(len(candidate), dtype=np.int64)
    start[np.searchsorted(candidate * len(types) + row_type, start_key)] = start_rows
    return Neighbourhood(
        types=types.astype(np.int64),
        counts=counts.astype(np.int64),
        candidates=candidates,
        cost=s.cost[candidates],
        least=np.where(outside[candidates], 0, s.least[candidates]),
        row_type=row_type,
        candidate=local.astype(np.int64),
        start=start,
    )


def _more_expensive(row_type: Ints, outside: Flags, types: int) -> Flags:
    """Among the open groups outside, all but the first and cheapest of each row type; options come in order of
    cost."""
    at = np.flatnonzero(outside)
    first = np.full(types, -1, dtype=np.int64)
    first[row_type[at][::-1]] = at[::-1]
    others: Flags = np.arange(len(row_type)) != first[row_type]
    return others


def _repeated(row_type: Ints, candidate: Ints, rank: Ints, kept: Flags) -> Flags:
    """Pairs, ordered by candidate, of candidates that may have the same rows here as one of lower rank, unless kept."""
    begin = np.flatnonzero(np.diff(candidate, prepend=-1))
    at = candidate[begin]
    # sums of random numbers tell sets apart; a mistake would only make the neighbourhood smaller
    random = np.random.default_rng(0).integers(1 << 62, size=int(row_type.max(initial=0)) + 1)
    cover = np.add.reduceat(random[row_type], begin)
    order = np.lexsort((rank[at], cover))
    again = np.zeros(len(at), dtype=np.bool_)
    again[order[1:]] = np.diff(cover[order]) == 0
    repeated: Flags = np.repeat(again & ~kept[at], np.diff(np.append(begin, len(candidate))))
    return repeated


def put_back(board: Board, hood: Neighbourhood, rows: Ints) -> bool:
    """Move the rows of a neighbourhood to where an answer has them, if the loss falls; False, and no change, if not.

    Groups outside may have changed since it was cut out: one that is too small then is filled or closed.
    """
    commit(board.rows)
    moved = hood.start != rows
    types, candidates = hood.types[hood.row_type[moved]], hood.candidates[hood.candidate[moved]]
    change = exchange(board.rows, types, candidates, hood.start[moved], rows[moved])
    if change < 0:
        commit(board.rows)
        return True
    undo(board.rows)
    return False


class _Table(Rebuildable[Neighbourhood, Rebuilt]):
    """The rows on a board; a neighbourhood's size is its loss."""

    def __init__(self, board: Board, on_better: Callable[[Board], None]) -> None:
        self._board, self._on_better, self.groups = board, on_better, len(board.state.cost)

    @property
    def loss(self) -> int:
        """What the rows lose that can move."""
        return total(self._board.rows)

    @property
    def largest(self) -> int:
        """All of the loss."""
        return self.loss

    def cut_out(self, size: int, busy: Flags, *, everything: bool) -> Neighbourhood | None:
        """About so much of the loss, around a random group."""
        del everything
        return cut_out(self._board, size, busy)

    def busy_with(self, hood: Neighbourhood) -> Ints:
        """Those whose rows are in it."""
        return np.unique(hood.candidates[hood.candidate[hood.start > 0]])

    def call(self, hood: Neighbourhood, adapter: SolverAdapter, options: SolverOptions) -> Call[Rebuilt]:
        """The model is stated where it is solved."""
        return partial(solve_neighbourhood, hood, adapter, options)

    def put_back(self, hood: Neighbourhood, answer: Rebuilt) -> bool:
        """Move the rows."""
        better = answer.loss < hood.loss and put_back(self._board, hood, answer.rows)
        if better:
            self._on_better(self._board)
        return better


def rebuild_groups(
    board: Board,
    adapter: SolverAdapter,
    options: SolverOptions,
    pool: Pool,
    effort: Effort,
    seed: int,
    on_better: Callable[[Board], None],
    seconds: float | None = None,
    params: NeighbourhoodParameters = DEFAULT,
) -> bool:
    """Improve the table on the board by neighbourhoods (`search_neighbourhoods`). on_better: called after each
    improvement. seconds: for each, at most."""
    table = _Table(board, on_better)
    pairs = params.counted_pairs if effort.counted else params.first_pairs
    first = pairs * table.loss / max(len(board.state.options.values), 1)
    longest, largest = params.seconds if seconds is None else seconds, first if effort.counted else math.inf
    sizes = Sizes(first, share=1.0, longest=longest, shortest=0.0, smallest=0.0, largest=largest)
    return search_neighbourhoods(table, adapter, options, pool, effort, seed, sizes, params)
