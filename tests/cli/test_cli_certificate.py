"""Certificates and methods on the command line."""

from __future__ import annotations

import json
import random
import time
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import run

from kanon_milp import bounds

TABLE = "zip,age,job\n" + "".join(f"{z},{a},{'x' if a % 2 else 'y'}\n" for z in (101, 102) for a in (31, 32, 33))
QI = "zip,age,job"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    return path


def certified(table: Path, *more: str) -> Path:
    proof = table.parent / "proofs" / "bound.json"
    proof.parent.mkdir(exist_ok=True)
    out = str(table.parent / "out")
    done = run("solve", "--data", str(table), "--qi", QI, "--k", "2", "--certificate", str(proof), "--out", out, *more)
    assert done.returncode == 0, done.stderr
    return proof


@pytest.mark.parametrize("method", ["milp", "search"])
def test_a_certificate_is_written_and_accepted(table: Path, method: str) -> None:
    proof = certified(table, "--method", method)
    result = json.loads((table.parent / "out" / "result.json").read_text())
    assert result["solver"]["method"] == method
    done = run("verify", "--original", str(table), "--certificate", str(proof))
    assert done.returncode == 0
    assert "no 2-anonymous table suppresses fewer than" in done.stdout
    released = str(table.parent / "out" / "anonymized.csv")
    both = run(
        "verify", released, "--original", str(table), "--qi", QI, "--k", "2", "--certificate", str(proof), "--json"
    )
    assert both.returncode == 0
    read = json.loads(both.stdout)
    assert read["certificate"]["valid"] is True
    assert float(read["certificate"]["bound"]) <= result["bound"]
    assert [path.name for path in proof.parent.iterdir()] == ["bound.json"]


def test_a_refusal_is_an_error_that_quiet_does_not_hide(table: Path) -> None:
    proof = certified(table)
    proof.write_text(proof.read_text().replace('"bound": "', '"bound": "9'))
    released = table.parent / "out" / "anonymized.csv"
    released.write_text(TABLE)
    asked = ("verify", str(released), "--original", str(table), "--qi", QI, "--k", "2", "--certificate", str(proof))
    done = run(*asked, "--quiet")
    assert (done.returncode, done.stdout) == (6, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("error: NOT verified: 1 violation")
    assert second.startswith("error: certificate: NOT VALID")
    silent = run("verify", str(table), "--original", str(table), "--qi", QI, "--k", "1", "--quiet")
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")


@pytest.mark.parametrize(("rows", "code", "proof"), [(6, 0, "optimal"), (40, 4, "bound")])
def test_a_method_without_a_proof_takes_that_of_its_certificate(table: Path, rows: int, code: int, proof: str) -> None:
    if rows > 6:
        lines = "".join(f"{i * i % 5},{i * 5 % 7},{i * 3 % 4}\n" for i in range(rows))
        table.write_text("zip,age,job\n" + lines)
    path = table.parent / "bound.json"
    common = ("solve", "--data", str(table), "--qi", QI, "--k", "3", "--method", "greedy", "--certificate", str(path))
    done = run(*common, "--json")
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    checked = run("verify", "--original", str(table), "--certificate", str(path), "--json")
    assert checked.returncode == 0
    assert float(json.loads(checked.stdout)["certificate"]["bound"]) == found["bound"] <= found["objective"]
    assert (found["proof"], found["proof_backed_by"]) == (proof, ["certificate"])
    assert "nothing proven" not in run(*common).stdout


def test_a_certificate_of_something_else_is_refused(table: Path) -> None:
    proof = certified(table)
    refused = run("verify", "--original", str(table), "--certificate", str(proof), "--k", "3")
    assert refused.returncode == 6
    assert "NOT VALID" in refused.stdout
    changed = json.loads(proof.read_text())
    changed["multipliers"][0] += 10 * changed["denominator"]
    proof.write_text(json.dumps(changed))
    assert run("verify", "--original", str(table), "--certificate", str(proof)).returncode == 6
    table.write_text(TABLE.replace("103", "104").replace("31,x", "35,x", 1))
    assert run("verify", "--original", str(table), "--certificate", str(proof)).returncode == 6


def test_readings_and_weights_of_a_certificate(table: Path) -> None:
    proof = certified(table, "--suppressed-rows", "exempt", "--weight", "age=3/2")
    accepted = run("verify", "--original", str(table), "--certificate", str(proof), "--weight", "age=3/2")
    assert accepted.returncode == 0, accepted.stdout
    assert run("verify", "--original", str(table), "--certificate", str(proof)).returncode == 6


@pytest.mark.parametrize("recoding", ["boxes", "microaggregation"])
def test_a_model_of_all_groups_gets_multipliers_for_its_certificate(recoding: str, tmp_path: Path) -> None:
    data, path = tmp_path / "t.csv", tmp_path / "proof.json"
    data.write_text("a,b\n" + "".join(f"{i * i % 11},{i * 5 % 7}\n" for i in range(8)))
    asked = ("--data", data, "--qi", "a,b", "--k", "3", "--recoding", recoding)
    found = json.loads(run("solve", *asked, "--certificate", path, "--json").stdout)
    assert (found["solver"]["method"], found["proof"]) == ("milp", "optimal")
    verified = run("verify", "--original", data, "--recoding", recoding, "--certificate", path, "--json")
    checked = json.loads(verified.stdout)["certificate"]
    assert checked["valid"]
    assert found["objective"] * 0.9999 < Fraction(checked["bound"]) <= found["objective"]


def test_a_certificate_beside_another_objective_is_said_to_be_about_the_loss(table: Path) -> None:
    common = ("solve", "--data", table, "--qi", QI, "--k", "2", "--certificate", table.with_name("proof.json"))
    said = "it is about the loss alone, not about the number of groups"
    assert said in " ".join(run(*common, "--objective", "max_groups").stdout.split())
    assert "the loss alone" not in run(*common).stdout


def test_an_infeasible_problem_has_no_certificate(table: Path) -> None:
    proof, mask = table.parent / "bound.json", table.parent / "mask.csv"
    mask.write_text("zip,age,job\nkeep,keep,keep\n")
    arguments = ("solve", "--data", str(table), "--qi", QI, "--k", "2", "--mask", str(mask))
    done = run(*arguments, "--certificate", str(proof))
    assert done.returncode == 3
    assert "no certificate" in done.stderr
    assert not proof.exists()


def test_weights_count_for_the_table_as_for_the_certificate(table: Path) -> None:
    proof = certified(table, "--weight", "age=100")
    released = str(table.parent / "out" / "anonymized.csv")
    common = ("--original", str(table), "--qi", QI, "--k", "2", "--weight", "age=100", "--json")
    done = run("verify", released, *common, "--certificate", str(proof))
    assert done.returncode == 0
    read = json.loads(done.stdout)
    result = json.loads((table.parent / "out" / "result.json").read_text())
    assert float(read["certificate"]["bound"]) <= float(read["cost"]) == result["objective"]


def test_a_node_limit_is_the_reason(table: Path) -> None:
    rows = "".join(f"{z},{a},{(z * a) % 7}\n" for z in range(12) for a in range(9))
    table.write_text("zip,age,job\n" + rows)
    done = run("solve", "--data", str(table), "--qi", QI, "--k", "3", "--node-limit", "0", "--method", "milp", "--json")
    assert json.loads(done.stdout)["stop_reason"] in ("node_limit", "optimal")


def test_bad_usage_is_one_clear_error(table: Path) -> None:
    for arguments, said in (
        (("verify", "--original", str(table)), "--certificate"),
        (("verify", "--original", str(table), "--certificate", str(table)), "certificate"),
        (("verify", "--original", str(table), "--certificate", "nowhere.json"), "nowhere.json"),
        (("solve", "--data", str(table), "--qi", QI, "--k", "2", "--iteration-limit", "0"), "iteration limit"),
        (("solve", "--data", str(table), "--qi", QI, "--k", "2", "--node-limit", "-1"), "node limit"),
        (("solve", "--data", str(table), "--qi", QI, "--k", "2", "--method", "guess"), "--method"),
        (
            ("solve", "--data", str(table), "--qi", QI, "--k", "2", "--min-groups", "2", "--method", "greedy"),
            "side constraints",
        ),
    ):
        done = run(*arguments)
        assert done.returncode == 2, arguments
        assert said in done.stderr
        assert done.stdout == ""


@pytest.mark.full
def test_the_limit_is_one_for_table_and_certificate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where there is no time for it, there is a word instead, and the table all the same; what is printed has all."""

    def certified_instance(_: object) -> None:
        while True:
            time.sleep(0.001)

    draw = random.Random(1)
    lines = ["a,b,c", *(",".join(draw.choice("xyz") for _ in range(3)) for _ in range(30))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(bounds, "certified_instance", certified_instance)
    asked = ("--data", tmp_path / "data.csv", "--qi", "a,b,c", "--k", 3, "--method", "greedy", "--time-limit", 3)
    began = time.perf_counter()
    done = run("solve", *asked, "--certificate", tmp_path / "bound.json", "--json")
    took = time.perf_counter() - began
    assert done.returncode == 4
    assert "no certificate: the time limit is too short" in done.stderr
    assert not (tmp_path / "bound.json").exists()
    found = json.loads(done.stdout)
    assert found["solver"]["options"]["time_limit"] == 3
    assert found["seconds"]["certify"] > 1
    assert 2 < found["seconds"]["total"] <= took < 60
