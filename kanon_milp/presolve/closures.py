"""Closed candidates, enumerated with polynomial delay: what a best table can need, out of any number of level vectors.

The *closure* of a set of rows has per column the lowest label that all of them share; a candidate is *closed* if it is
the closure of its own cover. There are at most 2^t of them over t row types, with any number of columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kanon_milp.presolve.instance import Candidates, Instance, exempt_candidates, recode, table_as_group
from kanon_milp.presolve.ragged import Ragged, indptr_of, split_evenly
from kanon_milp.presolve.reductions import Viability, supports
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.hierarchies import ColumnLevels
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Levels, fully_suppressed
from kanon_milp.system.arrays import Flags, Ints, Ints32

MOST_COLUMNS = 300  # columns that divide the rows differently; every two of them are compared again and again
AT_ONCE = 1 << 20  # pairs that are divided in one go
ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)


def closures_suffice(problem: Problem) -> bool:
    """Whether some best table releases each group at its closure, so that no candidate is needed that is not closed.

    Proof. Take a best table and release each group at its closure. Costs do not fall from level to level, so no group
    loses more. Groups that are alike then are one, which has what is required where requirements are closed under
    merging and judge each group alone; there may be fewer groups, which nothing minds unless many are asked for. Rows
    that are exempt stay as they are, fully suppressed. ∎

    So what needs other candidates is `max_groups` as objective and a least number of groups (groups that merge count
    once), requirements that are not closed under merging (two groups with one closure need two released rows) or are
    about more than one group or about what is released (a closure may not be allowed), and what a user adds to a model
    (it may ask for levels that no closure has). Under a mask
    a closure need not be allowed; the patterns are listed then, and one group-by for each is as good.
    """
    return (
        problem.merge_closed
        and problem.separable
        and not problem.asks_of_labels
        and not problem.wants_many_groups
        and problem.recoding.mask is None
    )


def pricing_suffices(problem: Problem) -> bool:
    """Whether candidates can be priced instead of listed: the closed ones, or where these are not enough
    (`closures_suffice`) those of all level vectors that are allowed."""
    return problem.merge_closed and problem.separable and not problem.asks_of_labels and problem.objective == "loss"


def closed_instance(problem: Problem, types: RowTypes, most: float = math.inf) -> Instance | None:
    """The instance with the closed candidates that can be open, and with the fully suppressed one where rows in it are
    exempt; None where these have more than `most` (row type, candidate) pairs, or there are too many columns.

    Raises ValueError for a problem that needs others (`closures_suffice`).
    """
    if not closures_suffice(problem):
        raise ValueError("closed candidates are not enough for this problem")
    root = root_instance(problem, types)
    top = root.levels
    axes = [Axis.of(column, types.codes[:, j]) for j, column in enumerate(top.columns)]
    # columns that divide the row types alike at each level are in the same class everywhere
    kinds: dict[tuple[bytes, ...], int] = {}
    kind = [kinds.setdefault(axis.divisions, len(kinds)) for axis in axes]
    if len(kinds) > MOST_COLUMNS:
        return None

    def viable(classes: Ints32, covers: Ragged[np.int32]) -> Flags:
        """What columns that are not divided yet leave open is at the top, so this is what the level vectors give."""
        vectors = np.stack([axis.levels[classes[:, kind[j]]] for j, axis in enumerate(axes)], axis=1)
        levels = replace(top, vectors=vectors.astype(np.int16), costs=np.zeros(len(vectors), np.int64))
        made = _candidates(types, levels, np.arange(len(vectors)), covers)
        return Viability().keep(replace(root, levels=levels, candidates=made, exempt=np.zeros(made.count, bool)))

    distinct = [axes[kind.index(each)] for each in range(len(kinds))]
    found = closed_sets(distinct, types.counts, root.smallest_size, most, None if problem.size_only else viable)
    if found is None:
        return None
    classes, covers = found
    vectors = np.stack([axis.lowest(classes[:, kind[j]], covers) for j, axis in enumerate(axes)], axis=1).astype(
        np.int16
    )
    return _instance(root, vectors, covers)


def _instance(root: Instance, vectors: NDArray[np.int16], covers: Ragged[np.int32]) -> Instance:
    """The instance with candidates of these level vectors and covers, of which the first is that of all row types, and
    with the fully suppressed one where rows in it are exempt. root: another instance of the problem."""
    problem, types, top = root.problem, root.types, root.levels.top[None, :]
    if problem.suppressed_rows == "exempt" and (vectors[0] != top[0]).any():
        vectors = np.concatenate([vectors, top])
        covers = covers.joined(covers.subset(np.arange(covers.lists) == 0))
    # one level vector more where nothing is closed at the top, since methods look for it
    every = np.concatenate([vectors, top])
    key = mixed_key(list(every.T), [height + 1 for height in every.max(axis=0).tolist()])
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    listed, number = every[first], number[:-1]
    order = np.lexsort((covers.values[covers.indptr[:-1]], number))
    levels = recode(problem, types, lambda _: listed)
    made = _candidates(types, levels, number[order], covers.taken(order))
    return replace(root, levels=levels, candidates=made, exempt=exempt_candidates(problem, levels, made))


def instance_of_small_sets(problem: Problem, types: RowTypes, most: float = math.inf) -> Instance | None:
    """The instance with the closures of all sets of one, two and three row types, and of the table: enough where some
    best table has groups of two and three rows only, each released at its closure. None where these have more than
    `most` (row type, candidate) pairs.

    There are t³/6 such sets at most, however many columns there are. Raises ValueError as `closed_instance`.
    """
    if not closures_suffice(problem):
        raise ValueError("closed candidates are not enough for this problem")
    t, root = types.count, root_instance(problem, types)
    labels = [column.label_of[:, types.codes[:, j]] for j, column in enumerate(root.levels.columns)]
    # the table's closure stays the first; a closed candidate is told by its cover
    vectors = [np.array([[_apart(label, 0).max() for label in labels]], dtype=np.int16)]
    covers = [_bits(np.ones((1, t), dtype=bool))]
    held, compact = 1, AT_ONCE  # closures, and from how many on those that occur twice go
    for i in range(t):
        for levels, cover in _closures_with(i, labels):
            vectors.append(levels)
            covers.append(cover)
            held += len(levels)
        if i == t - 1 or held > compact:
            every = np.concatenate(covers)
            first = _first_of_each(every)
            vectors, covers = [np.concatenate(vectors)[first]], [every[first]]
            held, compact = len(first), 2 * len(first) + AT_ONCE
            if ONES[covers[0].view(np.uint8)].sum() > most:
                return None
    sets: list[Ints] = []
    members: list[Ints32] = []
    for at in range(0, held, max(1, AT_ONCE // t)):
        some = covers[0][at : at + max(1, AT_ONCE // t)].view(np.uint8)
        number, member = np.nonzero(np.unpackbits(some, axis=1, count=t))
        sets.append(number + at)
        members.append(member.astype(np.int32))
    lists: Ragged[np.int32] = Ragged(indptr_of(np.bincount(np.concatenate(sets))), np.concatenate(members))
    return _instance(root, vectors[0], lists)


def _closures_with(i: int, labels: Sequence[Ints32]) -> Iterator[tuple[NDArray[np.int16], NDArray[np.uint64]]]:
    """The closures of row type i with one or two others that are not before it: their levels, and their covers as bits;
    some more than once. labels: by column, int32 (levels, t)."""
    apart = np.stack([_apart(label, i) for label in labels], axis=1)
    alike = [_bits(label == label[:, i : i + 1]) for label in labels]
    pairs = np.unique(apart[i:], axis=0)
    one, other = np.triu_indices(len(pairs))
    for at in range(0, len(one), max(1, AT_ONCE // len(labels))):
        chosen = slice(at, at + max(1, AT_ONCE // len(labels)))
        # levels are nested: three are alike where the first is like each of the others
        levels = np.maximum(pairs[one[chosen]], pairs[other[chosen]])
        covers = alike[0][levels[:, 0]]
        for j in range(1, len(labels)):
            covers &= alike[j][levels[:, j]]
        first = _first_of_each(covers)
        yield levels[first], covers[first]


def _apart(label: Ints32, i: int) -> NDArray[np.int16]:
    """The lowest level of a column at which each row type is like row type i, int16 (t,). label: int32 (levels, t)."""
    found: NDArray[np.int16] = (label == label[:, i : i + 1]).argmax(axis=0).astype(np.int16)
    return found


def _bits(sets: Flags) -> NDArray[np.uint64]:
    """Sets of row types, bool (sets, t), as bits, uint64 (sets, words)."""
    words = -(-sets.shape[1] // 64)
    padded = np.zeros((len(sets), 64 * words), dtype=bool)
    padded[:, : sets.shape[1]] = sets
    return np.packbits(padded, axis=1).view(np.uint64)


def _first_of_each(covers: NDArray[np.uint64]) -> Ints:
    """Where each cover occurs first, int64, ascending."""
    order = np.lexsort(covers.T)
    new = np.concatenate([[True], (covers[order[1:]] != covers[order[:-1]]).any(axis=1)])
    found: Ints = np.sort(order[new])
    return found


def root_instance(problem: Problem, types: RowTypes) -> Instance:
    """The instance with the fully suppressed candidate alone."""
    top = recode(problem, types, fully_suppressed).last
    whole: Ragged[np.int32] = Ragged(np.array([0, types.count]), np.arange(types.count, dtype=np.int32))
    made = _candidates(types, top, np.zeros(1, np.int64), whole)
    return Instance(problem, types, top, made, np.zeros(1, bool), table_as_group(types))


def _candidates(types: RowTypes, levels: Levels, vector: Ints, covers: Ragged[np.int32]) -> Candidates:
    of_pair = covers.list_of_value().astype(np.int32)
    support = supports(types.counts, of_pair, covers.values, covers.lists)
    cost = levels.row_costs(vector, types.codes[covers.values[covers.indptr[:-1]]])
    return Candidates(vector.astype(np.int32), cost, support, covers.indptr, covers.values)


@dataclass(frozen=True, eq=False)
class Axis:
    """A column whose levels that cost the same, whatever the label, are one class each, from the cheapest (0) to that
    of the top; or each level a class of its own.

    Of levels that cost the same the highest covers most, so it dominates the others. levels: int64 (classes,), that
    highest level. label: int32 (classes, t), label of each row type there. column, codes: as in the instance.
    """

    levels: Ints
    label: Ints32
    column: ColumnLevels
    codes: Ints32

    @classmethod
    def of(cls, column: ColumnLevels, codes: Ints32, *, every: bool = False) -> Axis:
        """The column of this instance. codes: int32 (t,). every: whether each level is a class of its own."""
        cells = [(cost,) for cost in column.costs] if column.cell_costs is None else column.cell_costs
        rises = [level for level in range(column.height) if every or cells[level] != cells[level + 1]]
        levels = np.array([*rises, column.height], dtype=np.int64)
        return cls(levels, column.label_of[levels][:, codes], column, codes)

    @property
    def top(self) -> int:
        """The class of the top."""
        return len(self.levels) - 1

    @property
    def divisions(self) -> tuple[bytes, ...]:
        """How the row types are divided in each class: of each of them the first one that is like it."""
        first = (np.unique(label, return_index=True, return_inverse=True)[1:] for label in self.label)
        return tuple(at[number].tobytes() for at, number in first)

    def costs(self, column: Ints) -> Ints:
        """What each row type loses in each class, int64 (classes, t). column: of each level and value, in any unit."""
        found: Ints = column[self.levels][:, self.codes]
        return found

    def classes(self, covers: Ragged[np.int32]) -> Ints32:
        """For each set of row types the lowest class in which they are alike, int32 (sets,)."""
        found = np.full(covers.lists, self.top, dtype=np.int32)
        for c in range(self.top - 1, -1, -1):
            below = np.flatnonzero(found == c + 1)
            found[below[_alike(self.label, np.full(len(below), c), covers, below)]] = c
        return found

    def lowest(self, classes: Ints32, covers: Ragged[np.int32]) -> Ints:
        """The lowest level of that class at which they are alike, int64 (sets,)."""
        found = self.levels[classes]
        if len(self.levels) < self.column.height + 1:
            label = self.column.label_of[:, self.codes]
            for level in range(self.column.height - 1, -1, -1):
                below = np.flatnonzero(found == level + 1)
                found[below[_alike(label, np.full(len(below), level), covers, below)]] = level
        return found


def rises(root: Instance, axes: Sequence[Axis]) -> Ints:
    """What a row loses more in the next class of each column than in each class, one column after the other, int64
    (1, classes), or (t, classes) where that depends on labels; in units of `root`, which has all level vectors."""
    cells = root.levels.cells
    if cells is not None:
        return np.concatenate([np.diff(axis.costs(cell), axis=0) for axis, cell in zip(axes, cells, strict=True)]).T
    # what each class loses, column by column, with all others at the lowest one
    lowest = np.array([axis.levels[0] for axis in axes], np.int16)
    vectors = [lowest]
    for j, axis in enumerate(axes):
        for level in axis.levels.tolist():
            vectors.append(np.where(np.arange(len(lowest)) == j, level, lowest).astype(np.int16))
    costs = recode(root.problem, root.types, lambda _: np.stack(vectors)).costs
    ends = 1 + np.cumsum([axis.top + 1 for axis in axes])
    found = [np.diff(costs[end - axis.top - 1 : end]) for end, axis in zip(ends, axes, strict=True)]
    return np.concatenate(found)[None, :]


def _alike(label: Ints32, level: Ints, covers: Ragged[np.int32], sets: Ints) -> Flags:
    """Whether the row types of these sets have one label each, bool (sets,), at a level for each of them.

    Most are refuted by their first and last row type.
    """
    begin, end = covers.indptr[sets], covers.indptr[sets + 1]
    first = label[level, covers.values[begin]]
    alike: Flags = label[level, covers.values[end - 1]] == first
    unsure = np.flatnonzero(alike & (end - begin > 2))
    for some in split_evenly(unsure, (end - begin)[unsure], AT_ONCE):
        held = covers.taken(sets[some])
        same = label[np.repeat(level[some], held.lengths), held.values] == np.repeat(first[some], held.lengths)
        alike[some] = np.logical_and.reduceat(same, held.indptr[:-1])
    return alike


def closed_sets(
    axes: Sequence[Axis],
    counts: Ints,
    least: int,
    most: float,
    viable: Callable[[Ints32, Ragged[np.int32]], Flags] | None = None,
) -> tuple[Ints32, Ragged[np.int32]] | None:
    """The covers of all closed candidates with enough rows, each once, and their classes column by column, int32
    (sets, m); that of all row types is the first, and always there. None where there are more than `most` pairs.

    By prefix-preserving closure extension (LCM; Uno, Asai, Uchida and Arimura 2004) with items (column, level, label),
    breadth first: column by column, each set that is there stays, and is divided by the labels of each lower level.
    A part is kept if the level is its lowest in this column, and no level in an earlier one gets lower.

    Proof that each closed set P is found once: let v be its levels and C_j the row types with its labels in the first j
    columns. Since P ⊆ C_j, the levels of C_j in these columns are v again; so C_j is C_(j-1), or a part of it that is
    kept. Two ways to P would choose different levels in some column, and both are v there. Each set on the way is
    closed itself (as a set: its closure covers no more), so none is made in vain but the parts that are refused at
    once: the delay is polynomial, and the sets only grow in number. A set with too few rows, or of which no subset has
    what is required (`viable`), has no part that has.
    """
    t = len(counts)
    classes = np.array([[axis.top for axis in axes]], dtype=np.int32)
    covers: Ragged[np.int32] = Ragged(np.array([0, t], dtype=np.int64), np.arange(t, dtype=np.int32))
    # columns of many values first: their parts are small soon
    order = sorted(range(len(axes)), key=lambda j: -len(np.unique(axes[j].label[0])))
    for place, j in enumerate(order):
        axis = axes[j]
        classes[:, j] = axis.classes(covers)
        new_classes, new_covers, pairs = [classes], [covers], len(covers.values)
        for c in range(axis.top):
            for sets in split_evenly(np.flatnonzero(classes[:, j] > c), covers.lengths[classes[:, j] > c], AT_ONCE):
                parent, parts = _divided(axis.label[c], covers, sets, counts, least)
                kept = np.arange(parts.lists)
                if c:
                    kept = kept[~_alike(axis.label, np.full(len(kept), c - 1), parts, kept)]
                for i in order[:place] if len(kept) else ():
                    lower = classes[parent[kept], i] - 1
                    at = np.flatnonzero(lower >= 0)
                    stays = np.ones(len(kept), dtype=bool)
                    stays[at] = ~_alike(axes[i].label, lower[at], parts, kept[at])
                    kept = kept[stays]
                chosen = np.zeros(parts.lists, dtype=bool)
                chosen[kept] = True
                parts, own = parts.subset(chosen), classes[parent[chosen]]
                own[:, j] = c
                if viable is not None and parts.lists:
                    fits = viable(own, parts)
                    parts, own = parts.subset(fits), own[fits]
                pairs += len(parts.values)
                if pairs > most:
                    return None
                new_classes.append(own)
                new_covers.append(parts)
        classes, covers = np.concatenate(new_classes), covers.joined(*new_covers[1:])
    return classes, covers


def _divided(
    label: Ints32, covers: Ragged[np.int32], sets: Ints, counts: Ints, least: int
) -> tuple[Ints, Ragged[np.int32]]:
    """The parts of these sets by the label of their row types, those with enough rows; and of which set each is."""
    held, labels = covers.taken(sets), int(label.max()) + 1
    key = held.list_of_value() * labels + label[held.values]
    order = np.argsort(key, kind="stable")
    key, members = key[order], held.values[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    enough = np.add.reduceat(counts[members], first) >= least
    parts = Ragged(np.append(first, len(members)).astype(np.int64), members).subset(enough)
    return sets[key[first[enough]] // labels], parts
