"""Certificates of sums of squares: recomputed from the table, and forged ones are refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.bounds import Certificate
from kanon_milp.verify import check_certificate


def problem_of(n: int, k: int, seed: int, *, change: bool = False, **recoding: Any) -> km.Problem:
    values = np.random.default_rng(seed).integers(0, 30, (n, 2))
    values[n // 2] = values[0]  # equal rows
    values[0, 1] += change
    table = km.Table.from_frame(pl.DataFrame(values, schema=["a", "b"], orient="row"), ["a", "b"])
    return km.Problem(table, [km.KAnonymity(k)], km.Microaggregation(**recoding))


@pytest.mark.parametrize(("k", "standardize", "cost"), [(2, True, "sse"), (3, False, "sse"), (3, True, "l1")])
def test_what_multipliers_prove_is_recomputed(k: int, standardize: bool, cost: str, tmp_path: Path) -> None:
    recoding: dict[str, Any] = {
        "standardize": standardize,
        "cost": cost,
        "center": "mean" if cost == "sse" else "median",
    }
    problem = problem_of(24, k, k, **recoding)
    result = km.solve(problem, method="search", time_limit=60)
    certificate = result.certify()
    certificate.write(tmp_path / "bound.json")
    report = check_certificate(problem, tmp_path / "bound.json")
    assert report.valid, report.problems
    assert result.exact_objective is not None
    assert Fraction(0) < certificate.bound <= report.bound <= result.exact_objective
    assert Certificate.read(tmp_path / "bound.json") == certificate

    data = certificate.as_dict()
    high = [each + round(1e-3 * max(data["multipliers"])) for each in data["multipliers"]]
    claimed = str(certificate.bound + Fraction(sum(high) - sum(data["multipliers"])) * Fraction(data["unit"]))
    forged = [
        {**data, "multipliers": high, "bound": claimed},
        {**data, "bound": str(certificate.bound * Fraction(1001, 1000))},
        {**data, "problem": {**data["problem"], "requirements": [{**data["problem"]["requirements"][0], "k": k + 1}]}},
        {**data, "problem": {**data["problem"], "recoding": {**data["problem"]["recoding"], "standardize": None}}},
        {**data, "multipliers": data["multipliers"][1:]},
        {**data, "problem": {**data["problem"], "recoding": {**data["problem"]["recoding"], "cost": "sum"}}},
        {**data, "version": 4},
    ]
    for each in forged:
        assert not check_certificate(problem, each).valid
    assert not check_certificate(problem_of(24, k, k, change=True, **recoding), data).valid
    assert not check_certificate(problem_of(24, k + 1, k, **recoding), data).valid


def test_lowered_cut_multipliers_prove_less() -> None:
    found = 0
    for seed in range(6):
        problem = problem_of(20, 2, seed)
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
