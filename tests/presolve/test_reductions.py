"""Every reduction keeps the optimum, and the table of what is left is one of the whole; those that users register."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from reduction_cases import (
    CHAIN,
    EVERY,
    best,
    heavy_cases,
    keeps,
    strong_lp,
    table_of,
)
from sensitive_cases import SensitiveCase, sensitive_cases, subset_cases
from strategies import Case, cases, covered, reduced

import kanon_milp as km
from kanon_milp.bounds import ExactDual
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.presolve.assignment import expand
from kanon_milp.presolve.instance import Instance, prepare, with_candidates
from kanon_milp.presolve.kernel import Kernel
from kanon_milp.presolve.own_reductions import OWN
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.reductions import (
    Dominance,
    EqualSignature,
    Viability,
    reduce,
)
from kanon_milp.system.arrays import Flags
from kanon_milp.system.clock import Clock

# ------------------------------------------------------------------------------------------------ the optimum is kept


@pytest.mark.parametrize("name", EVERY)
def test_k_anonymity_keeps_its_optimum(name: str) -> None:
    @given(st.one_of(cases(max_rows=7), heavy_cases()))
    @settings(max_examples=examples(12, 3))
    def holds(case: Case) -> None:
        keeps(case.problem(), optimum(case.rows, case.k, **case.judged()), EVERY[name])

    holds()


@pytest.mark.parametrize("name", [name for name in EVERY if "kernel" not in name])
def test_requirements_on_sensitive_attributes_keep_their_optimum(name: str) -> None:
    @given(sensitive_cases(max_rows=6))
    @settings(max_examples=examples(12, 3))
    def holds(case: SensitiveCase) -> None:
        keeps(case.problem(), optimum(case.case.rows, case.k, **case.judged()), EVERY[name])

    holds()


@given(sensitive_cases(["delta natural ignored"], max_rows=7))
@settings(max_examples=examples(12, 3))
def test_merging_row_types_does_not_need_requirements_that_are_merge_closed(case: SensitiveCase) -> None:
    problem = case.problem()
    assert not Dominance().accepts(problem)
    keeps(problem, optimum(case.case.rows, case.k, **case.judged()), CHAIN)


@given(st.one_of(cases(max_rows=9), sensitive_cases(max_rows=8)))
@settings(max_examples=examples(20, 3))
def test_every_chain_agrees_with_the_unreduced_model(case: Case | SensitiveCase) -> None:
    problem = case.problem()
    found = best(prepare(problem))
    keeps(problem, None if found is None else found[0], CHAIN)


@given(cases(max_rows=9, sides=False))
@settings(max_examples=examples(20, 3))
def test_merging_leaves_the_bound_of_the_linear_relaxation(case: Case) -> None:
    before = reduced(case.problem())
    assume(covered(before))
    merged = EqualSignature().apply(before).instance
    assert strong_lp(merged) == pytest.approx(strong_lp(before), abs=1e-6)


# -------------------------------------------------------------------------------------------------- equal signature


@given(st.one_of(cases(max_rows=9), sensitive_cases(max_rows=9)))
@settings(max_examples=examples(40, 5))
def test_exactly_the_row_types_with_equal_candidates_and_values_are_merged(case: Case | SensitiveCase) -> None:
    before = reduced(case.problem())
    step = EqualSignature().apply(before)
    after = step.instance
    signature = [
        (
            tuple(before.types.star_codes[i].tolist()) if before.problem.attributes else (),
            tuple(g for g, cover in enumerate(before.candidates.cover_lists()) if i in cover),
        )
        for i in range(before.types.count)
    ]
    for i, mine in enumerate(signature):
        for j, other in enumerate(signature):
            assert (step.row_type[i] == step.row_type[j]) == (mine == other)
    assert after.types.count == len(set(signature))
    # covers and supports are carried through
    assert after.candidates.support.tolist() == before.candidates.support.tolist()
    covers = [sorted({int(step.row_type[i]) for i in cover}) for cover in before.candidates.cover_lists()]
    assert after.candidates.cover_lists() == covers
    assert after.types.n == before.types.n
    by_cover = [sum(after.types.counts[cover].tolist()) for cover in covers]
    assert by_cover == after.candidates.support.tolist()
    if before.problem.attributes:
        rows = [Counter[Any](), Counter[Any]()]
        for instance, count in zip((before, after), rows, strict=True):
            codes, values = instance.sensitive_codes(before.problem.attributes)
            for code, n in zip(codes.tolist(), instance.types.counts.tolist(), strict=True):
                count[values[code]] += n
        assert rows[0] == rows[1]


def test_supports_computed_anew_from_a_merged_row_type_would_give_too_low_an_optimum() -> None:
    # "ax" and "bz" go only into the fully suppressed group, so they are merged into a row type of 2 rows
    rows = "ax bz cw cw cv cv"
    problem = km.Problem(table_of(rows), [km.KAnonymity(2)])
    expected = optimum([tuple(row) for row in rows.split()], 2)
    assert expected == 4
    steps = keeps(problem, expected, CHAIN)
    before, merged = steps[-1].before, steps[-1].instance
    assert (before.types.count, merged.types.count) == (4, 3)
    # the trap: a representative's values with the number of rows of all looks 2-anonymous as it is
    representative = [int(np.flatnonzero(steps[-1].row_type == i)[0]) for i in range(merged.types.count)]  # type: ignore[attr-defined]
    wrong_types = replace(merged.types, codes=before.types.codes[representative])
    anew = reduce(with_candidates(problem, wrong_types, before.levels))[-1].instance
    too_low = best(anew)
    assert too_low is not None
    assert too_low[0] == 0 < expected
    # viability asked again after merging reads what was carried through, and drops nothing
    assert Viability().apply(merged).instance.candidates.count == merged.candidates.count
    # and whatever would read the values of a merged row type fails
    with pytest.raises(ValueError, match="dominance reads the values"):
        Dominance().apply(merged)
    with pytest.raises(IndexError):
        with_candidates(problem, merged.types, merged.levels)
    with pytest.raises(IndexError):
        merged.candidates.labels(merged.types, merged.levels, np.arange(1))
    found = best(merged)
    assert found is not None
    with pytest.raises(IndexError):
        expand(merged, found[1])


def test_row_types_with_different_sensitive_values_stay_apart() -> None:
    problem = km.Problem(table_of("axm byn czm dwn", sensitive=True), [km.PSensitivity(2)])
    steps = keeps(problem, Fraction(8), CHAIN)
    assert [step.instance.types.count for step in steps] == [4, 4, 2]
    merged = steps[-1].instance
    codes, values = merged.sensitive_codes(["s"])
    assert sorted(values[code] for code in codes.tolist()) == [("m",), ("n",)]
    # where no requirement is about them, they are one
    alone = reduce(prepare(km.Problem(problem.table, [km.KAnonymity(2)])), CHAIN)[-1].instance
    assert alone.types.count == 1


def test_merged_sensitive_row_types_have_no_values_that_can_be_read() -> None:
    problem = km.Problem(table_of("axm byn czm dwn", sensitive=True), [km.PSensitivity(2)])
    merged = reduce(prepare(problem), CHAIN)[-1].instance
    found = best(merged)
    assert found is not None
    for misuse in (lambda: expand(merged, found[1]), merged.types.frame):
        with pytest.raises(IndexError):
            misuse()


@given(subset_cases())
@settings(max_examples=examples(10, 3))
def test_k_anonymity_of_some_columns_is_not_merged(case: SensitiveCase) -> None:
    problem = case.problem()
    narrow = any(isinstance(r, km.KAnonymity) and r.quasi_identifiers is not None for r in problem.requirements)
    for reduction in (EqualSignature(), Kernel(), ReducedCosts(ExactDual(np.zeros(1, np.int64)), 1)):
        assert not (narrow and reduction.accepts(problem))
    if narrow:
        with pytest.raises(ValueError, match="equal_signature is not valid"):
            EqualSignature().apply(prepare(problem))


# ---------------------------------------------------------------------------------------------------- the whole way


def test_a_model_to_extend_has_all_row_types_and_solve_merges_them() -> None:
    problem = km.Problem(table_of("ax bz cw cw cv cv"), [km.KAnonymity(2)])
    assert len(km.build_model(problem).ROW_TYPES) == 4
    plain, merged = (presolve(problem, Clock(), merge=merge) for merge in (False, True))
    assert (plain.instance.types.count, merged.instance.types.count) == (4, 3)
    assert [found["name"] for found in merged.reduction_sizes] == ["viability", "dominance", "equal_signature"]
    assert merged.reduction_sizes[-1] == {
        "name": "equal_signature",
        "before": {"row_types": 4, "candidates": 4, "pairs": 8},
        "row_types": 3,
        "candidates": 4,
        "pairs": 7,
    }
    textbook = presolve(problem, Clock(), reduced=False, merge=True)
    found = best(textbook.instance)
    assert found is not None
    assert textbook.restore(found[1]) is found[1]


@pytest.mark.parametrize(("k", "row_types", "pairs"), [(5, 15914, 130851), (25, 8681, 63622)])
def test_adult_under_a_mask_has_its_measured_sizes(data_folder: Path, k: int, row_types: int, pairs: int) -> None:
    assert data_folder.is_dir()
    columns = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "salary-class"]
    table = km.Table.from_frame(km.datasets.load("adult"), columns)
    steps = reduce(prepare(km.Problem(table, [km.KAnonymity(k)], km.PatternMask.random(columns, 10, 2))), CHAIN)
    after = steps[-1].describe()
    assert (steps[0].before.types.count, after["row_types"], after["pairs"]) == (18755, row_types, pairs)
    assert after["candidates"] == steps[-1].before.candidates.count


def test_dominance_leaves_the_candidate_of_exempt_rows() -> None:
    # (x, *) covers what (*, *) does and costs less, but a single row may lie in (*, *) alone
    table = km.Table.from_frame(pl.DataFrame({"a": ["x"] * 4, "b": list("uuuv")}), ["a", "b"])
    exempt = km.solve(km.Problem(table, [km.KAnonymity(3)], suppressed_rows="exempt"))
    assert (exempt.objective, exempt.proof) == (2, "optimal")
    assert km.solve(km.Problem(table, [km.KAnonymity(3)])).objective == 4


@pytest.mark.parametrize("asked", [{"objective": "max_groups"}, {"objective": "min_groups", "min_groups": 2}])
def test_dominance_is_off_where_many_groups_are_wanted(asked: dict[str, Any]) -> None:
    # (x, u) dominates all others, and alone it is one group
    table = km.Table.from_frame(pl.DataFrame({"a": ["x"] * 4, "b": ["u"] * 4}), ["a", "b"])
    result = km.solve(km.Problem(table, [km.KAnonymity(2)], **asked))
    assert (result.objective, result.proof) == (2, "optimal")


ROWS = [(a, b) for a, b in zip("xxyyzzxy", "uvuvuvuu", strict=True)]
PROBLEM = km.Problem(km.Table.from_frame(pl.DataFrame(ROWS, ["a", "b"], orient="row"), ["a", "b"]), km.KAnonymity(3))


@pytest.fixture(autouse=True)
def _none_left() -> Iterator[None]:
    yield
    OWN.clear()


def everything(instance: Instance) -> Flags:
    return np.ones(instance.candidates.count, dtype=np.bool_)


def widest(instance: Instance) -> Flags:
    return np.asarray(instance.candidates.support == instance.candidates.support.max())


def nothing(instance: Instance) -> Flags:
    return np.zeros(instance.candidates.count, dtype=np.bool_)


@pytest.mark.parametrize("method", ["milp", "search"])
def test_what_stays_decides_and_is_named(method: str) -> None:
    km.register_reduction(km.CandidateReduction("mine", everything))
    result = km.solve(PROBLEM, method=method)
    assert result.exact_objective == optimum(ROWS, 3)
    km.register_reduction(km.CandidateReduction("mine", widest), replace=True)
    result = km.solve(PROBLEM, method=method)
    assert result.exact_objective == 2 * len(ROWS)  # all rows in one group
    assert "reduction mine" in result.backed_by
    assert "certificate" not in result.backed_by  # what a checker of the multipliers would see is less
    assert km.solve_model(PROBLEM, km.build_model(PROBLEM)).exact_objective == optimum(ROWS, 3)
    km.register_reduction(km.CandidateReduction("mine", nothing), replace=True)
    with pytest.raises(km.InputError, match='keep of the reduction "mine" leaves 6 row types without any candidate'):
        km.solve(PROBLEM, method=method)


def test_it_is_left_out_where_it_is_not_valid() -> None:
    km.register_reduction(km.CandidateReduction("mine", nothing, valid=lambda problem: problem.max_groups is not None))
    result = km.solve(PROBLEM)
    assert result.exact_objective == optimum(ROWS, 3)
    assert "reduction mine" not in result.backed_by


def test_what_is_no_reduction_is_refused() -> None:
    with pytest.raises(km.InputError, match="CandidateReduction"):
        km.register_reduction(everything)  # type: ignore[arg-type]
    km.register_reduction(km.CandidateReduction("mine", lambda instance: np.zeros(3, dtype=np.bool_)))
    with pytest.raises(km.InputError, match='keep of the reduction "mine" must return an array of bool'):
        km.solve(PROBLEM)
    km.register_reduction(km.CandidateReduction("mine", lambda instance: 1 / 0), replace=True)  # type: ignore[arg-type, return-value]
    with pytest.raises(km.InputError, match="raised ZeroDivisionError"):
        km.solve(PROBLEM)
