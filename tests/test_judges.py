"""The judges are judged: by closed forms, by other algorithms, by published numbers, by counting by hand, and by trying
every level vector for every row."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import judges
import numpy as np
import oracle
import pytest
from oracle import Value, cheapest, optimum
from scipy.optimize import linprog

F = Fraction


def column(*values: Any) -> Any:
    return [(value,) for value in values]


# ---------------------------------------------------------------------------------------- earth mover's distance


def random_metric(draw: Any, size: Any) -> Any:
    """Distances of random points on a random weighted graph, the largest 1."""
    d = [[0 if i == j else draw.randint(1, 12) for j in range(size)] for i in range(size)]
    d = [[max(d[i][j], d[j][i]) for j in range(size)] for i in range(size)]
    for middle, i, j in itertools.product(range(size), repeat=3):
        d[i][j] = min(d[i][j], d[i][middle] + d[middle][j])
    largest = max(map(max, d))
    return tuple(tuple(F(x, largest) for x in row) for row in d)


def flows(supply: Any, demand: Any) -> Any:
    """Every whole-numbered transport plan."""
    if not supply:
        if not any(demand):
            yield ()
        return
    for row in itertools.product(*(range(min(supply[0], d) + 1) for d in demand)):
        if sum(row) == supply[0]:
            for rest in flows(supply[1:], [d - x for d, x in zip(demand, row, strict=True)]):
                yield (row, *rest)


@pytest.mark.parametrize("seed", range(40))
def test_emd_is_the_best_of_all_transport_plans(seed: Any) -> None:
    draw = random.Random(seed)
    size = draw.randint(2, 3)
    p = (*(draw.randint(0, 2) for _ in range(size - 1)), 1)
    q = (*(draw.randint(0, 2) for _ in range(size - 1)), 1)
    d = random_metric(draw, size)
    # vertices of a transportation polytope with whole-numbered margins are whole
    supply, demand = [x * sum(q) for x in p], [x * sum(p) for x in q]
    best = min(sum(d[i][j] * f[i][j] for i in range(size) for j in range(size)) for f in flows(supply, demand))
    assert judges.emd(p, q, d) == best / (sum(p) * sum(q))


@pytest.mark.parametrize("seed", range(60))
def test_emd_agrees_with_a_linear_programming_solver(seed: Any) -> None:
    draw = random.Random(seed)
    size = draw.randint(2, 5)
    p = (*(draw.randint(0, 5) for _ in range(size - 1)), draw.randint(1, 4))
    q = (draw.randint(1, 4), *(draw.randint(0, 5) for _ in range(size - 1)))
    # no metric is needed for the linear program as such
    d = tuple(tuple(F(draw.randint(0, 9), 9) for _ in range(size)) for _ in range(size))
    rows = [np.kron(np.eye(size)[i], np.ones(size)) for i in range(size)]
    columns = [np.kron(np.ones(size), np.eye(size)[j]) for j in range(size)]
    margins = [x / sum(p) for x in p] + [x / sum(q) for x in q]
    answer = linprog([float(x) for row in d for x in row], A_eq=np.array(rows + columns), b_eq=margins)
    assert float(judges.emd(p, q, d)) == pytest.approx(answer.fun, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_emd_agrees_with_the_closed_forms(seed: Any) -> None:
    draw = random.Random(seed)
    n, values = draw.randint(2, 9), draw.choice([["1", "2", "4"], ["-3", "0", "1.5", "10"], ["7", "9"]])
    secrets = column(*(draw.choice(values) for _ in range(n)), values[0], values[-1])
    group = draw.sample(range(n + 2), draw.randint(1, n + 2))
    q, p = judges.shares(group, secrets, 0), judges.shares(range(n + 2), secrets, 0)
    ordered = sorted(p, key=judges.numerical)
    above = [sum((q[v] - p[v] for v in ordered[: i + 1]), F(0)) for i in range(len(ordered))]

    assert judges.distance_from_table(group, secrets, 0, judges.equal_distance) == sum(abs(q[v] - p[v]) for v in p) / 2
    ranks = judges.ordered_numbers([row[0] for row in secrets])
    assert judges.distance_from_table(group, secrets, 0, ranks) == sum(map(abs, above)) / (len(ordered) - 1)
    numeric = judges.numeric_distance([row[0] for row in secrets])
    steps = [judges.numerical(b) - judges.numerical(a) for a, b in itertools.pairwise(ordered)]
    spread = judges.numerical(ordered[-1]) - judges.numerical(ordered[0])
    expected = sum(abs(x) * step for x, step in zip(above, steps, strict=False)) / spread
    assert judges.distance_from_table(group, secrets, 0, numeric) == expected


TREE: dict[oracle.Value, tuple[oracle.Value, ...]] = {
    "flu": ("flu", "lungs", "*"),
    "pneumonia": ("pneumonia", "lungs", "*"),
    "gastritis": ("gastritis", "stomach", "*"),
    "ulcer": ("ulcer", "stomach", "*"),
}


@pytest.mark.parametrize("seed", range(40))
def test_emd_in_a_hierarchy_agrees_with_the_cost_of_its_inner_nodes(seed: Any) -> Any:
    # Li et al. 2010, section 4.2.2: cost(N) = height(N)/H · min(positive extra, negative extra) of the children
    draw = random.Random(seed)
    secrets = column(*TREE, *(draw.choice(list(TREE)) for _ in range(5)))
    group = draw.sample(range(9), draw.randint(1, 9))
    q, p = judges.shares(group, secrets, 0), judges.shares(range(9), secrets, 0)
    extra = {value: q[value] - p[value] for value in TREE}

    def cost(height: Any, children: Any) -> Any:
        positive = sum((x for x in children if x > 0), F(0))
        negative = sum((-x for x in children if x < 0), F(0))
        return F(height, 2) * min(positive, negative)

    organs = [[extra[v] for v in TREE if TREE[v][1] == organ] for organ in ("lungs", "stomach")]
    expected = sum(cost(1, organ) for organ in organs) + cost(2, [sum(organ) for organ in organs])
    assert judges.distance_from_table(group, secrets, 0, judges.hierarchical_distance(TREE)) == expected


def test_the_salary_example_of_li_et_al() -> None:
    # ICDE 2007, section 4: {3k,4k,5k} is 0.375 from {3k,...,11k}, {6k,8k,11k} is 0.167
    secrets = column(*(str(1000 * salary) for salary in range(3, 12)))
    numeric = judges.numeric_distance([row[0] for row in secrets])
    ranks = judges.ordered_numbers([row[0] for row in secrets])
    for distance in (numeric, ranks):
        assert judges.distance_from_table([0, 1, 2], secrets, 0, distance) == F(375, 1000)
        assert judges.distance_from_table([3, 5, 8], secrets, 0, distance) == F(1, 6)
        assert judges.t_close([3, 5, 8], secrets, 0, F(1, 6), distance)
        assert not judges.t_close([3, 5, 8], secrets, 0, F(1, 6) - F(1, 10**9), distance)


def test_distances_between_values() -> None:
    assert judges.equal_distance(None, None) == 0
    assert judges.equal_distance(None, "a") == 1
    assert judges.ordered_distance(["low", None, "high"])(None, "high") == F(1, 2)
    assert judges.ordered_numbers(["10", "9", "100", "9"])("9", "100") == 1
    assert judges.ordered_numbers(["10", "9", "100", "9"])("9", "10") == F(1, 2)
    assert judges.numeric_distance(["-1", "1/2", "2.0"])("-1", "1/2") == F(1, 2)
    assert judges.hierarchical_distance(TREE)("flu", "pneumonia") == F(1, 2)
    assert judges.hierarchical_distance(TREE)("flu", "ulcer") == 1
    assert judges.matrix_distance(["a", "b", "c"], [[0, F(1, 3), 1], [F(1, 3), 0, 1], [1, 1, 0]])("b", "a") == F(1, 3)


# ------------------------------------------------------------------------------------------------- groups


def test_diversity_by_hand() -> None:
    secrets = column("flu", "flu", "cold", None, "flu")
    assert judges.p_sensitive([0, 1, 2, 3], secrets, 0, 3)
    assert not judges.p_sensitive([0, 1, 2, 4], secrets, 0, 3)
    assert judges.distinct_diverse([0, 3], secrets, 0, 2)
    assert not judges.distinct_diverse([0, 1], secrets, 0, 2)
    assert judges.frequency_diverse([0, 1, 2, 3], secrets, 0, 2)
    assert not judges.frequency_diverse([0, 1, 2, 3], secrets, 0, F(2001, 1000))
    assert judges.frequency_diverse([0, 1, 2], secrets, 0, F(3, 2))
    assert judges.frequency_diverse([0], secrets, 0, 1)


def test_alpha_and_beta_by_hand() -> None:
    secrets = column("flu", "flu", "cold", "cough")
    assert judges.alpha_k_anonymous([0, 1, 2], secrets, 0, F(2, 3), 3)
    assert not judges.alpha_k_anonymous([0, 1, 2], secrets, 0, F(2, 3), 4)
    assert not judges.alpha_k_anonymous([0, 1, 2], secrets, 0, F(1, 2))
    assert judges.alpha_k_anonymous([0, 1, 2], secrets, 0, F(1, 2), 1, ["cold", "cough"])
    assert not judges.alpha_k_anonymous([2], secrets, 0, F(1, 2), 1, ["cold", "cough"])
    # flu: share 2/3 in the group, 1/2 in the table; cough is absent, which is no gain
    assert judges.beta_like([0, 1, 2], secrets, 0, F(1, 3))
    assert not judges.beta_like([0, 1, 2], secrets, 0, F(1, 4))
    assert judges.beta_like([0, 1, 2, 3], secrets, 0, 0)
    assert judges.beta_like([2], secrets, 0, 3)


def test_blocki_and_williams_by_hand() -> None:
    # rows that pairwise differ in both columns: 0, 1, 2; row 3 shares a value with each of them
    secrets = [("a", "x"), ("b", "y"), ("c", "z"), ("a", "y"), ("b", "x")]
    assert judges.blocki_williams_diverse([0, 1, 2], secrets, [0, 1], 3)
    assert not judges.blocki_williams_diverse([0, 1, 2, 3], secrets, [0, 1], 3)
    assert judges.blocki_williams_diverse([0, 1, 2, 3, 4], secrets, [0, 1], 3)
    assert judges.blocki_williams_diverse([0, 1, 2, 3], secrets, [0, 1], 2)
    assert not judges.blocki_williams_diverse([0, 3], secrets, [0, 1], 2)
    assert judges.blocki_williams_diverse([0, 3], secrets, [1], 2)
    assert judges.blocki_williams_diverse([0], secrets, [0, 1], 1)


@pytest.mark.parametrize("seed", range(30))
def test_blocki_and_williams_with_one_column_count_distinct_values(seed: Any) -> None:
    draw = random.Random(seed)
    secrets = column(*(draw.choice("abc") for _ in range(6)))
    for size, diversity in itertools.product(range(1, 7), (1, 2, 3)):
        for group in itertools.combinations(range(6), size):
            expected = judges.distinct_diverse(group, secrets, 0, diversity)
            assert judges.blocki_williams_diverse(group, secrets, [0], diversity) == expected


@pytest.mark.parametrize("seed", range(30))
def test_logarithms_agree_with_floating_point_away_from_the_border(seed: Any) -> None:
    draw = random.Random(seed)
    for _ in range(20):
        ratio, delta = F(draw.randint(1, 30), draw.randint(1, 30)), F(draw.randint(1, 40), draw.randint(1, 20))
        if abs(abs(math.log(ratio)) - delta) > 1e-9:
            assert judges.natural_log_below(ratio, delta) == (abs(math.log(ratio)) < delta)
        if abs(abs(math.log2(ratio)) - delta) > 1e-9:
            assert judges.base2_log_below(ratio, delta) == (abs(math.log2(ratio)) < delta)


def test_logarithms_at_the_border() -> None:
    assert not judges.base2_log_below(F(2), F(1))
    assert not judges.base2_log_below(F(1, 8), F(3))
    assert judges.base2_log_below(F(2), F(10**6 + 1, 10**6))
    # ln 2 = 0.69314718055994530941723212145817656807...
    ln2 = F("0.693147180559945309417232121458176568")
    for ratio in (F(2), F(1, 2)):
        assert not judges.natural_log_below(ratio, ln2)
        assert judges.natural_log_below(ratio, ln2 + F(1, 10**36))
    assert judges.natural_log_below(F(1), F(1, 10**9))


def test_delta_disclosure_by_hand() -> None:
    secrets = column("flu", "flu", "cold", "cough")
    # the group doubles the share of cold, keeps that of flu, and has no cough
    group = [0, 2]
    assert not judges.delta_disclosing(group, secrets, 0, F(2))
    assert judges.delta_disclosing(group, secrets, 0, F(2), absent="ignored")
    assert judges.delta_disclosing(group, secrets, 0, F(7, 10), absent="ignored")
    assert not judges.delta_disclosing(group, secrets, 0, F(69, 100), absent="ignored")
    assert not judges.delta_disclosing(group, secrets, 0, F(1), "base2", "ignored")
    assert judges.delta_disclosing(group, secrets, 0, F(101, 100), "base2", "ignored")
    assert judges.delta_disclosing(range(4), secrets, 0, F(1, 10**6))


@pytest.mark.parametrize("seed", range(20))
def test_requirements_that_are_called_merge_closed_are(seed: Any) -> None:
    draw = random.Random(seed)
    secrets = [(draw.choice("abc"), draw.choice("xy")) for _ in range(7)]
    groups = [g for size in range(1, 5) for g in itertools.combinations(range(7), size)]
    properties: list[Callable[[tuple[int, ...]], bool]] = [
        lambda g: judges.p_sensitive(g, secrets, 0, 2),
        lambda g: judges.frequency_diverse(g, secrets, 0, F(3, 2)),
        lambda g: judges.blocki_williams_diverse(g, secrets, [0, 1], 2),
        lambda g: judges.alpha_k_anonymous(g, secrets, 0, F(1, 2), 2),
        lambda g: judges.beta_like(g, secrets, 0, F(1, 2)),
        lambda g: judges.delta_disclosing(g, secrets, 1, F(1, 2)),
        lambda g: judges.t_close(g, secrets, 0, F(1, 3), judges.equal_distance),
    ]
    for holds in properties:
        good = [g for g in groups if holds(g)]
        for a, b in itertools.combinations(good, 2):
            assert set(a) & set(b) or holds(a + b)


def test_delta_disclosure_that_ignores_absent_values_is_not_merge_closed() -> None:
    secrets = column(*"aaaabbbbcccc")
    # shares of 1/2 against 1/3 in each group; in their union a is left with 1/8
    first, second = [0, 4], [5, 6, 7, 8, 9, 10]
    assert judges.delta_disclosing(first, secrets, 0, 1, "base2", "ignored")
    assert judges.delta_disclosing(second, secrets, 0, 1, "base2", "ignored")
    assert not judges.delta_disclosing(first + second, secrets, 0, 1, "base2", "ignored")


# --------------------------------------------------------------------------------------------- whole tables


@pytest.mark.parametrize("seed", range(60))
def test_trying_every_table_agrees_with_the_oracle_on_properties_of_groups(seed: Any) -> Any:
    draw = random.Random(seed)
    n, m = draw.randint(2, 5), draw.randint(1, 2)
    rows = [tuple(draw.choice(["a", "b", None]) for _ in range(m)) for _ in range(n)]
    secrets = column(*(draw.choice("xy") for _ in range(n)))
    k, p, exempt = draw.randint(1, 3), draw.randint(1, 2), draw.random() < 0.5
    sides: dict[str, Any] = {
        "objective": draw.choice(["loss", "min_groups", "max_groups"]),
        "min_groups": draw.choice([None, 2]),
    }
    expected = oracle.optimum(
        rows,
        k,
        requirement=lambda g: judges.p_sensitive(g, secrets, 0, p),
        suppressed_rows="exempt" if exempt else "strict",
        **sides,
    )

    def valid(released: Any) -> Any:
        groups = judges.groups_of(released).values()
        return judges.k_anonymous_in(released, range(m), k, exempt) and all(
            judges.p_sensitive(g, secrets, 0, p) for g in groups
        )

    assert judges.best_table(rows, valid, **sides) == expected


def test_k_anonymity_on_some_columns_counts_across_groups() -> None:
    released = [("a", "x"), ("a", "*"), ("*", "x"), ("*", "*")]
    assert judges.k_anonymous_in(released, [0], 2)
    assert not judges.k_anonymous_in(released, [0, 1], 2)
    assert judges.groups_of(released)["a", "*"] == (1,)
    assert not judges.k_anonymous_in(released, [0], 3, exempt=True)
    assert judges.k_anonymous_in([("a", "x"), ("a", "*"), ("*", "y")], [0], 2, exempt=True)
    # keeping both columns costs nothing here, although no two rows are the same in both
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert judges.best_table(rows, lambda table: judges.k_anonymous_in(table, [0], 2)) == 0
    assert judges.best_table(rows, lambda table: judges.k_anonymous_in(table, [0, 1], 2)) == 4
    assert judges.best_table(rows, lambda table: judges.k_anonymous_in(table, [0], 4)) == 4


@pytest.mark.parametrize("seed", range(20))
def test_the_best_partition_is_the_best_of_all_partitions(seed: Any) -> Any:
    draw = random.Random(seed)
    n = draw.randint(1, 6)
    price = {g: draw.randint(0, 20) for size in range(1, n + 1) for g in itertools.combinations(range(n), size)}
    allowed = {g for g in price if draw.random() < 0.7}

    def partitions(rows: Any) -> Any:
        if not rows:
            yield []
            return
        first, rest = rows[0], rows[1:]
        for size in range(len(rest) + 1):
            for others in itertools.combinations(rest, size):
                for partition in partitions([i for i in rest if i not in others]):
                    yield [(first, *others), *partition]

    found = [sum(price[g] for g in p) for p in partitions(list(range(n))) if allowed.issuperset(p)]
    assert judges.best_partition(price.__getitem__, allowed.__contains__, n) == min(found, default=None)
    assert len(list(partitions(list(range(5))))) == 52
    assert Counter(len(p) for p in partitions(list(range(4)))) == {1: 1, 2: 7, 3: 6, 4: 1}


NESTED: dict[Value, tuple[Value, ...]] = {
    "a": ("a", "ab", "*"),
    "b": ("b", "ab", "*"),
    "c": ("c", "cd", "*"),
    None: (None, "cd", "*"),
}
CHAIN: dict[Value, tuple[Value, ...]] = {
    "a": ("a", "a", "ab", "*"),
    "b": ("b", "b", "ab", "*"),
    "c": ("c", "c", "c", "*"),
    None: (None, "d", "d", "*"),
}


def try_everything(
    rows: Any,
    k: Any,
    *,
    hierarchies: Any,
    vectors: Any,
    weights: Any,
    level_costs: Any,
    suppressed_rows: Any,
    requirement: Any,
    cost_bound: Any,
    low: Any,
    high: Any,
) -> Any:
    """The optimum of each objective: assign each row each allowed level vector; no pruning, no bookkeeping."""
    values = []
    for choice in itertools.product(vectors, repeat=len(rows)):
        groups, cost = defaultdict(list), Fraction(0)
        for i, (row, vector) in enumerate(zip(rows, choice, strict=True)):
            released = []
            for c, level in enumerate(vector):
                path = hierarchies[c][row[c]] if c in hierarchies else (row[c], "*")
                share = level_costs[c][level] if c in level_costs else Fraction(level, len(path) - 1)
                cost += weights[c] * share
                released.append(path[level])
            groups[tuple(released)].append(i)
        good = all(
            requirement(tuple(group)) and (len(group) >= k or (suppressed_rows == "exempt" and set(released) == {"*"}))
            for released, group in groups.items()
        )
        if good and (cost_bound is None or cost <= cost_bound) and low <= len(groups) <= high:
            values.append((cost, len(groups)))
    if not values:
        return {"loss": None, "min_groups": None, "max_groups": None}
    costs, counts = zip(*values, strict=True)
    return {"loss": min(costs), "min_groups": min(counts), "max_groups": max(counts)}


@pytest.mark.parametrize("seed", range(120))
def test_agrees_with_trying_every_level_vector_for_every_row(seed: Any) -> None:
    draw = random.Random(seed)
    n, m = draw.randint(1, 5), draw.randint(1, 3)
    rows = [tuple(draw.choice(["a", "b", "c", None]) for _ in range(m)) for _ in range(n)]
    hierarchies = {c: draw.choice([NESTED, CHAIN]) for c in range(m) if draw.random() < 0.4}
    heights = [len(hierarchies[c]["a"]) - 1 if c in hierarchies else 1 for c in range(m)]
    vectors = list(itertools.product(*(range(h + 1) for h in heights)))
    # at most 8 vectors, so that trying everything stays possible
    vectors = draw.sample(vectors, min(len(vectors), draw.randint(1, 8)))
    weights = [Fraction(draw.randint(0, 4), draw.choice([1, 2, 3])) for _ in range(m)]
    level_costs = {
        c: sorted(Fraction(draw.randint(0, 6), 6) for _ in range(heights[c] + 1))
        for c in hierarchies
        if draw.random() < 0.5
    }
    secret = [draw.randint(0, 1) for _ in rows]
    p = draw.choice([1, 1, 2])
    problem: dict[str, Any] = {
        "hierarchies": hierarchies,
        "vectors": vectors,
        "weights": weights,
        "level_costs": level_costs,
        "suppressed_rows": draw.choice(["strict", "exempt"]),
        "requirement": lambda group: len({secret[i] for i in group}) >= p,
    }
    bound = draw.choice([None, Fraction(draw.randint(0, 12), 2)])
    low, high = draw.choice([None, 2]), draw.choice([None, 1, 3])
    k = draw.randint(1, 3)
    expected = try_everything(rows, k, **problem, cost_bound=bound, low=low or 0, high=high or n)
    for objective in ("loss", "min_groups", "max_groups"):
        found = optimum(rows, k, **problem, objective=objective, cost_bound=bound, min_groups=low, max_groups=high)
        assert found == expected[objective]


def test_blocks_with_the_same_released_row_are_one_group() -> None:
    # two pairs that agree in nothing can only be released as ** each, and then they are one group of four
    rows = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
    assert cheapest(rows, 2) == {1: 8}


def test_full_product_needs_the_fewest_columns_that_reach_k() -> None:
    rows = list(itertools.product("abc", "de"))
    assert optimum(rows, 2) == 6
    assert optimum(rows, 3) == 6
    assert optimum(rows, 4) == 12


def test_nine_rows_with_hierarchies_are_feasible_to_judge() -> None:
    draw = random.Random(1)
    rows = [tuple(draw.choice("abc") for _ in range(3)) for _ in range(9)]
    hierarchies = {0: NESTED, 2: CHAIN}
    cost = optimum(rows, 3, hierarchies=hierarchies)
    assert cost is not None
    assert optimum(rows, 3, hierarchies=hierarchies, cost_bound=cost - Fraction(1, 1000)) is None
    assert optimum(rows, 10, hierarchies=hierarchies) is None
