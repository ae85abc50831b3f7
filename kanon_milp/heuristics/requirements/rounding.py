"""Where annealing may begin: the averaged groups of the required bound, rounded."""

from __future__ import annotations

import numpy as np

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.heuristics.grouping import most_general_pairs
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance

OPEN = 0.3  # share of the averages in which a candidate is open, from which on it may have rows
NOTHING = 1e-6  # of a row


def rounded(instance: Instance, point: DualPoint) -> Assignment | None:
    """A complete assignment near the averages of the bound, whose groups may violate requirements.

    The rows of each type are apportioned by largest remainders to those candidates that were open often enough; where
    there are none, they go to the most general candidate that they have. None where the point knows no averages.
    """
    if point.rows is None or point.open_share is None:
        return None
    candidates, counts = instance.candidates, instance.types.counts
    likely = (point.open_share[candidates.candidate_of_pair()] >= OPEN) & (point.rows > NOTHING)
    pairs = np.flatnonzero(likely)
    types, weights = candidates.members[pairs], point.rows[pairs]
    weights *= counts[types] / np.bincount(types, weights=weights, minlength=len(counts))[types]
    whole = np.floor(weights + NOTHING).astype(np.int64)
    lacking = counts - np.bincount(types, weights=whole, minlength=len(counts)).astype(np.int64)
    order = np.lexsort((whole - weights, types))
    rank = np.arange(len(order)) - np.searchsorted(types[order], types[order])
    whole[order[rank < lacking[types[order]]]] += 1
    rows = np.zeros(candidates.pairs, np.int64)
    rows[pairs] = whole
    left = counts - np.bincount(types, weights=whole, minlength=len(counts)).astype(np.int64)
    rows[most_general_pairs(instance)] += left
    return Assignment.from_pairs(instance, rows)
