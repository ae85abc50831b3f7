"""`result.json` can repeat the session: from the object alone the same problem is stated and solved again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.problem.distances import ground_distance
from kanon_milp.problem.privacy.registry import REQUIREMENTS

ROWS = [(str(i // 5), "ab"[i % 2], str(i % 3), "xyz"[(i * i) % 3], f"n{i}") for i in range(20)]
FILES = {
    "people.tsv": "age\tsex\tzip\tdisease\tname\n" + "".join("\t".join(row) + "\n" for row in ROWS),
    "mask.csv": "sex,age,zip\nkeep,*,*\n*,keep,*\n*,*,keep\n*,*,*\n",
    "levels/age.csv": "level0,level1,level2\n" + "".join(f"{i},{i // 2}x,*\n" for i in range(4)),
    "order.csv": "value\ny\nx\nz\n",
}
BASE = ("--data", "people.tsv", "--qi", "age,sex,zip", "--sensitive", "disease", "--identifying", "name", "--k", "3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "levels").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problem_of(written: dict[str, Any]) -> km.Problem:
    """The problem of a result.json, from nothing but that object and the files that it names."""
    told, source = written["problem"], written["input"]
    for each in (source["table"], *source["hierarchies"].values(), *source["distances"]):
        assert hashlib.sha256(Path(each["file"]).read_bytes()).hexdigest() == each["sha256"]
    table = km.read_table(
        source["table"]["file"],
        told["quasi_identifiers"],
        told["sensitive"],
        identifying=told["roles"]["identifying"],
        keep=told["roles"]["insensitive"],
        delimiter=source["table"]["delimiter"],
        encoding=source["table"]["encoding"],
        symbol=source["table"]["symbol"],
        rows=told["n"],
    )
    mask = None
    if source["mask"] is not None:
        mask = km.PatternMask(source["mask"]["patterns"], source["weights"], source["mask"]["columns"])
    recoding: km.Suppression | km.PatternMask | km.Hierarchies = mask or km.Suppression(source["weights"])
    if source["hierarchies"]:
        read = {name: km.Hierarchy.read(each["file"]) for name, each in source["hierarchies"].items()}
        recoding = km.Hierarchies(read, source["weights"], source["level_costs"], mask)
    return km.Problem(
        table,
        [requirement_of(entry, source["distances"]) for entry in told["requirements"]],
        recoding,
        cost_bound=told["cost_bound"],
        min_groups=told["min_groups"],
        max_groups=told["max_groups"],
        objective=told["objective"],
        suppressed_rows=told["suppressed_rows"],
    )


def requirement_of(entry: dict[str, Any], distances: list[dict[str, str]]) -> km.Requirement:
    exact = {key.removesuffix("_exact"): value for key, value in entry.items() if key.endswith("_exact")}
    given = {**{key: value for key, value in entry.items() if not key.endswith("_exact")}, **exact}
    name = given.pop("name")
    kind = next(kind for kind in REQUIREMENTS.values() if kind.name == name)
    if "alpha_k" in given:
        given["k"] = given.pop("alpha_k")
    if given.get("distance") == "ordered":
        given["distance"] = ground_distance(f"order:{distances[0]['file']}")
    return kind(**given)


def solved_again(written: dict[str, Any]) -> km.Result:
    solver = written["solver"]
    known = ("time_limit", "gap", "node_limit", "iteration_limit", "dask")
    options = {key: solver["options"][key] for key in known}
    more = {k: v for k, v in solver["options"].items() if k not in (*known, "absolute_gap")}
    name = "highs" if solver["name"] == "none" else solver["name"]
    return km.solve(
        problem_of(written),
        name,
        method=solver["method"],
        formulation=solver["formulation"],
        threads=solver["threads"],
        seed=solver["seed"],
        solver_options=more,
        **options,
    )


@pytest.mark.parametrize(
    "more",
    [
        ("--weight", "age=2.5", "--weight", "sex=1/3"),
        ("--mask", "mask.csv", "--symbol", "?"),
        ("--hierarchies", "levels", "--mask", "mask.csv"),
        ("--hierarchies", "levels", "--weight", "age=3", "--solver", "cbc", "--seed", "7"),
        ("--l", "3/2", "--t", "2/5", "--distance", "order:order.csv"),
        ("--alpha", "2/3", "--suppressed-rows", "exempt"),
        ("--cost-bound", "100", "--min-groups", "2", "--objective", "max_groups", "--keep", "disease"),
        ("--formulation", "textbook"),
        ("--method", "greedy"),
        ("--method", "search", "--iteration-limit", "2", "--seed", "3"),
        ("--gap", "0.5", "--node-limit", "1000", "--time-limit", "60"),
    ],
)
@pytest.mark.processes
def test_the_object_alone_states_the_same_problem_and_gives_the_same_objective(
    folder: Path, more: tuple[str, ...]
) -> None:
    base = tuple(each for each in BASE if "--keep" not in more or each not in ("--sensitive", "disease"))
    done = run("solve", *base, *more, "--out", "out")
    assert done.returncode in (0, 4), done.stderr
    written = json.loads((folder / "out" / "result.json").read_text())
    assert written["package"] == {"name": "kanon-milp", "version": km.__version__}
    again = solved_again(written)
    found = json.loads(json.dumps(again.as_dict()))
    assert again.verified
    for entry in ("objective", "stop_reason", "proof", "suppressed_cells"):
        assert found[entry] == written[entry]
    for entry in ("t_in", "t_in_star", "roles", "requirements", "recoding", "suppressed_rows", "patterns"):
        assert found["problem"][entry] == written["problem"][entry]
    assert found["input"]["table"] == written["input"]["table"]
    for entry in ("weights", "level_costs", "hierarchies", "distances"):
        assert found["input"][entry] == written["input"][entry]
    for entry in ("name", "method", "formulation", "options", "seed", "threads", "threads_used"):
        assert found["solver"][entry] == written["solver"][entry]


def test_the_command_can_be_written_down_from_the_object(folder: Path) -> None:
    assert run("solve", *BASE, "--mask", "mask.csv", "--weight", "age=2", "--out", "out").returncode == 0
    written = json.loads((folder / "out" / "result.json").read_text())
    told, source = written["problem"], written["input"]
    weights = [part for name, cost in source["weights"].items() for part in ("--weight", f"{name}={cost}")]
    again = run(
        *("solve", "--data", source["table"]["file"], "--qi", ",".join(told["quasi_identifiers"])),
        *("--sensitive", ",".join(told["sensitive"]), "--identifying", ",".join(told["roles"]["identifying"])),
        *("--k", told["k"], "--mask", source["mask"]["file"], *weights, "--solver", written["solver"]["name"]),
        *("--method", written["solver"]["method"], "--delimiter", source["table"]["delimiter"], "--json"),
    )
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["objective"] == written["objective"]


def test_a_model_file_is_named_with_its_hash(models: Path, tmp_path: Path) -> None:
    model = models / "hospital_hierarchies.toml"
    assert run("solve", str(model), "--out", str(tmp_path / "out")).returncode == 0
    written = json.loads((tmp_path / "out" / "result.json").read_text())
    named = written["input"]["model"]
    assert named == {"file": str(model), "sha256": hashlib.sha256(model.read_bytes()).hexdigest()}
    again = km.solve(km.read_model(named["file"]).problem)
    assert again.objective == written["objective"]
    assert json.loads(json.dumps(again.as_dict()))["input"]["hierarchies"] == written["input"]["hierarchies"]


def test_what_came_from_no_file_has_no_hash(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["1", "1", "2"], "b": ["x", "x", "y"]})
    table = km.Table.from_frame(frame, ["a", "b"])
    mask = km.PatternMask([["keep", "*"], ["*", "*"]])
    result = km.solve(km.Problem(table, km.KAnonymity(3), mask))
    about = json.loads(json.dumps(result.as_dict()))["input"]
    assert (about["table"]["file"], about["table"]["sha256"]) == (None, None)
    assert about["mask"] == {"file": None, "sha256": None, "columns": None, "patterns": [["keep", "*"], ["*", "*"]]}


def test_the_hash_is_that_of_the_table_when_the_session_began(folder: Path) -> None:
    read = km.read_table("people.tsv", ["age", "sex"], keep=["zip", "disease", "name"])
    before = hashlib.sha256(Path("people.tsv").read_bytes()).hexdigest()

    def overwrite(stage: str) -> None:
        if stage == "compress":
            Path("people.tsv").write_text("changed")

    result = km.solve(km.Problem(read, km.KAnonymity(2)), on_stage=overwrite)
    assert Path("people.tsv").read_text() == "changed"
    assert result.as_dict()["input"]["table"]["sha256"] == before


def test_a_proof_without_a_model_says_that_none_was_needed(folder: Path) -> None:
    (folder / "few.csv").write_text("a,b,c\n1,2,x\n1,2,x\n1,2,y\n")
    done = run("solve", "--data", "few.csv", "--qi", "a,b", "--sensitive", "c", "--l", "2")
    assert done.returncode == 3
    assert "no model was needed" in done.stdout
    assert " 0 variables" not in done.stdout
    found = run("solve", "--data", "few.csv", "--qi", "a,b", "--k", "2", "--method", "search", "--json")
    assert json.loads(found.stdout)["sizes"]["after"]["variables"] == 0
    shown = run("solve", "--data", "few.csv", "--qi", "a,b", "--k", "2", "--method", "search")
    assert "proven optimum 0" in shown.stdout
    assert "no model was needed" in shown.stdout
    assert " 0 variables" not in shown.stdout
