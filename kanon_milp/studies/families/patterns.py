"""Tables on which a heuristic does badly."""

from __future__ import annotations

import random

from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.studies.families.base import Answer, Family, Generated, columns, refuse_large, text_frame
from kanon_milp.studies.generators import tight_example


def greedy_tight(size: int, draw: random.Random, _answer: Answer) -> Generated:
    """The greedy heuristic's tight example, under the patterns that suppress none, one or all columns (Theorem 3).

    The paper says all patterns, under which the heuristic does better from three columns on (`tight_example`).
    """
    refuse_large(size * size, size)
    order = draw.sample(range(size * size), size * size)
    place = {row: at for at, row in enumerate(order)}
    frame = tight_example(size)[order]
    names = columns("q", size)
    alone = [tuple("*" if j == which else "keep" for j in range(size)) for which in range(size)]
    groups = [[row, *range(size + row * (size - 1), size + (row + 1) * (size - 1))] for row in range(size)]
    return Generated(
        f"The greedy heuristic's tight example with {size} columns",
        text_frame(frame.rows(), names),
        names,
        (KAnonymity(size),),
        size * size,
        f"Bredereck et al. 2013, Theorem 3: m² for m = k = {size}, where the greedy heuristic pays (m - 1)·m²",
        patterns=(("keep",) * size, *alone, ("*",) * size),
        groups=tuple(tuple(place[row] for row in group) for group in groups),
        source_problem="one row of ones with the rows of each column",
        read_back=lambda found: f"{len(found)} groups, each of one column's rows and a row of ones",
    )


FAMILIES = (
    Family(
        "greedy_tight", "the greedy heuristic's tight example, of m columns and m² rows",
        "Bredereck et al. 2013, Theorem 3", "columns m = k", 4, 3, greedy_tight,
    ),
)  # fmt: skip
