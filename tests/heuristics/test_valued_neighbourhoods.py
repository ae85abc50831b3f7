"""Neighbourhoods under requirements say of their rows what the table says, and what comes back from them holds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from census import census
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sensitive_cases import SensitiveCase, sensitive_cases
from strategies import reduced

import kanon_milp as km
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import greedy, suppress_all
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.neighbourhoods import DEFAULT
from kanon_milp.heuristics.valued_neighbourhoods import Landscape, declare, rebuild, rows_of
from kanon_milp.presolve.assignment import Assignment, expand
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.reductions import MERGING, REDUCTIONS, reduce, restore
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.system.worker_pool import InlinePool

HIGHS = get("highs")


def everything(instance: Instance) -> Landscape:
    return Landscape(instance, np.ones(instance.candidates.pairs, np.bool_))


def first_table(instance: Instance) -> Assignment | None:
    """A table that satisfies all requirements, if one is found."""
    check = GroupCheck(instance)
    for table in (greedy(instance), suppress_all(instance)):
        if table is not None and not len(check.refused(table)):
            return table
    return None


@given(sensitive_cases(max_rows=8, sides=False), st.data())
@settings(max_examples=examples(150, 4))
def test_a_neighbourhood_begins_where_the_table_is(case: SensitiveCase, data: st.DataObject) -> None:
    """Its loss, its groups and its model agree with the table that it was cut out of."""
    problem = case.problem()
    steps = reduce(prepare(problem), (*REDUCTIONS, *(MERGING if data.draw(st.booleans()) else ())))
    instance = steps[-1].instance
    table = first_table(instance)
    assume(table is not None and table.cost > 0)
    assert table is not None
    landscape, random = everything(instance), np.random.default_rng(data.draw(st.integers(0, 9)))
    busy = np.zeros(instance.candidates.count, np.bool_)
    hood = landscape.cut_out(table, data.draw(st.integers(1, 8)), busy, random)
    assert hood is not None
    part = hood.part
    placed = np.bincount(part.candidates.members, weights=hood.start, minlength=part.types.count)
    assert (placed == part.types.counts).all()
    apart = np.isin(table.candidate, part.chosen, invert=True)
    assert hood.loss + int(table.rows[apart] @ instance.candidates.cost[table.candidate[apart]]) == table.cost
    for attribute in problem.attributes:  # what stays and what moves has the sensitive values that it had
        code, values = part.sensitive_codes((attribute,))
        held, known = instance.sensitive_codes((attribute,))
        assert values == known
        inside = ~apart
        expected = np.bincount(held[table.row_type[inside]], weights=table.rows[inside], minlength=len(values))
        assert (np.bincount(code, weights=part.types.counts, minlength=len(values)) == expected).all()
    # the start satisfies the model, and the best point is a table
    model = declare(hood)
    start = model.start(hood.start, sizes=True)
    answer = HIGHS.solve(model.linear, SolverOptions(absolute_gap=0.89, extra={"presolve": "off"}), start=start)
    assert answer.x is not None
    assert answer.objective is not None
    rows = rows_of(hood, model.columns, answer.x)
    assert hood.loss_of(rows) <= hood.loss
    better = landscape.put_back(table, hood, rows)
    if hood.loss_of(rows) < hood.loss:
        assert better is not None
        assert better.cost == table.cost - hood.loss + hood.loss_of(rows)
        release = expand(steps[0].before, restore(steps, better))
        report = km.verify(problem, release.table(problem.table), partition=release.groups.group.tolist())
        assert report.ok
        assert report.cost == better.cost * instance.levels.unit
    else:
        assert better is None


def test_what_does_not_satisfy_the_requirements_is_not_put_back() -> None:
    frame = census(40)
    problem = km.Problem(km.Table.from_frame(frame, ["age", "race", "sex"], "disease"), [km.LDiversity(2)])
    instance = reduced(problem)
    table = suppress_all(instance)
    assert table is not None
    landscape = everything(instance)
    busy = np.zeros(instance.candidates.count, np.bool_)
    hood = landscape.cut_out(table, 10, busy, np.random.default_rng(0), everything=True)
    assert hood is not None
    # every row to the cheapest candidate that there is for it, alone
    candidates = hood.part.candidates
    order = np.lexsort((candidates.cost[candidates.candidate_of_pair()], candidates.members))
    first = order[np.flatnonzero(np.diff(candidates.members[order], prepend=-1))]
    rows = np.zeros(candidates.pairs, np.int64)
    rows[first] = hood.part.types.counts[candidates.members[first]]
    assert hood.loss_of(rows) < hood.loss
    assert landscape.put_back(table, hood, rows) is None


def test_a_counted_model_of_moved_values_that_is_too_large_is_left_out() -> None:
    """Of t-closeness alone: the same limit has no effect on l-diversity."""
    frame, few = census(40), replace(DEFAULT, counted_emd_entries=1)
    table = km.Table.from_frame(frame, ["age", "race", "sex"], "disease")
    for requirement, left_out in ((km.TCloseness("0.4"), True), (km.LDiversity(2), False)):
        instance = reduced(km.Problem(table, [km.KAnonymity(2), requirement]))
        start, effort = suppress_all(instance), Effort(neighbourhoods=2)
        assert start is not None

        table_of = partial(rebuild, everything(instance), start, HIGHS, SolverOptions(), InlinePool(), effort, 0)
        usual, small = (table_of(lambda _: None, params=params)[0].cost for params in (DEFAULT, few))
        assert usual < start.cost
        assert small == (start.cost if left_out else usual)


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_neighbourhoods_find_the_optimum_of_a_small_table(solver: str) -> None:
    problem = km.Problem(
        km.Table.from_frame(census(40), ["age", "race", "sex"], "disease"), [km.KAnonymity(2), km.LDiversity("3/2")]
    )
    steps = reduce(prepare(problem))
    instance = steps[-1].instance
    table = suppress_all(instance)
    assert table is not None
    seen: list[int] = []
    found, optimal = rebuild(
        everything(instance), table, get(solver), SolverOptions(), InlinePool(), Effort(neighbourhoods=20), 0,
        lambda better: seen.append(better.cost),
    )  # fmt: skip
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == found.cost
    expected = km.solve(problem).require_optimal().exact_objective
    assert found.cost * instance.levels.unit >= expected  # type: ignore[operator]
    assert not optimal or found.cost * instance.levels.unit == expected
    release = expand(steps[0].before, restore(steps, found))
    assert km.verify(problem, problem.table.released(release.columns)).ok


def test_busy_candidates_are_left_alone() -> None:
    problem = km.Problem(km.Table.from_frame(census(60), ["age", "race", "sex"], "disease"), [km.LDiversity(2)])
    instance = reduced(problem)
    table = greedy(instance)
    assert table is not None
    busy = np.zeros(instance.candidates.count, np.bool_)
    busy[np.unique(table.candidate)[::2]] = True
    hood = everything(instance).cut_out(table, 20, busy, np.random.default_rng(0))
    assert hood is None or not busy[hood.part.chosen].any()
    busy[:] = True
    assert everything(instance).cut_out(table, 20, busy, np.random.default_rng(0)) is None
