"""Every model of the library has the optimum that its file says."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from places import LIBRARY

import kanon_milp as km
from kanon_milp.problem.exact import exact_number
from kanon_milp.studies.schema import meanings, tables

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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


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
