"""What requirements ask of groups, as rules over the numbers of rows by sensitive value, and how far groups are from
that.

The unit of a violation is about one row that has to be exchanged. All comparisons are in integers.
"""

from __future__ import annotations

import numpy as np

from kanon_milp.kernels.limits import FRACTION
from kanon_milp.system.arrays import Ints, Ints32


class Rules:
    """What relaxations ask of groups, and the rows that these have, by value.

    counts: int32 (groups, columns), the only thing that changes: one column for each value of each sensitive attribute.
    columns: int32 (J, attributes), the columns of joint value u. limited: int64 (limited, 5): a column, and the
    numerators and denominators of its least and its largest share. presence: int64 (p, 3): from this column to that
    one at least so many are not 0. Nodes of all trees, children before parents: column: int64, -1 for none, children:
    int64, how many; share, weight: int64. roots: int64 (trees, 5): its last node, denominator of shares, denominator of
    weights, largest EMD cost of a row times both, and of a star whose leaves stand in successive columns the first,
    else -1. below: scratch.
    """

    def __init__(
        self, counts: Ints32, columns: Ints32, limited: Ints, presence: Ints, column: Ints, children: Ints, share: Ints,
        weight: Ints, roots: Ints,
    ) -> None:  # fmt: skip
        self.counts, self.columns, self.limited, self.presence = counts, columns, limited, presence
        self.column, self.children, self.share, self.weight, self.roots = column, children, share, weight, roots
        self.below = np.zeros(len(column) + 1, np.int64)


def count_in(rules: Rules, g: int, u: int, rows: int) -> None:
    """So many more rows of joint value u in group g."""
    for a in range(rules.columns.shape[1]):
        rules.counts[g, rules.columns[u, a]] += rows


def violation_of(rules: Rules, g: int, size: int, least: int) -> float:
    """The violation of group g if it has so many rows, with this smallest size; 0 for an empty one."""
    if size <= 0 or least < 0:
        return 0.0
    found = 0.0
    if size < least:
        found += least - size
    for j in range(len(rules.limited)):
        held = rules.counts[g, rules.limited[j, 0]]
        over = held * rules.limited[j, 4] - rules.limited[j, 3] * size
        under = rules.limited[j, 1] * size - held * rules.limited[j, 2]
        if over > 0:
            found += float(over) / rules.limited[j, 4]
        elif under > 0:
            found += float(under) / rules.limited[j, 2]
    for j in range(len(rules.presence)):
        lacking = rules.presence[j, 2]
        for v in range(rules.presence[j, 0], rules.presence[j, 1]):
            if rules.counts[g, v] > 0:
                lacking -= 1
                if lacking == 0:
                    break
        if lacking > 0:
            found += lacking
    node = 0
    for j in range(len(rules.roots)):
        scale, most = rules.roots[j, 1], rules.roots[j, 3] * size
        top, work, first = 0, 0, rules.roots[j, 4]
        if first >= 0:
            first -= node
            while node < rules.roots[j, 0]:
                inside = rules.counts[g, first + node]
                work += rules.weight[node] * abs(scale * inside - rules.share[node] * size)
                node += 1
            node += 1
        while node <= rules.roots[j, 0]:
            inside = rules.counts[g, rules.column[node]] if rules.column[node] >= 0 else 0
            for _ in range(rules.children[node]):
                top -= 1
                inside += rules.below[top]
            work += rules.weight[node] * abs(scale * inside - rules.share[node] * size)
            rules.below[top] = inside
            top += 1
            node += 1
        if work > most:
            found += (work - most) / (float(scale) * rules.roots[j, 2])
    return found + FRACTION if found > 0 else 0.0
