"""t-closeness: the sensitive values of a group are distributed nearly as in the entire table.

The constraints of t-closeness: the earth mover's distance to the entire table, scaled by the size of the group.

With group size S = Σ x, rows X_σ of the group and r_σ of the table (Σ r = n), moving the masses n·X_σ to r_σ·S costs
n·S times the distance of the two distributions. All coefficients are integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError
from kanon_milp.problem.arguments import one_of
from kanon_milp.problem.distances import (
    BUILT_IN,
    FROM_FILE,
    SIMPLE,
    EqualDistance,
    GroundDistance,
    Space,
    ground_distance,
)
from kanon_milp.problem.distances.base import Tree, emd
from kanon_milp.problem.exact import Number, both
from kanon_milp.problem.privacy.base import (
    NUMBER,
    TEXT,
    EmdLimit,
    Parameter,
    Requirement,
    Swept,
    ValueLimits,
    name_attribute,
    sensitive_names,
)
from kanon_milp.problem.privacy.instance_data import InstanceData, Rows, cells, supports
from kanon_milp.problem.privacy.shares import SAFE, SEARCHED, declare_hull
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags

if TYPE_CHECKING:
    from kanon_milp.problem.hierarchies import Label
    from kanon_milp.problem.table import Table

FEW = 3  # values up to which every set of them is one value or all but one
LARGE = 500  # values above which the general viability test is left out


def _masses(instance: InstanceData, attributes: Sequence[str]) -> tuple[int, list[int]]:
    """n and r_σ of the entire table by code of the value, divided by their common factor."""
    (attribute,) = attributes
    counts = instance.table_group.sensitive[attribute]
    _, values = instance.sensitive_codes(attributes)
    reference = [counts[value] for (value,) in values]
    common = math.gcd(*reference)
    return sum(reference) // common, [r // common for r in reference]


def declare_flows(
    block: pyo.Block,
    model: pyo.ConcreteModel,
    instance: InstanceData,
    attributes: Sequence[str],
    space: Space,
    t: Fraction,
) -> None:
    """The transport constraints of Liang, Yuan 2013 (proof of Theorem 9), for any metric; f is their g.

    Σ_τ f[g,σ,τ] = X_σg;  n·Σ_σ f[g,σ,τ] = r_τ·S_g;  Σ d_στ·f[g,σ,τ] ≤ t·S_g;  f ≥ 0.
    """
    rows = Rows(model, instance, attributes)
    n, reference = _masses(instance, attributes)
    everything = range(len(reference))
    block.CELLS = cells(rows)
    block.FLOWS = pyo.Set(
        dimen=3,
        initialize=[(g, s, t_) for g, s in rows.index() for t_ in everything],
        ordered=pyo.Set.InsertionOrder,
        doc="(candidate g, a sensitive value σ of its cover, any sensitive value τ)",
    )
    block.flow = pyo.Var(block.FLOWS, domain=pyo.NonNegativeReals, doc="f[g,σ,τ]: mass moved from σ to τ")
    # d_στ as integers
    d = {(of, to): t.denominator * space.distance(of, to) for of in everything for to in everything if of != to}

    @block.Constraint(block.CELLS, doc="what leaves a sensitive value is what the group has of it")
    def leaves(b: pyo.Block, g: int, value: int) -> object:
        return sum(b.flow[g, value, to] for to in everything) == rows.with_value(g, value)

    @block.Constraint(
        model.CANDIDATES, pyo.RangeSet(0, len(reference) - 1), doc="what arrives at a value is its share of the table"
    )
    def arrives(b: pyo.Block, g: int, value: int) -> object:
        return n * sum(b.flow[g, of, value] for of in rows.values(g)) == reference[value] * rows.size(g)

    @block.Constraint(model.CANDIDATES, doc="the work is at most t for each row of the group")
    def work(b: pyo.Block, g: int) -> object:
        done = sum(d[of, to] * b.flow[g, of, to] for of in rows.values(g) for to in everything if of != to)
        return done <= t.numerator * space.scale * rows.size(g)


def declare_equal(
    block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData, attributes: Sequence[str], t: Fraction
) -> None:
    """Equal distance (Liang, Yuan 2013, Fact 1): the sum of the positive parts of n·X_σ - r_σ·S is at most t·n·S.

    The sum is the largest one over sets of values, and a set and its complement differ in the sign alone: with up to
    `FEW` values every set is one value or all but one, so |n·X_σ - r_σ·S| ≤ t·n·S for each value says the same, without
    variables.
    """
    rows = Rows(model, instance, attributes)
    n, reference = _masses(instance, attributes)
    if len(reference) <= FEW:
        _declare_intervals(block, model, instance, rows, n, reference, t)
        return
    block.CELLS = cells(rows)
    block.excess = pyo.Var(
        block.CELLS, domain=pyo.NonNegativeIntegers, doc="e[g,σ]: what g has too much of σ, n·X - r·S where positive"
    )

    # values that the cover lacks have no positive part
    @block.Constraint(block.CELLS, doc="e[g,σ] is at least what the group has too much of σ")
    def above(b: pyo.Block, g: int, value: int) -> object:
        return b.excess[g, value] >= n * rows.with_value(g, value) - reference[value] * rows.size(g)

    @block.Constraint(model.CANDIDATES, doc="the excess is at most t for each row of the group")
    def work(b: pyo.Block, g: int) -> object:
        excess = sum(b.excess[g, value] for value in rows.values(g))
        return t.denominator * excess <= t.numerator * n * rows.size(g)


def _declare_intervals(
    block: pyo.Block,
    model: pyo.ConcreteModel,
    instance: InstanceData,
    rows: Rows,
    n: int,
    reference: Sequence[int],
    t: Fraction,
) -> None:
    """(r_σ - t·n)·S ≤ n·X_σ ≤ (r_σ + t·n)·S, of which the second says nothing where r_σ + t·n ≥ n."""
    # of two values one is enough: the other is the rest of the group
    values = range(len(reference) if len(reference) > 2 else 1)
    most = {v: t + Fraction(reference[v], n) for v in values}
    least = {v: Fraction(reference[v], n) - t for v in values}
    block.VALUES = pyo.Set(initialize=values, ordered=pyo.Set.InsertionOrder, doc="numbers of the sensitive values σ")

    @block.Constraint(model.CANDIDATES, block.VALUES, doc="the share of a value is at most t above that in the table")
    def above(_block: pyo.Block, g: int, value: int) -> object:
        share = most[value]
        if share >= 1 or not rows.types(g, value):
            return pyo.Constraint.Skip
        return share.denominator * rows.with_value(g, value) <= share.numerator * rows.size(g)

    @block.Constraint(model.CANDIDATES, block.VALUES, doc="the share of a value is at most t below that in the table")
    def below(_block: pyo.Block, g: int, value: int) -> object:
        share = least[value]
        if share <= 0:
            return pyo.Constraint.Skip
        return share.denominator * rows.with_value(g, value) >= share.numerator * rows.size(g)

    declare_hull(block, model, instance, rows, {v: most[v] for v in values if most[v] < 1}, "above")
    declare_hull(block, model, instance, rows, {v: least[v] for v in values if least[v] > 0}, "below", upper=False)


def declare_tree(
    block: pyo.Block,
    model: pyo.ConcreteModel,
    instance: InstanceData,
    attributes: Sequence[str],
    space: Space,
    t: Fraction,
) -> None:
    """Tree metrics (ordered, numeric: a path; hierarchical: the hierarchy): the work is Σ_edges weight·|carried|.

    What an edge carries is what its subtree has too much, n·X - r·S summed over its values.

    up[g,e] - down[g,e] is what edge e carries towards the root. Below an edge whose subtree has no value of the cover
    nothing but -r·S is missing: such edges need no variables.
    """
    assert space.tree is not None
    tree, rows = space.tree, Rows(model, instance, attributes)
    n, reference = _masses(instance, attributes)
    below = _below(tree, reference)
    plans = {g: _plan(tree, rows.values(g)) for g in model.CANDIDATES}
    edges = [(g, v) for g, plan in plans.items() for v in plan]
    block.EDGES = pyo.Set(
        dimen=2,
        initialize=edges,
        ordered=pyo.Set.InsertionOrder,
        doc="(candidate g, lower node v of an edge) with a sensitive value of the cover of g below it",
    )
    block.up = pyo.Var(block.EDGES, domain=pyo.NonNegativeIntegers, doc="mass that an edge carries to the root")
    block.down = pyo.Var(block.EDGES, domain=pyo.NonNegativeIntegers, doc="mass that an edge carries from the root")
    children: list[list[int]] = [[] for _ in tree.parent]
    for v, p in enumerate(tree.parent):
        if p >= 0:
            children[p].append(v)

    @block.Constraint(block.EDGES, doc="an edge carries what the edges below it carry and its node has too much")
    def carries(b: pyo.Block, g: int, v: int) -> object:
        own = n * rows.with_value(g, v) - reference[v] * rows.size(g) if v < len(reference) else 0
        carried = sum(b.up[g, child] - b.down[g, child] for child in children[v] if child in plans[g])
        missing = sum(below[child] for child in children[v] if child not in plans[g])
        return b.up[g, v] - b.down[g, v] == own + carried - missing * rows.size(g)

    # Σ_edges weight·|carried| ≤ t·n·S
    @block.Constraint(model.CANDIDATES, doc="the work is at most t for each row of the group")
    def work(b: pyo.Block, g: int) -> object:
        done = sum(tree.weight[v] * (b.up[g, v] + b.down[g, v]) for v in plans[g])
        fixed = sum(tree.weight[v] * below[v] for v, p in enumerate(tree.parent) if p >= 0 and v not in plans[g])
        return t.denominator * (done + fixed * rows.size(g)) <= t.numerator * n * space.scale * rows.size(g)


def _plan(tree: Tree, values: Sequence[int]) -> dict[int, None]:
    """The edges (named by their lower node) above the values of a cover."""
    found: dict[int, None] = {}
    for value in values:
        v = value
        while tree.parent[v] >= 0 and v not in found:
            found[v] = None
            v = tree.parent[v]
    return found


def _below(tree: Tree, reference: Sequence[int]) -> list[int]:
    below = [*reference, *[0] * (len(tree.parent) - len(reference))]
    for v in tree.order:
        if tree.parent[v] >= 0:
            below[tree.parent[v]] += below[v]
    return below


def smallest_close(space: Space, reference: Sequence[int], t: Fraction) -> int:
    """A lower bound on the size of a group within t of the reference, from the integer numbers of rows that it has.

    Equal distance with the factor d_min (every metric is at least that): of size s, at most Σ⌊s·r/n⌋ and the largest
    fractional parts agree with the reference. Tree metrics: an edge carries at least the distance of s·R/n, R the rows
    below it, to the next integer.
    """
    common = math.gcd(*reference)
    masses = [r // common for r in reference]
    n, values = sum(masses), range(len(masses))
    if len(masses) <= LARGE:
        nearest = min((space.distance(i, j) for i in values for j in values if i < j), default=space.scale)
    else:
        nearest = space.scale if space.tree is None else 0
    edges = []
    if space.tree is not None:
        below = _below(space.tree, masses)
        edges = [
            (w, below[v]) for v, w in enumerate(space.tree.weight) if space.tree.parent[v] >= 0 and 0 < below[v] < n
        ]
    for size in range(1, min(n, SEARCHED) + 1):
        most = t.numerator * space.scale * size * n
        parts = sorted((size * r % n for r in masses), reverse=True)
        open_rows = size - sum(size * r // n for r in masses)
        apart = size * n - (sum(size * r // n * n for r in masses) + sum(parts[:open_rows]))
        if t.denominator * nearest * apart > most:
            continue
        if t.denominator * sum(w * min(size * r % n, n - size * r % n) for w, r in edges) <= most:
            return size
    return min(n, SEARCHED)


def viable_close(instance: InstanceData, attributes: Sequence[str], space: Space, t: Fraction) -> Flags:
    """Candidates whose cover could come within t, exactly in integers.

    Equal distance: a (fractional) group of the smallest size κ overlaps with the reference in Σ min(n·N_σ, κ·r_σ), and
    that must be (1-t)·κ·n. Any metric: each value's mass moves at least to the nearest value that the cover has.
    """
    n, reference = _masses(instance, attributes)
    cover = supports(instance, attributes)
    everything = np.ones(instance.candidates.count, dtype=bool)
    least = np.minimum(instance.least, instance.candidates.support)
    r = np.array(reference, dtype=np.int64)
    if is_equal(space) and t.denominator * n * (instance.types.n + 1) * 2 < SAFE:
        overlap = np.minimum(n * cover.data, r[cover.indices] * np.repeat(least, np.diff(cover.indptr)))
        total = np.add.reduceat(overlap, cover.indptr[:-1])
        close: Flags = t.denominator * total >= (t.denominator - t.numerator) * n * least
        return close
    width = len(reference)
    if width > LARGE or t.denominator * space.scale * n * 2 > SAFE:
        return everything
    distance = np.array([[space.distance(i, j) for j in range(width)] for i in range(width)], dtype=np.int64)
    present = np.zeros((instance.candidates.count, width), dtype=bool)
    present[np.repeat(np.arange(instance.candidates.count), np.diff(cover.indptr)), cover.indices] = True
    packed, inverse = np.unique(np.packbits(present, axis=1), axis=0, return_inverse=True)
    kinds = np.unpackbits(packed, axis=1, count=width).astype(bool)
    close = np.array(
        [t.denominator * int(r @ distance[:, kind].min(axis=1)) <= t.numerator * space.scale * n for kind in kinds]
    )
    return close[inverse]


def is_equal(space: Space) -> bool:
    """Whether all different values are at distance 1."""
    tree = space.tree
    if tree is None or len(space.values) < 2:
        return False
    first = tree.parent[0]
    return first >= len(space.values) and all(
        tree.parent[v] == first and 2 * tree.weight[v] == space.scale for v in range(len(space.values))
    )


Form = Literal["short", "transport"]
FORMS = ("short", "transport")


@dataclass(frozen=True)
class TCloseness(Requirement):
    """The earth mover's distance between the sensitive values of each group and those of the entire table is at most t
    (Li, Li, Venkatasubramanian 2007; Liang, Yuan 2013, section 2.1).

    t: an exact rational from 0 to 1, such as "0.15" or "3/20". distance: the ground distance between values, "equal",
    "ordered", "numeric" or an object of `problem.distances`. form: "transport" states the transport constraints of
    Liang, Yuan 2013, Theorem 9; "short" the equivalent ones where the distance is a tree metric (see `declare_tree`).

    Merge-closed: the distance is convex, and the reference stays the same. `assign` stays integer.
    """

    t: Number
    distance: str | GroundDistance = "equal"
    sensitive: str | None = None
    form: Form = "short"
    space: Space | None = field(default=None, repr=False, compare=False)
    name: ClassVar[str] = "t_closeness"
    term: ClassVar[str] = "t-closeness"
    against: ClassVar[str] = "skewness; with a hierarchical or ordered distance, similarity"
    source: ClassVar[str] = "Li, Li and Venkatasubramanian 2007"
    letter: ClassVar[str] = "t"
    summary: ClassVar[str] = "t-closeness, exact as written, with the equal ground distance"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "form": Parameter(
            TEXT,
            "short or transport",
            option="--t-form",
            metavar="FORM",
            help="Constraints of t-closeness in the model: short, or transport as printed; they mean the same.",
            usual="short",
            modeling=True,
        ),
        "t": Parameter(
            NUMBER,
            metavar="T",
            help="t-closeness, a rational such as 0.15 or 3/20: largest distance of a group to the table.",
        ),
        "distance": Parameter(
            TEXT,
            "equal (default), ordered, numeric, order:FILE, hierarchy:FILE or matrix:FILE",
            option="--distance",
            metavar="D",
            help="Ground distance of t-closeness: equal, ordered, numeric, order:FILE, hierarchy:FILE or matrix:FILE.",
            usual="equal",
            files={kind.name: prefix for prefix, kind in FROM_FILE.items()},
        ),
    }
    swept: ClassVar[Swept] = Swept(-1, "0.1,0.2")
    sentence: ClassVar[str] = (
        "the values{about} in each group are within {t} of those of the whole table ({distance} distance)"
    )
    merge_closed: ClassVar[bool] = True  # the distance is convex: a union's is at most the larger one of its parts

    def __post_init__(self) -> None:
        if not 0 <= self.exact <= 1:
            raise InputError(f"t must lie between 0 and 1, found {self.exact}")
        name_attribute(self)
        one_of(self.form, FORMS, "the form of t-closeness")
        distance = ground_distance(self.distance)
        if self.distance not in SIMPLE:
            # a file is read once, so what is solved and what is verified is the same
            object.__setattr__(self, "distance", distance)

    @classmethod
    def read(cls, arguments: Mapping[str, Any], folder: Path, encoding: str | None) -> TCloseness:
        """Files of ground distances are beside the model file."""
        read = {"distance": ground_distance(arguments["distance"], folder, encoding)} if "distance" in arguments else {}
        return cls(**{**arguments, **read})

    def bind(self, table: Table) -> tuple[TCloseness, ...]:
        """Check that the ground distance knows every value."""
        bound = []
        for name in sensitive_names(self.name, self.sensitive, table):
            column = table.column(name)
            values: list[Label] = column.drop_nulls().unique().sort().to_list()
            if column.null_count():
                values.append(None)
            distance = ground_distance(self.distance)
            space = distance.space(values, f'{table.source}: column "{name}"')
            bound.append(replace(self, sensitive=name, distance=distance, space=space))
        return tuple(bound)

    @property
    def has_continuous_variables(self) -> bool:
        """Flows of the transport constraints; those of the shorter forms are integer."""
        return self.form == "transport" or self.space is None or self.space.tree is None

    def smallest_group(self, table_group: Group) -> int:
        """The smallest size whose integer numbers of rows come within t of the reference."""
        space = self._space(table_group)
        counts = table_group.sensitive[self.attributes[0]]
        return smallest_close(space, [counts[value] for value in space.values], self.exact)

    def holds(self, group: Group) -> bool:
        """Exact earth mover's distance to the entire table."""
        space = self._space(group.reference)
        counts, reference = (g.sensitive[self.attributes[0]] for g in (group, group.reference))
        p = [counts.get(value, 0) for value in space.values]
        return bool(emd(space, p, [reference[value] for value in space.values]) <= self.exact)

    def viable(self, instance: InstanceData) -> Flags:
        """The reference moved to the nearest values of the cover comes within t."""
        return viable_close(instance, self.attributes, self._space(instance.table_group), self.exact)

    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """The general constraints, or the shorter ones of a tree metric."""
        space = self._space(instance.table_group)
        if self.form == "transport" or space.tree is None:
            declare_flows(block, model, instance, self.attributes, space, self.exact)
        elif is_equal(space):
            declare_equal(block, model, instance, self.attributes, self.exact)
        else:
            declare_tree(block, model, instance, self.attributes, space, self.exact)

    def relaxations(self, table_group: Group) -> tuple[ValueLimits, ...]:
        """The work."""
        emd_limit = EmdLimit(self._space(table_group), self.exact)
        return (ValueLimits(self.attributes[0], emd=emd_limit, complete=True),)

    def certified(self, _table: Table) -> tuple[TCloseness, ...] | None:
        """All of it for the equal distance, nothing for others; None for a distance of a user's own."""
        kind = type(ground_distance(self.distance))
        if kind not in BUILT_IN:
            return None
        return (self,) if kind is EqualDistance else ()

    def describe(self) -> dict[str, object]:
        """t, the ground distance, the form and the attribute."""
        distance = ground_distance(self.distance).name
        return {**both("t", self.exact), "distance": distance, "form": self.form, "sensitive": self.sensitive}

    def _space(self, table_group: Group) -> Space:
        if self.space is not None:
            return self.space
        values = sorted(table_group.sensitive[self.attributes[0]], key=lambda value: (value is None, value or ""))
        return ground_distance(self.distance).space(values, f'column "{self.attributes[0]}"')
