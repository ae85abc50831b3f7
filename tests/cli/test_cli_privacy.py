"""The command line and model files take every requirement, exactly as written."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km

SECRET = "Wilhelmina"
SICK = ["flu", "cold", "flu", SECRET, "cold", SECRET]
AGES = [31, 32, 33, 41, 42, 43]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    frame = pl.DataFrame({"zip": [101, 101, 102, 102, 103, 103], "sex": list("ffmmff"), "sick": SICK, "age": AGES})
    frame.write_csv(path)
    return path


def test_solve_and_verify_agree_on_every_requirement(people: Path, tmp_path: Path) -> None:
    asked = ["--qi", "zip,sex", "--sensitive", "sick", "--k", 2, "--p", 2, "--l", "3/2", "--t", "0.40"]
    asked += ["--alpha", "2/3", "--beta", "1", "--delta", "2"]
    out = tmp_path / "out"
    solved = run("solve", "--data", people, *asked, "--out", out, "--json")
    assert solved.returncode == 0, solved.stderr
    problem = json.loads(solved.stdout)["problem"]
    assert (problem["k"], problem["p"], problem["l"], problem["t"]) == (2, 2, 1.5, 0.4)
    exact = {entry["name"]: entry for entry in problem["requirements"]}
    assert exact["t_closeness"]["t_exact"] == "2/5"
    assert exact["l_diversity"]["l_exact"] == "3/2"
    assert set(exact) == {
        "k_anonymity",
        "p_sensitivity",
        "l_diversity",
        "t_closeness",
        "alpha_k_anonymity",
        "beta_likeness",
        "delta_disclosure",
    }
    verified = run("verify", out / "anonymized.csv", "--original", people, *asked, "--groups", tmp_path / "groups.csv")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    groups = pl.read_csv(tmp_path / "groups.csv")
    assert groups["rows"].sum() == 6
    assert "sick.t_equal_exact" in groups.columns
    assert SECRET not in (tmp_path / "groups.csv").read_text() + verified.stdout
    stricter = run(
        "verify", out / "anonymized.csv", "--original", people, "--qi", "zip,sex", "--sensitive", "sick", "--l", 4
    )
    assert stricter.returncode == 6
    assert SECRET not in stricter.stdout


def test_ground_distances_are_named_on_the_command_line(people: Path, tmp_path: Path) -> None:
    (tmp_path / "order.csv").write_text("value\n" + "\n".join(map(str, AGES)) + "\n")
    for distance in ("equal", "ordered", "numeric", f"order:{tmp_path / 'order.csv'}"):
        done = run(
            "solve", "--data", people, "--qi", "zip,sex", "--sensitive", "age", "--t", "0.3", "--distance", distance
        )
        assert done.returncode == 0, done.stderr
    (tmp_path / "order.csv").write_text("value\n31\n")
    done = run("solve", "--data", people, "--qi", "zip", "--sensitive", "age", "--t", "0.3", "--distance", distance)
    assert done.returncode == 2
    assert "has no rank in" in done.stderr


def test_both_forms_of_t_closeness_have_the_same_optimum(people: Path) -> None:
    asked = ("solve", "--data", people, "--qi", "zip,sex", "--sensitive", "sick", "--t", "0.4", "--method", "milp")
    found = {form: json.loads(run(*asked, "--t-form", form, "--json").stdout) for form in ("short", "transport")}
    assert {form: each["problem"]["requirements"][0]["form"] for form, each in found.items()} == {
        "short": "short",
        "transport": "transport",
    }
    assert found["short"]["objective"] == found["transport"]["objective"]
    assert found["short"]["proof"] == found["transport"]["proof"] == "optimal"
    printed = json.loads(run(*asked, "--formulation", "liang_yuan", "--json").stdout)
    assert (printed["objective"], printed["proof"]) == (found["short"]["objective"], "optimal")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--l", "0.5"], "l must be at least 1"),
        (["--l", "x"], "l: an exact number"),
        (["--t", "1.5"], "t must lie between 0 and 1"),
        (["--t", "0.2", "--distance", "ordered"], "is not a number and so has no rank"),
        (["--l", "2", "--l-form", "distnct"], 'did you mean "distinct"'),
        (["--t", "0.2", "--t-form", "transprt"], 'did you mean "transport"'),
        (["--k", "2", "--t-form", "transport"], "--t-form says how --t is meant; name --t too"),
    ],
)
def test_bad_parameters_are_one_clear_line(people: Path, options: list[str], message: str) -> None:
    done = run("solve", "--data", people, "--qi", "zip,sex", "--sensitive", "sick", *options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert SECRET not in done.stderr


def test_a_requirement_needs_its_sensitive_attribute(people: Path) -> None:
    done = run("solve", "--data", people, "--qi", "zip,sex", "--l", "2")
    assert done.returncode == 2
    assert "needs a sensitive attribute; name it" in done.stderr


MODEL = """
[data]
file = "people.csv"
quasi_identifiers = ["zip", "sex"]
sensitive = ["sick", "age"]

[privacy]
k = 2
{shorthand}

[[privacy.requirements]]
kind = "t_closeness"
sensitive = "age"
t = 0.45
distance = "numeric"
form = "transport"
{more}
"""


def write(tmp_path: Path, shorthand: str = "", more: str = "") -> Path:
    path = tmp_path / "model.toml"
    path.write_text(MODEL.format(shorthand=shorthand, more=more))
    return path


def test_model_files_name_requirements_with_all_their_arguments(people: Path, tmp_path: Path) -> None:
    more = """
[[privacy.requirements]]
kind = "l_diversity"
form = "blocki-williams"
l = 2

[[privacy.requirements]]
kind = "k_anonymity"
k = 3
quasi_identifiers = ["sex"]

[[privacy.requirements]]
kind = "alpha_k_anonymity"
alpha = 0.6
sensitive = "sick"
values = ["flu"]

[[privacy.requirements]]
kind = "delta_disclosure"
delta = 1.5
log = "base2"
absent = "ignored"
sensitive = "sick"
"""
    problem = km.read_model(write(tmp_path, "", more)).problem
    close, diverse, subset, alpha, delta = problem.requirements[1:]
    assert close.describe()["t_exact"] == "9/20"
    assert diverse.attributes == ("sick", "age")
    assert subset.describe() == {"k": 3, "quasi_identifiers": ["sex"]}
    assert alpha.describe()["alpha_exact"] == "3/5"
    assert delta.describe() | {"delta": 0} == {
        "delta": 0,
        "delta_exact": "3/2",
        "log": "base2",
        "absent": "ignored",
        "sensitive": "sick",
    }
    assert km.solve(problem).is_optimal


def test_shorthands_are_exact_and_mean_every_sensitive_attribute(people: Path, tmp_path: Path) -> None:
    problem = km.read_model(write(tmp_path, "l = 1.1\nt = 0.7")).problem
    found = [
        (r.name, r.attributes, r.describe().get("l_exact")) for r in problem.requirements if r.name == "l_diversity"
    ]
    assert found == [("l_diversity", ("sick",), "11/10"), ("l_diversity", ("age",), "11/10")]


@pytest.mark.parametrize(
    ("shorthand", "more", "message"),
    [
        ("m = 2", "", 'unknown key "m" in \\[privacy\\]'),
        (
            "",
            'distanz = "equal"',
            'number 1 *: *unknown|unknown key "distanz" in \\[\\[privacy.requirements\\]\\] number 1',
        ),
        ("", '[[privacy.requirements]]\nkind = "l_diversty"\nl = 2', "unknown value.*did you mean"),
        ("", "[[privacy.requirements]]\nl = 2", "number 2: kind is missing"),
        ("", '[[privacy.requirements]]\nkind = "l_diversity"', "number 2: l_diversity needs l"),
        ("", '[[privacy.requirements]]\nkind = "l_diversity"\nl = 2\nt = 0.1', 'number 2: l_diversity has no "t"'),
        ("", '[[privacy.requirements]]\nkind = "t_closeness"\nt = 0.1\ndistance = "matrix:none.csv"', "no such file"),
    ],
)
def test_mistakes_in_model_files_are_named(
    people: Path, tmp_path: Path, shorthand: str, more: str, message: str
) -> None:
    with pytest.raises(km.InputError, match=message):
        km.read_model(write(tmp_path, shorthand, more))


def test_several_sets_of_quasi_identifiers_are_named_by_options(people: Path, tmp_path: Path) -> None:
    """The same problem as that of a model file; the page's command checks it again."""
    (tmp_path / "model.toml").write_text(
        f'[data]\nfile = "{people.name}"\nquasi_identifiers = ["zip", "sex", "age"]\n[privacy]\nk = 2\n'
        '[[privacy.requirements]]\nkind = "k_anonymity"\nk = 3\nquasi_identifiers = ["zip", "sex"]\n'
        '[[privacy.requirements]]\nkind = "k_anonymity"\nk = 2\nquasi_identifiers = ["age"]\n'
    )
    table, sets = ("--data", people, "--qi", "zip,sex,age"), ("--k", 2, "--k-of", "zip,sex=3", "--k-of", "age=2")
    out, page = tmp_path / "out", tmp_path / "page.html"
    solved = run("solve", *table, *sets, "--out", out, "--report", page, "--json")
    assert solved.returncode == 0, solved.stderr
    by_file = json.loads(run("solve", tmp_path / "model.toml", "--json").stdout)
    by_options = json.loads(solved.stdout)
    assert by_options["problem"]["requirements"] == by_file["problem"]["requirements"]
    assert by_options["objective"] == by_file["objective"]
    assert "--k 2 --k-of zip,sex=3 --k-of age=2" in page.read_text()
    again = ("verify", out / "anonymized.csv", "--original", people, "--qi", "zip,sex,age")
    assert run(*again, *sets).returncode == 0
    assert run(*again, "--k-of", "zip,sex=7").returncode == 6
    for wrong in ("zip,sex", "=3", "zip=x"):
        refused = run("solve", *table, "--k-of", wrong)
        assert refused.returncode == 2
        assert "--k-of" in refused.stderr
