"""Sweeps: each optimum that of brute force, monotone whatever the limits, resumed as if never ended."""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from census import census
from command_line import run
from effort import examples
from every_table import Released, drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import cheapest, optimum
from present import present
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.problem.privacy.l_diversity import Form
from kanon_milp.studies.sweep import Run, Setting, combined, solve_setting, strictest_first
from kanon_milp.studies.sweep import settings as all_settings
from kanon_milp.studies.sweep_files import SweepFolder

CENSUS = km.Table.from_frame(census(120), ["age", "education", "race"], "disease")


@given(cases(max_rows=7, sides=False))
@settings(max_examples=examples(100, 3))
def test_each_setting_has_the_optimum(case: Case) -> None:
    found = km.sweep(case.problem(), k=range(1, 5))
    for row in found.rows:
        expected = optimum(case.rows, present(row.setting.k), **case.judged())
        assert row.proof == ("infeasible" if expected is None else "optimal")
        assert row.objective == expected


@given(cases(max_rows=7, sides=False))
@settings(max_examples=examples(60, 4))
def test_each_largest_number_of_groups_has_the_optimum(case: Case) -> None:
    problem, numbers = case.problem(), range(1, 4)
    found = km.sweep(problem, max_groups=numbers)
    least = cheapest(case.rows, case.k, **case.judged())
    for row, most in zip(found.rows, numbers, strict=True):
        losses = [loss for groups, loss in least.items() if groups <= most]
        assert row.proof == ("optimal" if losses else "infeasible")
        assert row.objective == min(losses, default=None)
        assert (row.max_groups, row.as_dict()["max_groups"]) == (most, most)


@pytest.mark.parametrize("form", ["frequency", pytest.param("distinct", marks=pytest.mark.full)])
def test_two_parameters_at_once(form: Form) -> None:
    problem = km.Problem(CENSUS, [km.KAnonymity(2), km.LDiversity(2, form)])
    found = km.sweep(problem, k=[2, 4], l=[1, 2], time_limit=20)
    for row in found.rows:
        k, l = present(row.setting.k), present(row.setting.l)  # noqa: E741
        assert (row.k, row.l, row.t) == (k, str(l), None)
        alone = km.solve(km.Problem(CENSUS, [km.KAnonymity(k), km.LDiversity(l, form)]), time_limit=20)
        assert alone.is_optimal
        assert (row.proof, row.objective) == ("optimal", alone.exact_objective)


def test_risks_and_their_names() -> None:
    problem = km.Problem(CENSUS, [km.ProsecutorRisk("0.4"), km.KAnonymity(2)])
    found = km.sweep(problem, risk=["ema", "1/3", "0.4"], time_limit=20)
    assert [row.risk for row in found.rows] == ["9/100", "1/3", "2/5"]
    for row in found.rows:
        alone = km.solve(km.Problem(CENSUS, km.KAnonymity(math.ceil(1 / Fraction(row.risk)))), time_limit=20)
        assert (row.proof, row.objective) == (alone.proof, alone.exact_objective)


def test_requirements_that_are_not_swept_stay() -> None:
    problem = km.Problem(CENSUS, [km.KAnonymity(9), km.PSensitivity(2), km.KAnonymity(2, ["age"])])
    here = Setting(k=3, t=Fraction(1, 4)).of(problem)
    assert [type(each).__name__ for each in here.requirements] == [
        "KAnonymity",
        "PSensitivity",
        "KAnonymity",
        "TCloseness",
    ]
    assert (here.requirements[0], here.requirements[2]) == (km.KAnonymity(3), km.KAnonymity(2, ["age"]))


def runs() -> st.SearchStrategy[list[Run]]:
    """Runs that a solver could have returned: tables of some groups, and bounds below the optima."""
    sizes = st.lists(st.integers(1, 4), min_size=4, max_size=4)
    return sizes.map(lambda worse: [own_run(k, extra) for k, extra in zip((2, 3, 4, 5), worse, strict=True)])


FRAME = pl.DataFrame({"a": list("uuvvwwxxyyzz"), "b": list("112211221122")})
SMALL = km.Problem(km.Table.from_frame(FRAME, ["a", "b"]), km.KAnonymity(2))


@cache
def solved(k: int) -> km.Result:
    return km.solve(Setting(k=k).of(SMALL))


def own_run(k: int, extra: int) -> Run:
    """A valid table that need not be the best: the optimum for a larger k; a bound that need not be: of a smaller."""
    table, below = solved(min(k + extra, 6)), solved(max(k - extra, 1))
    return Run(Setting(k=k), table.exact_objective, below.exact_bound, "bound", 1.0, table.table, table.placed)


@given(runs())
@settings(max_examples=examples(60, 5))
def test_losses_and_bounds_rise_and_stay_true(found: list[Run]) -> None:
    rows = combined(SMALL, found)
    best = {row.setting.k: present(solved(present(row.setting.k)).exact_objective) for row in rows}
    for row, own in zip(rows, found, strict=True):
        assert present(row.bound) <= best[row.setting.k] <= present(row.objective)
        assert present(row.objective) <= present(own.objective)
        assert present(row.bound) >= present(own.bound)
        assert (row.proof == "optimal") == (row.objective == row.bound)
    losses, bounds = [present(row.objective) for row in rows], [present(row.bound) for row in rows]
    assert losses == sorted(losses)
    assert bounds == sorted(bounds)


def test_a_table_that_does_not_hold_is_not_taken_over() -> None:
    """Somebody's run of k = 5 claims a table of no loss that is not even 2-anonymous."""
    spoiled = FRAME.with_columns(pl.Series("b", [str(i) for i in range(12)]))
    problem = km.Problem(km.Table.from_frame(spoiled, ["a", "b"]), km.KAnonymity(2))
    lie = Run(Setting(k=5), Fraction(0), None, "none", 1.0, spoiled, RowGroups.of_table(np.arange(12), problem.table))
    own = km.solve(problem)
    truth = Run(Setting(k=2), own.exact_objective, own.exact_bound, "optimal", 1.0, own.table, own.placed)
    assert combined(problem, [truth, lie])[0].objective == own.exact_objective


@pytest.mark.parametrize("claim", [{"bound": Fraction(1000)}, {"proof": "infeasible", "objective": None}])
def test_what_a_table_refutes_proves_nothing(claim: dict[str, Any]) -> None:
    """A false bound of k = 3 made each table with a larger k optimal, and a false "infeasible" those infeasible."""
    true = [own_run(k, 0) for k in (2, 3, 4, 5)]
    worse = replace(true[3], objective=present(true[3].objective), bound=None, proof="none")
    rows = combined(SMALL, [true[0], replace(true[1], **claim), true[2], worse])
    assert [row.bound for row in rows] == [true[0].bound, true[0].bound, true[2].bound, true[2].bound]
    for row in rows:
        assert row.proof == ("optimal" if row.objective == row.bound else "bound")


@pytest.mark.parametrize(
    ("edited", "message"),
    [
        ({"bound": "1000"}, "contradicts itself"),
        ({"proof": "infeasible"}, "contradicts itself"),
        ({"objective": None, "proof": "optimal"}, "contradicts itself"),
        ({"setting": {"k": "2"}}, "contradicts itself"),
        ({"objective": "1000"}, "its table is not what"),
        ({"objective": "0"}, "contradicts itself"),
        ({"bound": "much"}, "is not a run of a sweep"),
    ],
)
def test_an_edited_run_is_refused(tmp_path: Path, edited: dict[str, Any], message: str) -> None:
    folder = SweepFolder(tmp_path / "out", SMALL, ["k"], {})
    own = own_run(3, 0)
    folder.write_run(own)
    (again,) = folder.known(resume=True)
    assert (again.objective, again.bound, again.proof) == (own.objective, own.bound, own.proof)
    file = tmp_path / "out" / "runs" / "k=3" / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **edited}))
    with pytest.raises(km.InputError, match=message):
        folder.known(resume=True)


def test_what_has_run_stays_beside_other_values() -> None:
    found = km.sweep(SMALL, k=[3], known=[own_run(4, 0), own_run(2, 0)])
    assert [row.k for row in found.rows] == [2, 3, 4]
    assert [row.objective for row in found.rows] == [row.objective for row in km.sweep(SMALL, k=[2, 3, 4]).rows]
    assert str(found) == found.to_markdown()


def test_an_infeasible_setting_makes_stricter_ones_infeasible() -> None:
    mask = km.PatternMask([["keep", "keep"]])
    problem = km.Problem(km.Table.from_frame(FRAME, ["a", "b"]), km.KAnonymity(2), mask)
    found = km.sweep(problem, k=[2, 3, 4])
    assert [row.proof for row in found.rows] == ["optimal", "infeasible", "infeasible"]
    assert found.rows[1].as_dict()["objective"] is None


def test_the_strictest_come_first() -> None:
    ordered = strictest_first(all_settings({"k": [2, 5], "t": ["0.1", "0.3"]}))
    assert [each.name for each in ordered] == ["k=5,t=1/10", "k=5,t=3/10", "k=2,t=1/10", "k=2,t=3/10"]
    assert [each.shown for each in ordered[:2]] == ["k=5,t=0.1", "k=5,t=0.3"]
    assert ordered[2].looser_than(ordered[0])
    assert not ordered[1].looser_than(ordered[2])


def test_baselines_stand_beside_as_they_are() -> None:
    found = km.sweep(km.Problem(CENSUS, km.KAnonymity(2)), k=[3, 5], baselines=["greedy", "mondrian", "subset_dp"])
    for row in found.rows:
        alone = km.solve(row.setting.of(found.problem), method="mondrian")
        assert row.baselines["mondrian"] == alone.exact_objective
        assert present(row.baselines["greedy"]) >= present(row.objective)
        assert row.baselines["subset_dp"] is None  # too many rows
    header, *lines = found.texts()
    assert header == ["k", "loss", "bound", "gap %", "proof", "seconds", "greedy", "mondrian", "subset_dp"]
    assert [line[0] for line in lines] == ["3", "5"]
    assert "\\toprule" in found.to_latex()
    assert found.to_markdown().count("\n") == 4
    assert found.frame()["mondrian"].to_list() == [float(present(row.baselines["mondrian"])) for row in found.rows]


@pytest.mark.processes
def test_several_processes_give_the_same() -> None:
    problem = km.Problem(CENSUS, km.KAnonymity(2))
    one, two = (km.sweep(problem, k=range(2, 6), processes=number) for number in (1, 2))
    assert [(row.proof, row.objective) for row in one.rows] == [(row.proof, row.objective) for row in two.rows]
    assert all(row.proof == "optimal" for row in one.rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "name what is swept"),
        ({"k": []}, "no value is given"),
        ({"k": ["3/2"]}, "an integer is expected"),
        ({"k": "25"}, "a list of values"),
        ({"k": [0]}, "k must be at least 1"),
        ({"t": [2]}, "t"),
        ({"k": [2], "method": "magic"}, "unknown method"),
        ({"k": [2], "baselines": "greedy"}, "baselines"),
    ],
)
def test_what_is_no_sweep_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(km.InputError, match=message):
        km.sweep(km.Problem(CENSUS, km.KAnonymity(2)), **arguments)  # type: ignore[arg-type]


def test_another_objective_is_refused() -> None:
    with pytest.raises(km.InputError, match="measures losses"):
        km.sweep(km.Problem(CENSUS, km.KAnonymity(2), objective="min_groups"), k=[2])


def command(tmp_path: Path, *more: str) -> list[str]:
    data = tmp_path / "people.csv"
    if not data.exists():
        census(120).write_csv(data)
    return ["sweep", "--data", str(data), "--qi", "age,education,race", *more]


def test_the_folder_and_how_it_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = run(*command(tmp_path, "--k", "2..3", "--out", str(out), "--json"))
    assert first.returncode == 0
    assert {path.name for path in out.iterdir()} >= {"runs", "sweep.csv", "sweep.json", "sweep.md", "sweep.tex"}
    written = json.loads((out / "sweep.json").read_text())
    assert written["rows"] == json.loads(first.stdout)
    assert (written["format"], written["version"]) == ("kanon-milp sweep", 1)
    assert written["package"] == {"name": "kanon-milp", "version": km.__version__}
    assert written["swept"] == {"k": [2, 3]}
    table = tmp_path / "people.csv"
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    assert (written["input"]["table"]["file"], written["input"]["table"]["sha256"]) == (str(table), digest)
    assert written["problem"]["quasi_identifiers"] == ["age", "education", "race"]
    assert written["options"] == {"method": "auto", "time_limit": None, "threads": 1, "seed": 0, "baselines": []}
    assert written["interrupted"] is False
    assert [row["k"] for row in json.loads(first.stdout)] == [2, 3]

    again = run(*command(tmp_path, "--k", "2..3", "--out", str(out)))
    assert again.returncode == 2
    assert "--resume" in again.stderr

    before = (out / "runs" / "k=3" / "run.json").read_bytes()
    more = run(*command(tmp_path, "--k", "2..4,6", "--out", str(out), "--resume", "--json"))
    assert more.returncode == 0
    assert [row["k"] for row in json.loads(more.stdout)] == [2, 3, 4, 6]
    assert json.loads((out / "sweep.json").read_text())["swept"] == {"k": [2, 3, 4, 6]}
    assert (out / "runs" / "k=3" / "run.json").read_bytes() == before

    other = run(*command(tmp_path, "--k", "2", "--out", str(out), "--resume", "--seed", "7"))
    assert other.returncode == 2
    assert "another sweep (--seed was 0, and is 7 now); choose another folder" in " ".join(other.stderr.split())

    released = out / "runs" / "k=3" / "anonymized.csv"
    released.write_text(released.read_text().replace("*", "x"))
    changed = run(*command(tmp_path, "--k", "2..3", "--out", str(out), "--resume"))
    assert changed.returncode == 2
    assert "is not what run.json says" in changed.stderr


@pytest.mark.parametrize("k", ["5..2", "x", "2..", "", "2.5", "1..99999"])
def test_lists_that_are_none(tmp_path: Path, k: str) -> None:
    found = run(*command(tmp_path, "--k", k))
    assert found.returncode == 2
    assert found.stderr.count("error") == 1


def test_largest_numbers_of_groups_are_swept_and_one_is_not(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "out")]
    found = run(*command(tmp_path, "--k", "3", "--max-groups", "1..2,9", *out, "--json"))
    rows = json.loads(found.stdout)
    assert [(row["k"], row["max_groups"], row["proof"]) for row in rows] == [(3, m, "optimal") for m in (1, 2, 9)]
    assert rows[0]["objective"] == 360 > rows[1]["objective"] > rows[2]["objective"]
    again = json.loads(run(*command(tmp_path, "--k", "3", "--max-groups", "1..2,9", *out, "--resume", "--json")).stdout)
    assert again == rows
    other = json.loads(run(*command(tmp_path, "--k", "3,4", "--max-groups", "2", "--json")).stdout)
    assert other[0]["objective"] == rows[1]["objective"]
    assert "max_groups" not in other[0]


def test_a_model_file_is_swept(tmp_path: Path) -> None:
    model = Path(__file__).parents[2] / "models" / "hospital.toml"
    found = run("sweep", str(model), "--k", "2,3", "--json")
    assert [row["proof"] for row in json.loads(found.stdout)] == ["optimal", "optimal"]


@pytest.mark.processes
def test_a_killed_sweep_goes_on(tmp_path: Path) -> None:
    """Killed after the first run is written; what is left is run, and the rest is as of a sweep that nobody killed."""
    whole, ended = tmp_path / "whole", tmp_path / "ended"
    assert run(*command(tmp_path, "--k", "2..6", "--out", str(whole))).returncode == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "kanon_milp", *command(tmp_path, "--k", "2..6", "--out", str(ended), "-q")]
    )
    while process.poll() is None and not list(ended.glob("runs/*/run.json")):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert run(*command(tmp_path, "--k", "2..6", "--out", str(ended), "--resume")).returncode == 0
    rows = [json.loads((folder / "sweep.json").read_text())["rows"] for folder in (whole, ended)]
    assert [[{**row, "seconds": 0} for row in found] for found in rows[:1]] == [
        [{**row, "seconds": 0} for row in found] for found in rows[1:]
    ]


def test_an_interrupted_setting_runs_again(tmp_path: Path) -> None:
    """Ctrl-C in the second setting: exit code 5 and what to do, and --resume gives it the time that it did not have."""
    out, begun = tmp_path / "out", []

    def solve(problem: km.Problem, *, interrupt: threading.Event, **options: Any) -> km.Result:
        begun.append(problem.name)
        if len(begun) == 2:
            interrupt.set()
        return km.solve(problem, interrupt=interrupt, **options)

    with patch("kanon_milp.studies.sweep.solve", solve):
        ended = run(*command(tmp_path, "--k", "2..4", "--out", str(out)))
    assert (ended.returncode, len(begun)) == (5, 2)
    written = json.loads((out / "sweep.json").read_text())
    assert (written["swept"], written["interrupted"]) == ({"k": [2, 3, 4]}, True)
    assert [row["k"] for row in written["rows"]] == [3, 4]
    assert "interrupted: 2 settings have run" in ended.stderr
    assert "--resume" in ended.stderr
    claims = {path.parent.name: json.loads(path.read_text())["interrupted"] for path in out.glob("runs/*/run.json")}
    assert claims == {"k=4": False, "k=3": True}

    resumed = run(*command(tmp_path, "--k", "2..4", "--out", str(out), "--resume", "--json"))
    assert resumed.returncode == 0
    assert [row["proof"] for row in json.loads(resumed.stdout)] == ["optimal"] * 3
    assert not json.loads((out / "runs" / "k=3" / "run.json").read_text())["interrupted"]


def test_an_interrupted_baseline_is_missing(tmp_path: Path) -> None:
    """What a baseline had when it was ended is not its loss; its row says so, and --resume gives it its time."""
    out, begun = tmp_path / "out", list[tuple[str, str]]()
    asked = command(tmp_path, "--k", "2..4", "--baselines", "mondrian,greedy,full_domain", "--out", str(out))

    def solve(problem: km.Problem, *, interrupt: threading.Event, **options: Any) -> km.Result:
        begun.append((problem.name[-3:], options["method"]))
        if begun[-1] == ("k=3", "greedy"):
            interrupt.set()
        return km.solve(problem, interrupt=interrupt, **options)

    with patch("kanon_milp.studies.sweep.solve", solve):
        ended = run(*asked)
    assert ended.returncode == 5
    assert begun[-1] == ("k=3", "greedy")
    cut, whole = json.loads((out / "sweep.json").read_text())["rows"]
    assert (cut["k"], cut["interrupted"], cut["proof"], cut["greedy"], cut["full_domain"]) == (
        3,
        True,
        "optimal",
        None,
        None,
    )
    assert (whole["k"], whole["interrupted"]) == (4, False)
    assert None not in (cut["mondrian"], whole["mondrian"], whole["greedy"], whole["full_domain"])
    claim = json.loads((out / "runs" / "k=3" / "run.json").read_text())
    assert (claim["interrupted"], claim["baselines"]["greedy"], claim["baselines"]["full_domain"]) == (True, None, None)
    assert "& - & - & interrupted" in (out / "sweep.tex").read_text()
    assert [row["greedy"] for row in pl.read_csv(out / "sweep.csv").to_dicts()] == [None, whole["greedy"]]

    assert run(*asked, "--resume").returncode == 0
    problem = km.Problem(CENSUS, km.KAnonymity(3))
    row = json.loads((out / "sweep.json").read_text())["rows"][1]
    alone = {name: km.solve(problem, method=name).objective for name in ("mondrian", "greedy", "full_domain")}
    assert {name: row[name] for name in alone} == alone
    assert row["interrupted"] is False
    assert "interrupted" not in (out / "sweep.tex").read_text()


def test_no_baseline_begins_after_an_interruption() -> None:
    """Not even where that came from elsewhere than the event, or after the setting's own run was complete."""
    problem, event, setting = km.Problem(CENSUS, km.KAnonymity(2)), threading.Event(), Setting(k=3)

    def solve(problem: km.Problem, **options: Any) -> km.Result:
        result = km.solve(problem, method=options["method"])
        event.set()
        return result

    with patch("kanon_milp.studies.sweep.solve", solve):
        late = solve_setting(problem, setting, None, {"method": "milp"}, ["greedy"], event)
    assert (late.proof, late.interrupted, late.baselines) == ("optimal", True, {"greedy": None})


def test_the_picture_has_a_series_for_each_line() -> None:
    pytest.importorskip("altair", reason="pictures need the extra bench")
    found = km.sweep(km.Problem(CENSUS, km.KAnonymity(2)), k=[2, 3, 60], l=[1, 2], baselines=["greedy"], time_limit=5)
    spec = json.dumps(found.plot().to_dict())
    for words in ("best found", "bound", "greedy", "l = 1", "l = 2", '"type": "log"'):
        assert words in spec
    one = km.sweep(km.Problem(CENSUS, km.KAnonymity(9)), t=["1/2"], time_limit=5)
    assert '"title": "t"' in json.dumps(one.plot().to_dict())


@pytest.mark.parametrize("seed", range(examples(20, 2)))
def test_each_weight_has_the_optimum_and_what_each_column_keeps(seed: int) -> None:
    problem, tables = drawn(Random(f"weights-{seed}"))
    own = problem.recoding.weights
    swept = [Fraction(1, 2), Fraction(1), Fraction(3)]
    found = km.sweep(problem, weights={"q0": swept})
    originals = list(zip(*(problem.table.keys[name].to_list() for name in ("q0", "q1")), strict=True))
    assert [row.setting.weights["q0"] for row in found.rows] == swept

    def loss(table: Released, weight: Fraction) -> Fraction:
        # the judge's costs are at the problem's own weights
        plain_costs = [table.value(f"keep {name}", ["q0", "q1"]) for name in ("q0", "q1")]
        share = plain_costs[0] / Fraction(str(own["q0"])) if own["q0"] else heights(table)
        return share * weight + plain_costs[1]

    def heights(table: Released) -> Fraction:
        top = 2 if any(isinstance(each, km.Hierarchy) for each in problem.recoding.hierarchies.values()) else 1
        paths = {"a": ["a", "ab", "*"], "b": ["b", "ab", "*"], "c": ["c", "c?", "*"]} if top == 2 else {}
        pairs = zip(originals, table.rows, strict=True)
        return sum((Fraction(paths.get(a[0], [a[0], "*"]).index(b[0]), top) for a, b in pairs), Fraction(0))

    for row, weight in zip(found.rows, swept, strict=True):
        assert row.proof == "optimal"
        assert row.objective == min(loss(table, weight) for table in tables)
        told = row.as_dict()
        shares = [each for each in tables if loss(each, weight) == row.objective]
        kept = [
            [a[j] == b[j] for a, b in zip(originals, each.rows, strict=True)].count(True)
            for each in shares
            for j in (0, 1)
        ]
        assert round(told["kept"]["q0"] * len(originals)) in kept[::2]
        assert row.columns["q0"][0] in [each.value("keep q0", ["q0", "q1"]) for each in shares]
        assert told["own_loss"] == pytest.approx(sum(told["lost"].values()))


def test_weights_on_the_command_line(tmp_path: Path) -> None:
    census(60).write_csv(tmp_path / "people.csv")
    asked = ("sweep", "--data", tmp_path / "people.csv", "--qi", "age,race")
    rows = json.loads(run(*asked, "--k", "3,5", "--weights", "age=1,4", "--json").stdout)
    assert [(row["k"], row["weight of age"]) for row in rows] == [(3, "1"), (3, "4"), (5, "1"), (5, "4")]
    assert rows[1]["kept"]["age"] >= rows[0]["kept"]["age"]
    assert rows[1]["own_loss"] >= rows[0]["own_loss"]  # the best one at the problem's own weights
    assert "COLUMN=WEIGHTS" in run(*asked, "--k", 3, "--weights", "age").stderr


@pytest.mark.full
def test_the_folder_of_a_sweep_of_weights_goes_on_with_more_of_them(tmp_path: Path) -> None:
    census(60).write_csv(tmp_path / "people.csv")
    out = tmp_path / "out"
    asked = ("sweep", "--data", tmp_path / "people.csv", "--qi", "age,race", "--out", out, "--k", 3, "--weights")
    assert run(*asked, "age=1,4", "--quiet").returncode == 0
    more = run(*asked, "age=1,4,9", "--resume")
    assert more.returncode == 0
    assert "age kept %" in more.stdout
    assert "kept age" in (out / "sweep.csv").read_text().splitlines()[0]
    assert (out / "sweep.svg").is_file()


@pytest.mark.parametrize("weights", [{"illness": [1, 2]}, {"age": ["x"]}, {"age": []}])
def test_weights_that_are_none(weights: dict[str, Any]) -> None:
    with pytest.raises(km.InputError, match=r"illness|age"):
        km.sweep(km.Problem(CENSUS, km.KAnonymity(2)), weights=weights)


def test_weights_of_a_frequency_table_are_those_of_its_rows_written_out() -> None:
    rows = [("a", "x", 5), ("b", "x", 2), ("c", "x", 1), ("a", "y", 6), ("b", "y", 3), ("c", "y", 4)]
    counts = pl.DataFrame(rows, schema=["q0", "q1", "n"], orient="row")
    written = pl.DataFrame([row[:2] for row in rows for _ in range(row[2])], schema=["q0", "q1"], orient="row")
    of_counts, of_rows = (
        km.sweep(km.Problem(table, km.KAnonymity(4)), weights={"q0": [1, 3]})
        for table in (km.Table.from_frame(counts, ["q0", "q1"], count="n"), km.Table.from_frame(written, ["q0", "q1"]))
    )
    assert [row.objective for row in of_counts.rows] == [row.objective for row in of_rows.rows]
    for one, other in zip(of_counts.rows, of_rows.rows, strict=True):
        assert sum(loss for loss, _ in one.columns.values()) == sum(loss for loss, _ in other.columns.values())
