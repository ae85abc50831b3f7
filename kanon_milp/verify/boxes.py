"""What multipliers prove about boxes (NCP), recomputed from the original rows, in integers.

Each row of a group costs the penalty e of the group's box: Σ over columns of weight · the share of the range of an
interval, (|set| - 1)/(|values| - 1) of a set, or the NCP of the lowest label of a hierarchy that all values have. The
box of a part of a group lies in that of the group, so groups of k to 2k - 1 rows are enough. Places and costs are
rounded down to integers; of an interval's width, the difference of two places, less than 1 may be too much (`slack`).

Groups are looked for row by row (`kanon_milp.verify.seeds`), depth first over boxes: with rows P placed, those inside
the box that no cut is about may come for e - λ. Else the group has a widest further row y, and costs at least

    (|P| + 1) e_y - Σ λ_P - λ_y + Σ over the best others (e_y - λ_x),

as many others as a group must have, and more while e_y < λ_x; e_y is the penalty of the box with y.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.cells import ColumnRule, costs_of_labels
from kanon_milp.verify.numbers import ranged
from kanon_milp.verify.rank_one import RankOneCut
from kanon_milp.verify.seeds import LIMIT, STEPS, SeedSearch, check_size

PASSES = 3  # of leaving rows out


@dataclass(frozen=True, eq=False)
class Boxes:
    """The rows as arrays, in units of cost.

    places: int64 (n, intervals), where their values are. codes: int64 (n, sets), numbers of values in `further`'s
    columns, each column with numbers of its own. further: int64 (sets,), of each further value. labels: per column of a
    hierarchy int64 (levels, n), label of each row; costs: the same shape, of these labels. slack: by how much a row of
    a group may cost less.
    """

    places: Ints
    codes: Ints
    further: Ints
    labels: list[Ints]
    costs: list[Ints]
    slack: int

    @classmethod
    def of(cls, rules: Sequence[ColumnRule], columns: Sequence[Sequence[Label]], factors: Sequence[Fraction]) -> Boxes:
        """rules: of the columns. columns: their values row by row. factors: units that a penalty of 1 costs."""
        places, codes, further, labels, costs = [], [], [], [], []
        slack = values_of_sets = 0
        for rule, column, factor in zip(rules, columns, factors, strict=True):
            values = list(dict.fromkeys(column))
            number = {value: at for at, value in enumerate(values)}
            of_row = np.array([number[value] for value in column], np.int64)
            numbers = ranged([value for value in values if value is not None]) if rule.paths is None else {}
            if len(numbers) == len(values) and len(set(numbers.values())) > 1:
                low, span = min(numbers.values()), max(numbers.values()) - min(numbers.values())
                exact = [factor * (numbers[value] - low) / span for value in values if value is not None]
                slack += any(place.denominator > 1 for place in exact)
                places.append(np.array([_small(place) for place in exact], np.int64)[of_row])
            elif rule.paths is None:
                codes.append(of_row + values_of_sets)
                values_of_sets += len(values)
                further.append(_small(factor / max(len(values) - 1, 1)))
            else:
                lost = costs_of_labels("ncp", rule.paths, values, rule.name)
                paths = [rule.paths[value] for value in values]
                known = {label: at for at, label in enumerate(lost)}
                labels.append(np.array([[known[label] for label in path] for path in paths], np.int64).T[:, of_row])
                units = np.array([_small(factor * cost) for cost in lost.values()], np.int64)
                costs.append(units[labels[-1]])
        n = len(columns[0])
        return cls(
            np.array(places, np.int64).reshape(len(places), n).T,
            np.array(codes, np.int64).reshape(len(codes), n).T,
            np.array(further, np.int64), labels, costs, slack,
        )  # fmt: skip

    @property
    def widest(self) -> int:
        """No penalty is more."""
        sets = sum(int(each) * len(np.unique(self.codes[:, c])) for c, each in enumerate(self.further.tolist()))
        return int(self.places.max(axis=0, initial=0).sum()) + sets + sum(int(each.max()) for each in self.costs)


def _small(number: Fraction) -> int:
    if not 0 <= number < LIMIT:
        raise InputError("the denominator of the certificate is too large for exact numbers")
    return int(number)


@dataclass(frozen=True, eq=False)
class _Box:
    """The box of some rows. has: which values of sets, and sets: what those beside the first of each cost. levels: of
    the first row's labels."""

    rows: tuple[int, ...]
    low: Ints
    high: Ints
    has: Flags
    sets: int
    levels: tuple[int, ...]
    penalty: int


class BoxSearch(SeedSearch):
    """By penalties of boxes."""

    def __init__(self, boxes: Boxes, multipliers: Ints, cuts: Sequence[RankOneCut], k: int) -> None:
        check_size(boxes.widest, multipliers, cuts, k)
        super().__init__(multipliers, cuts, k)
        self.boxes = boxes
        self.touched = np.array([any(cuts[number].multiplier for number, _ in each) for each in self.of_row], np.bool_)
        self._join: list[Ints] = []

    def least(self, place: int) -> int:
        """As `SeedSearch` says."""
        boxes, row = self.boxes, int(self.order[place])
        self.best = self.steps = 0
        # the lowest level at which each row has the label of this one, and all others above it
        self._join = [(each == each[:, [row]]).argmax(axis=0) for each in boxes.labels]
        has = np.zeros(int(boxes.codes.max(initial=-1)) + 1, np.bool_)
        has[boxes.codes[row]] = True
        first = _Box((row,), boxes.places[row], boxes.places[row], has, 0, (0,) * len(boxes.labels), 0)
        weakest = self._grow(first, self.order[place + 1 :])
        return min(self.best, weakest) if self.steps > STEPS else self.best

    def proven(self) -> int:
        """The right side, whatever penalties were rounded to."""
        return super().proven() - self.n * self.boxes.slack

    def _wide(self, box: _Box, rows: Ints) -> Ints:
        """The penalty of the box with each of these rows, int64 (r,)."""
        boxes = self.boxes
        places = boxes.places[rows]
        found = (np.maximum(box.high, places) - np.minimum(box.low, places)).sum(axis=1)
        found += box.sets
        found += (~box.has[boxes.codes[rows]]) @ boxes.further
        for costs, join, level in zip(boxes.costs, self._join, box.levels, strict=True):
            found += costs[np.maximum(join[rows], level), box.rows[0]]
        wide: Ints = found
        return wide

    def _with(self, box: _Box, row: int, penalty: int) -> _Box:
        boxes, has = self.boxes, box.has.copy()
        has[boxes.codes[row]] = True
        return _Box(
            (*box.rows, row),
            np.minimum(box.low, boxes.places[row]),
            np.maximum(box.high, boxes.places[row]),
            has,
            box.sets + int(boxes.further[~box.has[boxes.codes[row]]].sum()),
            tuple(max(level, int(join[row])) for level, join in zip(box.levels, self._join, strict=True)),
            penalty,
        )

    def _grow(self, box: _Box, rows: Ints) -> int:
        """The groups that have all rows of the box, and others of these, which are by falling λ; what each of those
        with others costs at least, up to 0."""
        placed, paid = len(box.rows), self.charge(box.rows)
        must, most = max(self.k - placed, 0), 2 * self.k - 1 - placed
        own = sum(int(self.multipliers[row]) for row in box.rows)
        wide, least = self._wide(box, rows), np.zeros(0, np.int64)
        for _ in range(PASSES):
            worth = self.multipliers[rows]
            # a row of a group, with the best others: as many as must be there, or more
            sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(worth[: max(most - 1, 0)])])
            counts = np.arange(max(must - 1, 0), len(sums))
            least = np.zeros(len(rows), np.int64)
            if len(counts) and most:
                least = (wide[:, None] * (placed + 1 + counts) - sums[counts]).min(axis=1) - own - worth + paid
            keep = least < self.best
            rows, wide, least = rows[keep], wide[keep], least[keep]
            if keep.all():
                break
        inside = (wide == box.penalty) & ~self.touched[rows]
        top = [-each for each in self.multipliers[rows[inside]][:most].tolist()]  # ascending
        self.best = min(self.best, _cheapest(box.penalty, placed, must, most, top) - own + paid)
        weakest = min(int(least.min(initial=0)), 0)
        outside = np.flatnonzero(~inside)
        before = inside.copy()
        for at in outside[np.lexsort((self.touched[rows[outside]], wide[outside]))].tolist() if most else []:
            row, penalty = int(rows[at]), int(wide[at])
            bound = _cheapest(penalty, placed + 1, max(must - 1, 0), most - 1, top) - own - int(self.multipliers[row])
            if bound + paid < self.best:
                self.steps += 1
                if self.steps > STEPS:
                    break
                self._grow(self._with(box, row, penalty), rows[before])
            before[at] = True
            bisect.insort(top, -int(self.multipliers[row]))
            del top[most:]
        return weakest


def _cheapest(penalty: int, placed: int, must: int, most: int, top: Sequence[int]) -> int:
    """The penalty for each row, with the best others, `must` to `most` of them. top: their -λ, ascending."""
    if len(top) < must:
        return LIMIT
    total = penalty * (placed + must) + sum(top[:must])
    for each in top[must:most]:
        if penalty + each >= 0:
            break
        total += penalty + each
    return total
