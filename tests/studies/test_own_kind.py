"""Whoever brings a data frame of pandas gets such ones back, with the same numbers as others do."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kanon_milp as km

FRAME = pl.DataFrame({"age": [1, 2, 2, 3, 3, 4], "sex": list("ffmmff")})
KINDS = {"pandas": (pd.DataFrame, FRAME.to_pandas()), "pyarrow": (pa.Table, FRAME.to_arrow())}


def found(table: Any) -> dict[str, Any]:
    """All frames that the package gives of a table, by what they are of."""
    problem = km.Problem(km.Table.from_frame(table, ["age", "sex"]), km.KAnonymity(2))
    result = km.solve(problem)
    tree = {str(age): (str(age), f"{age // 3}", "*") for age in range(1, 5)}
    full = km.solve_full_domain(problem.table, km.KAnonymity(2), km.FullDomain({"age": tree}))
    metrics = km.measure(problem, result.table)
    attack = km.attack(problem, result.table)
    ages = km.Hierarchy.intervals(table["age"], [2])
    return {
        "table": result.table,
        "result": result.to_frame(),
        "labels": full.labels,
        "comparison": km.compare(problem, ["greedy"]).to_frame(),
        "sweep": km.sweep(problem, k=[2, 3]).to_frame(),
        "inspection": km.inspect(table).to_frame(),
        "metrics": metrics.to_frame(),
        "applied": km.apply(result, table).table,
        "breaking": km.apply(result, table[:1]).breaking,
        "groups of an attack": attack.groups,
        "cells of an attack": attack.cells,
        "groups of the verifier": km.verify(problem, result.table).group_frame(),
        "quasi-identifiers": km.find_quasi_identifiers(table).to_frame(),
        "quasi-identifiers of a Table": km.find_quasi_identifiers(problem.table).to_frame(),
        "row types": km.compress(table).to_frame(),
        "hierarchy": ages.to_frame(),
        "the same of another column": ages.extended(table["age"]).to_frame(),
        "hierarchy of a frame": km.Hierarchy.from_frame(ages.to_frame()).to_frame(),
        "hierarchy of an order": km.Hierarchy.ordered(table["age"], [1, 2, 3, 4], [2]).to_frame(),
        "hierarchy of groups": km.Hierarchy.groups(table["age"], {"a": [1, 2], "b": [3, 4]}).to_frame(),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_out_is_of_the_kind_that_came_in(kind: str) -> None:
    of, table = KINDS[kind]
    others = found(FRAME)
    for what, frame in found(table).items():
        assert isinstance(frame, of), what
        assert isinstance(others[what], pl.DataFrame)
        same = pl.from_pandas(frame) if kind == "pandas" else pl.DataFrame(frame)
        assert same.columns == others[what].columns
        for name in same.columns:
            if name.startswith("seconds"):
                continue
            values = [others[what][name].to_list(), same[name].to_list()]
            assert json.dumps(values[0]) == json.dumps(values[1]), (what, name)


def test_measures_are_numbers_with_the_exact_ones_beside() -> None:
    problem = km.Problem(km.Table.from_frame(FRAME.to_pandas(), ["age", "sex"]), km.KAnonymity(2))
    result = km.solve(problem)
    metrics = km.measure(problem, result.table)
    frame = metrics.to_frame()
    exact = {name: value for name, value in vars(metrics).items() if isinstance(value, Fraction)}
    assert len(exact) > 5
    for name, value in exact.items():
        assert frame[name][0] == float(value)
        assert Fraction(frame[f"{name}_exact"][0]) == value
    assert result.to_frame()["class_size"][0] == float(metrics.class_size or 0)


def test_a_chart_brings_its_picture() -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    problem = km.Problem(km.Table.from_frame(FRAME, ["age", "sex"]), km.KAnonymity(2))
    for chart in (km.solve(problem).plot(), km.compare(problem, ["greedy"]).plot(), km.sweep(problem, k=[2]).plot()):
        bundle = chart.properties(title="mine")._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg")
        assert any(name.startswith("application/vnd.vegalite.") for name in bundle)
