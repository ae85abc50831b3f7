"""Tables, problems and results come back from a pickle, here and in a process of its own, as they were."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.problem.table import open_frame

FRAME = pl.DataFrame(
    {"age": [21, 24, 29, 33, 38, 52, 57, None], "sex": list("fmfmfmfm"), "illness": list("abababab"), "id": range(8)}
)
KINDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}


def problem_of(frame: Any) -> km.Problem:
    table = km.Table.from_frame(frame, ["age", "sex"], "illness", identifying="id")
    hierarchies = km.Hierarchies({"age": km.Hierarchy.intervals(table.column("age"), [10, 20])}, {"age": "3/2"})
    return km.Problem(table, [km.KAnonymity(2), km.LDiversity("3/2")], hierarchies, name="few")


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_pickled_comes_back(kind: str) -> None:
    problem = problem_of(KINDS[kind](FRAME))
    table = again(problem.table)
    assert repr(table) == repr(problem.table)
    assert table.roles == problem.table.roles
    assert table.keys.equals(problem.table.keys)
    assert type(table.frame.to_native()) is type(problem.table.frame.to_native())

    same = again(problem)
    assert repr(same) == repr(problem)
    assert same.privacy == problem.privacy
    assert same.recoding.hierarchies["age"].paths == problem.recoding.hierarchies["age"].paths

    result = km.solve(problem).require_optimal()
    back = again(result)
    assert back.as_dict() == result.as_dict()
    assert back.groups.tolist() == result.groups.tolist()  # type: ignore[union-attr]
    assert open_frame(back.table, "back")[0].rows() == open_frame(result.table, "released")[0].rows()
    assert km.verify(same, back.table).ok
    assert km.solve(same).objective == result.objective
    assert back.certify().bound <= result.objective


@pytest.mark.processes
def test_problems_go_to_other_processes() -> None:
    problems = [problem_of(FRAME), km.Problem(km.Table.from_frame(FRAME, ["age", "sex", "id"]), km.KAnonymity(4))]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(km.solve, problems))
    assert [each.objective for each in found] == [km.solve(problem).objective for problem in problems]
