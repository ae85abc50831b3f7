"""What a cell loses: by the level it is released at, by its label, or by the share of the domain that this covers.

A label is a node of the hierarchy, as in Blocki and Williams 2010, Definition 9: it costs no more than the one above
it, and the values themselves cost nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from kanon_milp.errors import InputError, counted
from kanon_milp.problem.arguments import listed, wrong
from kanon_milp.problem.column_values import numbers_of
from kanon_milp.problem.exact import Number, exact_number
from kanon_milp.problem.records import Label

NCP = "ncp"
Given = Sequence[Number] | Mapping[str, Number] | str  # of levels, of labels, or "ncp"
CELLS = tuple[tuple[Fraction, ...], ...]  # of each level and each value
EXPECTED = f'a list with the cost of each level, a mapping from labels to their costs, or "{NCP}",'


def given_costs(value: Any, what: str) -> Given:
    """Check what a user gave for one column."""
    if isinstance(value, Mapping):
        for label, cost in value.items():
            if not isinstance(label, str):
                raise wrong(f"{what}: a label", "text", label)
            exact_number(cost, what)
        return dict(value)
    if isinstance(value, str):
        if value != NCP:
            raise wrong(what, EXPECTED, value)
        return value
    found: tuple[Number, ...] = listed(value, what, EXPECTED)
    for cost in found:
        exact_number(cost, what)
    return found


def level_costs(given: Sequence[Number] | None, height: int, name: str) -> list[Fraction]:
    """The cost of each level, by default level/height."""
    if given is None:
        return [Fraction(level, height) for level in range(height + 1)]
    costs = [exact_number(cost, f'level cost of "{name}"') for cost in given]
    if len(costs) != height + 1:
        raise InputError(
            f'level costs of column "{name}": {height + 1} are needed (levels 0 to {height}), {len(costs)} given'
        )
    if costs[0] != 0 or any(a > b for a, b in itertools.pairwise(costs)):
        raise InputError(f'level costs of column "{name}" must start at 0 and never fall')
    return costs


def cell_costs(
    given: Mapping[str, Number] | str, domain: Sequence[Label], paths: Mapping[Label, Sequence[Label]], name: str
) -> CELLS:
    """The cost of the label that each value of the domain gets, level by level. paths: of each value its labels as they
    are released, the top last."""
    height = len(next(iter(paths.values()))) - 1
    if isinstance(given, str):
        share = ncp(domain)
        return tuple(_shares(domain, [paths[value][level] for value in domain], share) for level in range(height + 1))
    costs = _of_labels(given, paths, f'costs of column "{name}"')
    return tuple(tuple(costs[paths[value][level]] for value in domain) for level in range(height + 1))


def _shares(
    domain: Sequence[Label], labels: Sequence[Label], share: Callable[[Sequence[Label]], Fraction]
) -> tuple[Fraction, ...]:
    under: dict[Label, list[Label]] = {}
    for value, label in zip(domain, labels, strict=True):
        under.setdefault(label, []).append(value)
    costs = {label: share(values) for label, values in under.items()}
    return tuple(costs[label] for label in labels)


def _of_labels(
    given: Mapping[str, Number], paths: Mapping[Label, Sequence[Label]], where: str
) -> dict[Label, Fraction]:
    """The cost of every label. Messages name levels: labels may be values of the table."""
    costs: dict[Label, Fraction] = {label: exact_number(cost, where) for label, cost in given.items()}
    levels = [dict.fromkeys(labels) for labels in zip(*paths.values(), strict=True)]
    unknown = len(costs.keys() - set().union(*levels))
    if unknown:
        raise InputError(f"{where}: {counted(unknown, 'label')} with a cost that the hierarchy does not have")
    if any(costs.setdefault(value, Fraction(0)) for value in levels[0]):
        raise InputError(f"{where}: a label of level 0 is a value itself, which must cost 0; leave it out")
    for level, labels in enumerate(levels):
        missing = sum(label not in costs for label in labels)
        if missing:
            raise InputError(f"{where}: {missing} of {counted(len(labels), 'label')} of level {level} have no cost")
    for path in paths.values():
        for level, (label, above) in enumerate(itertools.pairwise(path)):
            if costs[label] > costs[above]:
                raise InputError(
                    f"{where}: a label of level {level} costs more than the one above it, of level {level + 1}; costs "
                    "must not fall from level to level"
                )
    return costs


def ncp(domain: Collection[Label], *, beyond_first: bool = False) -> Callable[[Sequence[Label]], Fraction]:
    """NCP of a cell that may be any of some values (Xu et al. 2006): 0 of one value, else their share of the domain, or
    of its range where all values are numbers.

    beyond_first: of values that are no numbers the first is not counted, (|set| - 1)/(|domain| - 1), which rises from 0
    as the share of a range does.
    """
    first = int(beyond_first)
    known = numbers_of(domain)
    numbers: dict[Label, Fraction] = dict(known.of.items()) if known.is_proportional else {}
    span = max(numbers.values(), default=Fraction(0)) - min(numbers.values(), default=Fraction(0))
    numeric = len(numbers) == len(domain) and span > 0

    def penalty(values: Sequence[Label]) -> Fraction:
        if numeric:
            among = [numbers[value] for value in values]
            return (max(among) - min(among)) / span
        return Fraction(len(values) - first, len(domain) - first) if len(values) > 1 else Fraction(0)

    return penalty
