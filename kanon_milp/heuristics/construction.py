"""A first table from the dual point: open candidates by their share in the averaged relaxation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.heuristics.state import Board
from kanon_milp.kernels.moves import complete, descend, open_by_price
from kanon_milp.kernels.rows import total
from kanon_milp.system.parameters import number, parameters

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint


@parameters("construction")
@dataclass(frozen=True)
class ConstructionParameters:
    """First tables from multipliers, of sizes and under requirements. Tuned on Adult and CMC."""

    slack: float = number(0.5, "cells by which rows may cost more than their multipliers, after none; doubled twice")
    often: float = number(0.5, "share of the averages in which the candidates are open that come first", most=1)
    sometimes: float = number(
        0.2, "share of the averages in which the candidates are open that come after those", most=1
    )
    promising: float = number(1.5, "cells, φ of the candidates that are worth a look")
    looked_at: float = number(3.0, "cells, φ of the candidates among which rows are moved to mend groups")
    mending: float = number(60.0, "cells for a unit of violation, while groups are mended")
    open: float = number(0.3, "of the averages in which a candidate is open, from which on it may have rows", most=1)
    tried: int = number(50, "rows of each value that are tried for a group that is mended", least=1)
    exchanges: int = number(40, "rows exchanged in a group that meets one relaxation and not all")
    paired: int = number(32, "values up to which one row is exchanged for another")

    @property
    def slacks(self) -> tuple[float, ...]:
        """One after the other, in cells."""
        return (0.0, self.slack, 2 * self.slack, 4 * self.slack)


DEFAULT = ConstructionParameters()


def construct(board: Board, dual: DualPoint, params: ConstructionParameters = DEFAULT) -> None:
    """Place all rows: candidates open in the order of their averaged share y as long as enough rows without a group
    pay for it with their multipliers; the rest goes where it is cheapest. The best of a few tries, each improved by
    opening and closing candidates one by one: what is cheaper before that can cost more after it.

    Leaves the board as it is if it already holds a table that no try beats.
    """
    rows, group = board.rows, board.state.group
    share = np.zeros(len(board.candidate)) if dual.open_share is None else dual.open_share[board.candidate]
    phi = dual.phi[board.candidate]
    order = np.lexsort((phi, -share)).astype(np.int64)
    promising = order[phi[order] <= params.promising * board.cell]
    best, cheapest = total(rows) if board.complete else None, group.copy()
    for slack in params.slacks:
        board.empty()
        for least in (params.often, params.sometimes, 0.0):
            open_by_price(rows, order[share[order] > least], dual.multipliers, slack * board.cell)
        if complete(rows) == 0:
            descend(rows, promising)
            loss = total(rows)
            if best is None or loss < best:
                best, cheapest = loss, group.copy()
    board.restore(cheapest)
