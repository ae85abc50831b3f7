"""Annealing of tables in which several sets of quasi-identifiers are k-anonymous."""

from __future__ import annotations

import numpy as np

from kanon_milp.heuristics.annealing import alias_tables
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.linked_moves import COPIES, LONGEST, WINDOW, LinkedState, make_moves
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.linked_sets import LinkedSets
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.system.arrays import Floats, Ints

HOT, COLD = 1.0, 0.15  # temperatures at the beginning and the end, in cells
MOVES, FIRST_MOVES = 1_000, 40  # a row in an annealing, and in the descent before the first one
PATIENCE = 3  # annealings that find nothing
PARTS = 10  # of an annealing, after which the best table is looked for
CHUNK = 20_000  # moves between two looks at the clock
SMALL_COVER = 300  # rows; candidates that cover more are drawn less often


def anneal_sets(linked: LinkedSets, start: Assignment, phi: Floats, effort: Effort, seed: int) -> Assignment:
    """The best table after a descent and annealings, each from the best one so far; the start where there is no better
    one.

    start: valid. phi: float64 (G,), φ of the bound, by which candidates are drawn. effort: when it ends; its number of
    neighbourhoods is one of annealings, without which some that find nothing end it, too.
    """
    cell = cell_cost(linked.instance)
    chance, alias = draw_by(linked, phi, cell)
    state = linked_state(linked, start, cell, seed)
    if state is None:
        return start
    rows = len(state.option)
    best, loss = (state.option.copy(), state.group.copy()), start.cost
    turn, fruitless = 0, 0
    while not effort.over and fruitless < PATIENCE and turn != effort.neighbourhoods:
        before = loss
        moves = (FIRST_MOVES if turn == 0 else MOVES) * rows
        hot, cold = (COLD / 10, COLD / 10) if turn == 0 else (HOT, COLD)
        for part in range(PARTS):
            first, last = (cell * hot * (cold / hot) ** (at / PARTS) for at in (part, part + 1))
            for _ in range(max(moves // PARTS // CHUNK, 1)):
                if not effort.over:
                    make_moves(state, min(moves // PARTS + 1, CHUNK), first, last, chance, alias)
            if loss_of(state) < loss:
                best, loss = (state.option.copy(), state.group.copy()), loss_of(state)
        turn, fruitless = turn + 1, 0 if loss < before else fruitless + 1
        state.option[:], state.group[:] = best
        relink(state)
    found = table_of(linked, state)
    return start if found is None or found.cost > start.cost else found


def linked_state(linked: LinkedSets, table: Assignment, cell: float, seed: int) -> LinkedState | None:
    """The rows where a table has them; None where it has rows in classes that are too small."""
    option, group = linked.places(table)
    if (option < 0).any() or (group < 0).any():
        return None
    parts, types = linked.parts, linked.instance.types
    candidates, rows = parts.candidates, types.n
    of_pair = candidates.candidate_of_pair()
    order = np.lexsort((of_pair, candidates.cost[of_pair], candidates.members))
    choices = Ragged(indptr_of(np.bincount(candidates.members, minlength=parts.types.count)), of_pair[order])
    with_part, _ = Ragged(
        np.arange(0, linked.option_parts.size + 1, linked.sets), linked.option_parts.reshape(-1)
    ).transposed(parts.types.count)
    lengths = with_part.lengths[candidates.members]
    begins = np.repeat(with_part.indptr[:-1][candidates.members], lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    wanting = with_part.values[begins + within].astype(np.int32)
    of_wanting = np.repeat(of_pair, lengths)
    random = np.random.default_rng(seed)
    shuffled = np.lexsort((random.random(len(wanting)), of_wanting))
    state = LinkedState(
        type_of=np.repeat(np.arange(types.count, dtype=np.int32), types.counts),
        begins=indptr_of(types.counts),
        options=linked.options.indptr,
        option_cost=linked.option_cost,
        option_type=linked.option_type.astype(np.int32),
        part=linked.option_parts,
        choices=choices,
        wanting=Ragged(indptr_of(np.bincount(of_wanting, minlength=candidates.count)), wanting[shuffled]),
        set_of=linked.set_of,
        cost=candidates.cost,
        least=parts.sizes,
        option=np.repeat(option, table.rows).astype(np.int32),
        group=np.ascontiguousarray(np.repeat(group, table.rows, axis=0).astype(np.int32)),
        size=np.zeros(candidates.count, dtype=np.int64),
        first=np.full(candidates.count, -1, dtype=np.int32),
        after=np.full((rows, linked.sets), -1, dtype=np.int32),
        before=np.full((rows, linked.sets), -1, dtype=np.int32),
        barred=np.zeros(candidates.count, dtype=np.uint8),
        trial=np.zeros(linked.sets, dtype=np.int32),
        log_row=np.zeros(LONGEST, dtype=np.int32),
        log_option=np.zeros(LONGEST, dtype=np.int32),
        log_group=np.zeros((LONGEST, linked.sets), dtype=np.int32),
        queue=np.zeros(2 * LONGEST, dtype=np.int32),
        numbers=np.array([0, 0, -1], dtype=np.int64),
        rows=np.zeros(WINDOW * COPIES, dtype=np.int64),
        picks=np.zeros(WINDOW * COPIES, dtype=np.int64),
        cell=np.array([max(1, round(cell))], dtype=np.int64),
        random=random.integers(1, 1 << 62, size=1, dtype=np.uint64),
    )
    relink(state)
    return state if ((state.size == 0) | (state.size >= state.least)).all() else None


def relink(state: LinkedState) -> None:
    """Make lists and sizes anew from `group`."""
    state.size[:] = np.bincount(state.group.reshape(-1), minlength=len(state.size))
    state.first[:] = -1
    for k in range(state.group.shape[1]):
        order = np.argsort(state.group[:, k], kind="stable").astype(np.int32)
        group = state.group[order, k]
        same = group[1:] == group[:-1]
        state.after[:, k] = state.before[:, k] = -1
        state.after[order[:-1][same], k] = order[1:][same]
        state.before[order[1:][same], k] = order[:-1][same]
        begins = np.concatenate([[True], ~same])
        state.first[group[begins]] = order[begins]


def loss_of(state: LinkedState) -> int:
    """What the rows lose where they are, in units."""
    return int(state.option_cost[state.option].sum() + state.cost[state.group].sum())


def table_of(linked: LinkedSets, state: LinkedState) -> Assignment | None:
    """The table where the rows are now."""
    places = np.column_stack([state.option, state.group]).astype(np.int64)
    distinct, rows = np.unique(places, axis=0, return_counts=True)
    return linked.table(distinct[:, 0], distinct[:, 1:], rows.astype(np.int64))


def draw_by(linked: LinkedSets, phi: Floats, cell: float) -> tuple[Floats, Ints]:
    """Tables of the alias method: g with weight exp(-φ_g) · min(1, 300 / N_g)."""
    weight = np.exp(-np.maximum(phi, 0) / cell) * np.minimum(1.0, SMALL_COVER / linked.parts.candidates.support)
    return alias_tables(weight)
