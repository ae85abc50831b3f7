"""A solver adapter from outside the package: registered in a script, or brought by another package's entry point."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kanon_milp as km
from kanon_milp import solvers
from kanon_milp.solvers import Availability, Capability, LinearModel, RawResult, SolverAdapter, SolverCall, StopReason

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
impossible = km.solve(km.Problem(table, km.KAnonymity(3), max_groups=2, cost_bound=1), "scipy")
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


REFUSED = """
import json, sys

sys.path.append(sys.argv[1])
from command_line import run

done = {name: run(*sys.argv[2:], "--solver", name) for name in ("broken", "other", "SciPy")}
done["doctor"] = run("doctor", "--json")
print(json.dumps({name: (each.returncode, each.stdout, each.stderr) for name, each in done.items()}))
"""


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
    package = Path(km.__file__).parent
    for name in ("highs", "cbc", "scip", "cpsat"):
        naming = {
            path.relative_to(package).as_posix()
            for path in package.rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and node.value == name
        }
        assert naming - {"solvers/pulp_any.py"} == {f"solvers/{name}.py"}  # PuLP reaches the same solvers


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
    (tmp_path / "refused.py").write_text(REFUSED)
    done = python(["refused.py", str(Path(__file__).parent.parent), *solve[2:]], tmp_path)
    assert done.returncode == 0, done.stderr
    refused = json.loads(done.stdout)
    for name, said in (
        ("broken", "cannot be loaded: AttributeError"),
        ("other", "calls itself 'scipy'"),
        ("SciPy", 'did you mean "scipy"?'),
    ):
        code, _, error = refused[name]
        assert code == 2
        assert said in error
        assert len(error.splitlines()) == 1
    code, said, _ = refused["doctor"]
    assert code == 0
    found = {each["name"]: each for each in json.loads(said)}
    assert found["scipy"]["version"]
    assert found["scipy"]["availability"] == "available"
    assert "cannot be loaded" in found["broken"]["problems"][0]
    assert "calls itself" in found["other"]["problems"][0]


class Answering(SolverAdapter):
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

    def version(self) -> str:
        return "1"

    def location(self) -> str:
        return "here"

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        self.calls.append(call)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.fixture(autouse=True)
def only_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from kanon_milp.solvers import registry

    monkeypatch.setattr(registry, "_registered", {})


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


class Idle(SolverAdapter):
    name = "idle"
    capabilities = frozenset()

    def availability(self) -> Availability:
        return Availability.AVAILABLE

    def version(self) -> str:
        return ""

    def location(self) -> str:
        return ""


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
        (Taken(NONE), "is a solver of this package"),
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
