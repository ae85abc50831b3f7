"""Parts of rows by cuts at medians (LeFevre, DeWitt, Ramakrishnan 2006), for every cost of whole groups: a table at
once, where a better one takes long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kanon_milp.heuristics.microaggregation import scaled
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.column_values import numbers_of
from kanon_milp.problem.group_costs import NumericCost
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit


def coordinates(instance: GroupInstance) -> Floats:
    """The rows as points, float64 (n, m): of microaggregation so that a deviation of 1 costs 1, else each column from 0
    to 1; values that are no numbers are in the order of the table."""
    if isinstance(instance.cost, NumericCost):
        return scaled(instance.cost)
    table, found = instance.problem.table, []
    for name in table.quasi_identifiers:
        values = table.column(name).to_list()
        place: dict[str | None, float] = {value: float(at) for at, value in enumerate(dict.fromkeys(values))}
        read = numbers_of([each for each in place if each is not None], None)
        if read.is_proportional and len(read.of) == len(place):
            place = {value: float(number) for value, number in read.of.items()}
        column = np.array([place[value] for value in values])
        found.append((column - column.min()) / (np.ptp(column) or 1.0))
    return np.column_stack(found)


def median_parts(instance: GroupInstance, points: Floats, rows: Ints, limit: Limit) -> list[Ints]:
    """These rows, cut in two at the median of their widest column, again and again, as long as both sides have what is
    required. points: `coordinates`. At the limit, the parts that there are then."""
    parts, left = [], [rows]
    while left:
        part = left.pop()
        sides = None if limit.over or len(part) < 2 * instance.least else _halves(instance, points, part)
        if sides is None:
            parts.append(part)
        else:
            left.extend(sides)
    return parts


def _halves(instance: GroupInstance, points: Floats, rows: Ints) -> Sequence[Ints] | None:
    inside, half = points[rows], len(rows) // 2
    widths = np.ptp(inside, axis=0)
    for column in np.argsort(-widths, kind="stable"):
        if widths[column] <= 0:
            break
        order = np.argsort(inside[:, column], kind="stable")
        sides = rows[order[:half]], rows[order[half:]]
        if all(map(instance.holds, sides)):
            return sides
    return None
