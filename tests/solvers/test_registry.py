"""Which solvers there are and where they are found: those of the package, and one from outside, registered in a
script or brought by another package's entry point."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lying import Here
from solver_cases import INF, among, market_split, random_start

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers import (
    Availability,
    Capability,
    LinearModel,
    Progress,
    RawResult,
    SolverAdapter,
    SolverCall,
    SolverOptions,
    StopReason,
    highs,
)
from kanon_milp.solvers import canaries as birds
from kanon_milp.solvers import cbc as cbc_module
from kanon_milp.solvers.call import Recorder, Watch
from kanon_milp.solvers.cbc import LogReader, printed_range

# what somebody writes who knows only the public names; all that is known of the solver stands here, and nowhere else
ADAPTER = '''
import scipy.optimize as so

import kanon_milp as km
from kanon_milp.solvers import Capability, RawResult, Setting, SolverAdapter, StopReason


class SciPy(SolverAdapter):
    """The MILP function of SciPy, without starts, threads or interruption."""

    name, title = "scipy", "SciPy"
    aliases = ("sp",)
    module = "scipy"
    oldest = (1, 9)
    needs = "install scipy 1.9 or newer"
    capabilities = frozenset({Capability.CONTINUOUS, Capability.BOUND, Capability.NODE_LIMIT})
    option_names = {"gap": "mip_rel_gap", "node_limit": "node_limit"}
    always = {"presolve": False}
    settings = {Setting.MIXED: {"presolve": False}}
    alternatives = ({"presolve": True}, {"presolve": False})
    calls = []

    def run(self, model, call):
        options = self.own_options(call.options)
        for name in options:
            if name not in ("mip_rel_gap", "node_limit", "presolve"):
                raise km.InputError(f"SciPy has no option {name!r}")
        self.calls.append(options)
        if call.seconds_left is not None:
            options["time_limit"] = call.seconds_left
        rows = so.LinearConstraint(model.A, model.constraint_lower, model.constraint_upper)
        bounds = so.Bounds(model.lower, model.upper)
        found = so.milp(model.c, integrality=model.integer, bounds=bounds, constraints=rows, options=options)
        reasons = {0: StopReason.OPTIMAL, 1: StopReason.TIME_LIMIT, 2: StopReason.INFEASIBLE, 3: StopReason.UNBOUNDED}
        reason = reasons.get(found.status)  # None: it cannot tell
        bound = found.mip_dual_bound if model.integer.any() else found.fun
        return RawResult(reason, found.x, None if bound is None else bound + model.offset)
'''

SCRIPT = """
import json
import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.solvers import canaries

km.register_solver(SciPy())
table = km.Table.from_frame({frame}, ["zip", "age"])
problem = km.Problem(table, km.KAnonymity(2))


def refusal(*arguments, **more):
    try:
        km.solve(*arguments, **more)
    except km.InputError as error:
        return str(error)


result = km.solve(problem, "scipy").require_optimal()
impossible = km.solve(km.Problem(table, km.KAnonymity(3), max_groups=2, cost_bound=5), "scipy")
ways = {"method": ["milp", "search", "auto"], "formulation": ["strong", "textbook", "groups"]}
print(json.dumps({
    "objective": result.objective,
    "version": result.solver.version,
    "backed by": result.backed_by,
    "without presolve first, with it again": [each["presolve"] for each in SciPy.calls[:2]],
    "impossible": impossible.proof,
    "ways": [km.solve(problem, "scipy", **{way: name}).objective for way, names in ways.items() for name in names],
    "limited": km.solve(problem, "scipy", node_limit=10_000).objective,
    "unknown option": refusal(problem, "scipy", solver_options={"colour": 1}),
    "another name": refusal(problem, "sp"),
    "canaries": canaries.check(solvers.get("scipy")),
    "listed": "scipy" in solvers.names() and any(each.name == "scipy" for each in canaries.diagnose()),
}))
"""
FRAME = '__import__("polars").DataFrame({"zip": ["1", "1", "2", "2", "3"], "age": ["a", "b", "a", "b", "b"]})'


def python(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), str(Path(km.__file__).parent.parent)])
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False, env=env, cwd=folder
    )


@pytest.mark.processes
def test_a_script_registers_an_adapter_and_solves(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ADAPTER + SCRIPT.replace("{frame}", FRAME))
    done = python(["script.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    by_default = km.solve(km.Problem(km.Table.from_frame(eval(FRAME), ["zip", "age"]), km.KAnonymity(2)))
    optimum = by_default.require_optimal().objective
    assert said.pop("version") == importlib.metadata.version("scipy")
    assert said.pop("unknown option") == "SciPy has no option 'colour'"
    assert 'did you mean "scipy"?' in said.pop("another name")
    assert said == {
        "objective": optimum,
        "backed by": ["solver", "second look"],
        "without presolve first, with it again": [False, True],
        "impossible": "infeasible",
        "ways": [optimum] * 6,
        "limited": optimum,
        "canaries": [],
        "listed": True,
    }


def test_a_solver_is_named_in_its_adapter_alone() -> None:
    """So a new one is its file, and a line in the registry."""
    package, names = Path(km.__file__).parent, ("highs", "cbc", "scip", "cpsat")
    naming: dict[object, set[str]] = {name: set() for name in names}
    for path in package.rglob("*.py"):
        text = path.read_text()
        if any(name in text for name in names):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Constant) and node.value in names:
                    naming[node.value].add(path.relative_to(package).as_posix())
    for name in names:
        assert naming[name] - {"solvers/pulp_any.py"} == {f"solvers/{name}.py"}  # PuLP reaches the same solvers


JOURNEY = """
import json
import subprocess
import sys

import pyomo.environ as pyo

import kanon_milp as km

km.register_solver(SciPy)
table = km.Table.from_frame({frame}, ["zip", "age"])
problem = km.Problem(table, km.KAnonymity(2))
model = km.build_model(problem)
model.one = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) == 1)
solved = km.solve_model(problem, model, "scipy").require_optimal()
km.export_model(problem, "model.lp", model=model)
cbc = [sys.argv[1], "-import", "model.lp", "-solve", "-solution", "model.sol"]
subprocess.run(cbc, check=True, capture_output=True)
back = km.import_solution(problem, "model.sol", model=model)
print(json.dumps([solved.objective, back.objective, back.verified, back.report.groups, back.solver.name]))
"""


@pytest.mark.processes
def test_a_constraint_added_in_a_script_is_solved_exported_and_brought_back(tmp_path: Path) -> None:
    """By an adapter of the script's own, and by the executable of another solver."""
    (tmp_path / "script.py").write_text(ADAPTER + JOURNEY.replace("{frame}", FRAME))
    done = python(["script.py", solvers.get("cbc").location()], tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [10, 10, True, 1, "import:CBC"]  # all rows in one group: all ten cells


def install(folder: Path, points: dict[str, str]) -> None:
    """A package as pip would have left it: a module, and metadata with its entry points."""
    (folder / "scipy_solver.py").write_text(ADAPTER)
    info = folder / "scipy_solver-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scipy-solver\nVersion: 1.0\n")
    lines = "".join(f"{name} = {target}\n" for name, target in points.items())
    (info / "entry_points.txt").write_text(f"[kanon_milp.solvers]\n{lines}")


@pytest.mark.processes
def test_an_installed_package_brings_a_solver_by_its_entry_point(tmp_path: Path) -> None:
    install(tmp_path, {"scipy": "scipy_solver:SciPy", "broken": "scipy_solver:Nothing", "other": "scipy_solver:SciPy"})
    (tmp_path / "t.csv").write_text("zip,age\n1,a\n1,b\n2,a\n2,b\n3,b\n")
    solve = ["-m", "kanon_milp", "solve", "--data", "t.csv", "--qi", "zip,age", "--k", "2", "--json"]
    done = python([*solve, "--solver", "scipy"], tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["solver"]["name"], result["proof"]) == ("scipy", "optimal")
    done = python(["-m", "kanon_milp", "doctor", "--json"], tmp_path)
    assert done.returncode == 0, done.stderr
    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert found["scipy"]["version"]
    assert found["scipy"]["availability"] == "available"
    assert "cannot be loaded" in found["broken"]["problems"][0]
    assert "calls itself" in found["other"]["problems"][0]


class Answering(Here):
    """Says what it is told to say; a solver that nobody should trust."""

    name = "answering"
    title = "Answering"
    needs = "build it"
    capabilities = frozenset({Capability.CONTINUOUS})

    def __init__(self, answer: RawResult | Exception, availability: Availability = Availability.AVAILABLE) -> None:
        self._answer, self._availability = answer, availability
        self.calls: list[SolverCall] = []

    def availability(self) -> Availability:
        return self._availability

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        self.calls.append(call)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    from kanon_milp.solvers.registry import SOLVERS

    before = dict(SOLVERS)
    yield
    SOLVERS.clear()
    SOLVERS.update(before)


@pytest.fixture
def problem() -> km.Problem:
    return km.Problem(km.Table.from_frame(eval(FRAME), ["zip", "age"]), km.KAnonymity(2))


def test_what_an_adapter_says_is_checked_and_no_proof_by_itself(problem: km.Problem) -> None:
    """It says infeasible, of a problem that has a solution: nobody believes it."""
    liar = Answering(RawResult(StopReason.INFEASIBLE, None, None))
    km.register_solver(liar)
    result = km.solve(problem, "answering")
    assert liar.calls
    assert result.proof != "infeasible"
    assert result.verified


def test_what_is_wrong_with_an_adapter_is_said_once(problem: km.Problem) -> None:
    km.register_solver(Answering(ZeroDivisionError("division by zero")))
    with pytest.raises(km.SolverError, match="Answering failed: ZeroDivisionError: division by zero"):
        km.solve(problem, "answering")
    km.register_solver(Answering(RawResult(None, None, None), Availability.NOT_FOUND))  # takes the place of the first
    with pytest.raises(km.InputError, match='"answering" cannot be used: not found'):
        km.solve(problem, "answering")
    with pytest.raises(km.SolverError, match="Answering cannot be used: not found; build it"):
        solvers.get("answering").solve(solvers.LinearModel, solvers.SolverOptions())  # type: ignore[arg-type]
    km.register_solver(Answering(RawResult(None, None, None)))
    with pytest.raises(km.InputError, match="Answering takes no node limit"):
        km.solve(problem, "answering", node_limit=3)


class Nameless(Answering):
    name = "no name at all"


class Tuples(Answering):
    name = "tuples"
    capabilities = (Capability.START,)  # type: ignore[assignment]


class Taken(Answering):
    name = "highs"


class Idle(Here):
    name = "idle"


class Nowhere(SolverAdapter):
    name = "nowhere"
    capabilities = frozenset()


NONE = RawResult(None, None, None)


@pytest.mark.parametrize(
    ("adapter", "said"),
    [
        (3, "an adapter, of a class derived from kanon_milp.SolverAdapter, is expected"),
        ("scipy", "an adapter, of a class derived from kanon_milp.SolverAdapter, is expected"),
        (SolverAdapter, "needs a name"),
        (Nowhere, "needs module"),
        (Answering, "no object of the class can be made"),
        (Nameless(NONE), "needs a name"),
        (Tuples(NONE), "needs capabilities"),
        (Taken(NONE), "is built in"),
        (Idle, "needs a method run"),
    ],
)
def test_what_is_no_adapter_is_not_registered(adapter: object, said: str) -> None:
    before = solvers.names()
    with pytest.raises(km.InputError, match=said):
        km.register_solver(adapter)  # type: ignore[arg-type]
    assert solvers.names() == before


def test_progress_and_interruption_reach_an_adapter(problem: km.Problem) -> None:
    import threading

    stop = threading.Event()
    stop.set()
    adapter = Answering(NONE)
    model = solvers.canaries.knapsack().model
    result = adapter.solve(model, solvers.SolverOptions(), interrupt=stop)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert not adapter.calls  # it was not even begun
    start = [1.0, 1.0, 0.0]
    adapter = Answering(RawResult(StopReason.TIME_LIMIT, None, None))
    result = adapter.solve(model, solvers.SolverOptions(time_limit=9), start=dict(enumerate(start)))
    assert result.objective == 91  # the start, where the solver has found nothing
    (call,) = adapter.calls
    assert call.point is not None
    assert call.point.tolist() == start
    assert call.seconds_left is not None
    assert 8 < call.seconds_left <= 9


def test_registry_knows_its_names_and_suggests_the_nearest() -> None:
    assert solvers.names()[:4] == ["highs", "cbc", "scip", "cpsat"]
    assert "pulp:PULP_CBC_CMD" in solvers.names()
    with pytest.raises(InputError, match=r'did you mean "highs"\?.*cbc'):
        solvers.get("higs")
    with pytest.raises(InputError, match="pulp:GLPK_CMD"):
        solvers.get("pulp:GLPK")
    with pytest.raises(InputError, match="executable"):
        solvers.get("highs", executable="/bin/true")


def test_cbc_is_found_by_path_then_cbcbox_then_pulp(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    elsewhere = solvers.get("cbc").location()
    assert elsewhere in (cbc_module._in_cbcbox(), cbc_module._in_pulp())
    monkeypatch.setitem(sys.modules, "cbcbox", None)
    assert solvers.get("cbc").location() == cbc_module._in_pulp() != ""
    own = tmp_path / "cbc"
    own.write_text("#!/bin/sh\necho nothing\n")
    own.chmod(0o755)
    assert solvers.get("cbc").location() == str(own)
    assert solvers.get("cbc").availability() is Availability.BROKEN
    assert solvers.get("cbc", executable=tmp_path / "none").availability() is Availability.NOT_FOUND
    with pytest.raises(SolverError, match="does not run"):
        solvers.get("cbc").solve(birds.knapsack().model, SolverOptions())


def test_old_or_missing_highs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "_version", lambda _: "1.14.0")  # which returns wrong optima
    adapter = solvers.get("highs")
    assert adapter.availability() is Availability.TOO_OLD
    with pytest.raises(SolverError, match="too old"):
        adapter.solve(birds.knapsack().model, SolverOptions())
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert adapter.availability() is Availability.NOT_FOUND
    assert (adapter.version(), adapter.location()) == ("", "")


@pytest.mark.parametrize("log", [None, "log"])
def test_what_the_file_of_a_newer_cbc_calls_unknown_is_known_from_its_log(
    log: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cbc_module._in_cbcbox()
    if not found:
        pytest.skip("cbcbox is not installed")
    monkeypatch.setenv("PATH", str(Path(found).parent), prepend=os.pathsep)
    options = SolverOptions(log_file=None if log is None else tmp_path / log)
    # x <= -5 and 0 <= y <= 1, so x - y >= 0 has no point
    model = birds.small_model("no point", (1, -2), [(0, (1, -1), INF)], [(-INF, -5), (0, 1)], (False, False))
    answer = solvers.get("pulp:COIN_CMD").solve(model, options)
    assert answer.stop_reason is StopReason.INFEASIBLE
    assert log is None or "infeasibility proved" in (tmp_path / log).read_text()


def test_unavailable_solver_of_pulp_says_so() -> None:
    missing = (solvers.get(name) for name in solvers.names() if name.startswith("pulp:"))
    adapter = next(candidate for candidate in missing if not candidate.availability())
    assert adapter.availability() is Availability.NOT_FOUND
    with pytest.raises(SolverError, match="cannot be used: not found; PuLP finds it only with"):
        adapter.solve(birds.knapsack().model, SolverOptions())


@pytest.mark.parametrize(
    ("text", "low"),
    [
        ("9", 8.9995),
        ("30952.949", 30952.9485),
        ("30952.9", 30952.85),
        ("1.23457e+06", 1234565),
        ("0.000", -0.0005),
    ],
)
def test_printed_bounds_are_rounded_down(text: Any, low: Any) -> None:
    assert printed_range(text)[0] == pytest.approx(low, abs=1e-9)
    assert sum(printed_range(text)) / 2 == pytest.approx(float(text))


def test_log_of_both_generations_of_cbc_is_read() -> None:
    seen: list[Progress] = []
    recorder = Recorder(seen.append)
    log = LogReader(100.0, recorder.note, None)
    for line in (
        "Cbc0012I Integer solution of 36 found by a dive after 0 iterations and 0 nodes (0.02 seconds)",
        "Cbc0010I After 1000 nodes, 590 on tree, 27 best solution, best possible 4.25 (0.31 seconds)",
        "Cbc0010I After 0 nodes, 1 on tree, 1e+50 best solution, best possible 4.25 (0.31 seconds)",
        " ★    7471     1785     20              25 strong branching                5.5   78.00%     0.220",
        "     72144    11503     23              24                         5.5   76.0%     0.850",
        "Lower bound:                    7.125",
    ):
        log.feed(line.encode() + b"\r\n")
    log.close()
    recorder.report(now=True)
    assert seen[-1].incumbent == 124.0
    assert seen[-1].bound == pytest.approx(107.1245)
    assert log.final_range == pytest.approx((107.1245, 107.1255))


def test_a_solver_that_overruns_its_time_limit_is_stopped() -> None:
    watch = Watch(Recorder(None), None)
    began = time.perf_counter()
    assert not watch.wait(threading.Event(), 0.2, seconds=0.1)
    assert watch.late
    assert 0.4 <= time.perf_counter() - began < 5


@among("cbc of pulp", "cbc of cbcbox")
def test_seed_reaches_cbc_and_zero_is_a_seed(adapter: Any, tmp_path: Any) -> None:
    for seed in (0, 2**31 - 1):
        log = tmp_path / f"{seed}.log"
        adapter.solve(birds.knapsack().model, SolverOptions(seed=seed, log_file=log))
        # CBC draws a seed of its own when it is given 0
        assert "-randomCbcSeed 1 " in log.read_text(encoding="utf-8")


def test_no_executable_of_cbc_is_left_running_or_folder_left_behind(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    event = threading.Event()
    threading.Timer(0.5, event.set).start()
    solvers.get("cbc").solve(market_split(), SolverOptions(time_limit=30), interrupt=event)
    solvers.get("cbc").solve(birds.infeasible_integers().model, SolverOptions())
    assert list(tmp_path.iterdir()) == []


def test_cbc_that_does_not_react_is_killed_and_the_start_survives(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn = tmp_path / "cbc"
    stubborn.write_text("#!/bin/sh\ntrap '' INT\necho 'Version: 9.9'\n[ $1 = -quit ] || exec sleep 60\n")
    stubborn.chmod(0o755)
    monkeypatch.setattr(cbc_module, "_PATIENCE", 0.5)
    monkeypatch.setattr(cbc_module, "_OVERTIME", 0.5)
    adapter = solvers.get("cbc", executable=stubborn)
    began = time.perf_counter()
    result = adapter.solve(market_split(), SolverOptions(time_limit=0.2), start=random_start())
    assert time.perf_counter() - began < 5
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.objective == pytest.approx(market_split().value(random_start()))
