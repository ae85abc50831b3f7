"""Tables near a relaxation: the averaged groups of the required bound, rounded, and diving.

A dive takes the groups that the linear program over all groups uses most, and solves it again for the rows that are
left (a diving heuristic with column generation; Sadykov, Vanderbeck, Pessoa, Tahiri, Uchoa 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kanon_milp.bounds.columns.master import Master
from kanon_milp.bounds.columns.program import RequiredProgram
from kanon_milp.bounds.dual import DualPoint
from kanon_milp.heuristics.grouping import most_general_pairs, pairs_at
from kanon_milp.presolve.assignment import Assignment, Groups
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.part import Moving, Part
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters

NOTHING = 1e-6  # of a row


@parameters("rounding")
@dataclass(frozen=True)
class RoundingParameters:
    """Tables from averages and from linear programs. Tuned on first rows of Adult under l-diversity and t-closeness."""

    open: float = number(0.3, "of the averages in which a candidate is open, from which on it may have rows", most=1)
    taken: float = number(0.8, "of a group that a linear program uses, to take it at once", most=1)
    likely: float = number(0.2, "of a group, where none is used so often, to draw it", most=1)
    least: float = number(0.1, "of a group, below which nothing is taken any more", most=1)
    near: float = number(5e-4, "of its value that a linear program on the way may be from its bound", most=1)


DEFAULT = RoundingParameters()


def rounded(instance: Instance, point: DualPoint, params: RoundingParameters = DEFAULT) -> Assignment | None:
    """A complete assignment near the averages of the bound, whose groups may violate requirements.

    The rows of each type are apportioned by largest remainders to those candidates that were open often enough; where
    there are none, they go to the most general candidate that they have. None where the point knows no averages.
    """
    if point.rows is None or point.open_share is None:
        return None
    candidates, counts = instance.candidates, instance.types.counts
    likely = (point.open_share[candidates.candidate_of_pair()] >= params.open) & (point.rows > NOTHING)
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


def dive(
    instance: Instance,
    point: DualPoint,
    groups: Groups,
    start: Assignment,
    limit: Limit,
    seed: int,
    params: RoundingParameters = DEFAULT,
) -> Assignment:
    """A complete assignment. Rows for which there is no group in the end go to the most general candidates that they
    have, whose groups may violate requirements.

    point: where multipliers and charges begin. groups: the first columns. start: any table. limit: what is left then
    has no group.
    """
    random = np.random.default_rng(seed)
    left, rows = instance.types.counts.copy(), np.zeros(instance.candidates.pairs, np.int64)
    multipliers, known = point.multipliers, groups
    charges = np.zeros(0) if point.charges is None else point.charges
    while left.any() and not limit.over:
        part = _rest(instance, start, left)
        if not np.bincount(part.candidates.members, minlength=part.types.count).all():
            break
        thetas = charges[part.chosen] if len(charges) else charges
        program = RequiredProgram.of(part, DualPoint(multipliers[part.origin], charges=thetas))
        master = Master(program, _within(known, part, left))
        solved = master.solve(limit, params.near * max(abs(master.value), 1.0))
        # where the rows that are left have no table, groups of some of them are worth taking all the same
        if solved is None or solved.share.max(initial=0.0) < params.least:
            break
        multipliers = multipliers.copy()
        multipliers[part.origin] = master.best.multipliers
        if len(charges):
            charges = charges.copy()
            charges[part.chosen] = program.thetas
        share = np.concatenate([solved.share, np.zeros(master.groups.count - len(solved.share))])
        known = _outside(master.groups, part)
        for c in _chosen(share, random, params):
            span = slice(known.types.indptr[c], known.types.indptr[c + 1])
            types, copies = known.types.values[span], known.copies[span]
            if (left[types] >= copies).all():
                left[types] -= copies
                rows[pairs_at(instance, types, np.full(len(types), known.candidate[c]))] += copies
    rows[most_general_pairs(instance)] += left
    return Assignment.from_pairs(instance, rows)


def _chosen(share: Floats, random: np.random.Generator, params: RoundingParameters) -> Ints:
    """Groups to be taken, those that are used most first."""
    sure = np.flatnonzero(share >= params.taken)
    if len(sure):
        return sure[np.argsort(-share[sure], kind="stable")]
    likely = np.flatnonzero(share >= min(params.likely, share.max()))
    return np.array([random.choice(likely, p=share[likely] / share[likely].sum())])


def _rest(instance: Instance, start: Assignment, left: Ints) -> Part:
    """The rows that are left as an instance, with the candidates that enough of them could have."""
    types = np.flatnonzero(left)
    candidates = instance.candidates
    place = np.full(len(left), -1, np.int64)
    place[types] = np.arange(len(types))
    of_pair = candidates.candidate_of_pair().astype(np.int64)
    covered = np.bincount(of_pair, weights=left[candidates.members], minlength=candidates.count)
    keep = (place[candidates.members] >= 0) & (covered >= instance.least)[of_pair]
    code, _ = instance.sensitive_codes(instance.problem.attributes)
    pairs = of_pair[keep], place[candidates.members[keep]]
    moving = Moving(types, left[types], *pairs, start, np.ones(len(start.rows), np.bool_), code)
    return moving.assemble(instance, np.ones(int(keep.sum()), np.bool_))


def _within(groups: Groups, part: Part, left: Ints) -> Groups:
    """Those of an instance's groups that a part of it can have, in its numbers."""
    place = np.full(len(left), -1, np.int64)
    place[part.origin] = np.arange(len(part.origin))
    number = np.full(part.of.candidates.count, -1, np.int64)
    number[part.chosen] = np.arange(len(part.chosen))
    lacking = np.bincount(
        groups.types.list_of_value(), weights=left[groups.types.values] < groups.copies, minlength=groups.count
    )
    some = groups.subset((lacking == 0) & (number[groups.candidate] >= 0))
    return Groups(number[some.candidate], Ragged(some.types.indptr, place[some.types.values]), some.copies)


def _outside(groups: Groups, part: Part) -> Groups:
    """A part's groups in the numbers of the instance that it is a part of."""
    types = Ragged(groups.types.indptr, part.origin[groups.types.values])
    return Groups(part.chosen[groups.candidate], types, groups.copies)
