"""Study files: what is wrong with one is said in one line; what runs it has, and that their identity is stable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import run
from places import LIBRARY, ROOT

from kanon_milp.errors import InputError
from kanon_milp.studies.bench.plan import plan
from kanon_milp.studies.bench.study import read_study

STUDIES = sorted((ROOT / "benchmarks" / "studies").glob("*.toml"))
INSTANCE = f'[[instances]]\nmodel = "{LIBRARY}/hospital.toml"\n'
STATED = """
[[instances]]
name = "pairs"
vary = { "privacy.k" = [2, 3], "data.arguments.seed" = [0, 1] }
[instances.data]
generator = "random_table"
arguments = { rows = 8, columns = 3, domain = 2 }
"""


def study_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time_limit = 5", "instances is missing"),
        (INSTANCE, "time_limit is missing"),
        ("time_limit = 5\ntime_limt = 3\n" + INSTANCE, 'unknown key "time_limt"'),
        ("time_limit = -5\n" + INSTANCE, "must be a positive number"),
        ('time_limit = "5"\n' + INSTANCE, "time_limit must be a number"),
        ('time_limit = 5\nsolvers = ["higs"]\n' + INSTANCE, 'did you mean "highs"'),
        ("time_limit = 5\nsolvers = [{ options = {} }]\n" + INSTANCE, "name is missing"),
        ('time_limit = 5\nformulations = ["strog"]\n' + INSTANCE, 'did you mean "strong"'),
        ('time_limit = 5\nmethods = ["serch"]\n' + INSTANCE, 'did you mean "search"'),
        ('time_limit = 5\nkind = "solv"\n' + INSTANCE, "kind: unknown value"),
        ("time_limit = 5\nparameters = { a = 1 }\n" + INSTANCE, 'no parameter "a"'),
        ('time_limit = 5\nmemory_limit = "4 gigs"\n' + INSTANCE, "memory_limit must be a size"),
        ("time_limit = 5\nthreads = [0]\n" + INSTANCE, "threads must be a list of integers"),
        ("time_limit = 5\nseeds = []\n" + INSTANCE, "seeds must be a list of integers"),
        ("time_limit = 5\nsolvers = 'cbc'\n" + INSTANCE, "solvers must be a list of names, or of tables"),
        ("time_limit = 5\npermutations = 3\n" + INSTANCE, "permutations must be a list of integers, found number"),
        (
            "time_limit = 5\nmethods = 'milp'\n" + INSTANCE,
            "methods must be a list of names, found text",
        ),
        ("time_limit = 5\nparallel = 0\n" + INSTANCE, "parallel must be at least 1"),
        ('time_limit = 5\nplugins = ["none.py"]\n' + INSTANCE, "plugins: no such file"),
        ("time_limit = 5\n[[instances]]\nname = 'a'", "needs exactly one of model, mps, generate"),
        ("time_limit = 5\n[[instances]]\nmodel = 'none*.toml'", "there is no file none*.toml"),
        ("time_limit = 5\n[[instances]]\nmps = 'study.toml'", "is not called .mps"),
        ("time_limit = 5\n[[instances]]\ngenerate = 'planted'", "generate: unknown value"),
        ("time_limit = 5\n[[instances]]\ngenerate = 'planted_k'\nsizes = [-4]", "must be at least"),
        ("time_limit = 5\n[[instances]]\ngenerate = 'planted_k'\nseeds = ['a']", "seeds must be a list of integers"),
        ("time_limit = 5\n[[instances]]\ngenerate = 'planted_k'\nknown = { optimum = 3 }", "does not go with generate"),
        (
            "time_limit = 5\n[[instances]]\nmps = '*.mps'\nknown = { optimum = 3 }",
            "stands for 2; say it of each by its name",
        ),
        ("time_limit = 5\n[[instances]]\nmps = '*.mps'\nknown = { c = { optimum = 3 } }", 'called "c"; there are a, b'),
        ("time_limit = 5\n[[instances]]\nmps = 'a.mps'\nknown = { optimal = 3 }", 'did you mean "optimum"'),
        (
            "time_limit = 5\n[[instances]]\nmps = 'a.mps'\nknown = { optimum = 3, infeasible = true }",
            "exclude each other",
        ),
        ("time_limit = 5\n" + STATED.replace("vary", "known = { optimum = 12 }\nvary"), "stands for 4"),
        ("time_limit = 5\n" + STATED.replace('name = "pairs"', ""), "needs a name"),
        ("time_limit = 5\n" + STATED.replace("[2, 3]", "2"), "needs a list of values"),
        ("time_limit = 5\n" + STATED + STATED.replace("rows = 8", "rows = 9"), "two instances are called"),
        ("time_limit = 5\n" + STATED.replace('"privacy.k"', '"privacy.kk"'), 'unknown key "kk" in [privacy]'),
        ("time_limit = 5\n" + STATED.replace("random_table", "random_tabel"), "generator: unknown value"),
        ("time_limit = 5\n" + INSTANCE + "time_limit = 0", "must be a positive number"),
        ("time_limit = 5\n" + INSTANCE + 'solvers = ["higs"]', 'did you mean "highs"'),
        ("time_limit = 5\nmethods = ['milp']\n[[instances]]\nmps = 'a.mps'", "a model without a table"),
        ("time_limit = ", "not a TOML file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    for name in "ab":
        (tmp_path / f"{name}.mps").write_text("NAME a\nROWS\n N obj\nCOLUMNS\nENDATA\n")
    path = study_of(tmp_path, text)
    with pytest.raises(InputError) as caught:
        plan(read_study(path))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    done = run("bench", path, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "out").exists()


def test_runs_are_all_combinations_that_make_a_difference(tmp_path: Path) -> None:
    text = """
time_limit = 5
solvers = ["highs", { name = "cbc", options = { preprocess = "off" } }]
formulations = ["strong", "textbook"]
methods = ["solver", "milp", "greedy"]
permutations = [0, 1]
seeds = [0, 1]
"""
    runs = plan(read_study(study_of(tmp_path, text + STATED)))
    assert len({run.run for run in runs}) == len(runs) == 4 * (2 * 2 * 2 * 2 * 2 + 2)
    assert {run.instance for run in runs} == {f"pairs,k={k},seed={s}" for k in (2, 3) for s in (0, 1)}
    assert {(run.solver, run.formulation, run.permutation) for run in runs if run.method == "greedy"} == {
        ("none", "", 0)
    }
    assert {run.known for run in runs} == {None}
    known = 'known = { "pairs,k=2,seed=1" = { optimum = -12 }, "pairs,k=3,seed=0" = { infeasible = true } }\nvary'
    runs = plan(read_study(study_of(tmp_path, text + STATED.replace("vary", known))))
    assert {(run.instance, run.known) for run in runs} == {
        ("pairs,k=2,seed=0", None),
        ("pairs,k=2,seed=1", "-12"),
        ("pairs,k=3,seed=0", "infeasible"),
        ("pairs,k=3,seed=1", None),
    }


def test_a_run_is_known_by_what_it_is(tmp_path: Path) -> None:
    """Wherever the study and its files are, and whatever they are called; but not where their content differs."""
    model = (LIBRARY / "full_product.toml").read_text()

    def identities(folder: str, content: str, limit: int = 5) -> list[str]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "model.toml").write_text(content)
        text = f'name = "{folder}"\ntime_limit = {limit}\n[[instances]]\nmodel = "model.toml"'
        return [run.run for run in plan(read_study(study_of(tmp_path / folder, text)))]

    first = identities("a", model)
    assert first == identities("b", model)
    assert first != identities("c", model + "\n# another")
    assert first != identities("d", model, limit=6)


@pytest.mark.parametrize(
    "path",
    [
        # half a minute of generating its largest instances
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem == "ladders" else [])
        for path in STUDIES
    ],
)
def test_the_studies_of_the_repository_can_be_read(path: Path, request: pytest.FixtureRequest) -> None:
    """Each with a page on what it shows, that names the command."""
    if "$KANON_MILP_DATA" in path.read_text():
        request.getfixturevalue("data_folder")
    study = read_study(path)
    assert study.name == path.stem
    assert study.title
    assert plan(study)
    page = path.with_suffix(".md").read_text()
    assert page.startswith("# ")
    assert f"kanon-milp bench benchmarks/studies/{path.name}" in page


def test_a_system_without_means_to_watch_runs_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "waitid")
    outcome = run("bench", str(ROOT / "benchmarks" / "studies" / "smoke.toml"), "--out", str(tmp_path / "out"))
    assert outcome.returncode == 2
    assert "Linux" in outcome.stderr
    assert not (tmp_path / "out").exists()
