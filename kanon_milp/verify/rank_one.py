"""Rank-1 cuts in the checker: what a group costs least when some integers are rounded down.

A rank-1 cut has integer weights p_i ≥ 0 on some distinct rows, an integer denominator d ≥ 1 and a multiplier ν ≥ 0. For
a group of a_i rows of kind i it adds ν ⌊Σ p_i a_i / d⌋ to what the group costs; `kanon_milp.verify.dual` says why. The
least cost of a group of at least κ rows is a knapsack problem with penalties, NP-hard in general. It is searched here
row by row, in integers.

Bound of a node: what is decided costs so much already, since the penalties never fall as rows are added; the rest is
filled as if there were no penalties. Only rows that have a part in a penalty are branched on, in the order of rising
reduced cost. The others are taken where they cost less than nothing and the cheapest of them where rows are missing.

Limits: after `NODES` nodes of one group, or `ALL_NODES` of all together, the search gives up. The least bound of the
nodes that are left is below all that was not seen, so the number that is used instead is never too large: less is
proven then, never more.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kanon_milp.system.arrays import Ints

NODES = 200_000  # of one group
ALL_NODES = 10_000_000  # of all groups: a minute or two


@dataclass(frozen=True, eq=False)
class RankOneCut:
    """rows: int64, numbers of distinct rows, none twice; weights: int64, p at the same places; denominator: d;
    multiplier: ν times the denominator of all multipliers."""

    rows: Ints
    weights: Ints
    denominator: int
    multiplier: int

    def total(self, copies: Ints) -> int:
        """Σ p_i n_i."""
        return sum(p * n for p, n in zip(self.weights.tolist(), copies[self.rows].tolist(), strict=True))

    def limit(self, copies: Ints) -> int:
        """The right side, ⌊Σ p_i n_i / d⌋."""
        return self.total(copies) // self.denominator

    @property
    def problem(self) -> str | None:
        """What is wrong with it, whatever the table."""
        if (self.weights < 0).any():
            return "a negative weight"
        if self.denominator < 1:
            return "a denominator below 1"
        return "a negative multiplier" if self.multiplier < 0 else None


@dataclass(frozen=True)
class Row:
    """A row that penalties depend on: reduced cost, copies, and (number of the penalty, p) of each."""

    reduced: int
    copies: int
    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GroupProblem:
    """min Σ c_i a_i + Σ_r ν_r ⌊Σ p_ri a_i / d_r⌋ over Σ a_i ≥ least, 0 ≤ a_i ≤ n_i, a integral.

    rows: by rising reduced cost c. free: (c_i, n_i) of rows without a part in any penalty, in any order. penalties:
    (ν_r, d_r).
    """

    rows: tuple[Row, ...]
    free: tuple[tuple[int, int], ...]
    penalties: tuple[tuple[int, int], ...]
    least: int

    def below_zero(self, fixed: int, limit: int = NODES) -> tuple[int, int]:
        """The least cost with `fixed` added to it, 0 if it is not negative; and the nodes that it took.

        Something smaller after `limit` nodes.
        """
        rows, bounds = self._worthwhile(fixed)
        best, nodes = 0, 0
        first = bounds[0].at(self.least)
        # bound, rows decided, cost so far, rows missing, Σ p a modulo d of each penalty
        stack = [] if first is None else [(fixed + first, 0, fixed, self.least, (0,) * len(self.penalties))]
        while stack:
            bound, t, cost, missing, sums = stack.pop()
            if bound >= best:
                continue
            if t == len(rows) or (missing <= 0 and rows[t].reduced >= 0):
                best = bound  # nothing that is left has a penalty
                continue
            if nodes >= limit:
                return min(best, bound, *(node[0] for node in stack)), nodes
            nodes += 1
            row, found = rows[t], []
            for a in range(row.copies if row.reduced < 0 else max(min(row.copies, missing), 0), -1, -1):
                rest = bounds[t + 1].at(missing - a)
                now = cost + row.reduced * a
                if rest is None or now + rest >= best:
                    if row.reduced < 0:
                        break  # fewer of a row that pays cost more still
                    continue
                after = list(sums)
                for number, p in row.parts:
                    charge, denominator = self.penalties[number]
                    crossed, after[number] = divmod(sums[number] + p * a, denominator)
                    now += charge * crossed
                if now + rest < best:
                    found.append((now + rest, t + 1, now, missing - a, tuple(after)))
            found.sort(key=lambda node: -node[0])
            stack += found
        return best, nodes

    def _worthwhile(self, fixed: int) -> tuple[Sequence[Row], list[_Fill]]:
        """Rows that could be part of a group that costs less than nothing, and what is filled up after each."""
        fill = _Fill.of(((c, n) for c, n in self.free), self.least)
        rows = list(self.rows)
        everything = fill.joined((row.reduced, row.copies) for row in rows)
        others = everything.at(self.least - 1)
        while rows and rows[-1].reduced >= 0 and (others is None or fixed + rows[-1].reduced + others >= 0):
            rows.pop()
        bounds = [fill]
        for row in reversed(rows):
            bounds.append(bounds[-1].joined([(row.reduced, row.copies)]))
        return rows, bounds[::-1]


@dataclass(frozen=True)
class _Fill:
    """The least cost of so many rows or more, without penalties: all that cost less than nothing, then the cheapest.

    negative, count: what the first ones cost, and how many they are; units: costs of single rows that are not
    negative, ascending, the first `most` of them; costs: of the first 0, 1, 2, ... of these.
    """

    negative: int
    count: int
    units: tuple[int, ...]
    costs: tuple[int, ...]
    most: int

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int]], most: int) -> _Fill:
        return cls(0, 0, (), (0,), most).joined(rows)

    def joined(self, rows: Iterable[tuple[int, int]]) -> _Fill:
        """With more rows (reduced cost, copies)."""
        negative, count, units = self.negative, self.count, list(self.units)
        for reduced, copies in rows:
            if reduced < 0:
                negative += reduced * copies
                count += copies
            elif len(units) < self.most or reduced < units[-1]:
                at = bisect.bisect(units, reduced)
                units[at:at] = [reduced] * min(copies, self.most - at)
                del units[self.most :]
        if len(units) == len(self.units) and tuple(units) == self.units:
            return replace(self, negative=negative, count=count)
        return _Fill(negative, count, tuple(units), tuple(itertools.accumulate(units, initial=0)), self.most)

    def at(self, missing: int) -> int | None:
        """None where there are not so many rows. missing: at most `most`."""
        left = missing - self.count
        if left <= 0:
            return self.negative
        return self.negative + self.costs[left] if left < len(self.costs) else None


class Penalties:
    """All rank-1 cuts of a certificate over a table whose distinct rows come by rising reduced cost."""

    def __init__(self, cuts: Sequence[RankOneCut], copies: Ints) -> None:
        active = [cut for cut in cuts if cut.multiplier > 0]
        self.copies = copies
        self.charges = [cut.multiplier for cut in active]
        self.denominators = np.array([cut.denominator for cut in active], dtype=np.int64)
        self.cut = np.repeat(np.arange(len(active)), [len(cut.rows) for cut in active])
        self.row = np.concatenate([np.empty(0, np.int64), *(cut.rows for cut in active)])
        self.weight = np.concatenate([np.empty(0, np.int64), *(cut.weights for cut in active)])
        self.left = ALL_NODES

    def add(self, phi: Ints, fixed: Ints, members: Ints, begins: Ints, reduced: Ints, least: int) -> list[int]:
        """Per group: its least cost with penalties, 0 if it is not negative, or something smaller.

        phi: without penalties, negative. fixed: what is added to the cost of a group. members, begins: rows of each
        group, in order. reduced: int64 (t,).
        """
        found: list[int] = phi.tolist()
        ends = np.append(begins[1:], len(members))
        group_of_row = np.full(len(self.copies), -1, dtype=np.int64)
        group_of_row[members] = np.repeat(np.arange(len(begins)), ends - begins)
        for g, at in self._within(group_of_row, len(begins)):
            inside = members[begins[g] : ends[g]]
            problem = self._problem(inside, at, reduced, least)
            found[g], nodes = problem.below_zero(int(fixed[g]), min(NODES, self.left))
            self.left -= nodes
        return found

    def _within(self, group_of_row: Ints, groups: int) -> Iterable[tuple[int, Ints]]:
        """Groups that could cost a penalty, and the places in `cut`, `row`, `weight` that say so."""
        at = np.flatnonzero((group_of_row[self.row] >= 0) & (self.weight > 0))
        pairs, pair = np.unique(self.cut[at] * groups + group_of_row[self.row[at]], return_inverse=True)
        most = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(most, pair, self.weight[at] * self.copies[self.row[at]])
        at = at[(most >= self.denominators[pairs // groups])[pair]] if groups else at
        group = group_of_row[self.row[at]]
        order = np.argsort(group, kind="stable")
        at, group = at[order], group[order]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        return zip(group[first].tolist(), np.split(at, first[1:]), strict=True) if len(at) else ()

    def _problem(self, inside: Ints, at: Ints, reduced: Ints, least: int) -> GroupProblem:
        cuts, number = np.unique(self.cut[at], return_inverse=True)
        parts: dict[int, list[tuple[int, int]]] = {}
        for row, local, p in zip(self.row[at].tolist(), number.tolist(), self.weight[at].tolist(), strict=True):
            parts.setdefault(row, []).append((local, p))
        touched = sorted(parts)
        free = inside[~np.isin(inside, touched)]
        paying = int((reduced[free] < 0).sum())
        free = free[: paying + least]  # the others are never needed
        return GroupProblem(
            tuple(Row(int(reduced[i]), int(self.copies[i]), tuple(parts[i])) for i in touched),
            tuple(zip(reduced[free].tolist(), self.copies[free].tolist(), strict=True)),
            tuple((self.charges[r], int(self.denominators[r])) for r in cuts.tolist()),
            least,
        )
