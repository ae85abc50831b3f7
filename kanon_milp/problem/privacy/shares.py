"""Requirements that limit the shares and the number of the values of one sensitive attribute in a group: `ValueLimits`
says which, and all else that the package asks of a requirement follows from them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import counted
from kanon_milp.problem.exact import largest_below
from kanon_milp.problem.privacy.base import Requirement, Shortfall, ValueLimits, few_rows
from kanon_milp.problem.privacy.instance_data import InstanceData, Rows, declare_presence, distinct_values, supports
from kanon_milp.problem.records import Group, Label
from kanon_milp.system.arrays import Flags

Caps = Mapping[Label, Fraction]
HULL_LINES = 3  # of the hull of (size, rows with a value) in the model, besides the share itself
HULL_SIZES = 200  # sizes above the smallest that are looked at for them
SEARCHED = 10_000  # sizes of a group tried when looking for the smallest one
SAFE = 1 << 62


class LimitedValues(Requirement):
    """A requirement that a group has exactly if it has `rows_asked` rows and what `relaxations` says, except where a
    subclass says otherwise."""

    compares: ClassVar[bool] = True  # whether the limits depend on the entire table
    most: ClassVar[str] = ""  # how messages call the most rows that a value of the table may have

    @abstractmethod
    def relaxations(self, table_group: Group) -> Sequence[ValueLimits]:
        """The limits, by attribute."""

    def smallest_group(self, table_group: Group) -> int:
        """What integer numbers of rows need to be within the limits."""
        size = self.rows_asked
        for limits in self.relaxations(table_group):
            within = smallest_within(limits.upper, table_group.sensitive[limits.attribute]) if limits.upper else 1
            size = max(size, limits.different, limits.present, within)
        return size

    def holds(self, group: Group) -> bool:
        """Size, shares and different values."""
        return group.size >= self.rows_asked and all(
            limits.hold(group.sensitive[limits.attribute], group.size)
            for limits in self.relaxations(group.reference if self.compares else group)
        )

    def viable(self, instance: InstanceData) -> Flags:
        """Enough rows and different values, and a fractional group within the upper shares exists."""
        viable: Flags = instance.candidates.support >= self.rows_asked
        for limits in self.relaxations(instance.table_group):
            if limits.upper:
                viable &= viable_within(instance, limits.attribute, limits.upper)
            if (different := max(limits.different, limits.present)) > 1:
                viable &= distinct_values(instance, (limits.attribute,)) >= different
        return viable

    def shortfall(self, table_group: Group) -> Shortfall | None:
        """Too few rows or different values, or the value that has too many rows."""
        if short := few_rows(self.rows_asked, table_group):
            return short
        for limits in self.relaxations(table_group):
            if short := few_values(limits.different, table_group, limits.attribute):
                return short
            counts = table_group.sensitive[limits.attribute]
            for value, rows in sorted(counts.items(), key=lambda item: (item[1], str(item[0])), reverse=True):
                most = limits.upper.get(value, Fraction(1)) * table_group.size
                if rows > most:
                    text = f"{rows} of {table_group.size} rows, more than {self.most} = {most}"
                    return Shortfall(text, limits.attribute, value)
        return None

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """S_g ≥ k·y[g] for k rows, X_σg ≤ cap_σ·S_g, or different values as `declare_presence` has them."""
        (limits,) = self.relaxations(instance.table_group)
        if "k" in self.parameters:
            rows = Rows(model, instance)

            @block.Constraint(model.CANDIDATES, doc="an open group has at least k rows")
            def size(_block: pyo.Block, g: int) -> object:
                return rows.size(g) >= self.rows_asked * model.open[g]

        if limits.upper:
            declare_caps(block, model, instance, limits.attribute, limits.upper)
        else:
            declare_presence(block, model, instance, (limits.attribute,), limits.different)


def few_values(number: int, table: Group, attribute: str) -> Shortfall | None:
    """What falls short in a table with fewer different values than each group needs."""
    values = len(table.sensitive[attribute])
    return Shortfall(f'column "{attribute}" has only {counted(values, "different value")}') if values < number else None


def smallest_within(caps: Caps, counts: Mapping[Label, int]) -> int:
    """The smallest size s that integer numbers of rows can make up: Σ_σ min(N_σ, ⌊cap_σ·s⌋) ≥ s.

    counts: rows of the entire table by value. Any smaller number is a valid lower bound too, so the search may end
    early.
    """
    n = sum(counts.values())
    pairs = [(caps[value].numerator, caps[value].denominator, rows) for value, rows in counts.items()]
    for size in range(1, min(n, SEARCHED) + 1):
        if sum(min(rows, above * size // below) for above, below, rows in pairs) >= size:
            return size
    return min(n, SEARCHED)


def viable_within(instance: InstanceData, attribute: str, caps: Caps) -> Flags:
    """Candidates whose cover holds a (fractional) group within the caps: Σ_σ min(N_gσ, cap_σ·κ) ≥ κ.

    κ is the smallest size that the candidate's group can have; a larger group scaled down to κ shows that the test is
    valid. Exact in integers; everything is viable where these would not fit.
    """
    _, values = instance.sensitive_codes((attribute,))
    cap = [min(caps[value], Fraction(1)) for (value,) in values]
    common = math.lcm(*(c.denominator for c in cap))
    if common * (instance.types.n + 1) * 2 > SAFE:
        return np.ones(instance.candidates.count, dtype=bool)
    scaled = np.array([int(c * common) for c in cap], dtype=np.int64)
    cover = supports(instance, (attribute,))
    least = np.minimum(instance.least, instance.candidates.support)
    at_most = scaled[cover.indices] * np.repeat(least, np.diff(cover.indptr))
    held = np.add.reduceat(np.minimum(common * cover.data, at_most), cover.indptr[:-1])
    viable: Flags = held >= common * least
    return viable


@dataclass(frozen=True)
class Line:
    """run·X ≤ rise·S + constant·y (or ≥), for the rows X with a value in a group of S rows; all integers, run > 0."""

    run: int
    rise: int
    constant: int


def largest_up_to(share: Fraction, limit: int) -> Fraction:
    """The largest fraction of at most `share` with a denominator of at most `limit`."""
    return share if share.denominator <= limit else largest_below(lambda other: other <= share, limit)


def hull_lines(share: Fraction, least: int, *, upper: bool) -> list[Line]:
    """What X ≤ share·S (upper) or X ≥ share·S says of integers X and S ≥ least, beyond itself: the first lines of the
    hull of the points (S, ⌊share·S⌋) or (S, ⌈share·S⌉), by rising S.

    Each line goes through two vertices of the hull, so all points with S ≥ least are on the right side of it.
    """
    sign = 1 if upper else -1

    def rows(size: int) -> int:
        return math.floor(sign * share * size)  # -⌈share·S⌉ where it is a lower limit

    lines: list[Line] = []
    at = least
    last = least + HULL_SIZES
    while rows(at) < sign * share * at and len(lines) < HULL_LINES:
        # the next vertex of the upper hull: the steepest line from here, the furthest of those
        steepest = max(Fraction(rows(size) - rows(at), size - at) for size in range(at + 1, last + 1))
        # a size beyond those looked at is below this slope
        if steepest < sign * share + (sign * share * at - rows(at)) / HULL_SIZES:
            break
        to = max(size for size in range(at + 1, last + 1) if rows(size) - rows(at) == steepest * (size - at))
        run, rise = to - at, rows(to) - rows(at)
        common = math.gcd(run, rise, run * rows(at) - rise * at)
        line = Line(run // common, sign * rise // common, sign * (run * rows(at) - rise * at) // common)
        lines.append(line)
        at, last = to, to + HULL_SIZES
    return lines


def declare_caps(
    block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData, attribute: str, caps: Caps, name: str = "share"
) -> None:
    """The constraints den(cap_σ)·X_σg ≤ num(cap_σ)·S_g, coefficients integer, for the values in the cover of g.

    No group has more than n rows, so the largest fraction up to cap_σ with a denominator of at most n says the same of
    integers; larger ones would be within the tolerances of solvers.
    """
    rows = Rows(model, instance, (attribute,))
    _, values = instance.sensitive_codes((attribute,))
    n = max(instance.types.n, 1)
    cap = {code: largest_up_to(caps[value], n) for code, (value,) in enumerate(values)}
    limited = [(g, value) for g, value in rows.index() if cap[value] < 1]
    cells = pyo.Set(dimen=2, initialize=limited, doc="(candidate g, number of a sensitive value σ) with a limit")
    block.add_component(f"{name}_CELLS", cells)

    # X_σg ≤ cap_σ · S_g
    def rule(_block: pyo.Block, g: int, value: int) -> object:
        return cap[value].denominator * rows.with_value(g, value) <= cap[value].numerator * rows.size(g)

    limit = pyo.Constraint(cells, rule=rule, doc="no sensitive value has more than its share of a group")
    block.add_component(name, limit)
    declare_hull(block, model, instance, rows, {value: cap[value] for value in sorted(cap) if cap[value] < 1}, name)


def declare_hull(
    block: pyo.Block,
    model: pyo.ConcreteModel,
    instance: InstanceData,
    rows: Rows,
    shares: Mapping[int, Fraction],
    name: str = "share",
    *,
    upper: bool = True,
) -> None:
    """What integer numbers of rows make of upper (or lower) shares of the values of these codes: `hull_lines`.

    Valid for every group of at least κ_g rows; the linear relaxation without them keeps smaller multiples of groups.
    """
    least = instance.least.tolist()
    found = {
        (size, value): hull_lines(share, size, upper=upper) for size in set(least) for value, share in shares.items()
    }
    index = [
        (g, value, number)
        for g in model.CANDIDATES
        for value in shares
        if rows.types(g, value)
        for number in range(len(found[least[g], value]))
    ]
    if not index:
        return
    lines = pyo.Set(dimen=3, initialize=index, doc="(candidate g, number of a sensitive value σ, number of a line)")
    block.add_component(f"{name}_LINES", lines)

    # run·X_σg ≤ rise·S_g + constant·y[g]
    def rule(_block: pyo.Block, g: int, value: int, number: int) -> object:
        line = found[least[g], value][number]
        held, bound = line.run * rows.with_value(g, value), line.rise * rows.size(g) + line.constant * model.open[g]
        return held <= bound if upper else held >= bound

    doc = "what a share says of integer numbers of rows (the hull of sizes and rows with a value)"
    block.add_component(f"{name}_hull", pyo.Constraint(lines, rule=rule, doc=doc))
