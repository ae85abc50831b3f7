"""Journalist risk (k-map) against brute force, and what is said of it."""

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
from kanon_milp.studies.metrics import describe_release
from kanon_milp.verify import check_certificate

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
