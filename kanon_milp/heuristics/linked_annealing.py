"""Annealing of tables in which several sets of quasi-identifiers are k-anonymous.

Each row has an option, and in each set a candidate of the part that comes with it (`presolve.linked_sets`). A move
opens a candidate, closes one, or gives one row another option.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.kernels.elementary import exponentials, power
from kanon_milp.kernels.linked_moves import LinkedRows, make_moves
from kanon_milp.kernels.moves import alias_tables
from kanon_milp.kernels.rows import relink, total
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.linked_sets import LinkedSets
from kanon_milp.presolve.ragged import Ragged, indptr_of
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.parameters import number, parameters

CHUNK = 20_000  # moves between two looks at the clock


@parameters("linked_annealing")
@dataclass(frozen=True)
class LinkedAnnealingParameters:
    """Annealing of several sets of quasi-identifiers. Tuned on Adult with two and three sets."""

    hot: float = number(1.0, "cells, the temperature at the beginning", least=1e-9)
    cold: float = number(0.15, "cells, the temperature at the end", least=1e-9)
    moves: int = number(1_000, "moves for each row in an annealing", least=1)
    first_moves: int = number(40, "moves for each row in the descent before the first annealing", least=1)
    patience: int = number(3, "annealings that find nothing, until it ends", least=1)
    parts: int = number(10, "of an annealing, after which the best table is looked for", least=1)
    most_rows: int = number(5_000_000, "rows, which are moved one by one; tables of more are left as they are", least=1)
    small_cover: int = number(300, "rows; candidates that cover more are drawn less often", least=1)


DEFAULT = LinkedAnnealingParameters()


def anneal_sets(
    linked: LinkedSets,
    start: Assignment,
    phi: Floats,
    effort: Effort,
    seed: int,
    params: LinkedAnnealingParameters = DEFAULT,
) -> Assignment:
    """The best table after a descent and annealings, each from the best one so far; the start where there is no better
    one.

    start: valid. phi: float64 (G,), φ of the bound, by which candidates are drawn. effort: when it ends; its number of
    neighbourhoods is one of annealings, without which some that find nothing end it, too.
    """
    cell = cell_cost(linked.instance)
    chance, alias = draw_by(linked, phi, cell, params.small_cover)
    board = None if start.rows.sum() > params.most_rows else LinkedBoard.of(linked, start, cell, seed)
    if board is None:
        return start
    rows = len(board.option)
    best, loss = (board.option.copy(), board.group.copy()), start.cost
    turn, fruitless = 0, 0
    while not effort.over and fruitless < params.patience and turn != effort.neighbourhoods:
        before = loss
        moves = (params.first_moves if turn == 0 else params.moves) * rows
        hot, cold = (params.cold / 10, params.cold / 10) if turn == 0 else (params.hot, params.cold)
        for part in range(params.parts):
            first, last = (cell * hot * power(cold / hot, at / params.parts) for at in (part, part + 1))
            for _ in range(max(moves // params.parts // CHUNK, 1)):
                if not effort.over:
                    make_moves(board.rows, min(moves // params.parts + 1, CHUNK), first, last, chance, alias)
            if board.loss < loss:
                best, loss = (board.option.copy(), board.group.copy()), board.loss
        turn, fruitless = turn + 1, 0 if loss < before else fruitless + 1
        board.restore(*best)
    found = board.table()
    return start if found is None or found.cost > start.cost else found


@dataclass(frozen=True, eq=False)
class LinkedBoard:
    """Rows where a table has them. option: int32 (rows,), group: int32 (rows, sets); moves of `rows` change them."""

    linked: LinkedSets
    rows: LinkedRows
    option: Ints32
    group: Ints32

    @classmethod
    def of(cls, linked: LinkedSets, table: Assignment, cell: float, seed: int) -> LinkedBoard | None:
        """None where the table has rows in classes that are too small."""
        of_table, group_of_table = linked.places(table)
        if (of_table < 0).any() or (group_of_table < 0).any():
            return None
        option = np.repeat(of_table, table.rows).astype(np.int32)
        group = np.ascontiguousarray(np.repeat(group_of_table, table.rows, axis=0).astype(np.int32))
        parts, types = linked.parts, linked.instance.types
        candidates = parts.candidates
        size, least = np.bincount(group.reshape(-1), minlength=candidates.count).astype(np.int64), parts.sizes
        if ((size > 0) & (size < least)).any():
            return None
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
        rows = LinkedRows(
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
            least=least,
            option=option,
            group=group.reshape(-1),
            size=size,
            cell=max(1, round(cell)),
            random=int(random.integers(1, 1 << 62)),
        )
        return cls(linked, rows, option, group)

    @property
    def loss(self) -> int:
        """What the rows lose where they are, in units."""
        return int(self.linked.option_cost[self.option].sum()) + total(self.rows)

    def restore(self, option: Ints32, group: Ints32) -> None:
        """Put the rows where they were."""
        self.option[:], self.group[:] = option, group
        relink(self.rows)

    def table(self) -> Assignment | None:
        """The table where the rows are now."""
        places = np.column_stack([self.option, self.group]).astype(np.int64)
        distinct, rows = np.unique(places, axis=0, return_counts=True)
        return self.linked.table(distinct[:, 0], distinct[:, 1:], rows.astype(np.int64))


def draw_by(linked: LinkedSets, phi: Floats, cell: float, small_cover: int) -> tuple[Floats, Ints]:
    """Tables of the alias method: g with weight exp(-φ_g) · min(1, 300 / N_g)."""
    small = np.minimum(1.0, small_cover / linked.parts.candidates.support)
    weight = exponentials(-np.maximum(phi, 0) / cell) * small
    return alias_tables(weight)
