"""However it is ended, each method has a verified table, says why, and comes to the same where work is counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import polars as pl
import pytest
from census import Q8, census, census_problem
from present import present

import kanon_milp as km
from kanon_milp.cli.exit_codes import exit_code
from kanon_milp.presolve import preparation

SEARCH = {"method": "search"}
SETS = [km.KAnonymity(5, quasi_identifiers=each) for each in (Q8[:4], Q8[3:6])]


def asking(rows: int, *requirements: km.Requirement) -> km.Problem:
    columns = ["age", "education", "marital-status", "race", "sex"]
    return km.Problem(km.Table.from_frame(census(rows), columns, "occupation"), requirements)


def drawn(rows: int, k: int = 3, **sides: Any) -> km.Problem:
    draw = Random(3)
    frame = pl.DataFrame({f"q{j}": [draw.choice("abcdefgh") for _ in range(rows)] for j in range(5)})
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(k), **sides)


@dataclass(frozen=True)
class Way:
    """A method, on a problem of so many rows that takes it long. few: rows of one that does not."""

    name: str
    problem: Callable[[int], km.Problem]
    rows: int
    few: int = 30
    options: dict[str, Any] = field(default_factory=lambda: dict(SEARCH))
    priced: bool = False

    def solve(self, rows: int, **options: Any) -> km.Result:
        with pytest.MonkeyPatch.context() as patch:
            for number in ("FEW_VECTORS", "PRICED_PAIRS") if self.priced else ():
                patch.setattr(preparation, number, 0)
            result = km.solve(self.problem(rows), **self.options, **options)
        assert result.verified
        assert result.seconds["total"] - result.seconds["read"] < 30  # kernels may have to be compiled
        assert result.bound is None or result.bound <= present(result.objective)
        tables = [loss for _, loss, _ in result.trajectory if loss is not None]
        bounds = [bound for _, _, bound in result.trajectory if bound is not None]
        assert (tables, bounds) == (sorted(tables, reverse=True), sorted(bounds))
        return result


LONG = [
    Way("search", lambda rows: census_problem(rows, 5), 3_000),
    *(
        Way(f"search, {each.name}", lambda rows, each=each: asking(rows, km.KAnonymity(5), each), 2_000)  # type: ignore[misc]
        for each in (km.LDiversity("5/4"), km.TCloseness("3/10"), km.PSensitivity(3))
    ),
    Way("search, priced", drawn, 600, priced=True),
]
OTHERS = [
    Way("matching", lambda rows: census_problem(rows, 2), 3_000, options={"method": "matching"}),
    Way("sets", lambda rows: km.Problem(census_problem(rows, 5, Q8[:6]).table, SETS), 400, options={}),
    Way("sides", lambda rows: drawn(rows, max_groups=2), 600, options={}),
    Way("milp", lambda rows: drawn(rows, 5), 200, options={"method": "milp"}),
    Way("subset_dp", drawn, 21, options={"method": "subset_dp"}),
]


@pytest.mark.parametrize("way", [*LONG, *OTHERS], ids=lambda way: way.name)
def test_a_limit(way: Way) -> None:
    seen: list[float | None] = []
    limit = 1e-3 if way.name == "subset_dp" else 1.5
    result = way.solve(way.rows, time_limit=limit, on_progress=lambda point: seen.append(point.incumbent))
    assert result.stop_reason in (("time_limit",) if way in LONG else ("time_limit", "optimal"))
    if way in LONG:
        assert seen
        assert result.trajectory[-1][1:] == (result.objective, result.bound)


@pytest.mark.parametrize("way", [*LONG, *OTHERS], ids=lambda way: way.name)
@pytest.mark.parametrize("begun", [False, True])
def test_an_event(way: Way, begun: bool) -> None:
    """Before anything is done, or on the way."""
    stop, stages = threading.Event(), list[str]()

    def stage(name: str) -> None:
        if name == "bound" and not stages:
            stages.append(name)
            threading.Timer(0.5, stop.set).start()

    if not begun:
        stop.set()
    elif way not in LONG:
        pytest.skip("it may have ended by then")
    result = way.solve(way.rows, interrupt=stop, on_stage=stage)
    assert result.stop_reason == "interrupted"


@pytest.mark.parametrize("way", [*LONG, OTHERS[0]], ids=lambda way: way.name)
def test_a_gap(way: Way) -> None:
    result = way.solve(150, gap=0.5, time_limit=60)
    assert present(result.gap) <= 0.5
    assert (result.stop_reason, result.proof, exit_code(result)) in (
        ("gap_limit", "bound", 4),
        ("optimal", "optimal", 0),
    )


@pytest.mark.parametrize("way", [way for way in LONG if "closeness" not in way.name], ids=lambda way: way.name)
@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_it_is_the_same_again_where_work_is_counted(way: Way, threads: int) -> None:
    one, other = (way.solve(way.few, iteration_limit=2, node_limit=5, threads=threads, seed=3) for _ in range(2))
    assert (present(one.groups) == present(other.groups)).all()
    assert (one.exact_bound, one.stop_reason) == (other.exact_bound, other.stop_reason)
    assert one.solver.method == "search"
    assert {"bound", "search"} <= {step for step, seconds in one.seconds.items() if seconds > 0}
