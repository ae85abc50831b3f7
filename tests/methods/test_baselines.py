"""Methods to compare with: `mondrian`, `m_approximation`, and full-domain recoding; their tables and their claims."""

from __future__ import annotations

import itertools
import random
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
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
from kanon_milp.formulations.column_models import build_full_domain
from kanon_milp.heuristics import greedy
from kanon_milp.methods import approximate
from kanon_milp.methods.full_domain import OBJECTIVES, Objective
from kanon_milp.problem import recoding
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.hierarchies import column_levels
from kanon_milp.problem.recoding import with_levels
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import to_arrays

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


AGE = {"1": ("1", "1-2", "*"), "2": ("2", "1-2", "*"), "3": ("3", "3-4", "*"), "4": ("4", "3-4", "*")}
Rows = list[tuple[str, str, str]]
rows = st.lists(
    st.tuples(st.sampled_from("1234"), st.sampled_from("xyz"), st.sampled_from("st")), min_size=2, max_size=9
)


def table(found: Rows) -> km.Table:
    frame = pl.DataFrame(found, schema=["age", "zip", "s"], orient="row")
    return km.Table.from_frame(frame, ["age", "zip"], "s")


def one_by_one(
    found: Rows, k: int, share: Fraction, objective: str, diverse: bool, ages: Sequence[int] = (0, 1, 2)
) -> Fraction | None:
    """The best value over all six level vectors, or those with these levels of the age, counted by hand."""
    best, n = None, len(found)
    for age, zip_code in itertools.product(ages, range(2)):
        classes = defaultdict(list)
        for row in found:
            classes[AGE[row[0]][age], "*" if zip_code else row[1]].append(row[2])
        good = [each for each in classes.values() if len(each) >= k and (not diverse or len(set(each)) > 1)]
        bad = [value for each in classes.values() if not any(each is kept for kept in good) for value in each]
        if len(bad) > share * n or (diverse and bad and len(set(bad)) < 2):
            continue
        kept, cells = n - len(bad), Fraction(age, 2) + zip_code
        value = {
            "loss": cells * kept + 2 * len(bad),
            "precision": cells * kept + 2 * len(bad),
            "discernibility": Fraction(sum(len(each) ** 2 for each in good) + n * len(bad)),
            "class_size": Fraction(n, len(good) + (1 if bad else 0)),
        }[objective]
        best = value if best is None else min(best, value)
    return best


@given(
    rows,
    st.integers(2, 3),
    st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1)]),
    st.booleans(),
    st.sampled_from(OBJECTIVES),
)
@settings(max_examples=examples(400, 16))
def test_it_is_the_best_of_all_level_vectors(
    found: Rows, k: int, share: Fraction, diverse: bool, objective: Objective
) -> None:
    if k > len(found) or (diverse and len({row[2] for row in found}) < 2):
        return
    privacy: list[km.Requirement] = [km.KAnonymity(k), *([km.PSensitivity(2)] if diverse else [])]
    result = km.solve_full_domain(table(found), privacy, km.FullDomain({"age": AGE}, share, objective))
    expected = one_by_one(found, k, share, objective, diverse)
    assert result.objective == expected
    assert (result.table is None) == (expected is None)
    if expected is not None:
        assert result.verified
        assert result.suppressed_rows <= share * len(found)


@given(rows, st.sampled_from([Fraction(0), Fraction(1, 4)]), st.sampled_from([[1], [0, 1], [2], [0]]))
@settings(max_examples=examples(60, 8))
def test_levels_that_are_asked_for_are_kept(found: Rows, share: Fraction, ages: list[int]) -> None:
    asked = km.FullDomain({"age": AGE}, share, levels={"age": ages})
    result = km.solve_full_domain(table(found), km.KAnonymity(2), asked)
    assert result.objective == one_by_one(found, 2, share, "loss", diverse=False, ages=ages)
    if result.levels is not None and result.labels is not None:
        assert result.verified
        assert result.levels["age"] in ages
        of_age = result.labels.filter(pl.col("column") == "age")
        assert all(
            AGE[value][level] == label for value, level, label in of_age.select("value", "level", "label").rows()
        )
    # the same by the method, as the command line and model files ask for it
    recoding = with_levels(km.Hierarchies({"age": AGE}), ["age", "zip"], {"age": ages})
    problem = km.Problem(table(found), km.KAnonymity(2), recoding, suppressed_rows="exempt")
    by_method = km.solve(problem, method="full_domain", parameters={"full_domain.suppressed": float(share)})
    assert (by_method.levels is None) == (result.levels is None)
    if by_method.levels is not None:
        assert by_method.exact_objective == result.objective
        assert dict(by_method.levels) == result.levels


def test_cells_of_other_methods_have_the_levels_too() -> None:
    found = [("1", "x", "s"), ("2", "x", "t"), ("3", "y", "s"), ("4", "y", "t")]
    recoding = with_levels(km.Hierarchies({"age": AGE}), ["age", "zip"], {"age": 1})
    result = km.solve(km.Problem(table(found), km.KAnonymity(1), recoding)).require_optimal()
    assert pl.DataFrame(result.table)["age"].to_list() == ["1-2", "1-2", "3-4", "3-4"]
    assert result.levels is None  # its cells may have different levels
    assert result.labels is None


@pytest.mark.parametrize("levels", [{"age": 3}, {"age": []}, {"age": "x"}, {"job": 1}, {"age": -1}, {"zip": 2}])
def test_levels_that_there_are_not_are_told(levels: dict[str, Any]) -> None:
    with pytest.raises(km.InputError, match="level"):
        with_levels(km.Hierarchies({"age": AGE}), ["age", "zip"], levels)


@given(rows, st.integers(2, 3), st.integers(0, 3))
@settings(max_examples=examples(60, 4))
def test_the_declared_model_agrees(found: Rows, k: int, suppressed: int) -> None:
    if k > len(found):
        return
    share = Fraction(min(suppressed, len(found)), len(found))
    result = km.solve_full_domain(table(found), km.KAnonymity(k), km.FullDomain({"age": AGE}, share))
    distinct = sorted({row[:2] for row in found})
    ages, zips = sorted({a for a, _ in distinct}), sorted({z for _, z in distinct})
    tree = km.Hierarchy({age: AGE[age] for age in ages})
    columns = [
        column_levels("age", ages, tree, None, Fraction(1), "*"),
        column_levels("zip", zips, None, None, Fraction(1), "*"),
    ]
    model = build_full_domain(
        [column.label_of for column in columns],
        [[float(cost) for cost in column.costs] for column in columns],
        np.array([(ages.index(a), zips.index(z)) for a, z in distinct], dtype=np.int32),
        np.array([sum(row[:2] == each for row in found) for each in distinct]),
        k,
        int(share * len(found)),
    )
    answer = get("highs").solve(to_arrays(model).linear, SolverOptions())
    if result.objective is None:
        assert answer.stop_reason.value == "infeasible"
    else:
        assert answer.objective == pytest.approx(float(result.objective))


def test_cell_level_recoding_is_never_worse() -> None:
    frame = census(300)
    people = km.Table.from_frame(frame, ["age", "education", "race"], "disease")
    full = km.solve_full_domain(people, km.KAnonymity(3), km.FullDomain(suppression_limit="1/20"))
    cells = km.solve(km.Problem(people, km.KAnonymity(3), suppressed_rows="exempt"))
    assert full.verified
    assert full.objective is not None
    assert cells.exact_objective is not None
    assert cells.exact_objective <= full.objective
    assert full.looked_at <= full.lattice == 8
    assert full.levels is not None
    assert set(full.levels) == {"age", "education", "race"}


def test_the_lattice_is_not_gone_through_to_the_end() -> None:
    columns = ["sex", "age", "race", "marital-status", "education"]
    people = km.Table.from_frame(census(400), columns)
    found = km.solve_full_domain(people, km.KAnonymity(2), km.FullDomain(suppression_limit=1))
    assert found.verified
    assert found.looked_at < found.lattice == 32


@pytest.mark.parametrize("arguments", [{"suppression_limit": 2}, {"suppression_limit": "x"}, {"objective": "best"}])
def test_bad_arguments_are_told(arguments: dict[str, Any]) -> None:
    with pytest.raises(km.InputError):
        km.FullDomain(**arguments)


def test_several_sets_of_quasi_identifiers_are_refused() -> None:
    found: Sequence[tuple[str, str, str]] = [("1", "x", "s"), ("2", "x", "t"), ("1", "y", "s")]
    with pytest.raises(km.InputError, match="k-anonymity of some"):
        km.solve_full_domain(table(list(found)), km.KAnonymity(2, ["age"]))
