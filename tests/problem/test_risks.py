"""Risks as requirements, against brute force: what a threshold asks for, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Literal

import polars as pl
import pytest
from command_line import run
from oracle import Paths, Row, optimum
from result_pages import Read

import kanon_milp as km
from kanon_milp.problem.exact import in_words
from kanon_milp.studies.metrics import describe_release
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
    assert f"k = {k}, risk = {in_words(km.ProsecutorRisk(risk).exact)}" in bound.spelled


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
            assert "k = 12 is the fewest for a risk of at most 0.09" in page
            assert "11 would be a risk of 1/11, which is above it" in page
            assert "(k = 12, risk = 0.09, preset = ema)" in done.stdout
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


PATHS: dict[str | None, tuple[str | None, ...]] = {
    "a": ("a", "ab", "*"), "b": ("b", "ab", "*"), "c": ("c", "cd", "*"), "d": ("d", "cd", "*"),
}  # fmt: skip


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"q0": pl.String, "q1": pl.String}, orient="row")


def matching(released: Row, people: Mapping[Row, int], hierarchies: Mapping[int, Paths]) -> int:
    """Rows of the population that a released row may stand for."""

    def fits(column: int, label: str | None, value: str | None) -> bool:
        return label in ("*", *hierarchies.get(column, {value: (value, "*")}).get(value, ()))

    return sum(
        count
        for row, count in people.items()
        if all(fits(column, label, value) for column, (label, value) in enumerate(zip(released, row, strict=True)))
    )


@pytest.mark.parametrize("number", range(24))
def test_a_journalist_risk_against_brute_force(number: int) -> None:
    rng = Random(f"journalist {number}")
    rows: list[Row] = [(rng.choice("abc"), rng.choice("xy")) for _ in range(rng.randint(2, 7))]
    # values that the table lacks: d, which the hierarchy covers, e and z, which nothing does
    people: dict[Row, int] = {}
    for _ in range(rng.randint(2, 10)):
        people[rng.choice("abcde"), rng.choice(("x", "y", "z", None))] = rng.randint(1, 3)
    risk, k = Fraction(rng.choice(["1/2", "0.4", "1/3", "1/5", "1/8", "1"])), rng.choice([1, 1, 2])
    hierarchies: dict[int, Paths] = {0: PATHS} if rng.random() < 0.5 else {}
    reading: Literal["strict", "exempt"] = rng.choice(("strict", "exempt"))
    objective: Literal["loss", "max_groups"] = rng.choice(("loss", "loss", "max_groups"))
    best = optimum(
        rows,
        k,
        objective=objective,
        hierarchies=hierarchies,
        suppressed_rows=reading,
        allowed=lambda released: matching(released, people, hierarchies) >= 1 / risk,
    )
    counted = frame_of(list(people)).with_columns(pl.Series("n", list(people.values())))
    written = frame_of([row for row, count in people.items() for _ in range(count)])
    population: Any = written if number % 2 else km.Table.from_frame(counted, ["q0", "q1"], count="n")
    problem = km.Problem(
        km.Table.from_frame(frame_of(rows), ["q0", "q1"]),
        [km.JournalistRisk(risk, population), *([km.KAnonymity(k)] if k > 1 else [])],
        km.Hierarchies({"q0": PATHS}) if hierarchies else km.Suppression(),
        objective=objective,
        suppressed_rows=reading,
    )
    result = km.solve(problem, method=("auto", "milp")[number % 2])
    assert result.exact_objective == best
    assert (best is None) == (result.proof == "infeasible")
    if best is not None:
        assert result.table is not None
        matches = min(matching(row, people, hierarchies) for row in result.table.rows())
        assert matches >= 1 / risk
        assert result.report is not None
        assert result.report.population_matches == matches
        assert describe_release(problem, result.table, result.report)["risk"]["after"]["journalist"] == 1 / matches
        if objective == "loss":
            assert check_certificate(problem, result.certify()).valid
    # the verifier accepts a table exactly where each of its rows matches enough
    released = [tuple(rng.choice((cell, "*")) for cell in row) for row in rows]
    judged = km.verify(problem, frame_of(released)).violations
    enough = all(matching(row, people, hierarchies) >= 1 / risk for row in released)
    assert any("journalist risk" in each for each in judged) != enough


def small(risk: str = "1/2", **given: Any) -> km.Problem:
    frame = frame_of([("a", "x"), ("a", "y"), ("b", "y")])
    return km.Problem(km.Table.from_frame(frame, ["q0", "q1"]), km.JournalistRisk(risk, frame), **given)


@pytest.mark.parametrize("method", ["search", "greedy", "mondrian", "subset_dp", "full_domain", "fpt"])
def test_methods_that_judge_groups_by_their_rows_are_refused(method: str) -> None:
    with pytest.raises(km.InputError, match="journalist risk is about what is released"):
        km.solve(small(), method=method)


def test_what_cannot_have_a_journalist_risk_is_refused() -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b"], "who": ["1", "1", "2"]})
    with pytest.raises(km.InputError, match="several rows"):
        km.Problem(km.Table.from_frame(frame, ["q"], unit="who"), km.JournalistRisk("1/2", frame))
    with pytest.raises(km.InputError, match="needs the population"):
        km.JournalistRisk("1/2")
    with pytest.raises(km.InputError, match='"q1"'):
        km.Problem(small().table, km.JournalistRisk("1/2", pl.DataFrame({"q0": ["a"]})))
    with pytest.raises(km.InputError, match="journalist risk"):
        small(recoding=km.Boxes())
    with pytest.raises(km.InputError, match="labels of the recoding"):
        km.verify(small(), small().table.frame.to_native(), cells="intervals")
    assert km.solve(small("1/4")).proof == "infeasible"


@pytest.mark.processes
def test_a_journalist_risk_on_the_command_line_and_in_a_model_file(tmp_path: Path) -> None:
    data, people, out = tmp_path / "people.csv", tmp_path / "all.csv", tmp_path / "out"
    data.write_text("age,city\n30,x\n30,y\n40,x\n")
    people.write_text("age,city,more\n" + "30,x,1\n30,y,1\n40,x,1\n" * 2 + "30,y,1\n?,x,1\n")
    asked = ("--qi", "age,city", "--journalist-risk", "1/3", "--population", people, "--missing-values", "?")
    written = ("--save-model", tmp_path / "model.toml", "--report", tmp_path / "page.html")
    solved = run("solve", "--data", data, *asked, "--out", out, *written)
    assert solved.returncode == 0, solved.stderr
    first, *others = (out / "anonymized.csv").read_text().splitlines()[1:]
    assert first in ("*,x", "30,*")
    assert others == ["30,y", "*,x"]
    found = json.loads((out / "result.json").read_text())
    described = {"journalist_risk_exact": "1/3", "population": str(people), "population_rows": 8}
    assert found["problem"]["requirements"][0].items() >= described.items()
    hashed = sha256(people.read_bytes()).hexdigest()
    assert found["input"]["populations"] == [{"file": str(people), "sha256": hashed}]
    page = Read((tmp_path / "page.html").read_text()).text
    assert "each row matches at least 3 of the 8 rows of the population" in page
    assert f"{people}: 8 rows" in page
    assert hashed in page
    assert "the journalist's, at most 1/3, is above that" in " ".join(page.split())
    verified = run("verify", out / "anonymized.csv", "--original", data, *asked)
    assert verified.returncode == 0, verified.stdout
    stricter = ("--qi", "age,city", "--journalist-risk", "1/4", "--population", people)
    refused = run("verify", out / "anonymized.csv", "--original", data, *stricter)
    assert (refused.returncode, "different released rows matches fewer" in refused.stdout) == (6, True)
    again = km.read_model(tmp_path / "model.toml").problem
    assert km.solve(again).exact_objective == 2
    assert run("solve", "--data", data, *asked[:4], "--out", out).returncode == 2


def test_marks_of_missing_values_are_those_of_the_population_too(tmp_path: Path) -> None:
    data, people = tmp_path / "people.csv", tmp_path / "all.csv"
    data.write_text("q0\n?\nx\n")
    people.write_text("q0\n?\n\nx\nx\n")
    table = km.read_table(data, ["q0"], missing_values="?")
    result = km.solve(km.Problem(table, km.JournalistRisk("1/2", people)))
    assert result.exact_objective == 0  # "?" and "" are both missing
    assert km.solve(km.Problem(km.read_table(data, ["q0"]), km.JournalistRisk("1/2", people))).exact_objective == 1


def test_a_sweep_over_the_risk_gives_what_each_run_gives(tmp_path: Path) -> None:
    draw = Random(4)
    rows = [(draw.choice("ab"), draw.choice("xyz")) for _ in range(12)]
    people = [*rows, *((draw.choice("ab"), draw.choice("xyz")) for _ in range(12))]
    frames = [pl.DataFrame(each, ["a", "b"], orient="row") for each in (rows, people)]
    for frame, name in zip(frames, ("t", "people"), strict=True):
        frame.write_csv(tmp_path / f"{name}.csv")
    asked = ("--data", tmp_path / "t.csv", "--qi", "a,b", "--population", tmp_path / "people.csv", "--json")
    found = json.loads(run("sweep", *asked, "--journalist-risk", "1/3,1/6,ema").stdout)
    table = km.Table.from_frame(frames[0], ["a", "b"])
    for row, risk in zip(found, ("1/3", "1/6", "9/100"), strict=True):
        alone = km.solve(km.Problem(table, km.JournalistRisk(risk, frames[1])))
        assert (row["journalist_risk"], row["objective"], row["proof"]) == (risk, alone.objective, "optimal")
