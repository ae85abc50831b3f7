"""Every reduction keeps the optimum, and what is solved over a smaller instance comes back as a table of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from sensitive_cases import SensitiveCase, sensitive_cases, subset_cases
from strategies import Case, cases, drawn_sets

import kanon_milp as km
from kanon_milp.algorithms.row_assignment import Assignment
from kanon_milp.bounds import DENOMINATOR, ExactDual, exact_value, lagrangian, round_dual
from kanon_milp.compilation import Compiled, compile_model
from kanon_milp.expansion import expand
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.strong import build_strong
from kanon_milp.instance import Instance, prepare, with_candidates
from kanon_milp.preparation import Clock, prepare_for
from kanon_milp.reductions import (
    MERGING,
    REDUCTIONS,
    Dominance,
    EqualSignature,
    Kernel,
    Reduction,
    Step,
    Viability,
    reduce,
    restore,
    restore_values,
)
from kanon_milp.reductions.fixing import ReducedCosts
from kanon_milp.solvers import SolverOptions, get

relaxed = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
PLAIN = SolverOptions(absolute_gap=0.5, extra={"presolve": "off"})
CHAIN = (*REDUCTIONS, *MERGING)
EVERY: dict[str, tuple[Reduction[Step], ...]] = {
    **{each.name: (each,) for each in (Viability(), Dominance(), EqualSignature(), Kernel())},
    "viability, then equal signature": (Viability(), EqualSignature()),
    "the chain of solve": CHAIN,
    "the chain, then viability again": (*CHAIN, Viability()),
    "kernel first": (Kernel(), *CHAIN),
    "kernel last": (*CHAIN, Kernel()),
}


def covered(instance: Instance) -> bool:
    return len(np.unique(instance.candidates.members)) == instance.types.count


def whole_model(instance: Instance) -> tuple[Compiled, np.ndarray[Any, Any]]:
    """The strong formulation with whole numbers of rows, and the columns of `assign`."""
    model = build_strong(instance)
    compiled = compile_model(model)
    columns = compiled.columns_of(list(model.assign.values()))
    integer = compiled.linear.integer.copy()
    integer[columns[columns >= 0]] = True
    return replace(compiled, linear=replace(compiled.linear, integer=integer)), columns


def best(instance: Instance, forced: int | None = None) -> tuple[Fraction, Assignment] | None:
    """Best value and an assignment over just what is left; None if infeasible. forced: a pair that must have a row."""
    if not covered(instance):
        return None
    compiled, columns = whole_model(instance)
    linear = compiled.linear
    if forced is not None:
        lower = linear.lower.copy()
        lower[columns[forced]] = 1
        linear = replace(linear, lower=lower)
    answer = get("highs").solve(linear, PLAIN)
    if answer.x is None:
        assert answer.stop_reason.value == "infeasible"
        return None
    rows = np.where(columns >= 0, answer.x[columns], 0.0).round().astype(np.int64)
    unit = instance.levels.unit if instance.problem.objective == "loss" else 1
    assert answer.objective is not None
    return Fraction(round(answer.objective) * compiled.sign) * unit, Assignment.from_pairs(instance, rows)


def strong_lp(instance: Instance) -> float | None:
    linear = compile_model(build_strong(instance)).linear
    return get("highs").solve(replace(linear, integer=np.zeros_like(linear.integer)), PLAIN).objective


def keeps(problem: km.Problem, expected: Fraction | None, reductions: Sequence[Reduction[Step]]) -> list[Step]:
    """The optimum over what is left is the oracle's, and so is that of the table that it comes back as."""
    before = prepare(problem)
    steps = reduce(before, reductions)
    left = steps[-1].instance if steps else before
    found = best(left)
    if expected is None:
        assert found is None
        return steps
    assert found is not None
    value, assignment = found
    assert value == expected
    whole = restore(steps, assignment)
    assert whole.cost == assignment.cost
    assert (np.lexsort((whole.candidate, whole.row_type)) == np.arange(len(whole.rows))).all()
    # `from_pairs` checks that each row is placed once, and a pair that is none would be lost
    assert Assignment.from_pairs(before, whole.rows_of_pairs(before)).cost == whole.cost
    release = expand(before, whole)
    report = km.verify(problem, problem.table.released(release.columns), partition=release.group.tolist())
    assert report.ok
    assert report.cost is not None
    if problem.objective == "loss":
        assert report.cost == expected
    else:
        assert report.groups == expected
    return steps


@st.composite
def heavy_cases(draw: st.DrawFn, sides: bool = True) -> Case:
    """Few row types with many copies, under few patterns; some column may cost nothing."""
    case = draw(cases(max_rows=3, max_columns=2, sides=sides))
    rows = tuple(row for row in dict.fromkeys(case.rows) for _ in range(draw(st.integers(1, 8))))[:9]
    width = len(rows[0])
    heights = [3 if j in case.hierarchies else 1 for j in range(width)]
    vectors = draw(st.sampled_from([((0,) * width,), ((0,) * width, tuple(heights)), case.vectors]))
    return replace(case, rows=rows, k=draw(st.sampled_from([k for k in (2, 3, 1) if k <= len(rows)])), vectors=vectors)


# ------------------------------------------------------------------------------------------------ the optimum is kept


@pytest.mark.parametrize("name", EVERY)
def test_k_anonymity_keeps_its_optimum(name: str) -> None:
    @given(st.one_of(cases(max_rows=7), heavy_cases()))
    @settings(relaxed, max_examples=12)
    def holds(case: Case) -> None:
        keeps(case.problem(), optimum(case.rows, case.k, **case.judged()), EVERY[name])

    holds()


@pytest.mark.parametrize("name", [name for name in EVERY if "kernel" not in name])
def test_requirements_on_sensitive_attributes_keep_their_optimum(name: str) -> None:
    @given(sensitive_cases(max_rows=6))
    @settings(relaxed, max_examples=12)
    def holds(case: SensitiveCase) -> None:
        keeps(case.problem(), optimum(case.case.rows, case.k, **case.judged()), EVERY[name])

    holds()


@given(sensitive_cases(["delta natural ignored"], max_rows=7))
@settings(relaxed, max_examples=12)
def test_merging_row_types_does_not_need_requirements_that_are_merge_closed(case: SensitiveCase) -> None:
    problem = case.problem()
    assert not Dominance().accepts(problem)
    keeps(problem, optimum(case.case.rows, case.k, **case.judged()), CHAIN)


@given(st.one_of(cases(max_rows=9), sensitive_cases(max_rows=8)))
@settings(relaxed, max_examples=20)
def test_every_chain_agrees_with_the_unreduced_model(case: Case | SensitiveCase) -> None:
    problem = case.problem()
    found = best(prepare(problem))
    keeps(problem, None if found is None else found[0], CHAIN)


@given(cases(max_rows=9, sides=False))
@settings(relaxed, max_examples=20)
def test_merging_leaves_the_bound_of_the_linear_relaxation(case: Case) -> None:
    reduced = reduce(prepare(case.problem()))[-1].instance
    assume(covered(reduced))
    merged = EqualSignature().apply(reduced).instance
    assert strong_lp(merged) == pytest.approx(strong_lp(reduced), abs=1e-6)


# -------------------------------------------------------------------------------------------------- equal signature


@given(st.one_of(cases(max_rows=9), sensitive_cases(max_rows=9)))
@settings(relaxed, max_examples=40)
def test_exactly_the_row_types_with_equal_candidates_and_values_are_merged(case: Case | SensitiveCase) -> None:
    before = reduce(prepare(case.problem()))[-1].instance
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


def table_of(rows: str, sensitive: bool = False) -> km.Table:
    names = [f"q{j}" for j in range(rows.index(" ") - sensitive)] + ["s"] * sensitive
    frame = pl.DataFrame([tuple(row) for row in rows.split()], schema=names, orient="row")
    return km.Table.from_frame(frame, names[: len(names) - sensitive], "s" if sensitive else ())


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
@settings(relaxed, max_examples=10)
def test_k_anonymity_of_some_columns_is_not_merged(case: SensitiveCase) -> None:
    problem = case.problem()
    narrow = any(isinstance(r, km.KAnonymity) and r.quasi_identifiers is not None for r in problem.requirements)
    for reduction in (EqualSignature(), Kernel(), ReducedCosts(ExactDual(np.zeros(1, np.int64)), 1)):
        assert not (narrow and reduction.accepts(problem))
    if narrow:
        with pytest.raises(ValueError, match="equal_signature is not valid"):
            EqualSignature().apply(prepare(problem))


# ------------------------------------------------------------------------------------------------------------ kernel


@pytest.mark.parametrize(("copies", "left"), [(4, 4), (5, 3), (6, 3), (100, 3)])
def test_a_row_type_keeps_as_many_rows_as_others_can_need(copies: int, left: int) -> None:
    # k = 2 and P = 2 candidates (keep, suppress): 2·1 + 1 rows stay, once 2 others can be placed beforehand
    problem = km.Problem(table_of(" ".join(["a"] * copies + ["b"])), [km.KAnonymity(2)])
    steps = keeps(problem, Fraction(2), (Kernel(),))
    assert steps[0].instance.types.counts.tolist() == [left, 1]
    assert steps[0].instance.candidates.support.tolist() == [left, 1, left + 1]


def test_the_kernel_is_for_groups_of_size_k_alone() -> None:
    table = table_of("axm byn czm dwn", sensitive=True)
    k = km.KAnonymity(2)
    assert Kernel().accepts(km.Problem(table, [k, km.KAnonymity(3)], cost_bound=3))
    for problem in (
        km.Problem(table, [k, km.PSensitivity(2)]),
        km.Problem(table, [k], min_groups=1),
        km.Problem(table, [k], max_groups=1),
        km.Problem(table, [k], objective="max_groups"),
    ):
        assert not Kernel().accepts(problem)


def test_the_kernel_needs_a_candidate_that_costs_nothing() -> None:
    problem = km.Problem(table_of(" ".join(["ax"] * 9)), [km.KAnonymity(2)], km.PatternMask([("keep", "*")]))
    assert Kernel().apply(prepare(problem)).instance.types.n == 9
    free = replace(problem, recoding=km.PatternMask([("keep", "*")], {"q1": 0}))
    assert Kernel().apply(prepare(free)).instance.types.n == 2


# ------------------------------------------------------------------------------------------------ reduced-cost fixing


def multipliers(data: st.DataObject, instance: Instance) -> ExactDual:
    """Those of the Lagrangian bound, or any others; with counting rows."""
    if data.draw(st.booleans()):
        return round_dual(lagrangian(instance, iterations=200))
    each, count = st.integers(-2 * DENOMINATOR, 8 * DENOMINATOR), instance.types.count
    return ExactDual(
        np.array(data.draw(st.lists(each, min_size=count, max_size=count))),
        DENOMINATOR,
        *drawn_sets(data, count, 3 * DENOMINATOR),
    )


@given(st.one_of(cases(max_rows=8), sensitive_cases(max_rows=7)), st.data())
@settings(relaxed, max_examples=30)
def test_fixing_keeps_all_that_is_better_than_the_incumbent(case: Case | SensitiveCase, data: st.DataObject) -> None:
    problem = case.problem()
    assume(problem.objective == "loss")
    chain = data.draw(st.sampled_from([(Viability(),), REDUCTIONS, CHAIN]))
    start = prepare(problem)
    steps = reduce(start, chain)
    instance = steps[-1].instance
    found = best(instance)
    assume(found is not None)
    assert found is not None
    units = int(found[0] / instance.levels.unit)
    above = data.draw(st.sampled_from([1, 2, 0, -1]))
    dual = multipliers(data, instance)
    step = ReducedCosts(dual, units + above).apply(instance)
    left = best(step.instance)
    if above > 0:
        assert left is not None
        assert left[0] == found[0]
        whole = restore([*steps, step], left[1])
        release = expand(start, whole)
        assert km.verify(problem, problem.table.released(release.columns)).cost == found[0]
        # merging what is left keeps it as well
        again = best(EqualSignature().apply(step.instance).instance)
        assert again is not None
        assert again[0] == found[0]
    else:
        assert left is None or left[0] >= found[0]
    # a pair that is gone is in no solution below the incumbent
    kept = set(zip(step.origin[step.instance.candidates.candidate_of_pair()], step.instance.candidates.members))  # noqa: B905
    pairs = list(zip(instance.candidates.candidate_of_pair(), instance.candidates.members))  # noqa: B905
    gone = [at for at, pair in enumerate(pairs) if pair not in kept]
    if gone:
        with_it = best(instance, data.draw(st.sampled_from(gone)))
        assert with_it is None or with_it[0] >= (units + above) * instance.levels.unit


def test_fixing_is_about_the_loss_and_comes_after_dominance() -> None:
    problem = km.Problem(table_of("aa ab bb ba"), [km.KAnonymity(2)])
    instance = reduce(prepare(problem))[-1].instance
    step = ReducedCosts(ExactDual(np.zeros(4, dtype=np.int64)), 5).apply(instance)
    with pytest.raises(ValueError, match="dominance reads the values"):
        Dominance().apply(step.instance)
    groups = replace(problem, objective="max_groups")
    assert not ReducedCosts(ExactDual(np.zeros(4, dtype=np.int64)), 5).accepts(groups)


# ---------------------------------------------------------------------------------------------------- the whole way


@given(st.one_of(cases(max_rows=9, sides=False), sensitive_cases(max_rows=8, sides=False)), st.data())
@settings(relaxed, max_examples=20)
def test_multipliers_of_merged_row_types_prove_the_same_of_all(case: Case | SensitiveCase, data: st.DataObject) -> None:
    steps = reduce(prepare(case.problem()), CHAIN)
    merged, before = steps[-1].instance, steps[-1].before
    dual = multipliers(data, merged) if covered(merged) else ExactDual(np.zeros(merged.types.count, dtype=np.int64))
    spread = dual.spread(lambda values: restore_values(steps, values))
    assert exact_value(before, spread) == exact_value(merged, dual)


def test_a_model_to_extend_has_all_row_types_and_solve_merges_them() -> None:
    problem = km.Problem(table_of("ax bz cw cw cv cv"), [km.KAnonymity(2)])
    assert len(km.build_model(problem).ROW_TYPES) == 4
    formulation = get_formulation("strong")
    plain, merged = (prepare_for(problem, formulation, Clock(), merge=merge) for merge in (False, True))
    assert (plain.instance.types.count, merged.instance.types.count) == (4, 3)
    assert [found["name"] for found in merged.reduction_sizes] == ["viability", "dominance", "equal_signature"]
    assert merged.reduction_sizes[-1] == {
        "name": "equal_signature",
        "before": {"row_types": 4, "candidates": 4, "pairs": 8},
        "row_types": 3,
        "candidates": 4,
        "pairs": 7,
    }
    textbook = prepare_for(problem, get_formulation("textbook"), Clock(), merge=True)
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
