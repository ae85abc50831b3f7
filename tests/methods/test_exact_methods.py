"""Exact methods, `subset_dp`, `fpt` and `matching`, beside brute force and beside the MILP."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from census import Q8, census, census_problem
from present import present

import kanon_milp as km
from kanon_milp.bounds import certify
from kanon_milp.errors import InputError
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.methods import fpt
from kanon_milp.presolve import preparation
from kanon_milp.verify.certificate import check_certificate
from kanon_milp.verify.tables import SuppressedRows


def table(rows: int, columns: int, values: int, seed: int) -> km.Table:
    draw = random.Random(seed)
    names = [f"q{j}" for j in range(columns)]
    frame = {name: [draw.choice("abcdefgh"[:values]) for _ in range(rows)] for name in [*names, "secret"]}
    return km.Table.from_frame(pl.DataFrame(frame), names, "secret")


def test_rows_that_are_alike_are_no_more_sets() -> None:
    """The kernel keeps few rows of a type: 10,003 rows of six types; the two single ones cost least with their like."""
    types = ["ax1", "ax2", "bx1", "by2", "cy1", "cz3"]
    rows = [tuple(row) for row, copies in zip(types, (9_990, 1, 2, 4, 5, 1), strict=True) for _ in range(copies)]
    frame = pl.DataFrame(rows, schema=["p", "q", "r"], orient="row")
    # ax2 with one of ax1 loses a cell each; cz3 with one of cy1 two cells each
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(2))
    found = km.solve(problem, method="subset_dp")
    assert found.is_optimal
    assert found.exact_objective == 2 * 1 + 2 * 2


@pytest.mark.parametrize("mask", [[(0, 1), (1, 0), (1, 1)], [(0, 1), (1, 0)]])
def test_what_costs_nothing_under_a_mask_may_need_rows_of_a_large_type(mask: list[tuple[int, int]]) -> None:
    """The odd row is released as (x, *) with the others, all of which were placed elsewhere beforehand."""
    frame = pl.DataFrame([("x", "1")] * 36 + [("x", "2")], schema=["a", "b"], orient="row")
    recoding = km.PatternMask(mask, {"a": 1, "b": 0})
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(4), recoding)
    assert km.solve(problem, method="subset_dp").require_optimal().exact_objective == 0


def test_six_types_of_any_number_of_rows_and_columns() -> None:
    """Five types of 2,000 rows stay as they are, but for what the two odd rows can need."""
    draw = random.Random(6)
    types = [tuple(draw.choice("ab") for _ in range(60)) for _ in range(6)]
    rows = [row for row, copies in zip(types, (2, *[2_000] * 5), strict=True) for _ in range(copies)]
    frame = pl.DataFrame(rows, schema=[f"q{j}" for j in range(60)], orient="row")
    found = km.solve(km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(4)), method="subset_dp")
    assert found.is_optimal
    differ = [sum(a != b for a, b in zip(types[0], other, strict=True)) for other in types[1:]]
    assert found.exact_objective == 4 * min(differ)  # with two rows of the type that is nearest


def test_what_stays_of_a_kind_of_several_row_types_is_one_group() -> None:
    """ax and ay are alike where q costs nothing; the row that the two of bx do not need is none of its own."""
    rows = [("a", "x")] * 30 + [("a", "y")] * 30 + [("b", "x")] * 2
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["p", "q"], orient="row"), ["p", "q"])
    found = km.solve(km.Problem(table, km.KAnonymity(4), km.Suppression({"q": 0})), method="subset_dp")
    assert found.verified
    assert found.is_optimal
    assert found.exact_objective == 4


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("suppressed_rows", ["strict", "exempt"])
def test_the_kernel_keeps_the_optimum(seed: int, suppressed_rows: SuppressedRows) -> None:
    draw = random.Random(seed)
    k, types = draw.choice([2, 3]), [(a, b) for a in "xy" for b in "uv"]
    rows = [row for row in types for _ in range(draw.choice([1, 2, 3, 40, 300]))]
    weights = {"p": draw.choice([1, 2]), "q": draw.choice([1, 0])}
    recodings: list[Any] = [
        km.Suppression(weights),
        km.PatternMask([["keep", "keep"], ["*", "keep"], ["*", "*"]], weights),
        km.Hierarchies({"q": km.Hierarchy({value: (value, "w", "*") for value in "uv"})}, weights),
    ]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["p", "q"], orient="row"), ["p", "q"])
    problem = km.Problem(table, km.KAnonymity(k), draw.choice(recodings), suppressed_rows=suppressed_rows)
    found, model = km.solve(problem, method="subset_dp"), km.solve(problem, method="milp")
    assert found.proof == model.proof == "optimal"
    assert found.exact_objective == model.exact_objective
    assert found.verified


def test_sizes_that_would_not_finish_are_refused() -> None:
    with pytest.raises(km.InputError, match=r"about 22 different rows.*use another method"):
        km.solve(km.Problem(table(60, 6, 8, 2), km.KAnonymity(3)), method="subset_dp")


def test_what_is_about_several_groups_is_refused() -> None:
    problem = km.Problem(table(6, 2, 3, 3), [km.KAnonymity(2), km.KAnonymity(3, ["q0"])])
    with pytest.raises(km.InputError, match="several groups together"):
        km.solve(problem, method="subset_dp")


def test_what_the_requirements_are_asked_ends_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be asked about a hundred counts here."""
    asked: list[int] = []

    def slow(*_: object) -> bool:
        asked.append(1)
        time.sleep(0.3)
        return True

    monkeypatch.setattr(GroupCheck, "holds", slow)
    problem = km.Problem(table(12, 1, 3, 5), km.LDiversity("1.5"))
    found = km.solve(problem, method="subset_dp", time_limit=0.5)
    assert (found.stop_reason, found.is_optimal) == ("time_limit", False)
    assert len(asked) < 10


def test_many_row_types_are_no_guesses() -> None:
    with pytest.raises(km.InputError, match=r"sets of released rows of \d+ row types.*use another method"):
        km.solve(km.Problem(table(30, 5, 6, 2), km.KAnonymity(3)), method="fpt")


def test_more_row_types_than_groups_and_suppressions_are_no_solution() -> None:
    """Proposition 3: t_in ≤ t_out + s; nothing is guessed where it does not hold."""
    rows = [(str(i), str(j)) for i in range(40) for j in range(40)] * 2  # t_in = 1,600
    frame = pl.DataFrame(rows, ["a", "b"], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2), max_groups=100, cost_bound=1_499)
    found = km.solve(problem, method="fpt")
    assert found.proof == "infeasible"
    assert "in at most 100 groups must lose" in found.message


def test_few_groups_of_many_row_types_are_guessed() -> None:
    """Proposition 2: with t_out fixed there are polynomially many guesses."""
    problem = km.Problem(table(24, 3, 3, 7), km.KAnonymity(2), max_groups=2)
    found, model = km.solve(problem, method="fpt"), km.solve(problem, method="milp")
    assert found.proof == model.proof == "optimal"
    assert found.exact_objective == model.exact_objective
    with pytest.raises(km.InputError, match="would guess"):
        km.solve(replace(problem, max_groups=None), method="fpt")


def test_different_values_are_assigned_by_a_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 3: under p-sensitivity no integer program is solved."""
    monkeypatch.setattr(fpt, "_ilp", None)
    problem = km.Problem(table(20, 2, 2, 3), [km.KAnonymity(3), km.PSensitivity(2)])
    found, model = km.solve(problem, method="fpt"), km.solve(problem, method="milp")
    assert found.proof == model.proof == "optimal"
    assert found.exact_objective == model.exact_objective


def test_more_groups_than_row_types_are_guessed() -> None:
    """Three row types, each with a value of its own, in equal pairs; three odd rows are a fourth group."""
    rows = [("0", "0", "0", "s"), ("0", "1", "1", "t"), ("1", "0", "1", "u")] * 3
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "secret"], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["a", "b", "c"], "secret"), km.LDiversity(2))
    found = km.solve(problem, method="fpt")
    assert found.is_optimal
    assert found.exact_objective == 21


def test_a_row_assignment_that_the_limit_ends_leaves_the_best_table() -> None:
    problem = km.Problem(table(20, 2, 3, 20), km.LDiversity("1.5"))
    found = km.solve(problem, method="fpt", time_limit=0.3)
    assert found.verified
    assert found.proof == "optimal" or found.stop_reason == "time_limit"
    assert found.objective is not None
    assert found.objective <= present(km.solve(problem, method="greedy").objective)


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
