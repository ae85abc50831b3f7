"""The verifier's definition of l-diversity in its five forms.

The form of Blocki and Williams (2010, Definition 1) asks how many rows of a group pairwise differ in every sensitive
attribute. Rows with the same joint value are alike here, so a group is the set of joint values that occur in it, and l
of them that pairwise differ are a matching: no value of any attribute twice. With two attributes that is a matching in
a bipartite graph; with more the question is NP-hard, and a search decides it.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from kanon_milp.errors import InputError, UndecidedError, kind_of
from kanon_milp.system.arrays import Flags
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.definitions import (
    AtLeast,
    Definition,
    Rule,
    ValueRule,
    attributes_of,
    different,
    rows_by_value,
    within,
)
from kanon_milp.verify.numbers import NEAR, EntropyDiversity, exact
from kanon_milp.verify.tables import Original

Values = tuple[int, ...]
STEPS = 50_000


def _rules(requirement: Any, table: Original) -> Sequence[Rule]:
    """Frequency: no value has more than 1/l of the rows. Distinct: at least l values. Blocki-Williams: see above."""
    number, form = exact(requirement.l, "l"), requirement.form
    names = attributes_of(requirement, table)
    given = {"l": number, "form": form}
    if form == "recursive":
        given["c"] = c = exact(requirement.c, "c")
        if c <= 0:
            raise InputError(f"c must be above 0, found {c}")

    def rule(attributes: tuple[str, ...], sensitive: object, holds: Callable[[Counts], Flags]) -> Rule:
        return ValueRule("l_diversity", attributes, {**given, "sensitive": sensitive}, holds)

    if form == "frequency":
        return [rule((name,), name, lambda counts: counts.frequency.at_least(number)) for name in names]
    least = math.ceil(number)
    if form == "distinct":
        return [rule((name,), name, lambda counts: counts.distinct >= least) for name in names]
    if form == "entropy":
        return [rule((name,), name, lambda counts: have_entropy(counts, number)) for name in names]
    if form == "recursive":
        return [rule((name,), name, lambda counts: are_recursive(counts, c, least)) for name in names]
    if form == "blocki-williams":
        return [rule(names, list(names), lambda counts: have_partners(counts, least))]
    raise InputError(f"the form of l-diversity is unknown to the verifier, found {kind_of(form)}")


def _least(requirement: Mapping[str, Any], table: Original) -> AtLeast:
    """Frequency l-diversity is about shares of 1/l; the other forms need ⌈l⌉ different values, and the entropy and the
    recursive form ask for both. Recursive: r_1 < c·(S - r_1), and r_1 < c·(m-l+1)·r_1."""
    number, sensitive, form = Fraction(requirement["l"]), requirement["sensitive"], requirement["form"]
    if (form == "recursive") != ("c" in requirement):
        raise ValueError
    if form == "recursive":
        c = Fraction(requirement["c"])
        share = c / (1 + c) if number > 1 else min(c, Fraction(1))
        return both_of(within(lambda _: share, sensitive, table), int(number) + math.floor(1 / c), sensitive, table)
    if form == "entropy":
        share = entropy_share(number, max(len(rows_by_value(sensitive, table)), 3))
        return both_of(within(lambda _: share, sensitive, table), math.ceil(number), sensitive, table)
    if form != "frequency":
        return different(math.ceil(number), [sensitive] if isinstance(sensitive, str) else sensitive, table)
    share = 1 / number
    return within(lambda _: share, sensitive, table)


DEFINITION = Definition(
    "LDiversity",
    "l_diversity",
    _rules,
    {
        "l": "number",
        "form": ("frequency", "distinct", "blocki-williams", "entropy", "recursive"),
        "c": "number",
        "sensitive": "column or columns",
    },
    _least,
    optional=("c",),
    term="l-diversity",
)


def both_of(shares: AtLeast, number: int, attribute: str, table: Original) -> AtLeast:
    """Limits of shares, and so many different values."""
    values = different(number, [attribute], table)
    return AtLeast(
        max(shares.size, values.size),
        lambda k: shares.supplies(k) + values.supplies(k),
        shares.possible,
        tuple(a.both(b) for a, b in zip(shares.limits, values.limits, strict=True)),
    )


def entropy_share(l: Fraction, values: int) -> Fraction:  # noqa: E741
    """The first multiple of 1/1024 that no value's share reaches where the entropy is log l: it is largest where all
    other values, so many less one, are as frequent as each other."""

    def reached(step: int) -> bool:
        counts = (step * (values - 1), *[1024 - step] * (values - 1))
        return step * values > 1024 and not EntropyDiversity(tuple(sorted(counts, reverse=True))).holds(l)

    steps = range(1, 1024)
    return Fraction(1 + bisect.bisect_left(steps, True, key=reached), 1024)


def have_entropy(counts: Counts, l: Fraction) -> Flags:  # noqa: E741
    """Per group whether exp(entropy) is at least l; floats decide where they are far from it."""
    limit = math.log(l)
    found: Flags = counts.entropies > limit
    first, kind = counts.alike
    near = first[np.abs(counts.entropies[first] - limit) <= NEAR * (1 + limit)]
    for g in near.tolist():
        held = sorted(counts.of_group(g).values(), reverse=True)
        common = math.gcd(*held)
        found[kind == kind[g]] = EntropyDiversity(tuple(each // common for each in held)).holds(l)
    return found


def are_recursive(counts: Counts, c: Fraction, l: int) -> Flags:  # noqa: E741
    """Per group whether r_1 < c·(r_l + ... + r_m)."""
    first, kind = counts.alike
    found = []
    for g in first.tolist():
        held = sorted(counts.of_group(g).values(), reverse=True)
        found.append(held[0] * c.denominator < c.numerator * sum(held[max(l, 1) - 1 :]))
    return np.array(found, dtype=bool)[kind]


def have_partners(counts: Counts, l: int) -> Flags:  # noqa: E741
    """Per group whether each row has l-1 others in it, all l pairwise different in every attribute.

    counts: of the joint values of the attributes. Raises UndecidedError where the search in a group takes more than
    `STEPS` steps.
    """
    joint = _numbered(counts)
    first, kind = counts.alike
    found = []
    for g in first.tolist():
        present = [joint[code] for code in counts.of_group(g)]
        steps = [STEPS]
        holds = all(_extends([value], _compatible(present, value), l, steps) for value in _unsure(present, l))
        if not holds and steps[0] <= 0:
            raise UndecidedError(f"could not be decided within {STEPS:,} steps")
        found.append(holds)
    return np.array(found, dtype=bool)[kind]


def _numbered(counts: Counts) -> list[Values]:
    """The joint values by code, the values of each attribute as numbers."""
    numbers = []
    for column in zip(*counts.labels, strict=True):
        number: dict[object, int] = {}
        numbers.append([number.setdefault(value, len(number)) for value in column])
    return list(zip(*numbers, strict=True))


def pairwise_diversity(counts: Counts) -> int | None:
    """The largest l such that each row has l-1 others in its group, all l pairwise different in every attribute.

    counts: of the joint values of the attributes. None where the search takes more than `STEPS` steps.
    """
    joint = _numbered(counts)
    groups = {frozenset(counts.of_group(g)) for g in counts.alike[0].tolist()}
    # no more than the fewest values of an attribute
    bounded = [(_fewest_values(present), present) for present in ([joint[c] for c in sorted(g)] for g in groups)]
    best = min(bound for bound, _ in bounded)
    steps = [STEPS]
    for _, present in sorted(bounded):
        for value in _unsure(present, best):
            while best > 1 and not _extends([value], _compatible(present, value), best, steps):
                best -= 1
            if steps[0] <= 0:
                return None
        if best == 1:
            return 1
    return best


def _unsure(present: Sequence[Values], number: int) -> Iterable[Values]:
    """The values of a group for which it is not plain that they are one of `number` that pairwise differ."""
    known = _matching(present) if len(present[0]) == 2 else _greedy(present)
    if len(known) - len(present[0]) + 1 >= number:  # each value bars at most one for each attribute
        return
    for value in present:
        if 1 + len(_compatible(known, value)) < number and not (value in known and len(known) >= number):
            yield value


def _fewest_values(present: Sequence[Values]) -> int:
    return min(len(set(column)) for column in zip(*present, strict=True))


def _compatible(present: Sequence[Values], value: Values) -> list[Values]:
    return [other for other in present if all(a != b for a, b in zip(value, other, strict=True))]


def _extends(chosen: list[Values], possible: list[Values], number: int, steps: list[int]) -> bool:
    """Whether the chosen ones, pairwise different, can be made `number` by possible ones (all differ from them)."""
    missing = number - len(chosen)
    if missing <= 0:
        return True
    steps[0] -= 1
    if not possible or _fewest_values(possible) < missing or steps[0] <= 0:
        return False
    if len(possible[0]) == 2:
        return len(_matching(possible)) >= missing
    # the rarest value of the attribute with the fewest values: one of its rows is taken, or none
    width = len(possible[0])
    occurs = [Counter(other[j] for other in possible) for j in range(width)]
    attribute = min(range(width), key=lambda j: len(occurs[j]))
    rarest = min(occurs[attribute], key=lambda value: (occurs[attribute][value], value))
    for other in possible:
        if other[attribute] == rarest and _extends([*chosen, other], _compatible(possible, other), number, steps):
            return True
    return _extends(chosen, [other for other in possible if other[attribute] != rarest], number, steps)


def _greedy(present: Sequence[Values]) -> list[Values]:
    """Some values that pairwise differ, rare ones first."""
    occurs = [Counter(column) for column in zip(*present, strict=True)]
    found: list[Values] = []
    used: list[set[int]] = [set() for _ in occurs]
    for value in sorted(present, key=lambda one: (sum(occurs[j][v] for j, v in enumerate(one)), one)):
        if all(v not in taken for v, taken in zip(value, used, strict=True)):
            found.append(value)
            for v, taken in zip(value, used, strict=True):
                taken.add(v)
    return found


def _matching(present: Sequence[Values]) -> list[Values]:
    """A largest set of pairs that pairwise differ in both places, by augmenting paths."""
    neighbours: dict[int, list[int]] = {}
    for left, right in present:
        neighbours.setdefault(left, []).append(right)
    left_of: dict[int, int] = {}
    right_of: dict[int, int] = {}
    for start in neighbours:
        came_from: dict[int, int] = {}  # right → the left before it on the path
        queue = deque([start])
        end: int | None = None
        while queue and end is None:
            left = queue.popleft()
            for right in neighbours[left]:
                if right not in came_from:
                    came_from[right] = left
                    if right not in left_of:
                        end = right
                        break
                    queue.append(left_of[right])
        while end is not None:  # turn the path around
            left = came_from[end]
            before = right_of.get(left)
            left_of[end], right_of[left] = left, end
            end = before
    return sorted(right_of.items())
