"""Two methods side by side: the first proof is the result; where there is none, what both know is put together."""

from __future__ import annotations

import concurrent.futures as cf
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import odd_jobs
import pytest
from census import Q8, census, census_problem
from present import present

import kanon_milp as km
from kanon_milp.methods import hybrid, portfolio
from kanon_milp.methods.phases import Estimate, Known, Phase
from kanon_milp.methods.portfolio import FIRST, Answer
from kanon_milp.methods.registry import choose
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit


def masked_problem(rows: int = 200) -> km.Problem:
    """2-diversity under a mask."""
    table = km.Table.from_frame(census(rows), Q8, "disease")
    return km.Problem(table, [km.LDiversity("5/3")], km.PatternMask.random(Q8, 12, 0))


def hybrid_of(patch: pytest.MonkeyPatch, bound: int | None = None) -> None:
    """The hybrid method has its first table, and proves this bound; without one it does nothing until it is told to
    end."""

    class Only(Phase):
        name = "only"
        done = False

        def applies(self, known: Known) -> bool:
            return not self.done

        def estimate(self, known: Known) -> Estimate:
            return Estimate(1.0, 0.5)

        def run(self, known: Known, limit: Limit) -> None:
            self.done = True
            if bound is not None:
                known.tracker.higher(bound, ("own bound",))
            while bound is None and not limit.over:
                time.sleep(0.02)

    patch.setattr(hybrid, "PHASES", (Only,))


@pytest.mark.parametrize("problem", [census_problem(60, 3), masked_problem(80)], ids=["k", "l"])
@pytest.mark.processes
def test_its_optimum_is_that_of_one_model(problem: km.Problem) -> None:
    optimum = km.solve(problem, method="milp").require_optimal().objective
    for threads in (1, 2):
        result = km.solve(problem, method="portfolio", threads=threads, time_limit=300).require_optimal()
        assert result.objective == optimum
        assert result.verified is True
        assert (result.solver.method, result.solver.options.threads, result.solver.threads) == (
            "portfolio",
            threads,
            threads,
        )


@pytest.mark.full
def test_a_proof_of_direct_milp_ends_the_hybrid_method(monkeypatch: pytest.MonkeyPatch) -> None:
    hybrid_of(monkeypatch)
    problem = masked_problem(60)
    result = km.solve(problem, method="portfolio", threads=2, time_limit=120)
    assert result.is_optimal
    assert FIRST in result.message
    assert result.objective == km.solve(problem, method="milp").objective
    assert present(result.seconds)["total"] < 100


@pytest.mark.parametrize(("ours", "theirs"), [(5, 9), (9, 5)])
@pytest.mark.full
def test_at_the_end_the_better_table_and_the_higher_bound_are_the_result(
    monkeypatch: pytest.MonkeyPatch, ours: int, theirs: int
) -> None:
    """Of the hybrid method the first table is at hand; direct MILP has none, or the optimal one."""
    problem = census_problem(60, 3)
    best = km.solve(problem, method="milp").require_optimal()
    for groups in (None, best.placed):
        answer = Answer("time_limit", groups, Fraction(theirs), ("solver",), "")
        monkeypatch.setattr(portfolio, "ProcessPool", lambda _workers, answer=answer: Answered(answer))
        hybrid_of(monkeypatch, ours)
        result = km.solve(problem, method="portfolio", threads=2, time_limit=60)
        assert (result.proof, result.stop_reason, result.bound) == ("bound", "time_limit", 9)
        assert (result.objective == best.objective) == (groups is not None)
        assert result.verified is True
        assert set(result.backed_by) == {"own bound" if ours > theirs else "solver"}


def test_a_bound_above_a_verified_table_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = census_problem(60, 3)
    answer = Answer("optimal", None, Fraction(10**6), ("solver",), "")
    monkeypatch.setattr(portfolio, "ProcessPool", lambda _workers: Answered(answer))
    hybrid_of(monkeypatch, 1)
    result = km.solve(problem, method="portfolio", threads=2, time_limit=60)
    assert (result.proof, result.stop_reason) == ("none", "error")


def test_a_process_that_is_lost_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "_direct", odd_jobs.die)
    hybrid_of(monkeypatch, 3)
    result = km.solve(census_problem(60, 3), method="portfolio", threads=2, time_limit=5)
    assert (result.proof, result.bound, result.verified) == ("bound", 3, True)
    assert "1 worker process was lost (exit code 3)" in result.message


def test_a_table_of_no_candidate_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer("time_limit", None, Fraction(1), ("solver",), "")
    monkeypatch.setattr(portfolio, "ProcessPool", lambda _workers: Answered(answer))
    monkeypatch.setattr(portfolio, "assignment_of_groups", lambda *_: None)
    hybrid_of(monkeypatch, 3)
    result = km.solve(census_problem(60, 3), method="portfolio", threads=2, time_limit=60)
    assert (result.proof, result.bound, result.verified) == ("bound", 3, True)


def test_a_solver_that_fails_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    hybrid_of(monkeypatch, 3)
    options: dict[str, object] = {"nonsense": 1}
    result = km.solve(census_problem(60, 3), method="portfolio", threads=2, time_limit=20, solver_options=options)
    assert (result.proof, result.bound, result.verified) == ("bound", 3, True)
    assert "direct MILP, which ran in the background, failed" in result.message


@pytest.mark.full
def test_what_a_failed_solver_has_proven_before_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer("error", None, Fraction(7), ("solver",), "numeric trouble")
    monkeypatch.setattr(portfolio, "ProcessPool", lambda _workers: Answered(answer))
    hybrid_of(monkeypatch, 3)
    result = km.solve(census_problem(60, 3), method="portfolio", threads=2, time_limit=60)
    assert (result.proof, result.bound, result.verified) == ("bound", 7, True)
    assert "direct MILP, which ran in the background, failed: numeric trouble" in result.message


def test_infeasible_is_refuted_by_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer("infeasible", None, None, ("solver",), "")
    monkeypatch.setattr(portfolio, "ProcessPool", lambda _workers: Answered(answer))
    hybrid_of(monkeypatch, 1)
    result = km.solve(census_problem(60, 3), method="portfolio", threads=2, time_limit=60)
    assert (result.proof, result.stop_reason, result.verified) == ("none", "error", True)
    assert "says infeasible, which this table refutes" in result.message


@pytest.mark.processes
def test_where_no_process_can_begin_auto_does_without(tmp_path: Path) -> None:
    """In a script without a guard, and in one that is read from the input."""
    script = """
import polars as pl, kanon_milp as km
frame = pl.DataFrame([(str(i % 7), str(i % 11), str(i % 13), str(i % 5), str(i % 4)) for i in range(400)],
                     schema=list("abcds"), orient="row")
table = km.Table.from_frame(frame, list("abcd"), "s")
problem = km.Problem(table, [km.LDiversity("5/3")], km.PatternMask.random(list("abcd"), 8, 0))
result = km.solve(problem, threads=2, time_limit=60)
print(result.solver.method, result.verified)
"""
    path = tmp_path / "script.py"
    path.write_text(script)
    for arguments, given in (([str(path)], None), (["-"], script)):
        run = subprocess.run([sys.executable, *arguments], input=given, capture_output=True, text=True, check=True)
        assert run.stdout.split()[-1] == "True"
        assert run.stdout.split()[0] != "portfolio"
        assert "Traceback" not in run.stderr
    run = subprocess.run(
        [sys.executable, "-"],
        input=script.replace("threads=2", 'threads=2, method="search"'),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "one that is read from the input cannot be; write it into a file, or use threads=1" in run.stderr


def test_auto_takes_it_on_two_threads_where_one_model_may_end_in_time() -> None:
    problem = masked_problem(600)
    prepared = presolve(problem, Clock())
    assert choose(prepared, frozenset(), 60.0, 2).name == "portfolio"
    assert choose(prepared, frozenset(), 60.0).name == "milp"
    assert choose(prepared, frozenset(), 0.1, 2).name == "search"
    assert choose(prepared, frozenset(), None, 2).name == "milp"
    assert choose(prepared, frozenset({"node_limit"}), 60.0, 2).name == "milp"
    limited = replace(problem, max_groups=20)
    assert choose(presolve(limited, Clock()), frozenset(), 60.0, 2).name == "milp"


class Answered:
    """A pool whose only process has answered."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def __enter__(self) -> Answered:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, *_: object) -> cf.Future[Answer]:
        """The answer."""
        future: cf.Future[Answer] = cf.Future()
        future.set_result(self.answer)
        return future

    def lost(self, _future: object) -> bool:
        """It is there."""
        return False

    def losses(self) -> str:
        """None."""
        return ""
