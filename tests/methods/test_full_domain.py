"""Full-domain recoding: against all level vectors tried one by one, and against the declared model."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from census import census
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.formulations.column_models import build_full_domain
from kanon_milp.methods.full_domain import OBJECTIVES, Objective
from kanon_milp.problem.hierarchies import column_levels
from kanon_milp.problem.recoding import with_levels
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import to_arrays

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
