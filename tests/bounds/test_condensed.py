"""The condensed problem is a relaxation whatever is taken for ample, and the problem itself where nothing is."""

from __future__ import annotations

import math

import numpy as np
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import optimum
from reduction_cases import best
from scipy.optimize import Bounds, LinearConstraint, milp
from strategies import Case, cases

from kanon_milp.bounds.condensed import Condensed, condense
from kanon_milp.bounds.packing_cuts import NO_SETS, TypeSets, type_sets
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.reductions import REDUCTIONS, reduce


def value_of(condensed: Condensed) -> float:
    """By SciPy's solver, with every variable integer; infinite where nothing satisfies the model."""
    model = condensed.model()
    if not model.variables:
        return model.offset if (model.constraint_lower <= 0).all() else math.inf
    rows = LinearConstraint(model.A, model.constraint_lower, model.constraint_upper)
    answer = milp(
        model.c, constraints=rows, bounds=Bounds(model.lower, model.upper), integrality=np.ones(model.variables, int)
    )
    return math.inf if answer.x is None else model.offset + float(answer.fun)


def packing_sets(data: st.DataObject, instance: Instance) -> TypeSets:
    types = st.integers(0, instance.types.count - 1)
    sets = data.draw(st.lists(st.sets(types, min_size=1), max_size=3))
    return type_sets(sets) if sets else NO_SETS


@given(cases(max_rows=9, sides=False), st.data())
@settings(max_examples=examples(120, 13))
def test_no_table_loses_less(case: Case, data: st.DataObject) -> None:
    expected = optimum(case.rows, case.k, **case.judged())
    assume(expected is not None)
    assert expected is not None
    start = prepare(case.problem())
    steps = reduce(start, REDUCTIONS) if data.draw(st.booleans()) else []
    instance = steps[-1].instance if steps else start
    units = float(expected / instance.levels.unit)
    flag = st.booleans()
    ample = np.array(data.draw(st.lists(flag, min_size=instance.candidates.count, max_size=instance.candidates.count)))
    apart = np.array(data.draw(st.lists(flag, min_size=instance.types.count, max_size=instance.types.count)))
    sets = packing_sets(data, instance)
    condensed = condense(instance, ample, apart, sets)
    assert value_of(condensed) <= units + 1e-6
    found = best(instance)
    assert found is not None
    model, point = condensed.model(), condensed.start(found[1])
    assert model.violation(point) <= 1e-9
    assert model.value(point) <= units + 1e-6


@given(cases(max_rows=9, sides=False), st.data())
@settings(max_examples=examples(60, 8))
def test_where_nothing_is_ample_it_is_the_problem(case: Case, data: st.DataObject) -> None:
    expected = optimum(case.rows, case.k, **case.judged())
    instance = prepare(case.problem())
    nothing = np.zeros(instance.candidates.count, dtype=bool)
    condensed = condense(instance, nothing, np.zeros(instance.types.count, dtype=bool), packing_sets(data, instance))
    if expected is None:
        assert value_of(condensed) == math.inf
    else:
        assert abs(value_of(condensed) - float(expected / instance.levels.unit)) <= 1e-6
