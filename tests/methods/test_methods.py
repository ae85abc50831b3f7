"""The registry of methods: what it lists, `greedy`, and a user's own method in a script of its own."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from command_line import run

import kanon_milp as km
from kanon_milp.methods import registry
from kanon_milp.methods.approximate import solve_greedy

FRAME = pl.DataFrame({"age": ["1", "1", "2", "2", "2"], "sex": ["f", "m", "f", "f", "m"]})
TABLE = km.Table.from_frame(FRAME, ["age", "sex"])
PROBLEM = km.Problem(TABLE, km.KAnonymity(2))

OWN = """
import sys
import numpy as np
import polars as pl
import kanon_milp as km
from fractions import Fraction
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.methods import registry

def suppressed(session):
    "All rows in the candidate with the highest cost."
    instance = session.instance
    g = int(instance.candidates.cost.argmax())
    rows = np.where(instance.candidates.candidate_of_pair() == g, instance.types.counts[instance.candidates.members], 0)
    return km.Assignment.from_pairs(instance, rows)

def each_alone(session):
    "Each row type keeps everything: too few rows in a group."
    cheapest = {}
    members, of_pair = session.instance.candidates.members, session.instance.candidates.candidate_of_pair()
    rows = np.zeros(len(members), dtype=np.int64)
    for i in range(session.instance.types.count):
        pairs = np.flatnonzero(members == i)
        rows[pairs[session.instance.candidates.cost[of_pair[pairs]].argmin()]] = session.instance.types.counts[i]
    return km.Assignment.from_pairs(session.instance, rows)

def forged(session):
    "Takes a verified result and puts another table into it."
    from dataclasses import replace
    result = session.finish(suppressed(session))
    return replace(result, table=session.problem.table.frame.to_native())

def cheaper(session):
    "Says that its table costs less than it does."
    from dataclasses import replace
    result = session.finish(suppressed(session))
    return replace(result, exact_objective=Fraction(1), exact_bound=Fraction(1), proof="optimal", stop_reason="optimal")

def large(problem):
    return "" if problem.table.n < 100 else "the table has 100 rows or more"

km.register_method(km.Method("one_group", "all rows alike", lambda s: s.finish(suppressed(s)), large))
km.register_method(km.Method("proud", "says more than it knows", lambda s: s.finish(suppressed(s), bound=Fraction(99))))
km.register_method(km.Method("sure", "says it is best", lambda s: s.finish(s.first, bound=Fraction(6))))
km.register_method(km.Method("lonely", "breaks k", lambda s: s.finish(each_alone(s))))
km.register_method(km.Method("forged", "another table", forged))
km.register_method(km.Method("cheaper", "another objective", cheaper))
km.register_method(km.Method("idle", "finds nothing", lambda s: s.finish(None, message="nothing was tried")))
km.register_method(km.Method("bare", "returns something else", suppressed))
frame = pl.DataFrame({"age": ["1", "1", "2", "2", "2"], "sex": ["f", "m", "f", "f", "m"]})
problem = km.Problem(km.Table.from_frame(frame, ["age", "sex"]), km.KAnonymity(2))
print(registry.names())
for name in sys.argv[1:]:
    result = km.solve(problem, method=name)
    print(exit_code(result), result.proof, result.objective, result.solver.method, result.solver.name, result.backed_by)
    print(result.message)
"""
HONEST, LYING = ("one_group", "idle", "sure"), ("proud", "lonely", "forged", "cheaper")


def own_method(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    script = folder / "own.py"
    script.write_text(OWN)
    return subprocess.run(
        [sys.executable, str(script), *names], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """Of each method: what the script says of its result, and the message."""
    done = own_method(tmp_path_factory.mktemp("own"), *HONEST, *LYING)
    assert done.returncode == 0, done.stderr
    known, *lines = done.stdout.splitlines()
    assert known.startswith("['auto', 'milp', 'search', 'greedy', ")
    assert "'one_group'" in known
    return dict(zip((*HONEST, *LYING), zip(lines[::2], lines[1::2], strict=True), strict=True))


@pytest.mark.processes
def test_a_method_of_ones_own_is_listed_run_and_verified(outcomes: dict[str, tuple[str, str]]) -> None:
    assert outcomes["one_group"][0] == "4 none 10 one_group none ()"
    assert outcomes["idle"] == ("5 none None idle none ()", "nothing was tried")


def test_a_bound_of_ones_own_is_backed_by_that_method_alone(outcomes: dict[str, tuple[str, str]]) -> None:
    assert outcomes["sure"][0] == "0 optimal 6 sure none ('method sure',)"


def test_a_method_that_lies_is_caught(outcomes: dict[str, tuple[str, str]]) -> None:
    said, message = outcomes["proud"]
    assert said == "4 none 10 proud none ()"
    assert "refuted by a verified table" in message
    said, message = outcomes["lonely"]
    assert said.startswith("6 none ")
    assert "the verifier refuses the table" in message
    said, message = outcomes["forged"]
    assert said.startswith("6 none ")
    assert "that the verifier refuses" in message
    said, message = outcomes["cheaper"]
    assert said.startswith("4 none 10 ")
    assert "that the verifier refuses" in message


@pytest.mark.processes
def test_a_method_must_end_its_session(tmp_path: Path) -> None:
    done = own_method(tmp_path, "bare")
    assert done.returncode == 1
    assert (
        "InputError: the method bare returned Assignment; a method ends with session.finish(assignment)" in done.stderr
    )


def test_what_is_registered_must_be_a_method_with_a_name() -> None:
    run_nothing = solve_greedy
    for name in (" ", "a\nb"):
        with pytest.raises(km.InputError, match="printable"):
            km.register_method(km.Method(name, "", run_nothing))
    with pytest.raises(km.InputError, match="run: a function is expected, found text"):
        km.register_method(km.Method("mine", "", "greedy"))  # type: ignore[arg-type]
    with pytest.raises(km.InputError, match="a Method"):
        km.register_method("mine")  # type: ignore[arg-type]
    assert registry.names()[:4] == ["auto", "milp", "search", "greedy"]


BROUGHT = """
import kanon_milp as km

FIRST = km.Method("greedily", "the first table", lambda session: session.finish(session.first))
"""


@pytest.mark.processes
def test_an_installed_package_brings_a_method_by_its_entry_point(tmp_path: Path) -> None:
    (tmp_path / "brought.py").write_text(BROUGHT)
    info = tmp_path / "brought-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kanon_milp.methods]\ngreedily = brought:FIRST\n")
    FRAME.write_csv(tmp_path / "t.csv")
    path = os.pathsep.join([str(tmp_path), str(Path(km.__file__).parent.parent)])

    asked = ["solve", "--data", "t.csv", "--qi", "age,sex", "--k", "2", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "kanon_milp", *asked, "--method", "greedily"],
        capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    found = json.loads(done.stdout)
    assert (found["solver"]["method"], found["verified"]) == ("greedily", True)


def test_an_unknown_method_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(km.InputError, match=r'"gredy" \(did you mean "greedy"\?\).*auto, milp, search, greedy'):
        km.solve(PROBLEM, method="gredy")
    FRAME.write_csv(tmp_path / "t.csv")
    asked = ("solve", "--data", str(tmp_path / "t.csv"), "--qi", "age,sex", "--k", "2")
    done = run(*asked, "--method", "serch")
    assert (done.returncode, done.stdout) == (2, "")
    assert '(did you mean "search"?)' in done.stderr
    model = tmp_path / "m.toml"
    model.write_text(
        '[data]\nfile = "t.csv"\nquasi_identifiers = ["age"]\n[privacy]\nk = 2\n[solver]\nmethod = "mipl"\n'
    )
    done = run("solve", str(model))
    assert (done.returncode, done.stdout) == (2, "")
    assert '[solver] method: unknown value (did you mean "milp"?); one of: auto, milp, search, greedy' in done.stderr


def test_the_command_line_lists_the_methods() -> None:
    help_ = " ".join(run("solve", "--help").stdout.split())
    for method in ("auto (default)", "milp:", "search:", "greedy:"):
        assert method in help_


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"iteration_limit": 5}, "an iteration limit is for the method search"),
        ({"node_limit": 5}, "a node limit is for the method milp or search"),
        ({"formulation": "textbook"}, "another formulation is for the method milp"),
        ({"solver": "cbc"}, "another solver is for the method milp or search"),
        ({"dask": "tcp://127.0.0.1:1"}, "a Dask cluster is for the method search"),
    ],
)
def test_an_argument_that_greedy_would_ignore_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(km.InputError, match=said):
        km.solve(PROBLEM, method="greedy", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "sides", "said"),
    [
        ("search", {"objective": "min_groups"}, "the objective is min_groups"),
        ("greedy", {"objective": "min_groups"}, "the objective is min_groups"),
        ("greedy", {"max_groups": 3}, "there are side constraints"),
        ("greedy", {"cost_bound": 3}, "there are side constraints"),
    ],
)
def test_a_method_says_why_a_problem_is_not_for_it(method: str, sides: dict[str, object], said: str) -> None:
    problem = km.Problem(TABLE, km.KAnonymity(2), **sides)  # type: ignore[arg-type]
    with pytest.raises(km.InputError, match=f"the method {method} is not for this problem: {said}"):
        km.solve(problem, method=method)


def test_a_table_without_candidates_is_not_said_to_have_one(tmp_path: Path) -> None:
    """Where the candidates could not be enumerated in time, groups are of none of them."""
    draw = random.Random(1)
    rows = [{f"c{j}": draw.randrange(40) for j in range(12)} for _ in range(400)]
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    qi = ",".join(rows[0])
    done = run("solve", "--data", str(tmp_path / "t.csv"), "--qi", qi, "--k", "2", "--time-limit", "0.000001")
    assert done.returncode == 4, done.stderr
    assert "no model was solved" in done.stdout
    assert "of 1 candidates" not in done.stdout


def test_greedy_on_the_command_line(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "t.csv")
    asked = ("solve", "--data", str(tmp_path / "t.csv"), "--qi", "age,sex", "--k", "2", "--method", "greedy")
    done = run(*asked, "--out", str(tmp_path / "out"))
    assert done.returncode == 4, done.stderr
    assert "no model was solved" in done.stdout
    assert "none (method greedy)" in done.stdout
    assert "nothing proven (finished)" in done.stdout
    written = json.loads((tmp_path / "out" / "result.json").read_text())
    assert written["solver"]["method"] == "greedy"
    assert (written["stop_reason"], written["proof"], written["bound"]) == ("finished", "none", None)
    assert (tmp_path / "out" / "anonymized.csv").is_file()
