"""The dual bound, recomputed in integers from the distinct rows of a table and one multiplier for each.

What is bounded is the loss of every table in which each released row stands for at least κ input rows, taken from rows
that supply the sensitive values that a group needs. For any multipliers λ_i, one for each distinct row i (n_i copies),

    L(λ) = Σ n_i λ_i + Σ_g min(0, φ_g),   φ_g = min { Σ (w_g - λ_i) x_i : Σ x_i ≥ κ_g, 0 ≤ x_i ≤ n_i }

is such a bound. With μ_S ≥ 0 for any sets S of distinct rows (packing cuts), and N_S the number of all their copies,

    L(λ, μ) = L(λ) with φ_g + σ_g for φ_g, less Σ μ_S ⌊N_S/κ_S⌋,   σ_g = Σ_{S: C(g) ⊆ S} μ_S

is one as well. κ_S is the least κ_g of any g with C(g) ⊆ S, or something smaller. Of tables of at most M groups M may
take the place of ⌊N_S/κ_S⌋ for the set S of all rows. Of tables of at least m groups L with φ_g - ρ for φ_g, and ρ·m
more, is one for any ρ ≥ 0; left out as dominated is then only what is released with the same labels at a lower loss, or
as a pair that comes first. With ν_R ≥ 0 for any integer weights
p_R ≥ 0 on distinct rows and integer d_R ≥ 1 (rank-1 cuts) so is

    L(λ, μ, ν) = L(λ, μ) with Σ_R ν_R ⌊p_R·x / d_R⌋ in the minimum of φ_g, over integer x, less Σ_R ν_R ⌊p_R·n / d_R⌋.

g runs over pairs of a level vector and what it releases: w_g is the loss of one row, i runs over the rows C(g) that are
released so. Left out are pairs for which Σ n_i < κ_g or C(g) lacks a supply, and dominated ones. Where only what enough
rows of a population match may be released, the others are left out as well, and nothing is dominated but by what is
released with the same labels: rows of g could not always move to g' then.

Proof. Let a table give x_ig rows of kind i to g, all rows of g being one group. Then Σ_g x_ig = n_i, so its loss Σ w_g
x_ig is Σ n_i λ_i + Σ_g Σ_i (w_g - λ_i) x_ig, and the inner sum is 0 or, for a group of at least κ_g rows, at least φ_g.
Of the groups with C(g) ⊆ S there are at most ⌊N_S/κ_S⌋, since each has κ_S rows or more, all of S, and none is in two;
so μ_S for each of them, less μ_S ⌊N_S/κ_S⌋, adds up to no more than 0, and the loss is not lower than with that added
to it: then the inner sum is 0 or at least φ_g + σ_g; the same with M for the set of all rows, in which all groups lie.
Of at least m groups ρ·m less ρ for each of them adds up to no more than 0.
In the same way Σ_g ⌊p_R·x_g / d_R⌋ is at most ⌊p_R·n / d_R⌋ for every way of dividing n into x_g: it is integral, and
at most Σ_g p_R·x_g / d_R = p_R·n / d_R. So ν_R times the difference can be added too; it is 0 in g where x_g is.
Dominated is g if there is an allowed level vector v' at which all rows of C(g) are released alike, say as g', with κ_g'
≤ κ_g and (w_g', -|C(g')|, κ_g', place of v') before that of g in lexicographic order. If a table uses g, all rows of g
can move to g': it still has enough rows, C(g') holds all that C(g) does, and nothing more is lost. (κ_g' < κ_g asks for
no more supply than κ_g does.) There are no more groups then; if g' has rows already, the two become one, x_g + x_g'.
The order is strict, so this comes to an end, with groups of which none is dominated and that together lose no more than
those at the start. What is above is then said of these: they have integers of rows that add up to n, and at least κ_g
each, which is all that it needs. So it is no matter that one group of x_g + x_g' can have a larger ⌊p_R·x / d_R⌋ than
the two had together: no term of the old groups is ever compared with one of the new ones, only their losses are.

Where the rows are told apart by their sensitive values as well, φ_g is the least over the groups within limits on these
(`kanon_milp.verify.group_costs`), or what that computes, which is not larger. All that is said above holds of it: every
group of a table is within the limits, and the union x_g + x_g' of two groups within them is.

The terms of ν are not negative, so where φ_g without them is not, no search is needed. Where it is,
`kanon_milp.verify.rank_one` searches for φ_g, or for something smaller, which proves less.
Every level vector is gone through on its own, so a table of any size needs little memory. Where there are too many,
`kanon_milp.verify.closures` finds the groups with φ < 0 that are not dominated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify.cells import ColumnRule
from kanon_milp.verify.closures import Column, Sets, alike, closed_sets, open_values
from kanon_milp.verify.definitions import Need, Supply
from kanon_milp.verify.group_costs import LIMIT, CodedLimits, least_costs
from kanon_milp.verify.rank_one import Penalties, RankOneCut


@dataclass(frozen=True, eq=False)
class Charge:
    """θ of one group: that of the rows which a level vector releases as it does this one. charge: θ ≥ 0 times the
    denominator."""

    attribute: str
    levels: tuple[int, ...]
    row: int
    charge: int


@dataclass(frozen=True)
class LeastGroups:
    """A least number m of groups, and its multiplier ρ ≥ 0 times the denominator."""

    number: int
    multiplier: int


@dataclass(frozen=True, eq=False)
class ChargedLimits:
    """Limits on the sensitive values of every group by attribute, of rows with one value each, and what is charged."""

    asked: Mapping[str, CodedLimits]
    charges: Sequence[Charge]

    def in_order(self, order: Ints) -> ChargedLimits:
        """The same with the rows in another order."""
        place = np.argsort(order)
        return ChargedLimits(
            {name: replace(each, value=each.value[order]) for name, each in self.asked.items()},
            [replace(each, row=int(place[each.row])) for each in self.charges],
        )

    def that_fit(self, largest: int) -> ChargedLimits:
        """Without charges where the costs of groups, up to `largest`, would leave the range of integers with them."""
        highest = max((each.charge for each in self.charges), default=0)
        # what a row is charged is at most θ·scale/2, and what is charged at the start at most 3/2 of that for each row
        most = max(
            (each.scale * (largest + 4 * highest * int(each.shares.sum())) for each in self.asked.values()), default=0
        )
        return self if most < LIMIT else ChargedLimits(self.asked, ())

    def of_groups(self, levels: Sequence[int], members: Ints, begins: Ints) -> dict[str, Ints]:
        """Per attribute θ of each group of a level vector. members, begins: the rows of the groups, and where each
        group begins."""
        found = {name: np.zeros(len(begins), np.int64) for name in self.asked}
        group = {}
        charges = [each for each in self.charges if each.levels == tuple(levels)]
        if charges:
            of_member = np.searchsorted(begins, np.arange(len(members)), side="right") - 1
            group = dict(zip(members.tolist(), of_member.tolist(), strict=True))
        for each in charges:
            if each.row in group:
                found[each.attribute][group[each.row]] = each.charge
        return found

    def by_members(self, columns: Sequence[Released]) -> dict[str, dict[bytes, int]]:
        """Per attribute θ of the rows that are released as a charge says, by their numbers, ascending, as bytes."""
        found: dict[str, dict[bytes, int]] = {name: {} for name in self.asked}
        for each in self.charges:
            alike = np.ones(columns[0].of_row.shape[1], dtype=bool)
            for column, level in zip(columns, each.levels, strict=True):
                alike &= column.of_row[level] == column.of_row[level][each.row]
            found[each.attribute][np.flatnonzero(alike).tobytes()] = each.charge
        return found

    def of_sets(
        self,
        sets: Sets,
        rows: Ints,
        multipliers: Ints,
        denominator: int,
        least: int,
        thetas: Mapping[str, Mapping[bytes, int]],
    ) -> Sets:
        """The sets with φ < 0 within the limits, with this φ. thetas: as of `by_members`."""
        inside, ends = sets.members, np.append(sets.begins, len(sets.members)).tolist()
        charges = {name: np.zeros(len(sets.begins), np.int64) for name in self.asked}
        if any(thetas.values()):
            keys = [inside[begin:end].tobytes() for begin, end in pairwise(ends)]
            charges = {name: np.array([theta.get(key, 0) for key in keys], np.int64) for name, theta in thetas.items()}
        # a row for each member: sets have rows in common, at losses of their own
        asked = {name: replace(each, value=each.value[inside]) for name, each in self.asked.items()}
        reduced = np.repeat(sets.loss * denominator, sets.sizes) - multipliers[inside]
        each_row = np.arange(len(inside)), sets.begins
        within = np.maximum(sets.phi, least_costs(asked, rows[inside], reduced, each_row, least, charges))
        return sets._replace(phi=within).only(within < 0)


AT_ONCE = 1 << 20  # losses of groups at level vectors that are compared at once
CACHED = 128  # level vectors whose groups are remembered, for ties


@dataclass(frozen=True, eq=False)
class LevelVectors:
    """The allowed level vectors: levels int64 (p, m), loss of one row in units, as far as it does not depend on labels,
    and what a group needs for each. below: all that are not listed, None for none."""

    levels: Ints
    costs: Sequence[int]
    least: Sequence[Need]
    below: Below | None = None


@dataclass(frozen=True, eq=False)
class Below:
    """All level vectors below the top, where that alone is listed. costs: of each level of each column, in units, as
    far as they do not depend on labels. need: what a group needs for each."""

    costs: Sequence[Sequence[int]]
    need: Need

    def columns(self, released: Sequence[Released]) -> list[Column]:
        """With what their labels lose."""
        return [
            Column(
                each.of_row,
                each.labels,
                np.array(costs, dtype=np.int64)[:, None]
                + (0 if each.losses is None else each.losses)
                + np.zeros_like(each.of_row),
            )
            for costs, each in zip(self.costs, released, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Held:
    """Sensitive values of one attribute that distinct rows hold.

    row, value, count: int64, how many copies of a row have a value; values: what the numbers of values mean.
    """

    row: Ints
    value: Ints
    count: Ints
    values: Sequence[Label] = field(repr=False)


@dataclass(frozen=True, eq=False)
class PackingCut:
    """A packing cut. rows: int64, numbers of distinct rows, none twice; multiplier: μ_S times the denominator."""

    rows: Ints
    multiplier: int


@dataclass(frozen=True, eq=False)
class Released:
    """What one column releases: int64 (levels, distinct rows), the number of the label.

    losses: int64, of the same shape, loss of the label in units; None where it depends on the level alone.
    """

    of_row: Ints
    labels: int
    losses: Ints | None = None

    @classmethod
    def of(cls, rule: ColumnRule, column: pl.Series, unit: Fraction = Fraction(1)) -> Released:
        """Number the labels of a column. Raises InputError where a released cell could be read in two ways.

        A label may stand at two levels if it names the same values at both.
        """
        position: dict[Label, int] = {}
        of_row = np.array([position.setdefault(value, len(position)) for value in column], dtype=np.int64)
        number: dict[Label, int] = {}
        paths = [[number.setdefault(label, len(number)) for label in rule.path(value)] for value in position]
        of_value = np.array(paths, dtype=np.int64).T
        named: dict[int, bytes] = {}
        for level in of_value:
            for label in np.unique(level).tolist():
                values = np.flatnonzero(level == label).tobytes()
                if named.setdefault(label, values) != values:
                    raise InputError(f'column "{rule.name}": a label names different values at two levels')
        if (of_value[:-1] == number[rule.symbol]).any():
            raise InputError(f'column "{rule.name}": the suppression symbol is a label below the top')
        of_row, costs = of_value[:, of_row], rule.label_costs
        if costs is None:
            return cls(of_row, len(number))
        return cls(of_row, len(number), np.array([int(costs[label] / unit) for label in number])[of_row])

    @property
    def top(self) -> int:
        """The highest level, at which all rows are released alike."""
        return len(self.of_row) - 1

    def in_order(self, order: Ints) -> Released:
        """The same with the rows in another order."""
        return Released(self.of_row[:, order], self.labels, None if self.losses is None else self.losses[:, order])


def dual_value(
    columns: Sequence[Released],
    rows: Ints,
    held: Mapping[str, Held],
    multipliers: Ints,
    vectors: LevelVectors,
    denominator: int,
    counts: Sequence[PackingCut] = (),
    cuts: Sequence[RankOneCut] = (),
    values: ChargedLimits | None = None,
    most_groups: int | None = None,
    least_groups: LeastGroups | None = None,
    matched: Callable[[Sequence[int]], Flags] | None = None,
) -> int:
    """L(λ, μ, ν), times the denominator, or something smaller where the search for a φ_g is given up.

    rows, multipliers: int64 (t,), n_i and λ_i times the denominator. held: by sensitive attribute, of those that a
    supply is about. matched: of a level vector, which rows may be released so, by what they are released as; then all
    level vectors are listed. most_groups: M, None for tables of any number of groups; least_groups: m and ρ, the same,
    without rank-1 cuts and values. No number within a subproblem is larger than Σ n_i · (w · denominator + |λ|) + Σ μ_S
    + ρ, which must be below `LIMIT`, as must d_R and p_R·n. Raises InputError for a packing cut or a rank-1 cut with a
    multiplier below 0, for weights below 0 or d_R < 1, and for ρ below 0 or with what it is without.
    """
    if least_groups is not None and (least_groups.multiplier < 0 or cuts):
        raise InputError("a least number of groups has a negative multiplier, or stands with rank-1 cuts")
    if any(count.multiplier < 0 for count in counts):
        raise InputError("a packing cut has a negative multiplier")
    for cut in cuts:
        if cut.problem is not None:
            raise InputError(f"a rank-1 cut has {cut.problem}")
    total = sum(n * each for n, each in zip(rows.tolist(), multipliers.tolist(), strict=True))
    for count in counts:
        most = int(rows[count.rows].sum()) // _least_size(count, columns, vectors)
        if most_groups is not None and len(count.rows) == len(rows):
            most = min(most, most_groups)
        total -= count.multiplier * most
    total -= sum(cut.multiplier * cut.limit(rows) for cut in cuts)
    each_group = 0 if least_groups is None else least_groups.multiplier
    if least_groups is not None:
        total += least_groups.multiplier * least_groups.number
    highest = max(vectors.costs, default=0) + sum(int(each.losses.max()) for each in columns if each.losses is not None)
    largest = (highest * denominator + int(np.abs(multipliers).max(initial=0))) * int(rows.sum())
    # the rows with the largest multipliers come first in every group
    order = np.argsort(-multipliers, kind="stable")
    rows, multipliers = rows[order], multipliers[order]
    place = np.argsort(order)
    counts = [replace(count, rows=place[count.rows]) for count in counts]
    values = None if values is None or not values.asked else values.in_order(order).that_fit(largest + each_group)
    penalties = Penalties([replace(cut, rows=place[cut.rows]) for cut in cuts], rows)
    moved = {name: replace(each, row=place[each.row]) for name, each in held.items()}
    table = _Rows([column.in_order(order) for column in columns], rows, moved, vectors)

    def below_zero(groups: _Groups, reduced: Ints, need: Need, v: int | None, known: Ints | None = None) -> int:
        """Σ min(0, φ_g). reduced: of each row; v: their level vector, None for groups that are not dominated. known: φ
        within the limits on values, without cuts."""
        surcharge = groups.surcharge(counts, len(rows)) - each_group
        phi = open_values(rows[groups.members], reduced[groups.members], groups.begins, need.size) + surcharge
        open_groups = phi < 0
        if least_groups is not None:  # a set of too few rows is no group
            open_groups &= np.add.reduceat(rows[groups.members], groups.begins) >= need.size
        open_groups[open_groups] = table.supplied(need, groups.only(open_groups))
        if v is not None:
            if matched is not None:
                fits = matched(vectors.levels[v].tolist())[order]
                open_groups[open_groups] = fits[groups.only(open_groups).first]
            every = least_groups is not None or matched is not None
            left_out = table.released_cheaper if every else table.dominated
            open_groups[open_groups] = ~left_out(v, groups.only(open_groups))
        chosen = groups.only(open_groups)
        fixed = surcharge[open_groups]
        found = penalties.add(phi[open_groups], fixed, chosen.members, chosen.begins, reduced, need.size)
        if known is not None:
            found = np.minimum(np.maximum(found, known[open_groups] + fixed), 0).tolist()
        elif values is not None:
            assert v is not None
            charges = values.of_groups(vectors.levels[v].tolist(), chosen.members, chosen.begins)
            by_group = chosen.members, chosen.begins
            within = least_costs(values.asked, rows, reduced, by_group, need.size, charges, each_group)
            within = np.minimum(within + (fixed + each_group), 0)
            found = np.minimum(np.maximum(found, within), 0).tolist()
        return sum(found)

    if (below := vectors.below) is not None:
        exempt = vectors.least[0] != below.need
        thetas = {} if values is None else values.by_members(table.columns)
        for found in closed_sets(
            below.columns(table.columns), rows, multipliers, denominator, below.need.size, top=not exempt
        ):
            sets = found
            if values is not None:
                sets = values.of_sets(found, rows, multipliers, denominator, below.need.size, thetas)
            # limits on values say more than supplies
            if not (counts or cuts or (below.need.supplies and values is None)):
                total += sum(sets.phi.tolist())
                continue
            # those of one level vector have no row in common
            _, vector = np.unique(sets.levels, axis=0, return_inverse=True)
            for each in range(int(vector.max(initial=-1)) + 1):
                some = sets.only(vector.ravel() == each)
                reduced = -multipliers
                reduced[some.members] += np.repeat(some.loss * denominator, some.sizes)
                known = None if values is None else some.phi
                total += below_zero(_Groups(some.members, some.begins), reduced, below.need, None, known)
        if not exempt:
            return int(total)
    for v in range(len(vectors.costs)):
        reduced = table.losses(v) * denominator - multipliers
        total += below_zero(_Groups.of(table.released(v)), reduced, vectors.least[v], v)
    return int(total)


def every_row_has_a_place(
    columns: Sequence[Released],
    rows: Ints,
    held: Mapping[str, Held],
    vectors: LevelVectors,
    matched: Callable[[Sequence[int]], Flags] | None = None,
) -> bool:
    """Whether each distinct row lies in a C(g) of enough rows that hold what a group needs, and that may be released;
    else there is no table."""
    table = _Rows(columns, rows, held, vectors)
    without = np.ones(len(rows), dtype=bool)
    for v in np.argsort(-vectors.levels.sum(axis=1), kind="stable").tolist():  # the most general ones have most rows
        groups = _Groups.of(table.released(v))
        enough = np.add.reduceat(rows[groups.members], groups.begins) >= vectors.least[v].size
        enough[enough] = table.supplied(vectors.least[v], groups.only(enough))
        if matched is not None:
            enough &= matched(vectors.levels[v].tolist())[groups.first]
        without[groups.only(enough).members] = False
        if not without.any():
            return True
    return False


def _least_size(count: PackingCut, columns: Sequence[Released], vectors: LevelVectors) -> int:
    """κ_S. At the top of all columns all rows are one group, which lies in no set but that of all rows."""
    top = (vectors.levels == [column.top for column in columns]).all(axis=1).tolist()
    everything = len(count.rows) == columns[0].of_row.shape[1]
    sizes = [least.size for least, is_top in zip(vectors.least, top, strict=True) if everything or not is_top]
    sizes += [] if vectors.below is None else [vectors.below.need.size]
    return max(min(sizes, default=1), 1)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Rows by group: members int64, the rows of one group after the other, in order; begins: where each one starts."""

    members: Ints
    begins: Ints

    @classmethod
    def of(cls, key: Ints) -> _Groups:
        """Rows with the same key are a group."""
        members = np.argsort(key, kind="stable")
        ordered = key[members]
        return cls(members, np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])))

    @property
    def first(self) -> Ints:
        """A row of each group."""
        return self.members[self.begins]

    @property
    def sizes(self) -> Ints:
        """Distinct rows of each group."""
        return np.diff(self.begins, append=len(self.members))

    def surcharge(self, counts: Sequence[PackingCut], rows: int) -> Ints:
        """σ of each group: the multipliers of the sets that all its rows are in. rows: number of distinct rows."""
        found = np.zeros(len(self.begins), dtype=np.int64)
        group_of_row = np.full(rows, -1, dtype=np.int64)
        group_of_row[self.members] = np.repeat(np.arange(len(self.begins)), self.sizes)
        sizes = self.sizes
        for count in counts:
            of_rows = group_of_row[count.rows]
            groups, inside = np.unique(of_rows[of_rows >= 0], return_counts=True)
            found[groups[inside == sizes[groups]]] += count.multiplier
        return found

    def only(self, chosen: Flags) -> _Groups:
        """Some of the groups."""
        sizes = self.sizes
        begins = np.cumsum(sizes[chosen]) - sizes[chosen]
        return _Groups(self.members[np.repeat(chosen, sizes)], begins)

    def alike(self, label_of_row: Ints) -> Flags:
        """Per group: whether all its rows have the same label."""
        return alike(label_of_row[self.members], self.begins)


class _Rows:
    """The distinct rows as every level vector releases them."""

    def __init__(
        self, columns: Sequence[Released], rows: Ints, held: Mapping[str, Held], vectors: LevelVectors
    ) -> None:
        self.columns, self.rows, self.held, self.vectors = columns, rows, held, vectors
        self.sizes = np.array([least.size for least in vectors.least], dtype=np.int64)
        self.support = lru_cache(CACHED)(self._support)

    def released(self, v: int) -> Ints:
        """A number for each row that tells apart what the level vector releases."""
        key = np.zeros(len(self.rows), dtype=np.int64)
        span = 1
        for column, level in zip(self.columns, self.vectors.levels[v].tolist(), strict=True):
            if level == column.top:
                continue
            if span * column.labels >= LIMIT:
                distinct, renumbered = np.unique(key, return_inverse=True)
                key, span = renumbered.astype(np.int64), len(distinct)
            key = key * column.labels + column.of_row[level]
            span *= column.labels
        return key

    def losses(self, v: int) -> Ints:
        """Per row: its loss in units at a level vector."""
        found = np.full(len(self.rows), self.vectors.costs[v], dtype=np.int64)
        for column, level in zip(self.columns, self.vectors.levels[v].tolist(), strict=True):
            if column.losses is not None:
                found += column.losses[level]
        return found

    def _support(self, v: int) -> Ints:
        """Per row: how many rows of the table the level vector releases as it releases this one."""
        _, group = np.unique(self.released(v), return_inverse=True)
        size = np.zeros(len(self.rows), dtype=np.int64)
        np.add.at(size, group, self.rows)
        return size[group]

    def supplied(self, need: Need, groups: _Groups) -> Flags:
        """Per group: whether its rows hold the sensitive values that are needed."""
        enough = np.ones(len(groups.begins), dtype=bool)
        for supply in need.supplies:
            enough &= _supplies(supply, self.held[supply.attribute], groups, self.rows)
        return enough

    def dominated(self, v: int, groups: _Groups) -> Flags:
        """Per group of a level vector: whether all of it can move to one that comes before it."""
        found = np.zeros(len(groups.begins), dtype=bool)
        if not found.size:
            return found
        first = groups.members[groups.begins]
        costs, mine = np.array(self.vectors.costs, dtype=np.int64), self.losses(v)[first]
        by_label = [(j, column.losses) for j, column in enumerate(self.columns) if column.losses is not None]
        lowest, of_group = np.unique(self._lowest(groups), axis=0, return_inverse=True)
        for number, levels in enumerate(lowest):
            at = np.flatnonzero(of_group.ravel() == number)
            can_take = (self.vectors.levels >= levels).all(axis=1) & (self.sizes <= self.sizes[v])
            able = np.flatnonzero(can_take & (costs <= mine[at].max()))  # losses of labels only add to that
            for some in np.array_split(at, 1 + len(at) * len(able) * len(by_label) // AT_ONCE):
                rows = first[some]
                cost = costs[able][:, None]
                for j, losses in by_label:
                    cost = cost + losses[self.vectors.levels[able, j]][:, rows]
                found[some] = (cost < mine[some]).any(axis=0)
                tied = (cost == mine[some]) & ~found[some]
                for place in np.flatnonzero(tied.any(axis=1) & (able != v)).tolist():
                    own, larger = self.support(v)[rows], self.support(int(able[place]))[rows]
                    before = (self.sizes[able[place]] < self.sizes[v]) | (able[place] < v)
                    found[some] |= tied[place] & ((larger > own) | ((larger == own) & before))
        return found

    def released_cheaper(self, v: int, groups: _Groups) -> Flags:
        """Per group of a level vector: whether another one releases it with the same labels, which are one group, at a
        lower loss, or comes first."""
        found = np.zeros(len(groups.begins), dtype=bool)
        rows, levels = groups.members[groups.begins], self.vectors.levels
        twice = [bool((np.diff(np.sort(column.of_row, axis=0), axis=0) == 0).any()) for column in self.columns]
        same = (levels == levels[v])[:, np.logical_not(twice)].all(axis=1)
        same[v] = False
        for u in np.flatnonzero(same).tolist() if any(twice) else ():
            alike = np.ones(len(rows), dtype=bool)
            for column, own, other in zip(self.columns, levels[v].tolist(), levels[u].tolist(), strict=True):
                alike &= column.of_row[own][rows] == column.of_row[other][rows]
            loss, cheaper = self.losses(v)[rows], self.losses(u)[rows]
            found |= alike & ((cheaper < loss) | ((cheaper == loss) & (u < v)))
        return found

    def _lowest(self, groups: _Groups) -> Ints:
        """Per group and column the level from which on all its rows are released alike, int64 (groups, m)."""
        lowest = np.empty((len(groups.begins), len(self.columns)), dtype=np.int64)
        for j, column in enumerate(self.columns):
            lowest[:, j] = column.top
            alike = np.ones(len(lowest), dtype=bool)
            for level in range(column.top - 1, -1, -1):
                alike &= groups.alike(column.of_row[level])
                lowest[alike, j] = level
        return lowest


def _supplies(supply: Supply, held: Held, groups: _Groups, rows: Ints) -> Flags:
    """Per group: Σ_σ min(N_σ, limit_σ) ≥ need; True where the numbers would not fit."""
    most = supply.scale * int(rows.sum())
    if most >= LIMIT:
        return np.ones(len(groups.begins), dtype=bool)
    group_of_row = np.full(len(rows), -1, dtype=np.int64)
    group_of_row[groups.members] = np.repeat(np.arange(len(groups.begins)), groups.sizes)
    group = group_of_row[held.row]
    inside = group >= 0
    cells, number = np.unique(group[inside] * len(held.values) + held.value[inside], return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, number, held.count[inside])
    limits = np.array([min(supply.limits[value], most) for value in held.values], dtype=np.int64)
    total = np.zeros(len(groups.begins), dtype=np.int64)
    np.add.at(total, cells // len(held.values), np.minimum(counts * supply.scale, limits[cells % len(held.values)]))
    enough: Flags = total >= min(supply.need, LIMIT)
    return enough
