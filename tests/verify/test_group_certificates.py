"""Certificates of costs of whole groups: recomputed from the table, and forged ones are refused; the search for what a
group costs least against all groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from present import present

import kanon_milp as km
from kanon_milp.bounds import Certificate
from kanon_milp.problem.group_costs.boxes import BoxPenalty
from kanon_milp.verify import check_certificate
from kanon_milp.verify.boxes import Boxes, BoxSearch
from kanon_milp.verify.cells import Rules
from kanon_milp.verify.rank_one import RankOneCut
from kanon_milp.verify.tables import Original

TREE = {str(value): (str(value), f"{value // 2}-", f"{value // 4}--", "*") for value in range(8)}
BOXED = "groups of {} rows or more has a weighted NCP of their boxes below"


def boxes(n: int, k: int, seed: int, *, change: bool = False, tree: bool = True) -> km.Problem:
    random = np.random.default_rng(seed)
    columns = {name: random.integers(0, most, n) for name, most in (("a", 30), ("b", 4), ("c", 8))}
    columns["a"][n // 2] += change
    texts = {"a": columns["a"], "b": [f"v{each}" for each in columns["b"]], "c": [str(each) for each in columns["c"]]}
    table = km.Table.from_frame(pl.DataFrame(texts), ["a", "b", "c"])
    recoding = km.Boxes(hierarchies={"c": TREE} if tree else {}, weights={"b": "1/3"})
    return km.Problem(table, km.KAnonymity(k), recoding)


def points(
    n: int, k: int, seed: int, *, change: bool = False, cost: Any = "sse", standardize: bool = False
) -> km.Problem:
    values = np.random.default_rng(seed).integers(0, 30, (n, 2))
    values[n // 2] = values[0]  # equal rows
    values[0, 1] += change
    table = km.Table.from_frame(pl.DataFrame(values, schema=["a", "b"], orient="row"), ["a", "b"])
    recoding = km.Microaggregation(standardize=standardize, cost=cost, center="mean" if cost == "sse" else "median")
    return km.Problem(table, km.KAnonymity(k), recoding)


@pytest.mark.parametrize(
    ("made", "n", "k", "said", "other"),
    [
        (partial(points, standardize=True), 24, 2, "", {"standardize": None}),
        (points, 24, 3, "", {"cost": "sum"}),
        (partial(points, standardize=True, cost="l1"), 24, 3, "", {"standardize": None}),
        (boxes, 12, 2, BOXED, {"hierarchies": {}}),
        (partial(boxes, tree=False), 10, 3, BOXED, {"weights": {}}),
    ],
)
def test_what_multipliers_prove_is_recomputed(
    made: Callable[..., km.Problem], n: int, k: int, said: str, other: dict[str, Any], tmp_path: Path
) -> None:
    """other: arguments of another recoding."""
    problem = made(n, k, k)
    result = km.solve(problem, method="search", time_limit=2 if said else 60)
    certificate = result.certify()
    certificate.write(tmp_path / "bound.json")
    report = check_certificate(problem, tmp_path / "bound.json")
    assert report.valid, report.problems
    assert said.format(k) in report.statement
    assert 0 < certificate.bound <= report.bound <= present(result.exact_objective)
    assert Certificate.read(tmp_path / "bound.json") == certificate

    data = certificate.as_dict()
    asked, recoding = data["problem"]["requirements"], data["problem"]["recoding"]
    high = [each + round(1e-3 * max(data["multipliers"])) for each in data["multipliers"]]
    claimed = str(certificate.bound + Fraction(sum(high) - sum(data["multipliers"])) * Fraction(data["unit"]))
    for forged in (
        {"multipliers": high, "bound": claimed},
        {"bound": str(certificate.bound * Fraction(1001, 1000))},
        {"problem": {**data["problem"], "requirements": [{**asked[0], "k": k + 1}]}},
        {"problem": {**data["problem"], "recoding": {**recoding, **other}}},
        {"multipliers": data["multipliers"][1:]},
        {"version": 4},
        {"min_groups_multiplier": 2**61 - 1},
    ):
        assert not check_certificate(problem, {**data, **forged}).valid, forged
    for another in (
        made(n, k, k, change=True),
        made(n, k + 1, k),
        boxes(n, k, k, tree=problem.recoding.hierarchies == {}),
    ):
        assert not check_certificate(another, data).valid


def test_lowered_cut_multipliers_prove_less() -> None:
    found = 0
    for seed in range(6):
        problem = points(20, 2, seed)
        data = km.solve(problem, method="search", time_limit=60).certify().as_dict()
        assert check_certificate(problem, data).valid
        for cut in data["rank_one_rows"]:
            found += 1
            lower = [
                {**each, "multiplier": each["multiplier"] // 2} if each is cut else each
                for each in data["rank_one_rows"]
            ]
            gain = Fraction(cut["multiplier"] - cut["multiplier"] // 2) * Fraction(data["unit"])
            claimed = str(Fraction(data["bound"]) + gain)
            assert not check_certificate(problem, {**data, "rank_one_rows": lower, "bound": claimed}).valid
    assert found


@pytest.mark.parametrize("seed", range(examples(60, 3)))
def test_the_search_finds_the_least_of_all_groups(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, k = int(random.integers(6, 10)), int(random.integers(1, 4))
    problem = boxes(n, k, seed, tree=bool(seed % 2))
    cost, unit = problem.group_cost, 29 * 3 * 12 * 7 * 10**6
    assert isinstance(cost, BoxPenalty)
    multipliers = random.integers(0, 3 * unit, n).astype(np.int64)
    cuts = [
        RankOneCut(
            random.choice(n, 3, replace=False).astype(np.int64), np.array([1, 1, 2]), 2, int(random.integers(unit))
        )
        for _ in range(2)
    ]
    original = Original.of(problem.table)
    rules, names = Rules.of(original, problem.recoding), problem.table.quasi_identifiers
    factors = [Fraction(unit) * (Fraction(1, 3) if name == "b" else 1) for name in names]
    held = Boxes.of(rules.columns, [original.keys[name].to_list() for name in names], factors)
    search = BoxSearch(held, multipliers, cuts, k)

    def reduced(rows: tuple[int, ...]) -> Fraction:
        paid = 0
        for cut in cuts:
            weight = dict(zip(cut.rows.tolist(), cut.weights.tolist(), strict=True))
            paid += cut.multiplier * (sum(weight.get(row, 0) for row in rows) // cut.denominator)
        worth = sum(int(multipliers[row]) for row in rows)
        return cost.exact(np.array(rows)) * unit - worth + paid

    for place, seed_row in enumerate(search.order.tolist()):
        after = search.order[place + 1 :].tolist()
        groups = (
            (seed_row, *others)
            for size in range(k, min(2 * k - 1, n) + 1)
            for others in itertools.combinations(after, size - 1)
        )
        least = min([Fraction(0), *map(reduced, groups)])
        found = search.least(place)
        assert least - 1 - (2 * k - 1) * 4 < found <= least + (2 * k - 1) * held.slack


def test_nothing_lost_is_proven_of_nothing() -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": [1, 1, 2, 2]}), ["a"])
    for recoding in (km.Boxes(), km.Microaggregation()):
        problem = km.Problem(table, km.KAnonymity(2), recoding)
        result = km.solve(problem, method="search").require_optimal()
        assert result.objective == 0
        report = check_certificate(problem, result.certify())
        assert report.valid
        assert report.vacuous
