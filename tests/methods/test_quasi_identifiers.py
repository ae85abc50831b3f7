"""Quasi-identifiers: the examples of the paper, brute force over all sets of columns, and the declarative models."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from census import census
from command_line import run
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.formulations.column_models import build_violating
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import to_arrays

Rows = list[tuple[str, ...]]

# Yuan and Wang, section 4.2 (with . for their bottom) and section 5.2
COVER = ["1...", "22..", "3.3.", ".444", "...5", "...."]
GREEDY = ["x1x6x", "xx27x", "x3x8x", "xx4x9", "5xxx0"]
# with a sixth row, so that b and c do not identify, which the paper says they do not, and in its five rows they do
SIX_ROWS = [*GREEDY, "6xxx1"]


def frame(rows: Sequence[Sequence[str]]) -> pl.DataFrame:
    return pl.DataFrame([list(row) for row in rows], schema=list("abcdefgh"[: len(rows[0])]), orient="row")


def classes(rows: Sequence[Sequence[str]], chosen: Sequence[int]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(row[j] for j in chosen) for row in rows)


def test_the_minimum_cover_of_the_paper() -> None:
    found = km.find_quasi_identifiers(frame(COVER), every=True)
    assert found.minimum == (("a", "d"),)
    assert found.complete
    assert not found.k_anonymous


def test_the_example_of_the_greedy_algorithm_as_it_is_printed() -> None:
    found = km.find_quasi_identifiers(frame(GREEDY), every=True)
    assert ("d", "e") in found.minimum
    assert {len(each) for each in found.minimum} == {2}
    assert found.minimal == ("b", "c")


def test_the_minimal_one_can_be_larger_than_the_minimum() -> None:
    found = km.find_quasi_identifiers(frame(SIX_ROWS), every=True)
    assert ("d", "e") in found.minimum  # one of several with two columns
    assert {len(each) for each in found.minimum} == {2}
    assert found.minimal == ("a", "b", "c")


tables = st.integers(1, 5).flatmap(lambda m: st.lists(st.tuples(*[st.sampled_from("xyz")] * m), min_size=1, max_size=9))


@given(tables, st.integers(2, 3))
@settings(max_examples=examples(300, 10))
def test_both_readings_agree_with_all_sets_of_columns(rows: Rows, k: int) -> None:
    m = len(rows[0])
    sets = [chosen for size in range(m + 1) for chosen in itertools.combinations(range(m), size)]
    goal = len(set(rows))
    identifying = [chosen for chosen in sets if len(classes(rows, chosen)) == goal]
    violating = [chosen for chosen in sets if min(classes(rows, chosen).values()) < k]
    for reading, known in (("identify", identifying), ("violate", violating)):
        found = km.find_quasi_identifiers(frame(rows), k=k, reading=reading, every=True)  # type: ignore[arg-type]
        fewest = min((len(chosen) for chosen in known), default=0)
        expected = {tuple("abcde"[j] for j in chosen) for chosen in known if len(chosen) == fewest}
        assert set(found.minimum) == expected
        assert len(found.minimum) == len(expected)
        assert found.k_anonymous == (min(Counter(rows).values()) >= k)
        if known:
            minimal = tuple("abcde".index(name) for name in found.minimal)
            assert minimal in known
            assert not any(set(chosen) < set(minimal) for chosen in known)
        one = km.find_quasi_identifiers(frame(rows), k=k, reading=reading)  # type: ignore[arg-type]
        assert not expected or one.minimum[0] in expected


@given(tables, st.integers(2, 3))
@settings(max_examples=examples(100, 6))
def test_the_declared_model_of_a_rare_row_agrees(rows: Rows, k: int) -> None:
    distinct = sorted(set(rows))
    codes = np.array([["xyz".index(value) for value in row] for row in distinct], dtype=np.int32)
    counts = np.array([rows.count(row) for row in distinct])
    found = km.find_quasi_identifiers(frame(rows), k=k, reading="violate")
    answer = get("highs").solve(
        to_arrays(build_violating(list("abcde")[: len(rows[0])], codes, counts, k)).linear, SolverOptions()
    )
    if found.minimum:
        assert answer.objective == pytest.approx(len(found.minimum[0]))
    else:
        assert answer.stop_reason.value == "infeasible"


def test_uniqueness_counts_rows() -> None:
    rows = [("a", "1"), ("a", "1"), ("a", "2"), ("b", "1"), ("a", "1")]
    found = km.find_quasi_identifiers(frame(rows), k=3)
    ranked = {each.columns: (each.classes, each.unique, each.rare, each.smallest) for each in found.uniqueness}
    assert ranked == {("a",): (2, 1, 1, 1), ("b",): (2, 1, 1, 1), ("a", "b"): (3, 2, 2, 1)}


def test_a_table_gives_its_quasi_identifiers_and_other_frames_their_columns() -> None:
    pandas = pytest.importorskip("pandas")
    data = census(200)
    table = km.Table.from_frame(data, ["age", "sex"], "disease")
    assert km.find_quasi_identifiers(table).columns == ("age", "sex")
    other = km.find_quasi_identifiers(pandas.DataFrame(data.to_dict(as_series=False)), ["age", "sex"])
    assert other.as_dict() == km.find_quasi_identifiers(table).as_dict()
    assert km.find_quasi_identifiers(data.lazy(), ["age", "sex"]).as_dict() == other.as_dict()


def test_the_command_prints_what_the_contract_says(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame(SIX_ROWS).write_csv(path)
    done = run("qid", str(path), "--k", "2", "--all", "--json")
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert (said["k"], said["rows"]) == (2, 6)
    assert said["minimum"]["size"] == 2
    assert ["d", "e"] in said["minimum"]["sets"]
    assert said["minimal"] == ["a", "b", "c"]
    assert [each["columns"] for each in said["uniqueness"]][-1] == list("abcde")
    shown = run("qid", str(path), "--reading", "violate")
    assert shown.returncode == 0
    assert "minimum" in shown.stdout
    assert "5xxx0" not in shown.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--qi", "a,zz"), "zz"), (("--k", "1"), "k"), (("--reading", "some"), "reading"), (("--solver", "no"), "no")],
)
def test_bad_input_is_one_line(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    path = tmp_path / "t.csv"
    frame(GREEDY).write_csv(path)
    done = run("qid", str(path), *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("command", [("qid",), ("compress", "--qi", "a")])
def test_a_table_without_rows_is_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n")
    done = run(command[0], str(path), *command[1:])
    assert done.returncode == 2
    assert done.stderr.strip() == "error: the table has no rows"
