"""Certificates with rank-1 cuts: what is written proves no more than what is true, and nothing else is believed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from census import census_problem
from certificate_cases import (
    best_loss,
    certificate,
    claimed_rows,
    drawn_cuts,
    drawn_dual,
    point,
    refused,
    with_cuts,
)
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import optimum
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.bounds import Certificate, certified_instance, certify, lagrangian
from kanon_milp.bounds.dual import FINE
from kanon_milp.errors import InputError
from kanon_milp.verify import rank_one
from kanon_milp.verify.certificate import check_certificate
from kanon_milp.verify.rank_one import GroupProblem

PAIRS = [("a", "b", "x"), ("a", "y", "c"), ("u", "u", "u"), ("u", "u", "u"), ("z", "b", "c")]
LAMBDA = [5.0, 5.0, 0.0, 5.0]  # of the rows in order
ROW = ([0, 1, 3], [1, 1, 1], 2, 6.0)  # of groups with two of these three there is one at most


def pairs(k: int = 2, **more: Any) -> km.Problem:
    """Of three rows each two agree in one column."""
    frame = pl.DataFrame(PAIRS, schema=["p", "q", "r"], orient="row")
    return km.Problem(km.Table.from_frame(frame, ["p", "q", "r"]), [km.KAnonymity(k)], **more)


def test_a_rank_one_row_closes_a_gap_that_the_relaxation_leaves(tmp_path: Path) -> None:
    assert certify(pairs(), lagrangian(certified_instance(pairs()), packing_cuts=False)).bound == 6
    found = certify(pairs(), point(LAMBDA, cuts=[ROW]))
    assert found.bound == optimum(PAIRS, 2) == 9
    assert found.rank_one_rows == (((0, 1, 3), (1, 1, 1), 2, 6 * found.denominator),)
    found.write(tmp_path / "c.json")
    assert Certificate.read(tmp_path / "c.json") == found
    report = check_certificate(pairs(), tmp_path / "c.json")
    assert report.valid
    assert report.bound == 9


@pytest.mark.parametrize(
    "changed",
    [{"multiplier": each} for each in (0, 5 * FINE, 7 * FINE)]
    + [{"weights": each} for each in ([1, 1, 2], [0, 1, 1], [3, 3, 3], [0, 0, 0])]
    + [{"denominator": each} for each in (1, 3, 4, 1 << 40)]
    + [{"rows": each} for each in ([0, 1, 2], [0, 2, 3], [1, 2, 3])],
    ids=str,
)
def test_a_changed_row_proves_less(changed: dict[str, Any]) -> None:
    data = certify(pairs(), point(LAMBDA, cuts=[ROW])).as_dict()
    report = check_certificate(pairs(), {**data, "rank_one_rows": [{**data["rank_one_rows"][0], **changed}]})
    assert not report.valid
    assert report.bound < 9
    assert report.problems == (f"the certificate claims 9; its multipliers prove {report.bound}",)


def test_it_is_about_one_k() -> None:
    found = certify(pairs(), point(LAMBDA, cuts=[ROW]))
    refused(check_certificate(pairs(3), found), "requirements differ")
    assert not check_certificate(pairs(1), {**found.as_dict(), "problem": as_problem_of(pairs(1))}).bound


def as_problem_of(asked: km.Problem) -> Any:
    return certificate(asked, [0] * 4).as_dict()["problem"]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"multiplier": -1}, "rank-1 cut has a negative multiplier"),
        ({"weights": [1, -1, 1]}, "rank-1 cut has a negative weight"),
        ({"denominator": 0}, "rank-1 cut has a denominator below 1"),
        ({"denominator": -2}, "rank-1 cut has a denominator below 1"),
        ({"rows": [0, 1, 4]}, "rank-1 cut names a row that the table does not have"),
        ({"multiplier": 1 << 62}, "too large or too fine"),
        ({"denominator": 1 << 62}, "too large or too fine"),
        ({"denominator": 1 << 90}, "too large or too fine"),
        ({"weights": [1 << 61, 1 << 61, 1], "multiplier": 0}, "too large or too fine"),
    ],
    ids=str,
)
def test_senseless_numbers_are_refused(changed: dict[str, Any], text: str) -> None:
    data = certify(pairs(), point(LAMBDA, cuts=[ROW])).as_dict()
    refused(check_certificate(pairs(), {**data, "rank_one_rows": [{**data["rank_one_rows"][0], **changed}]}), text)


def test_the_version_before_has_no_rank_one_rows(tmp_path: Path) -> None:
    data = certify(pairs(), point(LAMBDA, cuts=[ROW])).as_dict()
    with pytest.raises(InputError, match="rank_one_rows"):
        check_certificate(pairs(), {key: value for key, value in data.items() if key != "rank_one_rows"})
    with pytest.raises(InputError, match="no such entries"):
        check_certificate(pairs(), {**data, "version": 2})
    plain = {**certificate(pairs()).as_dict(), "version": 2}
    del plain["rank_one_rows"]
    assert check_certificate(pairs(), plain).valid
    (tmp_path / "c.json").write_text(json.dumps(plain))
    assert check_certificate(pairs(), tmp_path / "c.json").valid
    with pytest.raises(InputError, match="verify --certificate"):
        Certificate.read(tmp_path / "c.json")


@given(cases(max_rows=7), st.data())
@settings(max_examples=examples(40, 5))
def test_whoever_forges_rank_one_rows_proves_nothing_false(case: Case, data: st.DataObject) -> None:
    asked = case.problem()
    forged = certify(asked, drawn_dual(data, asked)).as_dict()
    count = len(forged["multipliers"])
    rows = claimed_rows(data.draw(st.lists(drawn_cuts(count, 8 * FINE), min_size=1, max_size=3)))
    forged["rank_one_rows"] = [*forged["rank_one_rows"][1:], *rows]
    forged["bound"] = "1000000"
    report = check_certificate(asked, forged)
    assert not report.valid
    assert "its multipliers prove" in report.problems[0]
    best = best_loss(case)
    assert best is None or report.bound <= best


# --------------------------------------------------------------------------------------- limits of the search


def test_who_gives_up_proves_less() -> None:
    found = certify(pairs(), point(LAMBDA, cuts=[ROW]))
    for limit in ("NODES", "ALL_NODES"):
        with mock.patch.object(rank_one, limit, 0):
            report = check_certificate(pairs(), found)
        assert not report.valid
        assert report.bound < 9
        assert report.problems == (f"the certificate claims 9; its multipliers prove {report.bound}",)


def test_all_groups_share_one_limit() -> None:
    found = certify(pairs(), point(LAMBDA, cuts=[ROW]))
    taken = []

    def search(*given: Any) -> tuple[int, int]:
        taken.append(real(*given))
        return taken[-1]

    real = GroupProblem.below_zero
    with mock.patch.object(GroupProblem, "below_zero", search):
        for limit in (1, 2, 10**6):
            taken.clear()
            with mock.patch.object(rank_one, "ALL_NODES", limit):
                check_certificate(pairs(), found)
            assert len(taken) > 2
            assert min(limit, 3) <= sum(nodes for _, nodes in taken) <= limit


# --------------------------------------------------------------------------------------- tuples with sensitive values


@given(sensitive_cases(["p", "l frequency"]), st.data())
@settings(max_examples=examples(40, 5))
def test_rank_one_rows_of_rows_split_by_sensitive_values(case: SensitiveCase, data: st.DataObject) -> None:
    asked = case.problem()
    types = certified_instance(asked).types
    split = types.split_by(asked.attributes)
    cuts = data.draw(st.lists(drawn_cuts(split.count, 8), max_size=3))
    multipliers = data.draw(st.lists(st.integers(0, 12), min_size=split.count, max_size=split.count))
    report = check_certificate(asked, certify(asked, point(with_cuts(multipliers, cuts), cuts=cuts)))
    assert report.valid
    best = best_loss(case)
    assert best is None or report.bound <= best


def test_a_row_that_tells_tuples_of_one_distinct_row_apart_is_left_out() -> None:
    rows = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"), ("c", "1")]
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    asked = km.Problem(km.Table.from_frame(frame, ["q"], "s"), [km.KAnonymity(2), km.PSensitivity(2)])
    same = ([0, 1, 2, 3, 4], [2, 2, 1, 1, 3], 4, 1.0)
    cuts = [([0, 2, 4], [1, 1, 1], 2, 1.0), same, ([0, 1], [1, 2], 2, 1.0)]
    found = certify(asked, point([1] * 5, cuts=cuts))
    assert found.rank_one_rows == (((0, 1, 2), (2, 1, 3), 4, found.denominator),)
    assert check_certificate(asked, found).valid


# --------------------------------------------------------------------------------------- a census


def test_both_searches_agree_on_a_census() -> None:
    asked = census_problem(300, 3)
    instance = certified_instance(asked)
    dual = lagrangian(instance, iterations=200)
    random = np.random.default_rng(0)
    cuts = []
    for g in random.choice(np.flatnonzero(dual.phi < 1), 150).tolist():
        cover = instance.candidates.members[instance.candidates.indptr[g] : instance.candidates.indptr[g + 1]]
        rows = cover[np.argsort(-dual.multipliers[cover], kind="stable")[:7]]
        chosen = np.sort(random.choice(rows, min(len(rows), int(random.integers(3, 6))), replace=False)).tolist()
        weights = [1] * len(chosen) if len(chosen) == 3 else random.integers(1, 3, len(chosen)).tolist()
        cuts.append((chosen, weights, max(sum(weights) // 2, 2), float(random.uniform(0, 0.7))))
    for share in (0.3, 1.0):
        multipliers = with_cuts(dual.multipliers.tolist(), [(*cut[:3], share * cut[3]) for cut in cuts])
        drawn = point(multipliers, cuts=cuts)
        found = certify(asked, replace(drawn, sets=dual.sets, packing_multipliers=dual.packing_multipliers))
        report = check_certificate(asked, found)
        assert report.valid
        assert report.bound == found.bound > 0
