"""Tables from the point of a condensed model: only what is near the groups that are too scarce there is decided anew.

A point whose ample groups turn out to be scarce is no table of its loss, but it is one nearly everywhere. The model in
which these groups are no longer ample has the other candidates as they were, and is solved in a second. Its bound says
nothing; its point is a table, or shows what else is scarce.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kanon_milp.bounds.condensed import Condensed
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Flags

NEAR = 600  # candidates that are decided anew, at most


def near(condensed: Condensed, scarce: Flags) -> Flags | None:
    """Positions of candidates that are decided anew, bool (C,): those that compete with scarce ones for row types, and
    those that compete with these, as long as there are no more than `NEAR`; None where the first are too many.

    scarce: bool (G,), candidates of the instance.
    """
    found = None
    at = scarce[condensed.candidates]
    while True:
        wanted = np.zeros(len(condensed.rows), dtype=bool)
        wanted[condensed.row_type[at[condensed.candidate]]] = True
        more = at.copy()
        more[condensed.candidate[wanted[condensed.row_type]]] = True
        if more.sum() > NEAR:
            return found
        if found is not None and more.sum() == found.sum():
            return found
        found = at = more


def held(condensed: Condensed, opened: Flags, free: Flags) -> LinearModel:
    """The model with all but the free candidates open or closed as they are in `opened`, bool (G,)."""
    model = condensed.model()
    first = len(condensed.pair) + len(condensed.supply)
    lower, upper = model.lower.copy(), model.upper.copy()
    as_it_is = opened[condensed.candidates]
    lower[first:] = np.where(free, 0.0, as_it_is)
    upper[first:] = np.where(free, 1.0, as_it_is)
    return replace(model, lower=lower, upper=upper)
