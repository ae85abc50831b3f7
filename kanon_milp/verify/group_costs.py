"""The least cost of a group within limits on its sensitive values, in integers: branch and bound over its size.

Every group of S rows, X_σ of them with value σ of one attribute, has lower_σ·S ≤ X_σ ≤ upper_σ·S and so many different
values, and where t-closeness with the equal distance is asked for, ½ Σ_σ |X_σ - p_σ·S| ≤ t·S, p_σ the share of the
table. The first of these are kept as they are, the last is charged: θ ≥ 0 times what is too much of it is added to the
cost, which for such a group is not positive. So the least of this over all groups of rows is not above the cost of any
group that is asked for.

For sizes from a to b, all in one, X_σ is between ⌈lower_σ·a⌉ and ⌊upper_σ·b⌋, |X_σ - p_σ·S| is at least the distance of
X_σ from the interval [p_σ·a, p_σ·b], and t·S at most t·b. What is left is separable and convex in the X_σ, with at
least a and at most b rows in all: the rows that must be there, and then the cheapest next rows one by one, those below
0 and as many more as are missing, are the least. For so many different values, the cheapest first rows of that many
values are taken as rows that must be there, without the lower limits and the charge: a group with other first rows can
be changed into one with these, row by row, and costs no more. Where a = b all of this is exact but for the charge; else
the sizes are halved as long as the bound is below what single sizes have shown. Of a group with too many such intervals
the least of their bounds is taken, which proves less.

A row whose cost is so high that with all rows below 0 it is not below 0 is in no group that is worth anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.definitions import Limits

LIMIT = 1 << 62  # integers stay below this
MOST = 2000  # intervals of sizes of one group
PIECES = 3_000_000  # parts of rows that are looked at together
FINE, ROUGH = 1 << 30, 1 << 20  # denominators of limits


@dataclass(frozen=True, eq=False)
class CodedLimits:
    """Limits on the values of one attribute.

    value: int64 (t,), number of the value that each row holds. upper, lower: int64 (2, values), numerators and
    denominators. shares: int64 (values,), rows of the table with each value. closeness: t, None where nothing is
    charged.
    """

    value: Ints
    upper: Ints
    lower: Ints
    different: int
    shares: Ints
    closeness: Fraction | None

    @classmethod
    def of(cls, limits: Limits, value: Ints, values: Sequence[Label], rows: Ints) -> CodedLimits:
        """Limits as numbers of a size that products with numbers of rows stay below `LIMIT`; rounded outwards."""
        upper = [_rounded(min(limits.upper.get(each, Fraction(1)), Fraction(1)), True) for each in values]
        lower = [_rounded(max(limits.lower.get(each, Fraction(0)), Fraction(0)), False) for each in values]
        shares = np.zeros(len(values), np.int64)
        np.add.at(shares, value, rows)
        t = None if limits.closeness is None else Fraction(*_rounded(limits.closeness, True))
        return cls(value, np.array(upper, np.int64).T, np.array(lower, np.int64).T, limits.different, shares, t)

    @property
    def scale(self) -> int:
        """What costs are multiplied by where something is charged."""
        return 1 if self.closeness is None else 2 * int(self.shares.sum()) * self.closeness.denominator


def _rounded(share: Fraction, up: bool) -> tuple[int, int]:
    if share.denominator < FINE and share.numerator < FINE:
        return share.numerator, share.denominator
    return int(-(-share * ROUGH // 1) if up else share * ROUGH // 1), ROUGH


@dataclass(frozen=True, eq=False)
class _Members:
    """Rows of groups that could be worth something: one group after the other, by rising cost.

    before: per attribute, how many copies with the same value come before a row in its group.
    """

    group: Ints
    cost: Ints
    copies: Ints
    begins: Ints
    lengths: Ints
    value: Mapping[str, Ints]
    before: Mapping[str, Ints]
    less: int


@dataclass(frozen=True, eq=False)
class _Intervals:
    """Sizes of one group: from `least` to `most`, int64 (intervals,)."""

    group: Ints
    least: Ints
    most: Ints

    def only(self, keep: Flags) -> _Intervals:
        return _Intervals(self.group[keep], self.least[keep], self.most[keep])

    def halved(self) -> _Intervals:
        middle = (self.least + self.most) // 2
        return _Intervals(
            np.concatenate([self.group, self.group]),
            np.concatenate([self.least, middle + 1]),
            np.concatenate([middle, self.most]),
        )


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Copies of one value, alike in cost, in an interval. start: how many copies of the value are cheaper."""

    interval: Ints
    value: Ints
    start: Ints
    length: Ints
    cost: Ints

    def cut(self, at: Ints) -> tuple[_Pieces, _Pieces]:
        """What comes before this many copies of the value, and the rest. at: per piece."""
        inside = np.clip(at - self.start, 0, self.length)
        return (
            _Pieces(self.interval, self.value, self.start, inside, self.cost),
            _Pieces(self.interval, self.value, self.start + inside, self.length - inside, self.cost),
        )


def _joined(pieces: Sequence[_Pieces]) -> _Pieces:
    """Those that are not empty, by interval and rising cost."""
    fields = [
        np.concatenate([getattr(each, name)[each.length > 0] for each in pieces])
        for name in ("interval", "value", "start", "length", "cost")
    ]
    order = np.lexsort((fields[4], fields[0]))
    return _Pieces(*(field[order] for field in fields))


def least_costs(
    asked: Mapping[str, CodedLimits],
    rows: Ints,
    reduced: Ints,
    groups: tuple[Ints, Ints],
    least: int,
    charges: Mapping[str, Ints],
    less: int = 0,
) -> Ints:
    """Per group the least cost of at least `least` of its rows within the limits, and so much `less`; 0 if that is not
    negative, or less.

    rows, reduced: int64 (t,), copies and cost of a row. groups: members, by rising cost in each group, and where each
    begins. charges: by attribute, θ of each group.
    """
    members = _worthwhile(asked, rows, reduced, groups, less)
    found = np.zeros(len(groups[1]), np.int64)
    copies = np.zeros(len(found), np.int64)
    np.add.at(copies, members.group, members.copies)
    able = np.flatnonzero(copies >= least)
    intervals = _Intervals(able, np.full(len(able), least, np.int64), copies[able])
    while len(intervals.group):
        bounds = _bounds(asked, members, intervals, charges)
        better = bounds < found[intervals.group]
        intervals, bounds = intervals.only(better), bounds[better]
        many = np.bincount(intervals.group, minlength=len(found)) > MOST
        last = (intervals.least == intervals.most) | many[intervals.group]
        np.minimum.at(found, intervals.group[last], bounds[last])
        intervals = intervals.only(~last & (bounds < found[intervals.group])).halved()
    return found


def _worthwhile(
    asked: Mapping[str, CodedLimits], rows: Ints, reduced: Ints, groups: tuple[Ints, Ints], less: int
) -> _Members:
    """All rows but those that are too expensive for any group."""
    inside, begins = groups
    group = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(inside)))
    below = np.full(len(begins), -less, np.int64)
    np.add.at(below, group, rows[inside] * np.minimum(reduced[inside], 0))
    keep = reduced[inside] < -below[group]
    inside, group = inside[keep], group[keep]
    lengths = np.bincount(group, minlength=len(begins)).astype(np.int64)
    value, before = {}, {}
    for name, each in asked.items():
        value[name] = each.value[inside]
        order = np.lexsort((value[name], group))
        before[name] = np.empty(len(order), np.int64)
        before[name][order] = _running(rows[inside][order], (group * len(each.shares) + value[name])[order])
    return _Members(group, reduced[inside], rows[inside], np.cumsum(lengths) - lengths, lengths, value, before, less)


def _bounds(
    asked: Mapping[str, CodedLimits], members: _Members, intervals: _Intervals, charges: Mapping[str, Ints]
) -> Ints:
    """The largest bound over the attributes, per interval; 0 where there is no group."""
    found = np.empty(len(intervals.group), np.int64)
    ends = np.cumsum(members.lengths[intervals.group])
    widest = max(len(each.shares) for each in asked.values())
    at = 0
    while at < len(found):
        until = int(np.searchsorted(ends, (ends[at - 1] if at else 0) + PIECES))
        until = max(min(until, at + PIECES // widest), at + 1)
        part = slice(at, until)
        some = _Intervals(intervals.group[part], intervals.least[part], intervals.most[part])
        each = [_of_attribute(one, name, members, some, charges[name]) for name, one in asked.items()]
        found[part] = np.max(each, axis=0)
        at = until
    return found


def _of_attribute(asked: CodedLimits, name: str, members: _Members, intervals: _Intervals, charges: Ints) -> Ints:
    charged = charges[intervals.group] > 0
    limited = bool((asked.lower[0] > 0).any())
    found = np.zeros(len(charged), np.int64)
    for some in (charged, ~charged):
        if not some.any():
            continue
        part = intervals.only(some)
        theta = charges[part.group]
        pieces = _pieces(name, members, part)
        bounds = []
        if asked.different <= 1 or limited or theta.any():
            bounds.append(_within(asked, pieces, part, theta, members.less))
        if asked.different > 1:
            bounds.append(_with_different(asked, pieces, part, members.less))
        found[some] = np.max(bounds, axis=0)
    return found


def _pieces(name: str, members: _Members, intervals: _Intervals) -> _Pieces:
    lengths = members.lengths[intervals.group]
    interval = np.repeat(np.arange(len(lengths)), lengths)
    at = np.arange(len(interval)) + np.repeat(members.begins[intervals.group] - (np.cumsum(lengths) - lengths), lengths)
    return _Pieces(interval, members.value[name][at], members.before[name][at], members.copies[at], members.cost[at])


def _within(asked: CodedLimits, pieces: _Pieces, intervals: _Intervals, theta: Ints, less: int) -> Ints:
    """With the limits of shares, and with what is charged."""
    scale, fixed = 1, np.zeros(len(theta), np.int64)
    if theta.any() and asked.closeness is not None:
        scale, n, t = asked.scale, int(asked.shares.sum()), asked.closeness
        pieces = _charged(asked, pieces, intervals, theta, scale)
        fixed = theta * (t.denominator * n * intervals.least - 2 * n * t.numerator * intervals.most)
    fixed = fixed - scale * less
    smallest = -(-asked.lower[0] * intervals.least[:, None] // asked.lower[1])
    must = np.clip(smallest[pieces.interval, pieces.value] - pieces.start, 0, pieces.length)
    return _cheapest(asked, pieces, intervals, must, smallest.sum(axis=1), fixed) // scale


def _charged(asked: CodedLimits, pieces: _Pieces, intervals: _Intervals, theta: Ints, scale: int) -> _Pieces:
    """Costs times the scale, and for the copies j of a value F(j) - F(j-1), F(X) the distance of n·X from
    [r·a, r·b], times the charge."""
    n, r = int(asked.shares.sum()), asked.shares[pieces.value]
    first, second = r * intervals.least[pieces.interval], r * intervals.most[pieces.interval]

    def rise(j: Ints) -> Ints:
        """F(j) - F(j-1)."""
        here, before = (np.maximum(np.maximum(first - n * x, n * x - second), 0) for x in (j, j - 1))
        found: Ints = here - before
        return found

    unit = theta[pieces.interval] * (scale // (2 * n))
    below, above = first // n, second // n
    cuts = [below, below + 1, np.maximum(above, below + 1), np.maximum(above, below + 1) + 1]
    parts, rest = [], pieces
    for at in cuts:
        part, rest = rest.cut(at)
        parts.append(part)
    parts.append(rest)
    # the rise is the same for all copies of a part
    return _joined(
        [
            _Pieces(each.interval, each.value, each.start, each.length, scale * each.cost + unit * rise(each.start + 1))
            for each in parts
        ]
    )


def _with_different(asked: CodedLimits, pieces: _Pieces, intervals: _Intervals, less: int) -> Ints:
    """With upper limits of shares, and so many different values."""
    pieces = _joined(pieces.cut(np.ones(len(pieces.start), np.int64)))
    greatest = asked.upper[0] * intervals.most[:, None] // asked.upper[1]
    first = (pieces.start == 0) & (greatest[pieces.interval, pieces.value] > 0)
    number = _running(first.astype(np.int64), pieces.interval)
    must = (first & (number < asked.different)).astype(np.int64)
    count = len(intervals.group)
    return _cheapest(asked, pieces, intervals, must, np.full(count, asked.different), np.full(count, -less))


def _running(amounts: Ints, interval: Ints) -> Ints:
    """The sum of what comes before in the same interval, of which the numbers come in order."""
    total = np.cumsum(amounts) - amounts
    begins = np.flatnonzero(np.diff(interval, prepend=-1))
    found: Ints = total - np.repeat(total[begins], np.diff(begins, append=len(interval)))
    return found


def _cheapest(
    asked: CodedLimits, pieces: _Pieces, intervals: _Intervals, must: Ints, needed: Ints, fixed: Ints
) -> Ints:
    """The rows that must be there and the cheapest others: at most 0, which is also the answer where there are none.

    must: of each piece; needed: how many these should be, per interval.
    """
    count = len(intervals.group)
    greatest = asked.upper[0] * intervals.most[:, None] // asked.upper[1]
    free = np.clip(greatest[pieces.interval, pieces.value] - pieces.start, 0, pieces.length) - must
    sums = np.zeros((2, count), np.int64)
    np.add.at(sums[0], pieces.interval, must)
    possible = (sums[0] == needed) & (sums[0] <= intervals.most)
    short = np.zeros(count, bool)
    np.logical_or.at(short, pieces.interval, free < 0)
    free = np.maximum(free, 0)
    np.add.at(sums[1], pieces.interval, free)
    missing = np.maximum(intervals.least - sums[0], 0)
    possible &= (sums[1] >= missing) & ~short
    ahead = _running(free, pieces.interval)
    taken = np.where(pieces.cost < 0, free, np.clip(missing[pieces.interval] - ahead, 0, free))
    taken = np.minimum(taken, np.maximum((intervals.most - sums[0])[pieces.interval] - ahead, 0))
    value = fixed.copy()
    np.add.at(value, pieces.interval, (must + taken) * pieces.cost)
    found: Ints = np.where(possible, np.minimum(value, 0), 0)
    return found
