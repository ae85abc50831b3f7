"""Tables that are left out of a model: one after the other, against all tables of small problems."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import polars as pl
import pytest
from effort import examples
from every_table import every_table

import kanon_milp as km

ONES = [Fraction(1)] * 2


def drawn(seed: int) -> tuple[km.Problem, list[tuple[str, str]]]:
    draw = Random(f"exclude-{seed}")
    rows = [(draw.choice("ab"), draw.choice("xy")) for _ in range(4)]
    frame = pl.DataFrame(rows, ["q0", "q1"], orient="row")
    return km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(2)), rows


def released(result: km.Result) -> list[tuple[str, ...]]:
    table: Any = result.table
    return list(table.select("q0", "q1").iter_rows())


@pytest.mark.parametrize("seed", range(1, 1 + examples(12, 1)))
def test_all_tables_come_once_and_in_order(seed: int) -> None:
    problem, rows = drawn(seed)
    every = {table.placed(rows): table.loss for table in every_table(rows, 2, ONES)}
    model, losses, seen = km.build_model(problem), [], set()
    while (found := km.solve_model(problem, model)).is_optimal:
        losses.append(found.exact_objective)
        seen.add(
            frozenset(
                (pair, list(zip(rows, released(found), strict=True)).count(pair))
                for pair in zip(rows, released(found), strict=True)
            )
        )
        km.exclude(model)
    assert found.proof == "infeasible"
    assert losses == sorted(every.values())
    assert seen == every.keys()


@pytest.mark.parametrize("seed", range(examples(12, 2)))
def test_by_columns_each_set_of_level_vectors_comes_once(seed: int) -> None:
    problem, rows = drawn(seed)
    best: dict[frozenset[tuple[int, ...]], Fraction] = {}
    for table in every_table(rows, 2, ONES):
        best[table.vectors] = min(table.loss, best.get(table.vectors, table.loss))
    model, losses = km.build_model(problem), []
    while (found := km.solve_model(problem, model)).is_optimal:
        losses.append(found.exact_objective)
        km.exclude(model, differ="columns")
    assert found.proof == "infeasible"
    assert losses == sorted(best.values())


def test_what_is_no_table() -> None:
    problem, _ = drawn(1)
    model = km.build_model(problem)
    with pytest.raises(km.InputError, match="have no values"):
        km.exclude(model)
    with pytest.raises(km.InputError, match="each row type must have"):
        km.exclude(model, {})
    with pytest.raises(km.InputError, match="PAIRS"):
        km.exclude(model, {(99, 99): 1})
    with pytest.raises(km.InputError, match="differ must be one of rows, columns"):
        km.exclude(model, differ="cells")  # type: ignore[arg-type]
