"""Fixing by reduced costs keeps all that is better than the incumbent; multipliers of merged types prove the same.

Fixing with the bound of all requirements keeps what is better than the incumbent, and takes what cannot be.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from present import present
from reduction_cases import CHAIN, best, multipliers, table_of
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import Case, cases, covered
from test_rank_one_cuts import drawn_rows
from test_required_bound import drawn
from test_required_cuts import LIMITED, WORKED

import kanon_milp as km
from kanon_milp.bounds import ExactDual, exact_value
from kanon_milp.bounds.columns.cut_rounds import CutRounds
from kanon_milp.bounds.dual import NEVER, DualPoint, can_be_priced, prove, round_dual
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.bounds.parameters import FixingParameters
from kanon_milp.bounds.rank_one_cuts import RankOneCuts
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.bounds.registry import BoundLimit
from kanon_milp.errors import InputError
from kanon_milp.presolve.assignment import expand
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.reductions import (
    REDUCTIONS,
    Dominance,
    EqualSignature,
    Step,
    Viability,
    reduce,
    restore,
    restore_values,
)
from kanon_milp.system.arrays import Ints
from kanon_milp.system.limit import NO_LIMIT, Limit


@given(st.one_of(cases(max_rows=8), sensitive_cases(max_rows=7)), st.data())
@settings(max_examples=examples(30, 3))
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
    # a table that is to be kept is in what is left, and nothing is lost by it
    kept_too = ReducedCosts(dual, units + above, found[1]).apply(instance)
    with_table = best(kept_too.instance)
    assert with_table is not None
    assert with_table[0] == found[0]
    assert kept_too.instance.candidates.pairs >= step.instance.candidates.pairs
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


@given(st.one_of(cases(max_rows=9, sides=False), sensitive_cases(max_rows=8, sides=False)), st.data())
@settings(max_examples=examples(20, 3))
def test_multipliers_of_merged_row_types_prove_the_same_of_all(case: Case | SensitiveCase, data: st.DataObject) -> None:
    steps = reduce(prepare(case.problem()), CHAIN)
    merged, before = steps[-1].instance, steps[-1].before
    dual = multipliers(data, merged) if covered(merged) else ExactDual(np.zeros(merged.types.count, dtype=np.int64))
    spread = dual.restored(lambda values: restore_values(steps, values))
    assert exact_value(before, spread) == exact_value(merged, dual)


def good_multipliers(instance: Instance, denominator: int) -> tuple[Ints, Ints]:
    """Those of the bound: with drawn ones next to nothing is ever fixed."""
    exact = round_dual(required_bound(instance, iterations=60), denominator)
    return exact.multipliers, present(exact.charges)


def reduced(start: Instance, data: st.DataObject) -> tuple[list[Step], int]:
    """Some reductions of an instance that has a table, and its optimum in units."""
    steps = reduce(start, data.draw(st.sampled_from([(Viability(),), REDUCTIONS, CHAIN])))
    found = best(steps[-1].instance)
    assume(found is not None)
    assert found is not None
    return steps, int(found[0] / start.levels.unit)


@given(sensitive_cases(max_rows=7), st.data())
@settings(max_examples=examples(120, 8))
def test_fixing_under_requirements_keeps_all_that_is_better(case: SensitiveCase, data: st.DataObject) -> None:
    problem = case.problem()
    assume(problem.objective == "loss" and problem.attributes)
    start = prepare(problem)
    steps, units = reduced(start, data)
    instance = steps[-1].instance
    above = data.draw(st.sampled_from([1, 2, 0, -1]))
    denominator = data.draw(st.sampled_from([1, 64]))
    good = data.draw(st.booleans())
    of = good_multipliers(instance, denominator) if good else drawn(data, instance, denominator)
    limit = data.draw(st.sampled_from([NO_LIMIT, Limit(0.0)]))
    exact = DualPoint(of[0], charges=of[1], denominator=denominator)
    params = FixingParameters(at_once=data.draw(st.sampled_from([1, 5, 10**6])))
    fixing = ReducedCosts(exact, units + above, limit=limit, params=params)
    check(start, steps, fixing, above, data)


@given(sensitive_cases((*LIMITED, *WORKED), max_rows=7, sides=False, most=2), st.data())
@settings(max_examples=examples(120, 8))
def test_so_does_fixing_with_cuts(case: SensitiveCase, data: st.DataObject) -> None:
    start = prepare(case.problem())
    assume(start.problem.attributes and can_be_priced(start))
    steps, units = reduced(start, data)
    instance = steps[-1].instance
    above, denominator = data.draw(st.sampled_from([1, 2, 0, -1])), data.draw(st.sampled_from([1, 64]))
    if data.draw(st.booleans()):
        point = required_bound(instance, iterations=60)
        cuts = CutRounds(instance, point, None)
        cuts.go_on(BoundLimit(rounds=data.draw(st.integers(0, 2))), lambda _: None)
        exact = cuts.proof()
    else:
        multipliers, charges = drawn(data, instance, denominator)
        rows = data.draw(drawn_rows(instance.types.count))
        prices = data.draw(st.lists(st.integers(0, 4 * denominator), min_size=len(rows), max_size=len(rows)))
        dual = DualPoint(multipliers / denominator, rank_one_cuts=RankOneCuts.of(rows),
                         cut_multipliers=np.array(prices) / denominator, charges=charges / denominator)  # fmt: skip
        exact = prove(instance, round_dual(dual, denominator), priced=True)
    assert exact.value <= units
    check(start, steps, ReducedCosts(exact.dual, units + above, proof=exact), above, data)


def check(start: Instance, steps: list[Step], fixing: ReducedCosts, above: int, data: st.DataObject) -> None:
    """Fixing at an incumbent so many units above the optimum, against all tables."""
    problem, instance = start.problem, steps[-1].instance
    found = best(instance)
    assert found is not None
    step = fixing.apply(instance)
    left = best(step.instance)
    if above > 0:
        assert left is not None
        assert left[0] == found[0]
        release = expand(start, restore([*steps, step], left[1]))
        assert km.verify(problem, problem.table.released(release.columns)).cost == found[0]
    else:
        assert left is None or left[0] >= found[0]
    # a pair that is gone is in no solution below the incumbent
    kept = set(zip(step.origin[step.instance.candidates.candidate_of_pair()], step.instance.candidates.members))  # noqa: B905
    pairs = list(zip(instance.candidates.candidate_of_pair(), instance.candidates.members))  # noqa: B905
    gone = [at for at, pair in enumerate(pairs) if pair not in kept]
    if gone:
        with_it = best(instance, data.draw(st.sampled_from(gone)))
        assert with_it is None or with_it[0] >= fixing.incumbent * instance.levels.unit


def test_a_value_that_is_capped_and_a_row_that_costs_more_are_fixed() -> None:
    # two candidates that keep a letter, one that suppresses it; no value may have more than half of a group
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("b", "y")]
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["q"], "s"), [km.LDiversity(1)])
    instance = prepare(problem)
    keeps = int(instance.candidates.cost.argmin())
    # every row is placed at no loss: what suppresses is fixed, whatever it holds
    multipliers = np.zeros(instance.types.count, np.int64)
    dual = DualPoint(multipliers, charges=np.zeros(0, np.int64))
    opened, pairs = ReducedCosts(dual, 1).possible(instance)
    assert opened[keeps]
    assert not opened[instance.candidates.cost > 0].any()
    assert (pairs == opened[instance.candidates.candidate_of_pair()]).all()
    # with room for one cell a row may be suppressed alone, since its groups may have one row
    opened, pairs = ReducedCosts(dual, 2).possible(instance)
    assert opened.all()
    assert pairs.all()


def test_numbers_that_do_not_fit_are_refused() -> None:
    frame = pl.DataFrame({"q": ["a", "b"], "s": ["x", "y"]})
    instance = prepare(km.Problem(km.Table.from_frame(frame, ["q"], "s"), [km.LDiversity(2)]))
    huge = np.full(instance.types.count, NEVER // 2)
    with pytest.raises(InputError, match="denominator"):
        ReducedCosts(DualPoint(huge, charges=np.zeros(0, np.int64)), 1).possible(instance)
