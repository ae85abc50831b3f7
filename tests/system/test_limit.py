"""The time limit holds in every phase, a table is always kept, and what is said of it is true."""

from __future__ import annotations

import gc
import math
import sys
import threading
import time
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import python
from effort import examples
from present import present
from strategies import reduced

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.heuristics.greedy import greedy, suppress_all
from kanon_milp.presolve import resources
from kanon_milp.system import processes
from kanon_milp.system.limit import Limit, Over

GRACE = 5.0  # seconds that a run may take beyond its limit, and 5 % of it


def problem(rows: int, columns: int, values: int, *more: km.Requirement, k: int = 3, seed: int = 0) -> km.Problem:
    cells = np.random.default_rng(seed).integers(values, size=(rows, columns + 1)).astype(str)
    names = [f"q{j}" for j in range(columns)]
    frame = pl.DataFrame(cells, schema=[*names, "s"], orient="row")
    return km.Problem(km.Table.from_frame(frame, names, "s"), [km.KAnonymity(k), *more])


def check_table(asked: km.Problem, result: km.Result, k: int = 3) -> None:
    """By counting: groups have k rows, and as many cells are suppressed as is said."""
    names = list(asked.table.quasi_identifiers)
    released = present(result.table).select(names)
    assert released.group_by(names).len()["len"].min() >= k
    assert (released == "*").sum().sum_horizontal().item() == result.objective
    assert exit_code(result) in (0, 4)


@pytest.mark.parametrize(
    ("asked", "limit", "options"),
    [
        (problem(400, 20, 3), 2.0, {}),  # a million patterns are not enumerated
        (problem(3_000, 14, 3), 2.0, {}),  # enumerated, but not reduced or searched in time
        (problem(1_500, 8, 4, km.LDiversity(2)), 2.0, {}),  # not declared in time
        (problem(1_500, 8, 4), 2.0, {"method": "milp", "formulation": "textbook"}),
        (problem(1_500, 8, 4), 0.001, {}),
        (problem(1_500, 8, 4, km.LDiversity(2)), 0.001, {"method": "milp"}),
    ],
)
def test_no_phase_exceeds_the_limit_and_a_table_is_kept(
    asked: km.Problem, limit: float, options: dict[str, Any]
) -> None:
    runs, seconds = 0, math.inf
    while seconds > 1.05 * limit + GRACE and runs < 3:  # a machine that is busy may be late now and then
        began = time.perf_counter()
        result = km.solve(asked, time_limit=limit, **options)
        seconds, runs = time.perf_counter() - began, runs + 1
    assert seconds <= 1.05 * limit + GRACE
    check_table(asked, result)
    assert result.bound is None or result.bound <= present(result.objective)


@pytest.mark.slow
def test_a_wrong_estimate_does_not_make_it_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is begun because it was thought to be quick is ended as well."""
    monkeypatch.setattr(resources, "PAIR_SECONDS", 0.0)
    monkeypatch.setattr(resources, "VECTOR_SECONDS", 1e-12)
    monkeypatch.setattr(resources, "COVER_SECONDS", 0.0)
    stages: list[str] = []
    for asked, limit in ((problem(2_500, 9, 4, km.LDiversity(2)), 4.0), (problem(3_000, 15, 3), 2.0)):
        began = time.perf_counter()
        result = km.solve(asked, time_limit=limit, method="auto", on_stage=stages.append)
        assert time.perf_counter() - began <= 1.05 * limit + GRACE
        check_table(asked, result)
        assert result.stop_reason == "time_limit"


def test_some_candidates_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of some of the patterns says so, with a bound that needs none; the optimum is between the two."""
    asked = problem(30, 5, 2)
    best = km.solve(asked).require_optimal()
    monkeypatch.setattr(resources, "available_bytes", lambda: 5_000)
    some = km.solve(asked)
    check_table(asked, some)
    assert (some.stop_reason, some.proof) == ("error", "bound")
    assert "Not enough memory to examine all 32 patterns; this table uses" in some.message
    assert present(some.objective) >= present(best.objective) >= present(some.bound) > 0


def test_sensitive_values_take_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fits for sizes of groups alone need not fit beside the arrays of values; a table is found all the same."""
    monkeypatch.setattr(resources, "available_bytes", lambda: 3_200)
    assert resources.vectors_in_memory(10) > 3.2 > resources.vectors_in_memory(10, valued=True) > 1
    asked = problem(30, 5, 2, km.LDiversity(1))
    some = km.solve(asked)
    check_table(asked, some)
    assert "Not enough memory to examine all 32 patterns" in some.message


@pytest.mark.parametrize("method", ["greedy", "mondrian", "mondrian_relaxed", "m_approximation", "full_domain"])
def test_methods_without_candidates_lack_none(method: str) -> None:
    """At a limit that is over at once they end with a table, and never say that candidates were too many."""
    asked = problem(200, 5, 3)
    result = km.solve(asked, method=method, time_limit=1e-6)
    check_table(asked, result)
    assert result.stop_reason == "time_limit"
    assert "candidates" not in result.message
    if method in ("greedy", "mondrian", "mondrian_relaxed"):
        assert "the limit was reached before" in result.message


def test_one_pattern_needs_no_time() -> None:
    names = ["a", "b"]
    frame = pl.DataFrame({"a": ["1", "1", "2", "2"], "b": ["1", "2", "1", "2"]})
    mask = km.PatternMask([["*", "*"]])
    asked = km.Problem(km.Table.from_frame(frame, names), [km.KAnonymity(2)], mask)
    assert km.solve(asked, method="milp", time_limit=1e-6).require_optimal().message == ""


@pytest.mark.parametrize("step", ["candidates", "reduce", "bound", "build", "handover"])
def test_an_interruption_is_heard_in_every_phase(step: str, capfd: pytest.CaptureFixture[str]) -> None:
    stop, asked_at = threading.Event(), []

    def ask() -> None:
        asked_at.append(time.perf_counter())
        stop.set()

    def stage(name: str) -> None:
        if name == step:
            threading.Timer(0.1, ask).start()

    rows = 120 if step in ("build", "handover") else 2_500  # these come after bounds that take a minute
    asked = problem(rows, 8, 4, km.LDiversity(2))
    result = km.solve(asked, interrupt=stop, on_stage=stage)
    assert time.perf_counter() - asked_at[0] < 10
    assert result.stop_reason == "interrupted"
    check_table(asked, result)
    assert capfd.readouterr().err == "", "nobody else may report it"


def test_greedy_stops_at_its_limit_and_places_every_row() -> None:
    for seed in range(5):
        asked = problem(60, 5, 3, km.LDiversity(2), seed=seed)
        instance = reduced(asked)
        over = threading.Event()
        over.set()
        at_once, whole, nothing = greedy(instance, Limit(interrupt=over)), greedy(instance), suppress_all(instance)
        assert at_once is not None
        assert whole is not None
        assert nothing is not None
        assert at_once.rows.sum() == whole.rows.sum() == 60
        assert whole.cost <= at_once.cost == nothing.cost


def test_a_column_that_is_the_same_everywhere_does_not_hide_the_table_of_all_rows() -> None:
    """All rows then fit a cheaper candidate than the fully suppressed one, which is dominated."""
    frame = pl.DataFrame({"a": ["x"] * 6, "b": list("112233"), "c": list("123456")})
    asked = km.Problem(km.Table.from_frame(frame, ["a", "b", "c"]), km.KAnonymity(6))
    instance = reduced(asked)
    found = greedy(instance)
    assert found is not None
    assert found.cost * instance.levels.unit == 12


def test_what_is_called_is_ended_and_nothing_afterwards() -> None:
    for _ in range(examples(20, 3)):
        began, limit = time.perf_counter(), Limit(time.perf_counter() + 0.05)
        with pytest.raises(Over):
            limit.call(_for_ever)
        assert time.perf_counter() - began < 5
    for _ in range(examples(60, 6)):  # around the very end
        limit = Limit(time.perf_counter() + 0.06)
        try:
            limit.call(time.sleep, 0.0595)
        except Over:
            continue
        sum(range(10_000))
    assert Limit().call(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        Limit(time.perf_counter() + 60).call(divmod, 1, 0)


def test_a_debugger_works_after_limited_calls(tmp_path: Path) -> None:
    """An exception that was taken back without another left Python 3.11 with a thread that no tracer could enter."""
    calls = """
import sys, time
from kanon_milp.system.limit import Limit, Over
def for_ever():
    while True: pass
for seconds, function in ((60, int), (0.05, for_ever), (0.06, lambda: time.sleep(0.0595))):
    try: Limit(time.perf_counter() + seconds).call(function)
    except Over: pass
    sys.settrace(lambda *_: None)
    int("1"), (lambda: None)()
    sys.settrace(None)
print("traced")
"""
    assert script(tmp_path, calls).stdout == "traced\n"


def test_an_end_in_the_middle_of_cleaning_up_is_an_end_and_no_error() -> None:
    """As of a context manager of Pyomo, which then says that it was left out of order, and collects no garbage."""
    assert gc.isenabled()
    with pytest.raises(Over):
        Limit(time.perf_counter() + 0.05).call(_out_of_order)
    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="out of order"):  # an error of its own stays one
        Limit(time.perf_counter() + 60).call(_out_of_order, 0)


def _out_of_order(times: int = 10**9) -> None:
    if times:
        gc.disable()
    try:
        for _ in range(times):
            sum(range(100))
    finally:
        raise RuntimeError("out of order")


def _for_ever() -> None:
    while True:
        try:
            sum(range(100))
        except Exception:  # no error stops it
            continue


SCRIPT = """
import multiprocessing, sys
import polars as pl
import kanon_milp as km

frame = pl.DataFrame({"a": ["1", "1", "2", "2", "3"], "b": ["1", "2", "2", "2", "2"]})

def work(_):
    return km.solve(km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2))).objective

"""


def script(folder: Path, text: str) -> CompletedProcess[str]:
    path = folder / "script.py"
    path.write_text(SCRIPT + text)
    return python(path, code=None)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="fork")
@pytest.mark.processes
def test_a_forked_process_says_what_to_do_instead_of_hanging(tmp_path: Path) -> None:
    pool = "with multiprocessing.get_context('{}').Pool(1) as pool: print(pool.map(work, [0]))\n"
    main = "if __name__ == '__main__':\n    work(0)\n    "
    both = script(tmp_path, main + pool.format("spawn") + "    " + pool.format("fork"))
    assert (both.returncode, both.stdout) == (1, "[5]\n"), both.stderr
    assert "InputError: this process was forked from one that had used kanon_milp already" in both.stderr
    assert "spawn" in both.stderr
    unused = script(tmp_path, "if __name__ == '__main__':\n    " + pool.format("fork"))
    assert unused.returncode == 0 or "InputError" in unused.stderr


@pytest.mark.parametrize(
    ("lines", "guarded"),
    [
        ("if __name__ == '__main__': main()", True),
        ("if not __name__ != '__main__':\n    pass\nmain()", True),
        ("__name__ == '__main__' and main()", True),
        ("main() if __name__ == '__main__' else None", True),
        ("match __name__:\n    case '__main__': main()", True),
        ("me = __name__\nif me == '__main__': main()", True),
        ("main()", False),
        ("log = logging.getLogger(__name__)\nmain()", False),
        ("if sys.argv: main()", False),
        ("main()\nif __name__ == '__main__': pass", False),
    ],
)
def test_any_question_for_its_name_is_a_guard(
    lines: str, guarded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "script.py"
    file.write_text("import logging, sys\n" + lines)
    module = ModuleType("__main__")
    found: list[bool] = []

    def main() -> None:
        try:
            processes.refuse_unguarded_script()
        except km.InputError:
            found.append(False)
        else:
            found.append(True)

    vars(module).update(__file__=str(file), main=main)
    monkeypatch.setitem(sys.modules, "__main__", module)
    exec(compile(file.read_text(), file, "exec"), vars(module))
    assert found == [guarded]


@pytest.mark.processes
def test_a_script_without_a_guard_gets_one_error(tmp_path: Path) -> None:
    search = (
        "result = km.solve(km.Problem(km.Table.from_frame(frame, ['a', 'b']), km.KAnonymity(2)), "
        "method='search', threads=2, time_limit=20)\nprint(result.verified)\n"
    )
    bare = script(tmp_path, search)
    assert bare.returncode == 1
    assert bare.stderr.count("Traceback") == 1
    assert bare.stderr.rstrip().splitlines()[-1].startswith("kanon_milp.errors.InputError: threads above 1")
    guarded = "if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in search.splitlines())
    assert script(tmp_path, guarded).stdout == "True\n"


def test_what_nobody_asked_for_is_not_looked_at_once_the_time_is_over() -> None:
    """Whether a table is a minimal generalization takes longer than all else that the verifier does."""
    asked = problem(30, 3, 2)
    late, done = (km.solve(asked, method="greedy", time_limit=limit) for limit in (1e-6, 60))
    assert (present(late.report).ok, present(late.report).minimal) == (True, None)
    assert present(done.report).minimal is not None
