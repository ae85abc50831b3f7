"""Risks as requirements, against brute force: what a threshold asks for, and what is said of it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Literal

import polars as pl
import pytest
from command_line import run
from oracle import Row, optimum

import kanon_milp as km
from kanon_milp.verify import check_certificate


def drawn_rows(rng: Random, most: int = 8) -> list[Row]:
    return [(rng.choice("abc"), rng.choice("xy")) for _ in range(rng.randint(2, most))]


def table_of(rows: list[Row]) -> km.Table:
    return km.Table.from_frame(pl.DataFrame(rows, schema=["q0", "q1"], orient="row"), ["q0", "q1"])


@pytest.mark.parametrize(
    ("risk", "k"),
    [("0.09", 12), ("1/11", 11), (0.2, 5), ("0.33", 4), ("1/3", 3), (1, 1), ("ema", 12), ("health-canada", 12)],
)
def test_the_fewest_rows_of_a_threshold(risk: str | float, k: int) -> None:
    rows: list[Row] = [("a", "x")] * 12
    (bound,) = km.Problem(table_of(rows), km.ProsecutorRisk(risk)).requirements
    assert isinstance(bound, km.KAnonymity)
    assert bound.k == k
    assert f"k = {k}, risk = {km.ProsecutorRisk(risk).exact}" in bound.spelled


def test_each_preset_has_the_threshold_of_its_source() -> None:
    """EMA and Health Canada: 9 %. CMS: a cell of 1 to 10 is not shown, so 11 is the smallest."""
    assert km.ProsecutorRisk("ema").exact == km.ProsecutorRisk("health-canada").exact == Fraction(9, 100)
    assert next(k for k in range(1, 30) if Fraction(1, k) <= km.ProsecutorRisk("cms").exact) == 11


@pytest.mark.parametrize("number", range(30))
def test_a_prosecutor_risk_against_brute_force(number: int) -> None:
    rng = Random(f"prosecutor {number}")
    rows, risk = drawn_rows(rng), Fraction(rng.choice(["1/2", "0.4", "0.34", "1/3", "0.6", "1"]))
    best = optimum(rows, 1, requirement=lambda group: Fraction(1, len(group)) <= risk)
    problem = km.Problem(table_of(rows), km.ProsecutorRisk(risk))
    result = km.solve(problem)
    assert result.exact_objective == best
    assert (best is None) == (result.proof == "infeasible")
    if best is not None:
        assert km.verify(problem, result.table).ok
        certificate = result.certify().as_dict()
        assert check_certificate(problem, certificate).valid
        # a certificate that says less rows than its risk asks for is refused
        (claimed,) = certificate["problem"]["requirements"]
        if claimed["k"] > 1:
            claimed["k"] -= 1
            assert not check_certificate(problem, certificate).valid


@pytest.mark.parametrize("number", range(24))
def test_a_marketer_risk_against_brute_force(number: int) -> None:
    rng = Random(f"marketer {number}")
    rows, risk = drawn_rows(rng), Fraction(rng.choice(["1/2", "0.4", "1/3", "0.25", "1/8", "3/4"]))
    k = rng.choice([1, 1, 2])
    reading: Literal["strict", "exempt"] = rng.choice(("strict", "exempt"))
    most = len([groups for groups in range(1, len(rows) + 1) if Fraction(groups, len(rows)) <= risk])
    best = optimum(rows, k, max_groups=most, suppressed_rows=reading)
    asked = [km.MarketerRisk(risk), *([km.KAnonymity(k)] if k > 1 else [])]
    problem = km.Problem(table_of(rows), asked, suppressed_rows=reading)
    result = km.solve(problem, method=("auto", "milp", "search")[number % 3])
    assert result.exact_objective == best
    assert (best is None) == (result.proof == "infeasible")
    if best is not None:
        assert km.verify(problem, result.table).ok
        assert check_certificate(problem, result.certify()).valid


def test_a_certificate_of_fewer_groups_than_a_marketer_risk_allows_is_refused() -> None:
    rows: list[Row] = [(value, "x") for value in "aabbcc"]
    problem = km.Problem(table_of(rows), km.MarketerRisk("1/3"))
    certificate = km.solve(problem).certify().as_dict()
    assert certificate["problem"]["max_groups"] == 2
    assert check_certificate(problem, certificate).valid
    certificate["problem"]["max_groups"] = 1
    assert not check_certificate(problem, certificate).valid


def test_a_marketer_risk_refuses_a_unit_of_several_rows() -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b"], "who": ["1", "1", "2"]})
    with pytest.raises(km.InputError, match="average over rows"):
        km.Problem(km.Table.from_frame(frame, ["q"], unit="who"), km.MarketerRisk("1/2"))


@pytest.mark.processes
def test_a_marketer_risk_on_the_command_line(tmp_path: Path) -> None:
    data, out = tmp_path / "people.csv", tmp_path / "out"
    data.write_text("age,city\n" + "30,x\n30,y\n40,x\n40,y\n" * 2)
    asked = ("--data", data, "--qi", "age,city")
    assert run("solve", *asked, "--marketer-risk", "1/4", "--out", out).returncode == 0
    found = json.loads((out / "result.json").read_text())
    assert found["groups"]["count"] <= 2
    assert found["problem"]["requirements"] == [
        {"name": "marketer_risk", "marketer_risk": 0.25, "marketer_risk_exact": "1/4"}
    ]
    checked = ("verify", out / "anonymized.csv", "--original", data, "--qi", "age,city", "--marketer-risk")
    assert run(*checked, "1/4").returncode == 0
    refused = run(*checked, "1/8")
    assert (refused.returncode, "marketer risk is" in refused.stdout) == (6, found["groups"]["count"] > 1)


def test_units_are_counted_where_they_are_named() -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b", "b"], "who": ["1", "1", "2", "3"]})
    table = km.Table.from_frame(frame, ["q"], unit="who")
    problem = km.Problem(table, km.ProsecutorRisk("1/2"))
    assert problem.requirements[0].describe() == {"k": 2, "unit": "who", "risk": 0.5, "risk_exact": "1/2"}
    assert km.solve(problem).objective == 4
    assert not km.verify(problem, frame.drop("who")).ok


@pytest.mark.processes
def test_a_risk_on_the_command_line_and_on_the_page(tmp_path: Path) -> None:
    data, out = tmp_path / "people.csv", tmp_path / "out"
    data.write_text("age,city\n" + "30,x\n" * 12 + "40,x\n" * 11 + "50,y\n" * 12)
    asked = ("--qi", "age,city")
    found = {}
    for risk in ("0.09", "ema", "cms", "1/11"):
        done = run("solve", "--data", data, *asked, "--risk", risk, "--out", out, "--report", tmp_path / "page.html")
        assert done.returncode == 0, done.stderr
        found[risk] = json.loads((out / "result.json").read_text())
        assert run("verify", out / "anonymized.csv", "--original", data, *asked, "--risk", risk).returncode == 0
        if risk == "ema":
            page = (tmp_path / "page.html").read_text()
            assert "EMA Policy 0070" in page
            assert "k = 12 is the fewest for a risk of at most 9/100" in page
            assert "11 would be a risk of 1/11, which is above it" in page
            assert "(k = 12, risk = 9/100, preset = ema)" in done.stdout
    assert [found[risk]["problem"]["k"] for risk in found] == [12, 12, 11, 11]
    assert found["0.09"]["objective"] == found["ema"]["objective"] > found["cms"]["objective"] == 0
    assert run("verify", out / "anonymized.csv", "--original", data, *asked, "--risk", "0.09").returncode == 6
    (tmp_path / "model.toml").write_text(
        '[data]\nfile = "people.csv"\nquasi_identifiers = ["age", "city"]\n[privacy]\nrisk = "cms"\n'
    )
    assert run("solve", tmp_path / "model.toml").returncode == 0
    refused = run("solve", "--data", data, *asked, "--risk", "emea")
    assert refused.returncode == 2
    assert "there are ema, health-canada, cms" in refused.stderr


@pytest.mark.parametrize(("k", "decides"), [(2, "risk"), (4, "both"), (5, "k")])
def test_which_of_k_and_risk_decides_is_said(tmp_path: Path, k: int, decides: str) -> None:
    file, out = tmp_path / "t.csv", tmp_path / "o"
    file.write_text("a\n" + "x\n" * 6)
    done = run(
        "solve", "--data", file, "--qi", "a", "--k", k, "--risk", "1/4", "--out", out, "--report", out / "r.html"
    )
    problem = json.loads((out / "result.json").read_text())["problem"]
    assert (problem["decided_by"], problem["k"]) == (decides, max(k, 4))
    said = {"risk": "the threshold of risk, which needs k = 4", "both": "alike, both k = 4", "k": "asked for, 5; the"}
    assert said[decides] in done.stdout
    assert said[decides] in (out / "r.html").read_text()
    run("solve", "--data", file, "--qi", "a", "--k", k, "--out", out)
    assert json.loads((out / "result.json").read_text())["problem"]["decided_by"] is None
