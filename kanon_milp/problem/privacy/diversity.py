"""Entropy and recursive (c,l)-diversity (Machanavajjhala et al. 2007): exact decisions, and what the model states."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyomo.core as pyo

from kanon_milp.problem.exact import largest_below
from kanon_milp.problem.privacy.instance_data import InstanceData, Rows, cells
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Flags

Numbers = tuple[int, ...]
NEAR = 1e-11  # of two logarithms, relative to their size: nearer ones are compared in more digits
DIGITS = 80
LISTED = 4_096  # numbers of rows by value that a cover may have for all groups of it to be looked at
ENTROPY_STEPS = 1_024  # of a share, in which the largest one is found where there are more than two values


def enough_entropy(counts: Collection[int], l: Fraction) -> bool:  # noqa: E741
    """Whether -Σ p log p ≥ log l for the shares p of these counts: l^S · Π c^c ≤ S^S, in integers.

    Both sides are powers of what they are for counts without a common divisor, so that is taken out first. Logarithms
    decide where they are apart, floats and then those of so many `DIGITS`.
    """
    common = math.gcd(*counts)
    held = [count // common for count in counts]
    size = sum(held)
    left = math.fsum(count * math.log(count) for count in held) + size * math.log(l)
    right = size * math.log(size)
    if abs(left - right) > NEAR * (1 + left + right):
        return left < right
    with localcontext(prec=DIGITS):
        least = size * (Decimal(l.numerator).ln() - Decimal(l.denominator).ln())
        apart = size * Decimal(size).ln() - sum((x * Decimal(x).ln() for x in held), least)
    if abs(apart) > Decimal(10) ** (20 - DIGITS) * size:
        return apart > 0
    return bool(l.numerator**size * math.prod(x**x for x in held) <= l.denominator**size * size**size)


def recursive_holds(counts: Collection[int], c: Fraction, l: int) -> bool:  # noqa: E741
    """Whether r_1 < c·(r_l + ... + r_m) for the counts r_1 ≥ ... ≥ r_m (their Definition 4.2)."""
    falling = sorted(counts, reverse=True)
    return falling[0] < c * sum(falling[l - 1 :])


def entropy_share(l: Fraction, values: int, n: int) -> Fraction:  # noqa: E741
    """A limit on the share of a value in every group with enough entropy, out of so many values of a table of n rows.

    With the share p of one value the entropy is largest where the others are as frequent as each other, so p^p ·
    ((1-p)/(m-1))^(1-p) ≤ 1/l, which is true for p = 1/m and false from some p on. Two values: the largest such share
    of a group. More: the first of `ENTROPY_STEPS` steps that is too large.
    """

    def allowed(share: Fraction) -> bool:
        one, all_rows = share.numerator * (values - 1), share.denominator * (values - 1)
        if one >= all_rows:  # all rows have the value
            return share == 1 and l <= 1
        others = share.denominator - share.numerator
        return one * values <= all_rows or enough_entropy([one, *[others] * (values - 1)], l)

    if values < 2:
        return Fraction(1)
    if values == 2:
        return largest_below(allowed, n)
    low, high = 0, ENTROPY_STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(Fraction(middle, ENTROPY_STEPS)) else (low, middle)
    return Fraction(high, ENTROPY_STEPS)


def recursive_share(c: Fraction, l: int, n: int) -> Fraction:  # noqa: E741
    """The largest share of a value in a group of at most n rows: X_σ < c·(S - X_σ), and X_σ < c·S for l = 1."""
    share = c / (1 + c) if l > 1 else c
    return Fraction(1) if share > 1 else largest_below(lambda other: other < share, n)


def recursive_values(c: Fraction, l: int) -> int:  # noqa: E741
    """The fewest different values: r_1 < c·(m-l+1)·r_1 asks for m > l-1 + 1/c."""
    return l + math.floor(1 / c)


def _simplest(c: Fraction, n: int) -> Fraction:
    """A c that no group of up to n rows tells from this one, of numbers that solvers hold: r/s < c for its counts r and
    s from 0 to n is the same for both."""
    if c > n:
        return Fraction(n + 1)
    if c.denominator <= n:
        return c
    below = largest_below(lambda ratio: ratio < c, n)
    return below + Fraction(1, below.denominator * n)  # no ratio lies between them


def declare_recursive(
    block: pyo.Block,
    model: pyo.ConcreteModel,
    instance: InstanceData,
    attributes: Sequence[str],
    c: Fraction,
    l: int,  # noqa: E741
) -> None:
    """b·X_σ + y ≤ a·(S - T) for each value σ, with c = a/b and T ≥ the rows of the l-1 most frequent values.

    T is the least of (l-1)·u + Σ_σ v_σ under u + v_σ ≥ X_σ (duality of choosing l-1 values); u = r_{l-1} and v_σ =
    max(0, X_σ - u) are integers that reach it. For l = 1 T is 0, and they are not needed. All is integer, so `<` is `≤`
    with 1 more on the left.
    """
    rows, c = Rows(model, instance, attributes), _simplest(c, instance.types.n)
    block.CELLS = cells(rows)

    if l > 1:
        block.level = pyo.Var(
            model.CANDIDATES, domain=pyo.NonNegativeIntegers, doc="u[g]: rows of the value of rank l-1"
        )
        block.above = pyo.Var(block.CELLS, domain=pyo.NonNegativeIntegers, doc="v[g,σ]: rows of σ beyond u[g]")

        @block.Constraint(block.CELLS, doc="u and v cover the rows of each value")
        def covered(b: pyo.Block, g: int, value: int) -> object:
            return b.level[g] + b.above[g, value] >= rows.with_value(g, value)

    @block.Constraint(block.CELLS, doc="no value has c times the rows beyond the l-1 most frequent values")
    def rare_enough(b: pyo.Block, g: int, value: int) -> object:
        frequent = 0 if l == 1 else (l - 1) * b.level[g] + sum(b.above[g, other] for other in rows.values(g))
        held = c.denominator * rows.with_value(g, value) + model.open[g]
        return held <= c.numerator * (rows.size(g) - frequent)


def listed(instance: InstanceData, attributes: Sequence[str]) -> Flags:
    """Candidates whose groups are few enough, by rows of each value, to be looked at one by one: bool (G,)."""
    code, values = instance.sensitive_codes(attributes)
    numbers = np.ones(instance.candidates.count)
    candidate, members = instance.candidates.candidate_of_pair(), instance.candidates.members
    for value in range(len(values)):
        of_value = code[members] == value
        held = np.bincount(candidate[of_value], instance.types.counts[members[of_value]], instance.candidates.count)
        numbers *= held + 1
    few: Flags = numbers <= LISTED
    return few


def declare_sums(
    block: pyo.Block,
    model: pyo.ConcreteModel,
    instance: InstanceData,
    attributes: Sequence[str],
    holds: Callable[[Mapping[Label, int]], bool],
) -> None:
    """A merge-closed requirement without a linear form: what candidate g receives, by value, is a sum of the groups
    that have it and are no sum of two that do, θ[g,c] times each. Exact for the candidates in `listed`."""
    rows, few = Rows(model, instance, attributes), listed(instance, attributes)
    _, values = instance.sensitive_codes(attributes)
    counts = instance.types.counts
    known: dict[tuple[tuple[int, int], ...], list[Numbers]] = {}
    groups: dict[tuple[int, int], dict[int, int]] = {}
    for g in np.flatnonzero(few).tolist():
        held = tuple((value, int(counts[rows.types(g, value)].sum())) for value in rows.values(g))
        if held not in known:
            at = [values[value][0] for value, _ in held]
            box = np.zeros([number + 1 for _, number in held], dtype=bool)
            for vector in np.ndindex(*box.shape):
                box[vector] = any(vector) and holds({v: x for v, x in zip(at, vector, strict=True) if x})
            known[held] = unsplittable(box)
        for number, vector in enumerate(known[held]):
            groups[g, number] = {value: x for (value, _), x in zip(held, vector, strict=True)}
    of: dict[int, list[int]] = {g: [] for g in np.flatnonzero(few).tolist()}
    for g, number in groups:
        of[g].append(number)
    block.GROUPS = pyo.Set(dimen=2, initialize=list(groups), ordered=pyo.Set.InsertionOrder, doc="(g, number c)")
    block.use = pyo.Var(block.GROUPS, domain=pyo.NonNegativeIntegers, doc="θ[g,c]: how often g has the counts c")
    inside = [(g, value) for g, value in rows.index() if few[g]]
    block.CELLS = pyo.Set(dimen=2, initialize=inside, ordered=pyo.Set.InsertionOrder, doc="(g, value) of those")

    @block.Constraint(block.CELLS, doc="the rows of each value are those of the groups")
    def received(b: pyo.Block, g: int, value: int) -> object:
        return rows.with_value(g, value) == sum(groups[g, c][value] * b.use[g, c] for c in of[g])


def unsplittable(holds: Flags) -> list[Numbers]:
    """The vectors that hold and are no sum of two that do. holds: by vector, closed under sums, False for no rows.

    By ascending number of rows: each vector that is left takes all its sums with others out. These are enough: in a
    sum b + s with b = b' + s' one may take b' + (s' + s), until the first part is one that is left.
    """
    left = holds.copy()
    found = []
    for vector in sorted(map(tuple, np.argwhere(holds).tolist()), key=lambda vector: (sum(vector), vector)):
        if not left[vector]:
            continue
        found.append(vector)
        above = tuple(slice(rows, None) for rows in vector)
        others = tuple(slice(0, size - rows) for size, rows in zip(holds.shape, vector, strict=True))
        left[above] &= ~holds[others]
    return found
