"""`mondrian`, `mondrian_relaxed` and `m_approximation`: valid tables, and the claim of the m-approximation."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from census import census
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from present import present
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.heuristics import greedy
from kanon_milp.methods import approximate
from kanon_milp.problem import recoding
from kanon_milp.problem.column_values import mixed_key

CUTS = ("mondrian", "mondrian_relaxed")
DIVIDING = (*CUTS, "full_domain", "greedy")


@given(cases(max_rows=8, sides=False))
@settings(max_examples=examples(300, 6))
def test_m_approximation_keeps_its_factor(case: Case) -> None:
    problem = km.Problem(case.problem().table, km.KAnonymity(case.k))
    best = optimum(case.rows, case.k)
    assert best is not None
    result = km.solve(problem, method="m_approximation")
    assert result.exact_objective is not None
    assert result.exact_bound is not None
    assert result.exact_bound <= best <= result.exact_objective <= len(case.names) * result.exact_bound


def test_m_approximation_suppresses_a_remainder_that_is_too_small() -> None:
    """Three rows cannot be alike four times: exempt, they are suppressed whole, though they share a value."""
    table = km.Table.from_frame(pl.DataFrame({"a": ["0", "1", "0"], "c": ["x"] * 3}), ["a", "c"])
    result = km.solve(km.Problem(table, km.KAnonymity(4), suppressed_rows="exempt"), method="m_approximation")
    assert (result.verified, result.objective) == (True, 6)


def test_mondrian_cuts_at_the_median() -> None:
    """Worked by hand: of eight ages the median is between 4 and 10, then 2 and 3, 11 and 12; k = 3 allows one cut."""
    ages = ["1", "2", "3", "4", "10", "11", "12", "20"]
    table = km.Table.from_frame(pl.DataFrame({"age": ages, "zip": ["a"] * 4 + ["b"] * 4}), ["age", "zip"])
    groups = {k: km.solve(km.Problem(table, km.KAnonymity(k)), method="mondrian").groups for k in (2, 3, 5)}
    assert {k: None if g is None else g.tolist() for k, g in groups.items()} == {
        2: [1, 1, 1, 1, 2, 2, 2, 2],  # released alike: what is suppressed in the four parts leaves two rows
        3: [1, 1, 1, 1, 2, 2, 2, 2],
        5: [1] * 8,
    }


def test_mondrian_divides_ties_where_it_is_relaxed() -> None:
    table = km.Table.from_frame(pl.DataFrame({"q": ["a"] * 3 + ["b"] * 3, "r": list("uvwxyz")}), ["q", "r"])
    whole = km.solve(km.Problem(table, km.KAnonymity(4)), method="mondrian_relaxed")
    halves = km.solve(km.Problem(table, km.KAnonymity(3)), method="mondrian_relaxed")
    assert (whole.objective, halves.objective) == (12, 6)


@pytest.mark.parametrize("privacy", [km.LDiversity("1.5"), (km.KAnonymity(3), km.TCloseness("0.4"))], ids=["l", "t"])
def test_mondrian_with_requirements(privacy: km.Requirement) -> None:
    table = km.Table.from_frame(census(300), ["age", "education", "race"], "disease")
    problem = km.Problem(table, privacy)
    for method in CUTS:
        result = km.solve(problem, method=method)
        assert result.verified
        assert result.table is not None


def test_many_columns_need_no_candidates() -> None:
    """Of 16,384 patterns over 300 rows no candidate is enumerated but those of the groups."""
    frame = pl.DataFrame({f"c{j}": [str((i * (j + 3)) % (j + 2)) for i in range(300)] for j in range(14)})
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(5))
    for method in (*CUTS, "m_approximation", "greedy"):
        result = km.solve(problem, method=method)
        assert result.verified
        assert result.before.candidates <= 300


@pytest.mark.full
@given(cases(max_rows=8, sides=False), st.sampled_from(["closed", "near"]))
def test_greedy_needs_no_level_vectors(case: Case, way: str) -> None:
    """Where these are too many: closed candidates form the same groups where costs rise from level to level;
    neighbourhoods form valid ones."""
    rising = all(case.weights) and all(
        not isinstance(costs, dict) and len(set(costs)) == len(costs) for costs in case.level_costs.values()
    )
    problem = replace(case, vectors=None).problem()
    expected = km.solve(problem, method="greedy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recoding, "MAX_LEVEL_VECTORS", 0)
        patch.setattr(greedy, "CLOSED_PAIRS", 1 << 20 if way == "closed" else -1)
        found = km.solve(problem, method="greedy")
    assert found.verified == expected.verified
    if way == "closed" and rising:
        assert found.exact_objective == expected.exact_objective
    elif expected.table is not None:
        best = optimum(case.rows, case.k, **{**case.judged(), "vectors": None})
        assert best is not None
        assert found.exact_objective is not None
        assert found.exact_objective >= best


@pytest.mark.full
@pytest.mark.parametrize("privacy", [[km.KAnonymity(2)], [km.KAnonymity(2), km.PSensitivity(2)]])
def test_the_error_about_too_many_level_vectors_names_methods_that_take_the_table(privacy: list[Any]) -> None:
    draw = random.Random(5)
    columns = [f"c{j}" for j in range(70)]
    frame = pl.DataFrame([{"s": row % 3} | {name: draw.randrange(3) for name in columns} for row in range(24)])
    problem = km.Problem(km.Table.from_frame(frame, columns, "s"), privacy)
    with pytest.raises(km.InputError, match="more than 1,048,576 level vectors") as error:
        km.solve(problem, method="milp", formulation="textbook")
    named = str(error.value).rpartition(": ")[2].split(" or ")
    assert ("m_approximation" in named) == (len(privacy) == 1)
    assert {"greedy", "mondrian", "full_domain"} <= set(named)
    for method in named:
        assert km.solve(problem, method=method, time_limit=2).verified
    few = replace(problem, max_groups=3)
    with pytest.raises(km.InputError, match=r"does not list them: search$"):
        km.solve(few, method="milp", formulation="textbook")
    assert km.solve(few, method="search", time_limit=2).verified


@pytest.mark.parametrize("columns", [21, 40])
def test_methods_that_need_no_candidates_take_any_number_of_columns(columns: int) -> None:
    """Rows of 40 persons, each three times with one cell changed: what belongs together is found."""
    draw = random.Random(columns)
    persons = [[str(draw.randrange(3)) for _ in range(columns)] for _ in range(40)]
    rows = [list(person) for person in persons for _ in range(3)]
    for row in rows:
        row[draw.randrange(columns)] = "changed"
    frame = pl.DataFrame(rows, schema=[f"c{j}" for j in range(columns)], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(3))
    losses = {}
    for method in (*CUTS, "m_approximation", "greedy"):
        result = km.solve(problem, method=method)
        assert result.verified
        losses[method] = result.exact_objective
    assert present(losses["greedy"]) <= 3 * len(rows)


def test_a_mask_without_a_common_pattern_is_said() -> None:
    table = km.Table.from_frame(pl.DataFrame({"a": list("xxyy"), "b": list("1234")}), ["a", "b"])
    problem = km.Problem(table, km.KAnonymity(4), km.PatternMask([["keep", "*"]]))
    for method, said in (("mondrian", "the mask has no pattern"), ("greedy", "another method may find a table")):
        result = km.solve(problem, method=method)
        assert result.table is None
        assert said in result.message


def as_printed(rows: Sequence[tuple[str | None, ...]], k: int) -> set[int]:
    """Algorithm 1 of Bredereck et al. (2013) for all patterns, word by word; suppressed cells of its table, for each
    way to choose among equal groups.

    Patterns from the cheapest on; what is left over is suppressed in the columns in which it differs, together with the
    group that loses least by being suppressed, for as long as it is too small.
    """
    m, left = len(rows[0]), list(range(len(rows)))
    groups: list[tuple[int, list[int]]] = []
    for pattern in sorted(itertools.product((0, 1), repeat=m), key=sum)[:-1]:
        alike: dict[tuple[object, ...], list[int]] = {}
        for i in left:
            alike.setdefault(tuple((stars, not stars and rows[i][j]) for j, stars in enumerate(pattern)), []).append(i)
        for group in alike.values():
            if len(group) >= k:
                groups.append((sum(pattern), group))
                left = [i for i in left if i not in group]
    return ended(rows, k, left, groups)


def ended(
    rows: Sequence[tuple[str | None, ...]], k: int, left: list[int], groups: list[tuple[int, list[int]]]
) -> set[int]:
    m = len(rows[0])
    if 0 < len(left) < k:
        least = min(len(group) * (m - stars) for stars, group in groups)
        found: set[int] = set()
        for each in [each for each in groups if len(each[1]) * (m - each[0]) == least]:
            found |= ended(rows, k, [*left, *each[1]], [other for other in groups if other is not each])
        return found
    differing = sum(len({rows[i][j] for i in left}) > 1 for j in range(m))
    return {sum(stars * len(group) for stars, group in groups) + differing * len(left)}


@given(cases(max_rows=8, sides=False), st.integers(2, 4))
@settings(max_examples=examples(300, 10))
def test_greedy_is_algorithm_1(case: Case, k: int) -> None:
    assume(k <= len(case.rows))
    result = km.solve(km.Problem(case.problem().table, km.KAnonymity(k)), method="greedy")
    assert result.verified
    assert result.objective in as_printed(case.rows, k)


@pytest.mark.parametrize("at", ["before", "on the way"])
def test_m_approximation_ends_when_it_is_asked_to(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all rows as one group, and without looking for classes of equal rows, or going on from them."""
    stop = threading.Event()
    frame = pl.DataFrame({"a": ["1", "1", "2", "2", "3"], "b": ["1", "1", "2", "2", "3"]})
    asked = km.Problem(km.Table.from_frame(frame, ["a", "b"]), km.KAnonymity(2))
    assert km.solve(asked, method="m_approximation", interrupt=stop).stop_reason == "finished"

    def ask(*given: Any) -> Any:
        assert at == "on the way", "it was asked before"
        stop.set()
        return mixed_key(*given)

    if at == "before":
        stop.set()
    monkeypatch.setattr(approximate, "mixed_key", ask)
    result = km.solve(asked, method="m_approximation", interrupt=stop)
    assert (result.stop_reason, result.proof, result.objective, result.verified) == ("interrupted", "none", 10, True)
    assert "all rows are one group" in result.message
