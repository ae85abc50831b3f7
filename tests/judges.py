"""The judges of privacy requirements: the definitions themselves, counted on plain rows, by no code of the package.

A group is a sequence of row indices, `secrets` has the sensitive values of every row of the table as a tuple, and
`column` says which of them is meant. All numbers are whole numbers or fractions; every answer is exact.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from oracle import SYMBOL, Costs, Paths, Row, Value, Vector, released_rows

Secrets = Sequence[tuple[Value, ...]]
Number = Fraction | int
Distance = Callable[[Value, Value], Fraction]
Matrix = tuple[tuple[Fraction, ...], ...]


def values_of(group: Sequence[int], secrets: Secrets, column: int) -> list[Value]:
    """The sensitive values of a group, row by row."""
    return [secrets[i][column] for i in group]


# ---------------------------------------------------------------------------------------------- diversity


def p_sensitive(group: Sequence[int], secrets: Secrets, column: int, p: int) -> bool:
    """At least p different values (Bredereck et al., Definition 3)."""
    return len(set(values_of(group, secrets, column))) >= p


def frequency_diverse(group: Sequence[int], secrets: Secrets, column: int, l: Number) -> bool:  # noqa: E741
    """The relative frequency of each value is at most 1/l (Bredereck et al., Definition 4)."""
    counts = Counter(values_of(group, secrets, column))
    return all(Fraction(count, len(group)) <= 1 / Fraction(l) for count in counts.values())


def distinct_diverse(group: Sequence[int], secrets: Secrets, column: int, l: int) -> bool:  # noqa: E741
    """At least l different values (Machanavajjhala et al.)."""
    return len(Counter(values_of(group, secrets, column))) >= l


def blocki_williams_diverse(group: Sequence[int], secrets: Secrets, columns: Sequence[int], l: int) -> bool:  # noqa: E741
    """For every row l - 1 others such that the l rows pairwise differ in each column (their Definition 1)."""

    def differ(i: int, j: int) -> bool:
        return all(secrets[i][c] != secrets[j][c] for c in columns)

    return all(
        any(
            all(differ(i, j) for i, j in itertools.combinations((row, *others), 2))
            for others in itertools.combinations([i for i in group if i != row], l - 1)
        )
        for row in group
    )


def entropy_diverse(group: Sequence[int], secrets: Secrets, column: int, l: Number) -> bool:  # noqa: E741
    """-sum p log p >= log l (Machanavajjhala et al., Definition 4.1): prod p^-p >= l, both to the power of the rows."""
    held = values_of(group, secrets, column)
    product = Fraction(1)
    for value in set(held):
        product *= Fraction(len(held), held.count(value)) ** held.count(value)
    return bool(product >= Fraction(l) ** len(held))


def recursive_diverse(group: Sequence[int], secrets: Secrets, column: int, c: Fraction, l: int) -> bool:  # noqa: E741
    """r_1 < c (r_l + ... + r_m) for the counts in falling order (Machanavajjhala et al., Definition 4.2)."""
    counts = sorted(Counter(values_of(group, secrets, column)).values())[::-1]
    return counts[0] < c * sum(counts[l - 1 :])


def alpha_k_anonymous(
    group: Sequence[int],
    secrets: Secrets,
    column: int,
    alpha: Number,
    k: int = 1,
    values: Sequence[Value] | None = None,
) -> bool:
    """At least k rows, and each (of the named) values in at most the share alpha of them (Wong et al.)."""
    held = values_of(group, secrets, column)
    named = set(held) if values is None else set(values)
    return len(group) >= k and all(Fraction(held.count(value), len(group)) <= alpha for value in named)


# ------------------------------------------------------------------------- comparisons with the whole table


def shares(rows: Sequence[int], secrets: Secrets, column: int) -> dict[Value, Fraction]:
    """The share of each value of the whole table in some rows."""
    held = values_of(rows, secrets, column)
    return {row[column]: Fraction(held.count(row[column]), len(held)) for row in secrets}


def beta_like(group: Sequence[int], secrets: Secrets, column: int, beta: Number) -> bool:
    """(q - p)/p <= beta for every value, p its share in the table, q in the group (Cao and Karras, basic form)."""
    before = shares(range(len(secrets)), secrets, column)
    after = shares(group, secrets, column)
    return all((after[value] - p) / p <= beta for value, p in before.items())


def delta_disclosing(
    group: Sequence[int], secrets: Secrets, column: int, delta: Number, log: str = "natural", absent: str = "violation"
) -> bool:
    """|log(q/p)| < delta for every value of the table (Brickell and Shmatikov), or of the group ("ignored")."""
    before = shares(range(len(secrets)), secrets, column)
    after = shares(group, secrets, column)
    below = {"natural": natural_log_below, "base2": base2_log_below}[log]
    return all(below(after[v] / p, Fraction(delta)) if after[v] else absent == "ignored" for v, p in before.items())


def base2_log_below(ratio: Fraction, delta: Fraction) -> bool:
    """|log2(ratio)| < delta, in whole numbers: with delta = a/b it says 2^-a < ratio^b < 2^a."""
    above, below = ratio.numerator**delta.denominator, ratio.denominator**delta.denominator
    return bool(max(above, below) < 2**delta.numerator * min(above, below))


def natural_log_below(ratio: Fraction, delta: Fraction) -> bool:
    """|ln(ratio)| < delta. e^delta is irrational, so some precision decides."""
    larger = max(ratio, 1 / ratio)
    for digits in (30, 100, 1000, 10000):
        with localcontext() as context:
            context.prec = digits
            power = Fraction((Decimal(delta.numerator) / Decimal(delta.denominator)).exp())
        # the exponent is off by at most delta·10^-digits, the exponential by as much again and a rounding
        error = power * (2 * delta + 1) / 10 ** (digits - 1)
        if larger < power - error:
            return True
        if larger > power + error:
            return False
    raise AssertionError("not decided in 10,000 digits")


# --------------------------------------------------------------------------------------------- t-closeness


def t_close(group: Sequence[int], secrets: Secrets, column: int, t: Number, distance: Distance) -> bool:
    """The earth mover's distance of the values of the group from those of the table is at most t."""
    return distance_from_table(group, secrets, column, distance) <= t


def distance_from_table(group: Sequence[int], secrets: Secrets, column: int, distance: Distance) -> Fraction:
    """The earth mover's distance between the values of the group and those of the table."""
    values = sorted({row[column] for row in secrets}, key=str)
    inside = Counter(values_of(group, secrets, column))
    outside = Counter(row[column] for row in secrets)
    return emd(
        tuple(inside[v] for v in values),
        tuple(outside[v] for v in values),
        tuple(tuple(distance(a, b) for b in values) for a in values),
    )


@lru_cache(maxsize=100_000)
def emd(first: tuple[int, ...], second: tuple[int, ...], distance: Matrix) -> Fraction:
    """Least Σ d(i,j) f(i,j) with Σ_j f(i,j) = first[i]/Σ first, Σ_i f(i,j) = second[j]/Σ second, f >= 0.

    Successive shortest paths (Bellman-Ford) on the transportation network itself; shares and distances are scaled to
    whole numbers.
    """
    a, b, size = sum(first), sum(second), len(first)
    supply = [count * b for count in first]
    demand = [count * a for count in second]
    unit = math.lcm(*(d.denominator for row in distance for d in row))
    cost = [[int(d * unit) for d in row] for row in distance]
    flow = [[0] * size for _ in range(size)]
    while any(supply):
        # nodes 0..size-1 send, size..2·size-1 receive; flow can be sent back
        length: list[float] = [0 if left else math.inf for left in supply] + [math.inf] * size
        previous = [-1] * (2 * size)
        changed = True
        while changed:
            changed = False
            for i, j in itertools.product(range(size), repeat=2):
                if length[i] + cost[i][j] < length[size + j]:
                    length[size + j], previous[size + j], changed = length[i] + cost[i][j], i, True
                if flow[i][j] and length[size + j] - cost[i][j] < length[i]:
                    length[i], previous[i], changed = length[size + j] - cost[i][j], size + j, True
        node = min((size + j for j in range(size) if demand[j]), key=lambda node: length[node])
        end, path = node, []
        while previous[node] >= 0:
            path.append((previous[node], node))
            node = previous[node]
        back = [flow[to][start - size] for start, to in path if start >= size]
        amount = min([supply[node], demand[end - size], *back])
        for start, to in path:
            if start < size:
                flow[start][to - size] += amount
            else:
                flow[to][start - size] -= amount
        supply[node] -= amount
        demand[end - size] -= amount
    total = sum(cost[i][j] * flow[i][j] for i in range(size) for j in range(size))
    return Fraction(total, unit * a * b)


def equal_distance(first: Value, second: Value) -> Fraction:
    """0 or 1."""
    return Fraction(first != second)


def ordered_distance(order: Sequence[Value]) -> Distance:
    """Ranks apart, divided by the largest possible."""
    place = list(order)
    return lambda a, b: Fraction(abs(place.index(a) - place.index(b)), len(place) - 1)


def numerical(text: Value) -> Fraction:
    """The number that a cell holds."""
    assert text is not None
    return Fraction(text)


def ordered_numbers(values: Sequence[Value]) -> Distance:
    """Ranks among the distinct numbers of the table."""
    return ordered_distance(sorted({v for v in values if v is not None}, key=numerical))


def numeric_distance(values: Sequence[Value]) -> Distance:
    """Difference of the numbers, divided by the largest difference in the table."""
    numbers = [Fraction(v) for v in values if v is not None]
    return lambda a, b: abs(Fraction(a or "") - Fraction(b or "")) / (max(numbers) - min(numbers))


def hierarchical_distance(paths: Paths) -> Distance:
    """Height of the lowest common ancestor, divided by the height of the hierarchy (Li et al.)."""
    height = len(next(iter(paths.values()))) - 1

    def distance(a: Value, b: Value) -> Fraction:
        return Fraction(min(level for level in range(height + 1) if paths[a][level] == paths[b][level]), height)

    return distance


def matrix_distance(values: Sequence[Value], matrix: Sequence[Sequence[Number]]) -> Distance:
    """As given."""
    place = list(values)
    return lambda a, b: Fraction(matrix[place.index(a)][place.index(b)])


# ------------------------------------------------------------------- properties of the released table as a whole


def k_anonymous_in(released: Sequence[Row], columns: Sequence[int], k: int, exempt: bool = False) -> bool:
    """The released table, projected on some columns, has every row at least k times.

    exempt: rows that are suppressed in all of these columns need no partners.
    """
    counts = Counter(tuple(row[c] for c in columns) for row in released)
    return all(count >= k or (exempt and set(row) == {SYMBOL}) for row, count in counts.items())


def groups_of(released: Sequence[Row]) -> dict[Row, tuple[int, ...]]:
    """Released row → the rows that it stands for."""
    found = defaultdict(list)
    for i, row in enumerate(released):
        found[row].append(i)
    return {row: tuple(group) for row, group in found.items()}


def best_table(
    rows: Sequence[Row],
    valid: Callable[[tuple[Row, ...]], bool],
    *,
    objective: str = "loss",
    cost_bound: Number | None = None,
    min_groups: int | None = None,
    max_groups: int | None = None,
    hierarchies: Mapping[int, Paths] | None = None,
    vectors: Sequence[Vector] | None = None,
    weights: Sequence[Number] | None = None,
    level_costs: Mapping[int, Costs] | None = None,
) -> Fraction | None:
    """Best objective value over every released table that `valid` accepts, None if there is none.

    Each row becomes each released row that may stand for it: no pruning, so only for a few thousand tables.
    """
    costs = released_rows(rows, hierarchies, vectors, weights, level_costs)
    options = [[(released, by_row[i]) for released, by_row in costs.items() if i in by_row] for i in range(len(rows))]
    found = []
    for choice in itertools.product(*options):
        released = tuple(row for row, _ in choice)
        cost, groups = sum((c for _, c in choice), Fraction(0)), len(set(released))
        if (
            (cost_bound is None or cost <= cost_bound)
            and (min_groups is None or groups >= min_groups)
            and (max_groups is None or groups <= max_groups)
            and valid(released)
        ):
            found.append(cost if objective == "loss" else Fraction(groups))
    if not found:
        return None
    return max(found) if objective == "max_groups" else min(found)


def best_partition(
    cost: Callable[[tuple[int, ...]], Number], allowed: Callable[[tuple[int, ...]], bool], rows: int
) -> Fraction | None:
    """Least cost of a set partition of the rows into allowed groups, None if there is none."""
    by_lowest = defaultdict(list)
    for mask in range(1, 1 << rows):
        group = tuple(i for i in range(rows) if mask >> i & 1)
        if allowed(group):
            by_lowest[group[0]].append((mask, Fraction(cost(group))))
    least: list[Fraction | None] = [None] * (1 << rows)
    least[0] = Fraction(0)
    for mask in range(1, 1 << rows):
        lowest = (mask & -mask).bit_length() - 1
        reached = [
            group_cost + rest
            for group, group_cost in by_lowest[lowest]
            if group & ~mask == 0 and (rest := least[mask & ~group]) is not None
        ]
        least[mask] = min(reached, default=None)
    return least[-1]
