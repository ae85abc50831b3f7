"""Recodings of whole groups on the command line and in model files: solve, verify, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from command_line import run_in

import kanon_milp as km

ROWS = "age,pay,ill\n20,1000.5,x\n21,1100,y\n35,900,x\n40,2000,y\n41,2100,x\n60,500,y\n"
TABLE = ("--data", "p.csv", "--qi", "age,pay", "--sensitive", "ill", "--k", "2")
ORIGINAL = ("--original", *TABLE[1:])


@pytest.mark.parametrize("recoding", [("microaggregation", "--standardize"), ("boxes", "--p", "2")])
def test_solved_written_and_verified_from_options_and_model_file(recoding: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(ROWS)
    asked = ("--recoding", *recoding)
    solved = run_in(tmp_path, "solve", *TABLE, *asked, "--out", "o", "--save-model", "m.toml", "--report", "r.html")
    assert solved.returncode == 0, solved.stderr
    assert "% of that of all rows as one group" in solved.stdout
    said = json.loads((tmp_path / "o" / "result.json").read_text())
    objective, bound = Fraction(said["objective_exact"]), Fraction(said["bound_exact"])
    assert bound == objective or (
        "millionth" in said["message"] and (1 - Fraction(1, 10**6)) * objective < bound < objective
    )
    assert said["problem"]["recoding"] == recoding[0]
    for checked in (
        run_in(tmp_path, "verify", "o/anonymized.csv", *ORIGINAL, *asked, "--json"),
        run_in(tmp_path, "verify", "o/anonymized.csv", "--model", "m.toml", "--json"),
    ):
        assert checked.returncode == 0, checked.stderr
        report = json.loads(checked.stdout)
        assert Fraction(report["cost_exact"]) == Fraction(said["objective_exact"])
        assert report["information_loss"] == said["information_loss"]
    again = run_in(tmp_path, "solve", "m.toml", "--json")
    assert json.loads(again.stdout)["objective_exact"] == said["objective_exact"]
    released = pl.read_csv(tmp_path / "o" / "anonymized.csv", infer_schema=False)
    wrong = released.with_columns(age=pl.lit("37"))
    wrong.write_csv(tmp_path / "wrong.csv")
    assert run_in(tmp_path, "verify", "wrong.csv", *ORIGINAL, *asked).returncode == 6


def test_arguments_reach_the_recoding(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(ROWS)
    asked = ("--recoding", "microaggregation", "--center", "member", "--cost", "l1", "--weight", "pay=1/7")
    assert run_in(tmp_path, "solve", *TABLE, *asked, "--save-model", "m.toml", "--quiet").returncode == 0
    recoding = km.read_model(tmp_path / "m.toml").problem.recoding
    assert isinstance(recoding, km.Microaggregation)
    assert recoding.claims == {"standardize": False, "center": "member", "cost": "l1"}
    assert recoding.weights == {"pay": "1/7"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--standardize",), "name that too: --recoding microaggregation"),
        (("--recoding", "boxes", "--standardize"), "standardize is for the recoding microaggregation"),
        (("--recoding", "microaggregation", "--cost", "l3"), "cost must be one of sse, l1"),
        (("--recoding", "microaggregation", "--numeric", "age=5"), "hierarchies are not for the recoding"),
        (("--recoding", "boxes", "--level", "age=1"), "masks, levels and their costs are not for the recoding boxes"),
        (("--recoding", "boxes", "--method", "greedy"), "the method greedy is not for this problem"),
        (("--recoding", "boxes", "--min-groups", "2"), "min_groups is not supported with the recoding boxes"),
        (
            ("--recoding", "boxes", "--marketer-risk", "0.5"),
            "error: marketer risk (marketer-risk = 0.5) is not supported with the recoding boxes",
        ),
        (
            ("--recoding", "microaggregation", "--center", "member", "--p", "2", "--iteration-limit", "3"),
            "k_member: no use for an iteration limit",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(ROWS)
    found = run_in(tmp_path, "solve", *TABLE, *options)
    assert found.returncode == 2
    assert said in " ".join(found.stderr.split())


@pytest.mark.parametrize("recoding", ["microaggregation", "boxes"])
def test_what_needs_levels_of_cells_is_refused_by_name(recoding: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(ROWS)
    asked = (*TABLE, "--recoding", recoding)
    assert run_in(tmp_path, "solve", *asked, "--out", "o", "--quiet").returncode == 0
    for command, said in (
        (("apply", "o", "p.csv"), f"apply is not for the recoding {recoding}"),
        (("export", *asked, "--to", "m.mps", "--reduced"), f"models of {recoding} have no reductions"),
    ):
        found = run_in(tmp_path, *command)
        assert (found.returncode, said in " ".join(found.stderr.split())) == (2, True), found.stderr


@pytest.mark.parametrize("required", [("--l", "2"), ("--t", "1/2"), ("--p", "2")])
@pytest.mark.parametrize("recoding", ["microaggregation", "boxes"])
def test_certificates_under_requirements_about_values(recoding: str, required: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(ROWS)
    asked = (*required, "--recoding", recoding)
    solved = run_in(tmp_path, "solve", *TABLE, *asked, "--out", "o", "--certificate", "c.json")
    assert solved.returncode == 0, solved.stderr
    checked = run_in(tmp_path, "verify", "o/anonymized.csv", *ORIGINAL, *asked, "--certificate", "c.json", "--json")
    assert checked.returncode == 0, checked.stderr
    report = json.loads(checked.stdout)
    assert report["certificate"]["valid"]
    assert 0 < Fraction(report["certificate"]["bound"]) <= Fraction(report["cost_exact"])


def test_a_table_is_not_lost_where_there_is_no_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise km.InputError("the numbers are too large")

    monkeypatch.setattr("kanon_milp.bounds.group_costs.certificate.certify_groups", refused)
    (tmp_path / "p.csv").write_text(ROWS)
    asked = ("solve", *TABLE, "--recoding", "boxes", "--out", "o", "--certificate", "c.json")
    solved = run_in(tmp_path, *asked)
    assert solved.returncode == 0
    assert "no certificate: the numbers are too large" in solved.stderr
    assert (tmp_path / "o" / "anonymized.csv").exists()
    assert not (tmp_path / "c.json").exists()
