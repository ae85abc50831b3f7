"""Fixing by reduced costs keeps all that is better than the incumbent; multipliers of merged types prove the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reduction_cases import (
    CHAIN,
    best,
    covered,
    multipliers,
    relaxed,
    table_of,
)
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import Case, cases

import kanon_milp as km
from kanon_milp.bounds import ExactDual, exact_value
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.presolve.assignment import expand
from kanon_milp.presolve.instance import prepare
from kanon_milp.presolve.reductions import (
    REDUCTIONS,
    Dominance,
    EqualSignature,
    Viability,
    reduce,
    restore,
    restore_values,
)


@given(st.one_of(cases(max_rows=8), sensitive_cases(max_rows=7)), st.data())
@settings(relaxed, max_examples=examples(30, 10))
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
@settings(relaxed, max_examples=examples(20, 6))
def test_multipliers_of_merged_row_types_prove_the_same_of_all(case: Case | SensitiveCase, data: st.DataObject) -> None:
    steps = reduce(prepare(case.problem()), CHAIN)
    merged, before = steps[-1].instance, steps[-1].before
    dual = multipliers(data, merged) if covered(merged) else ExactDual(np.zeros(merged.types.count, dtype=np.int64))
    spread = dual.restored(lambda values: restore_values(steps, values))
    assert exact_value(before, spread) == exact_value(merged, dual)
