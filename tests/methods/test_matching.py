"""Simplex matching: proven optima for k = 2 and l = 2, the same as brute force and the direct model give."""

from __future__ import annotations

import itertools
import random

import polars as pl
import pytest
from census import Q8, census, census_problem
from present import present

import kanon_milp as km
from kanon_milp.bounds import certify
from kanon_milp.errors import InputError
from kanon_milp.presolve import preparation
from kanon_milp.verify.certificate import check_certificate


def solved(problem: km.Problem, **options: object) -> km.Result:
    return km.solve(problem, method="matching", **options)  # type: ignore[arg-type]


def wide(rows: int, columns: int) -> km.Problem:
    draw = random.Random(columns)
    frame = pl.DataFrame({f"q{j}": [draw.choice("ab") for _ in range(rows)] for j in range(columns)})
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(2))


@pytest.mark.parametrize("columns", [12, 21, 40])
def test_any_number_of_columns_agrees_with_dynamic_programming(columns: int) -> None:
    problem = wide(14, columns)
    expected = km.solve(problem, method="subset_dp").require_optimal().objective
    assert solved(problem).require_optimal().objective == expected


def test_closures_of_three_row_types_are_those_of_any_number_of_row_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """140 row types: each of 5 columns four times is the same as once with a weight of 4."""
    draw = random.Random(1)
    rows = draw.sample([tuple(row) for row in itertools.product("abc", repeat=5)], 140)
    once = pl.DataFrame(rows, [f"q{j}" for j in range(5)], orient="row")
    often = once.select(pl.col(name).alias(f"{name}_{copy}") for copy in range(4) for name in once.columns)
    weighted = km.Problem(
        km.Table.from_frame(once, once.columns), km.KAnonymity(2), km.Suppression(dict.fromkeys(once.columns, 4))
    )
    expected = solved(weighted).require_optimal().objective
    monkeypatch.setattr(preparation, "closed_instance", lambda *_: None)
    found = solved(km.Problem(km.Table.from_frame(often, often.columns), km.KAnonymity(2)))
    assert found.require_optimal().objective == expected


def diversity(rows: int) -> km.Problem:
    return km.Problem(km.Table.from_frame(census(rows), Q8[:5], "disease"), km.LDiversity(2))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_tables_of_thousands_of_rows_are_proven(seed: int) -> None:
    result = solved(census_problem(1_500, 2), seed=seed)
    assert result.require_optimal().verified
    # the same multipliers prove it to whoever has only the table
    certificate = certify(result.problem, present(result.dual))
    assert check_certificate(result.problem, certificate).bound == result.exact_objective


@pytest.fixture(scope="module")
def small() -> tuple[km.Problem, float | None]:
    """A problem, and its optimum by the direct model."""
    problem = census_problem(100, 2)
    return problem, km.solve(problem, method="milp").require_optimal().objective


NO_GROUPS = {f"simplex_matching.{name}": 0 for name in ("easy", "closing", "face")}


@pytest.mark.full
@pytest.mark.parametrize("name", NO_GROUPS)
def test_each_way_to_the_end_gives_the_optimum(name: str, small: tuple[km.Problem, float | None]) -> None:
    problem, expected = small
    others = {each: value for each, value in NO_GROUPS.items() if each != name}
    assert solved(problem, parameters=others).require_optimal().objective == expected


@pytest.mark.full
def test_where_groups_are_too_many_the_direct_model_ends_it() -> None:
    for problem in (census_problem(80, 2), diversity(60)):
        result = solved(problem, parameters=NO_GROUPS)
        assert result.require_optimal().objective == km.solve(problem, method="milp").objective
        assert result.phases[-1].name == "early model"


@pytest.mark.full
def test_where_groups_are_too_many_within_a_limit_the_hybrid_method_goes_on() -> None:
    for problem in (census_problem(80, 2), diversity(40)):
        result = solved(problem, time_limit=60, parameters=NO_GROUPS)
        assert {"matching program", "search"} & {run.name for run in result.phases}
        assert result.message.startswith("simplex matching did not settle it")
        assert result.require_optimal().objective == km.solve(problem, method="milp").objective


FRAME = pl.DataFrame(
    {"a": ["x", "y", "x", "y"], "b": ["u", "u", "u", "v"], "s": ["1", "2", "2", "1"], "r": ["1", "1", "2", "2"]}
)


@pytest.mark.parametrize(
    ("privacy", "more", "said"),
    [
        ([km.KAnonymity(3)], {}, "k is 3"),
        ([km.KAnonymity(1)], {}, "k is 1"),
        ([km.KAnonymity(2, ["a"])], {}, "several groups together"),
        ([km.LDiversity(2), km.KAnonymity(3)], {}, "k is 3"),
        ([km.LDiversity("3/2")], {}, "l is 3/2"),
        ([km.LDiversity(2, "distinct")], {}, "distinct"),
        ([km.LDiversity(2, sensitive="s"), km.LDiversity(2, sensitive="r")], {}, "several sensitive attributes"),
        ([km.AlphaKAnonymity("2/3")], {}, "alpha is 2/3"),
        ([km.AlphaKAnonymity("1/2", values=["1"], sensitive="s")], {}, "is not 2-anonymity or 2-diversity"),
        ([km.TCloseness("1/2", sensitive="s")], {}, "is not 2-anonymity or 2-diversity"),
        ([km.KAnonymity(2)], {"objective": "max_groups"}, "max_groups"),
    ],
)
def test_other_problems_are_refused(privacy: list[km.Requirement], more: dict[str, object], said: str) -> None:
    problem = km.Problem(km.Table.from_frame(FRAME, ["a", "b"], ["s", "r"]), privacy, **more)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=said):
        solved(problem)


def test_too_many_pairs_and_triples_are_no_matter_of_level_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much is said, and that `search` prices it instead."""
    monkeypatch.setattr(preparation, "vectors_in_memory", lambda *_, **__: 10)
    draw = random.Random(0)
    frame = pl.DataFrame({f"q{j}": [str(draw.randrange(3)) for _ in range(12)] for j in range(30)})
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(2))
    with pytest.raises(InputError, match=r"groups of two and three of 12 row types .* list them: search or greedy"):
        solved(problem)
    assert km.solve(problem, method="search", iteration_limit=1).verified
