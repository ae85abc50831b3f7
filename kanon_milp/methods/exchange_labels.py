"""What the map of names says of the variables of an exported model: numbers of rows and levels, and no cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import Prepared
from kanon_milp.problem.exact import in_words
from kanon_milp.system.arrays import Ints


def labels_of(prepared: Prepared) -> tuple[list[str], list[str]]:
    """Labels of `assign` and of `open`: numbers of table rows and levels, no cells."""
    instance = prepared.instance
    candidates, levels, counts = instance.candidates, instance.levels, instance.types.counts.tolist()
    rows = [f"{count} rows" if count > 1 else "1 row" for count in counts]
    if instance.types is prepared.before.types:  # else row types have been merged
        first = _first_rows(instance)
        rows = [f"{text} like row {row + 1} of the table" for text, row in zip(rows, first.tolist(), strict=True)]
    heights = [column.height for column in levels.columns]
    vectors = [_vector(instance.types.names, vector, heights) for vector in levels.vectors.tolist()]
    of_candidate = [vectors[v] for v in candidates.vector.tolist()]
    pairs = zip(candidates.members.tolist(), candidates.candidate_of_pair().tolist(), strict=True)
    assign = [f"{rows[i]}, released with {of_candidate[g]}" for i, g in pairs]
    costs = [in_words(cost * levels.unit) for cost in candidates.cost.tolist()]
    made = zip(of_candidate, candidates.representative.tolist(), costs, strict=True)
    return assign, [f"{text}, made from {rows[i]}, loss {cost} a row" for text, i, cost in made]


def _first_rows(instance: Instance) -> Ints:
    """The first row of the table of each row type."""
    _, first = np.unique(instance.types.type_of_rows(instance.problem.table.keys), return_index=True)
    return first.astype(np.int64)


def _vector(names: Sequence[str], levels: Sequence[int], heights: Sequence[int]) -> str:
    """A level vector as in a mask file: keep, * or a level."""
    cells = zip(names, levels, heights, strict=True)
    return " ".join(f"{name}={'keep' if not level else '*' if level == top else level}" for name, level, top in cells)
