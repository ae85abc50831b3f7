"""What all heuristics need to know of an assignment: its pairs, whether it is valid, and whether its groups could
lose less."""

from __future__ import annotations

import numpy as np

from kanon_milp.errors import SolverError
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.kernels.covers import cheapest_covers
from kanon_milp.presolve.assignment import Assignment, Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Ints


def assignment_of(instance: Instance, row_type: Ints, candidate: Ints, rows: Ints) -> Assignment:
    """The assignment of so many rows of each type to each candidate; entries may repeat and may be zero.

    Raises SolverError unless each row is placed once, in a candidate that covers it, and each group is large enough.
    """
    t = instance.types.count
    key, place = np.unique(candidate.astype(np.int64) * t + row_type, return_inverse=True)
    total = np.bincount(place, weights=rows, minlength=len(key)).astype(np.int64)
    pair = pairs_at(instance, key % t, key // t)
    if (pair < 0).any():
        raise SolverError("a heuristic has put rows into a candidate that does not cover them")
    everything = np.zeros(instance.candidates.pairs, dtype=np.int64)
    everything[pair] = total
    assignment = Assignment.from_pairs(instance, everything)
    size = group_sizes(instance, assignment)
    if ((size > 0) & (size < instance.least)).any():
        raise SolverError("a heuristic has left a group that is too small")
    return assignment


def pairs_at(instance: Instance, row_type: Ints, candidate: Ints) -> Ints:
    """Position of each (row type, candidate) pair in `Candidates.members`, -1 where the candidate does not cover it."""
    candidates, t = instance.candidates, instance.types.count
    # candidates are in order and so are the members of each
    keys = candidates.pair_keys(t)
    wanted = candidate * t + row_type
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1).astype(np.int64)


def group_sizes(instance: Instance, assignment: Assignment) -> Ints:
    """Rows of each candidate, int64 (G,)."""
    size = np.bincount(assignment.candidate, weights=assignment.rows, minlength=instance.candidates.count)
    return size.astype(np.int64)


def tighten_groups(instance: Instance, assignment: Assignment) -> Assignment:
    """Release each group by the cheapest candidate that covers all of its rows; the loss only falls.

    Rows that agree in a suppressed column need not lose it. That the candidate is one of the reduced instance loses
    nothing: a candidate that viability drops covers too few rows, and one that dominance drops has another in its
    place that covers as much and costs no more. Groups that end in one candidate are merged.
    """
    candidates = instance.candidates
    options, _ = candidates.covers.transposed(instance.types.count)
    groups = Groups.of_assignment(assignment)
    sizes = group_sizes(instance, assignment)[groups.candidate]
    chosen = cheapest_covers(groups.types, groups.candidate, sizes, options, candidates.cost, instance.least)
    # a group that needs nothing but to be fully suppressed may need more than rows elsewhere
    freed = np.flatnonzero(instance.exempt[groups.candidate] & ~instance.exempt[chosen])
    check = GroupCheck(instance) if len(freed) else None
    for h in freed.tolist() if check is not None and check.code is not None else ():
        assert check is not None
        entries = slice(int(groups.types.indptr[h]), int(groups.types.indptr[h + 1]))
        held = check.by_value(groups.types.values[entries], groups.copies[entries])
        if not check.holds(int(chosen[h]), held):
            chosen[h] = groups.candidate[h]
    candidate = np.repeat(chosen, groups.types.lengths)
    tightened = assignment_of(instance, groups.types.values, candidate, groups.copies)
    if tightened.cost > assignment.cost:
        raise SolverError("tightening the groups has raised the loss")
    return tightened


def most_general_pairs(instance: Instance) -> Ints:
    """For each row type the pair whose candidate covers most rows, int64 (t,)."""
    candidates = instance.candidates
    order = np.lexsort((candidates.support[candidates.candidate_of_pair()], candidates.members))
    found: Ints = order[np.searchsorted(candidates.members[order], np.arange(instance.types.count), side="right") - 1]
    return found
