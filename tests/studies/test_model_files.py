"""Model files: the library by name, each with the optimum that its file says; what is wrong with one.

And a problem written as one, which is the same problem when it is read again.
"""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import python, run
from places import LIBRARY

import kanon_milp as km
from kanon_milp.problem.exact import exact_number
from kanon_milp.studies import model_files
from kanon_milp.studies.model_content import model_content, toml_text
from kanon_milp.studies.model_files import library_models, parse_toml, read_content
from kanon_milp.studies.schema import meanings, tables


def test_every_model_is_listed_with_its_optimum() -> None:
    found = {each.name: each for each in model_files.library_models()}
    assert found["hospital"].optimum == "54"
    assert found["hospital_infeasible"].optimum == "infeasible"
    assert all(each.title for each in found.values())
    listed = run("models", "--json")
    assert [each["name"] for each in json.loads(listed.stdout)] == sorted(found)
    assert "3-anonymity of the hospital table" in run("models").stdout
    one = json.loads(run("models", "hospital", "--json").stdout)
    assert (one["name"], one["optimum"], one["model"]["privacy"]) == ("hospital", "54", {"k": 3})


def test_a_model_is_solved_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run("solve", "hospital", "--json")
    assert found.returncode == 0
    assert json.loads(found.stdout)["objective"] == 54
    assert km.read_model("hospital").known["optimum"] == 54


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hospital").write_text("data = 1")
    with pytest.raises(km.InputError, match="hospital: "):
        km.read_model("hospital")


def test_an_unknown_name_has_a_nearest_one() -> None:
    found = run("solve", "hospitol")
    assert found.returncode == 2
    assert 'did you mean "hospital"' in found.stderr
    assert run("models", "hospitol").returncode == 2


def test_it_is_shown() -> None:
    assert "[data]" in run("models", "hospital_t_matrix").stdout


@pytest.mark.parametrize("name", ["hospital_t_matrix", "hospital_hierarchies", "triangles_3_diversity", "full_product"])
def test_a_copy_is_the_same_problem(tmp_path: Path, name: str) -> None:
    done = run("models", name, "--copy", str(tmp_path / "here"))
    assert done.returncode == 0
    assert str(tmp_path / "here" / f"{name}.toml") in done.stdout
    here, there = km.read_model(tmp_path / "here" / f"{name}.toml"), km.read_model(name)
    assert here.problem.table.n == there.problem.table.n
    assert km.solve(here.problem, time_limit=20).objective == km.solve(there.problem, time_limit=20).objective


def test_a_copy_holds_what_the_model_reads_and_nothing_else(tmp_path: Path) -> None:
    model_files.copy_model("hospital_mask", tmp_path)
    read = {"hospital_mask.toml", "hospital/table1.csv", "hospital/digits_mask.csv"}
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == read


def test_a_copy_needs_a_name(tmp_path: Path) -> None:
    assert run("models", "--copy", str(tmp_path)).returncode == 2


def test_a_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "t.csv").write_text("a,b\n1,x\n1,y\n")
    model = tmp_path / "m.toml"
    model.write_text('[data]\nfile = "$PLACE/t.csv"\nquasi_identifiers = ["a", "b"]\n[privacy]\nk = 2\n')
    monkeypatch.setenv("PLACE", str(tmp_path / "elsewhere"))
    assert km.solve(km.read_model(model).problem).objective == 2  # column b is suppressed twice
    monkeypatch.delenv("PLACE")
    with pytest.raises(km.InputError, match="environment variable PLACE, which is not set"):
        km.read_model(model)
    model.write_text(model.read_text().replace("$PLACE", "$"))
    with pytest.raises(km.InputError, match=r"write \$\$ for the sign itself"):
        km.read_model(model)


PEOPLE = "age,zip,born,pay\n" + "\n".join(
    f"{17 + 7 * i % 80},{13000 + 37 * i % 900},{1950 + i}-0{1 + i % 9}-11,{1000 + 13 * i % 700}" for i in range(30)
)
RULES = """
[data]
file = "people.csv"
quasi_identifiers = ["age", "zip", "born", "pay"]
[privacy]
k = 3
[recoding]
numeric = { age = { widths = [5, 10], below = 18, above = 90 } }
prefix = { zip = [4, 2] }
dates = { born = ["year", "5years"] }
quantiles = { pay = [4, 2] }
"""


def test_a_model_file_makes_hierarchies_of_the_columns(tmp_path: Path) -> None:
    """The same as by the options of the command line."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "model.toml").write_text(RULES)
    rules = ["--numeric", "age=5,10,<18,>=90", "--prefix", "zip=4,2", "--dates", "born=year,5years"]
    common = ["--qi", "age,zip,born,pay", *rules, "--quantiles", "pay=4,2", "--k", "3"]
    one = run("solve", "--data", str(tmp_path / "people.csv"), *common, "--json", "--out", str(tmp_path / "one"))
    two = run("solve", str(tmp_path / "model.toml"), "--json", "--out", str(tmp_path / "two"))
    assert (one.returncode, two.returncode) == (0, 0), (one.stderr, two.stderr)
    assert (tmp_path / "one/anonymized.csv").read_text() == (tmp_path / "two/anonymized.csv").read_text()
    checked = run("verify", str(tmp_path / "one/anonymized.csv"), "--model", str(tmp_path / "model.toml"))
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("numeric = { age = { width = [5] } }", 'did you mean "widths"'),
        ("numeric = { age = { below = 18 } }", "widths is missing"),
        ("numeric = { age = [5] }\nprefix = { age = [1] }", "already"),
        ("numeric = { year = [5] }", "is no quasi-identifier, so it takes no hierarchy"),
        ("numeric = 5", "must be a table"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    text = RULES[: RULES.index("numeric")] + line
    (tmp_path / "model.toml").write_text(text)
    with pytest.raises(km.InputError, match=said):
        km.read_model(tmp_path / "model.toml")


ROWS = [(17 + 7 * i % 80, 13000 + 37 * i % 900, f"{1950 + i}-0{1 + i % 9}-11", 1000 + 13 * i % 700) for i in range(30)]
RECORDS = "age;zip;born;pay;ill;name\n" + "".join(
    ";".join(map(str, row)) + f";{'abc'[i % 3]};n{i}\n" for i, row in enumerate(ROWS)
)
ASKED = [
    *("--qi", "age,zip,born,pay", "--sensitive", "ill", "--identifying", "name", "--k", "3", "--l", "3/2"),
    *("--numeric", "age=5,<18,>=90", "--prefix", "zip=4,2", "--dates", "born=year,5years", "--quantiles", "pay=4,2"),
    *("--weight", "age=3/2", "--costs", "zip=ncp", "--suppressed-rows", "exempt", "--delimiter", ";"),
]


def test_what_was_asked_is_written_as_a_model_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/people $1.csv").write_text(RECORDS)
    saved, out = tmp_path / "model.toml", [tmp_path / "one", tmp_path / "two"]
    data = ["--data", str(tmp_path / "data/people $1.csv"), *ASKED]
    first = run("solve", *data, "--method", "greedy", "--out", str(out[0]), "--save-model", str(saved))
    assert first.returncode == 4, first.stderr
    assert f"model file written to {saved}" in first.stdout
    second = run("solve", str(saved), "--out", str(out[1]))
    assert second.returncode == 4, second.stderr  # by the same method
    assert (out[0] / "anonymized.csv").read_bytes() == (out[1] / "anonymized.csv").read_bytes()
    assert run("solve", str(saved), "--save-model", str(tmp_path / "again.toml")).returncode == 2
    assert run("solve", *data, "--save-model", str(tmp_path / "data/people $1.csv")).returncode == 2


def test_a_full_domain_table_has_the_levels_that_options_name(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(RECORDS)
    data = ["--data", str(tmp_path / "people.csv"), "--qi", "age,zip", "--k", "3", "--keep", "born,pay,ill,name"]
    asked = [*data, "--numeric", "age=10,40", "--prefix", "zip=3,2", "--level", "age=2", "--suppression-limit", "0.2"]
    labels, saved, out = tmp_path / "labels.csv", tmp_path / "model.toml", tmp_path / "out"
    written = ["--labels", str(labels), "--save-model", str(saved), "--out", str(out)]
    done = run("solve", *asked, "--method", "full_domain", *written)
    assert done.returncode == 4, done.stderr
    assert "age 2 of 3" in done.stdout
    result = json.loads((out / "result.json").read_text())
    assert result["levels"]["age"] == 2
    known = pl.read_csv(labels, infer_schema=False).filter(pl.col("column") == "age").rows()
    assert ("age", "17", "2", "0-39") in known
    assert {label for *_, label in known} == {"0-39", "40-79", "80-119"}
    assert "levels = { age = [2] }" in saved.read_text()
    assert run("verify", str(out / "anonymized.csv"), "--model", str(saved)).returncode == 0
    again = run("solve", str(saved), "--json")
    assert json.loads(again.stdout)["levels"] == result["levels"]
    assert run("solve", *asked).returncode == 2  # of another method
    mask = run("solve", *data, "--level", "age=1", "--mask", str(labels))
    assert (mask.returncode, "one of the two" in mask.stderr) == (2, True)


def test_a_table_without_a_file_is_refused(tmp_path: Path) -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": [1, 1]}), "a")
    problem = km.Problem(table, km.KAnonymity(2))
    with pytest.raises(km.InputError, match="file of its table"):
        km.write_model(problem, tmp_path / "model.toml")
    named = km.Problem(table, km.KAnonymity(2), km.Hierarchies({"a": {"1": ("1", "x", "*")}}))
    with pytest.raises(km.InputError, match=r"Hierarchy\.write"):
        model_content(named, tmp_path)
    assert not list(tmp_path.iterdir())


WITH_FILES = [each.name for each in library_models() if "file" in parse_toml(each.path)["data"]]


@pytest.mark.parametrize("model", WITH_FILES)
def test_each_model_of_the_library_is_the_same_problem_again(model: str, tmp_path: Path) -> None:
    one = km.read_model(model).problem
    target = tmp_path / "model.toml"
    km.write_model(one, target)
    two = km.read_model(target).problem
    assert [each.claims for each in two.requirements] == [each.claims for each in one.requirements]
    assert two.table.keys.equals(one.table.keys)
    assert two.table.roles == one.table.roles
    assert two.recoding.hierarchies == one.recoding.hierarchies
    assert (two.exact_cost_bound, two.min_groups, two.max_groups) == (
        one.exact_cost_bound,
        one.min_groups,
        one.max_groups,
    )
    masks = [each.recoding.mask for each in (one, two)]
    assert len({None if mask is None else len(mask.patterns) for mask in masks}) == 1
    again = model_content(two, tmp_path)
    assert model_content(one, tmp_path) == again
    assert read_content(again, target).problem.suppressed_rows == one.suppressed_rows


def test_text_of_a_model_file_is_toml(tmp_path: Path) -> None:
    content = {
        "title": 'quotes " and \\ and \n and é \x7f',
        "data": {"a b": [1, 2.5, True, "x"], "deep": {"ä": {"b": []}}},
        "privacy": {"k": 2, "requirements": [{"kind": "x"}, {"kind": "y"}]},
    }
    (tmp_path / "model.toml").write_text(toml_text(content), encoding="utf-8")
    read = parse_toml(tmp_path / "model.toml")
    assert {**read, "data": {**read["data"], "a b": [1, float(read["data"]["a b"][1]), True, "x"]}} == content


MODELS = sorted(LIBRARY.glob("*.toml"))
# others have these requirements, or such masks
SLOW = ("adult_mask", "cmc_l_diversity", "cmc_t_closeness", "adult_l_diversity")
FULL = {"cmc_mask", "adult_t_closeness", "adult_p_sensitivity", "cmc_p_sensitivity", "full_product"}  # a second or more
CASES = [
    pytest.param(
        path,
        marks=pytest.mark.slow if path.stem in SLOW else pytest.mark.full if path.stem in FULL else (),
        id=path.stem,
    )
    for path in MODELS
]


def needs_data(path: Path) -> bool:
    return "dataset =" in path.read_text()


@pytest.mark.parametrize("path", CASES)
def test_the_known_optimum_is_found_and_proven(path: Path) -> None:
    if needs_data(path) and not os.environ.get("KANON_MILP_DATA"):
        pytest.skip("KANON_MILP_DATA is not set")
    model = km.read_model(path)
    assert model.title
    assert model.source
    assert model.known["source"]
    assert not model.problem.table.warnings  # each column of a curated table has a role
    result = km.solve(model.problem, **solver_options(model))
    if model.known.get("infeasible"):
        assert result.proof == "infeasible"
    else:
        assert result.require_optimal().exact_objective == Fraction(str(model.known["optimum"]))


def solver_options(model: km.ModelFile) -> dict[str, Any]:
    options: dict[str, Any] = dict(model.solver)
    if "name" in options:
        options["solver"] = options.pop("name")
    return options


def test_every_key_of_a_model_file_is_documented() -> None:
    text = (LIBRARY.parent / "docs" / "model-files.md").read_text()
    for table in tables():
        assert meanings(table)
        for key, meaning in meanings(table).items():
            assert f"| `{key}` | {meaning} |" in text, (table, key)


def test_the_library_lists_every_model() -> None:
    text = (LIBRARY / "README.md").read_text()
    assert len(MODELS) >= 10
    for path in MODELS:
        assert f"`{path.name}`" in text


@pytest.mark.processes
def test_what_checks_model_files_is_imported_when_one_is_read() -> None:
    script = (
        "import sys, kanon_milp.cli.app, kanon_milp as km\n"
        "print('pydantic' in sys.modules)\n"
        f"km.read_model({str(LIBRARY / 'hospital.toml')!r})\n"
        "print('pydantic' in sys.modules)\n"
    )
    assert python("-c", script).stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", 'unknown key "x"'),
        ("data = 3", r"data must be a table: \[data\]"),
        ("[priavcy]\nk = 2", r'unknown key "priavcy" \(did you mean "privacy"\?\)'),
        ("[privacy]\nkk = 2", r'unknown key "kk" in \[privacy\] \(did you mean "k"\?\)'),
        ("[privacy]\nk = 2.5", r"\[privacy\] k must be an integer, found a number with a fraction"),
        ("[privacy]\nk = true", r"\[privacy\] k must be an integer, found true/false"),
        ("[privacy]\nl = [1]", r"\[privacy\] l must be a number or text, found list"),
        ("[privacy]\nrequirements = 3", r"\[privacy\] requirements must be a list, found number"),
        ("[privacy]\nrequirements = [3]", r"\[\[privacy.requirements\]\] number 1 must be a table"),
        ("[[privacy.requirements]]\nkk = 1", r'unknown key "kk" in \[\[privacy.requirements\]\] number 1 .*"k"'),
        ('[[privacy.requirements]]\nk = 1\n[[privacy.requirements]]\nk = "secret"', r"number 2: k must be an integer"),
        (
            '[[privacy.requirements]]\nkind = "l-diversity"',
            r'number 1: kind: unknown value \(did you mean "l_diversity',
        ),
        ("[solver]\ntime_limit = nan", r"\[solver\] time_limit must be a finite number"),
        ('[solver]\ntime_limit = "secret"', r"\[solver\] time_limit must be a number, found text of 6 characters"),
        ("[recoding]\nrandom_seed = -1", r"\[recoding\] random_seed must be at least 0, found -1"),
        ("[known]\ninfeasible = 1", r"\[known\] infeasible must be true or false, found number"),
        (
            '[data]\nmissing = "valeu"',
            r'\[data\] missing: unknown value \(did you mean "value"\?\); one of: value, error',
        ),
    ],
)
def test_a_mistake_names_file_table_key_and_kind(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "model.toml"
    path.write_text(text)
    with pytest.raises(km.InputError, match=f"^{path}: .*{said}") as caught:
        km.read_model(path)
    assert "secret" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_numbers_are_read_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,2\n")
    path = tmp_path / "model.toml"
    path.write_text(
        '[data]\nfile = "t.csv"\nquasi_identifiers = ["a", "b"]\n[privacy]\nk = 2\n'
        "[recoding]\nweights = {a = 0.1000000000000000000000000001, b = 3}\n"
        "[solver]\ntime_limit = 1_0.5\ngap = 0\n[known]\noptimum = 0.30\n"
    )
    read = km.read_model(path)
    assert exact_number(read.problem.recoding.weights["a"], "") == Fraction("0.1000000000000000000000000001")
    assert (read.solver["time_limit"], read.solver["gap"]) == (10.5, 0)
    assert Fraction(read.known["optimum"]) == Fraction(3, 10)
