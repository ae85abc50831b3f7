"""Costs of labels: what is refused, and that the loss is what the definition says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import oracle
import polars as pl
import pytest
from command_line import run
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_milp as km
from kanon_milp.errors import InputError

JOBS: dict[str | None, tuple[str | None, ...]] = {
    "cook": ("cook", "kitchen", "house", "*"),
    "baker": ("baker", "kitchen", "house", "*"),
    "maid": ("maid", "maid", "house", "*"),
    "clerk": ("clerk", "office", "desk", "*"),
    "judge": ("judge", "court", "desk", "*"),
}
LABELS: dict[Any, Any] = {"kitchen": 1, "office": Fraction(1, 3), "court": 0, "house": 1, "desk": "1/2", "*": 2}
ROWS = [("cook", "f"), ("baker", "f"), ("maid", "m"), ("clerk", "m"), ("judge", "f"), ("judge", "m"), ("cook", "m")]


def problem(costs: Any, rows: Any = ROWS, k: int = 2, **more: Any) -> km.Problem:
    frame = pl.DataFrame(rows, schema=["job", "sex"], orient="row")
    recoding = km.Hierarchies({"job": km.Hierarchy(JOBS)}, costs=costs, **more)
    return km.Problem(km.Table.from_frame(frame, ["job", "sex"]), km.KAnonymity(k), recoding)


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ({"job": {**LABELS, "kitchen": 3}}, "a label of level 1 costs more than the one above it, of level 2"),
        ({"job": {**LABELS, "house": 3}}, "a label of level 2 costs more than the one above it, of level 3"),
        ({"job": {**LABELS, "maid": 1}}, "level 0 is a value itself, which must cost 0"),
        ({"job": {**LABELS, "cellar": 1}}, "1 label with a cost that the hierarchy does not have"),
        ({"job": {"*": 1}}, "3 of 4 labels of level 1 have no cost"),
        ({"job": {**LABELS, "desk": -1}}, "must not be negative"),
        ({"job": {**LABELS, 3: 1}}, "text is expected"),
        ({"job": "share"}, '"ncp", is expected'),
        ("share", '"ncp", is expected'),
        ({"job": 3}, '"ncp", is expected'),
        ({"job": [0, 1, "1/2", 2]}, "never fall"),
        ({"city": "ncp"}, '"city" is not a quasi-identifier'),
        ({"sex": {"*": 1, "f": 1}}, "level 0 is a value itself"),
    ],
)
def test_what_are_no_costs_is_refused(costs: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        km.solve(problem(costs))
    assert said in str(refused.value)
    assert not any(value in str(refused.value) for value in ("cook", "kitchen", "cellar", "house"))


def test_a_column_has_costs_once() -> None:
    for costs in ("ncp", {"job": "ncp"}, {"job": [0, 0, 1, 1]}):
        with pytest.raises(InputError, match="costs and level_costs"):
            problem(costs, level_costs={"job": [0, 1, 1, 2]})


def test_costs_of_levels_are_the_same_by_either_name() -> None:
    tree = {"job": km.Hierarchy(JOBS)}
    costs = {"job": (0, 1, 1, 2)}
    assert km.Hierarchies(tree, costs=costs) == km.Hierarchies(tree, level_costs=costs)


def test_suppression_is_a_star_whose_centre_costs_1() -> None:
    """Blocki and Williams 2010, after Definition 9."""
    frame = pl.DataFrame(ROWS, schema=["job", "sex"], orient="row")
    table = km.Table.from_frame(frame, ["job", "sex"])
    star = km.Hierarchies({}, costs={"job": {"*": 1}, "sex": {"*": 1}})
    for k in (2, 3):
        found = [km.solve(km.Problem(table, km.KAnonymity(k), each)) for each in (star, km.Suppression())]
        assert found[0].exact_objective == found[1].exact_objective


def share(column: int, rows: Any, paths: Mapping[str | None, tuple[str | None, ...]]) -> dict[str | None, Fraction]:
    """NCP of each label of a column that is not numeric, from its definition."""
    values = {row[column] for row in rows}
    under: dict[str | None, set[str]] = {}
    for value in values:
        for label in paths[value]:
            under.setdefault(label, set()).add(value)
    return {label: Fraction(len(each), len(values)) for label, each in under.items() if len(each) > 1}


rows_of_jobs = st.lists(
    st.tuples(st.sampled_from([job for job in JOBS if job]), st.sampled_from("fm")), min_size=2, max_size=8
)


@given(rows_of_jobs, st.integers(2, 3), st.sampled_from(["auto", "milp", "search", "matching", "subset_dp"]))
@settings(max_examples=examples(30, 10))
def test_the_loss_is_the_certainty_penalty(rows: Any, k: int, method: str) -> None:
    asked = problem("ncp", rows, k)
    sexes: dict[str | None, tuple[str | None, ...]] = {"f": ("f", "*"), "m": ("m", "*")}
    costs = {0: share(0, rows, JOBS), 1: share(1, rows, sexes)}
    expected = oracle.optimum(rows, k, hierarchies={0: JOBS}, level_costs=costs)
    found = km.solve(asked, method=method if k == 2 or method != "matching" else "auto")
    assert found.exact_objective == expected
    if expected is not None:
        assert found.require_optimal().verified
        penalty = km.measure(asked, found.table).certainty_penalty
        assert penalty is not None
        assert penalty * len(rows) * 2 == expected
        assert km.verify(asked, found.table).cost == expected


def test_numbers_cost_their_share_of_the_range() -> None:
    frame = pl.DataFrame({"age": ["20", "21", "24", "30", "39", "60"]})
    tree = km.Hierarchy.intervals(frame["age"], [10])
    asked = km.Problem(
        km.Table.from_frame(frame, ["age"]), km.KAnonymity(2), km.Hierarchies({"age": tree}, costs="ncp")
    )
    found = km.solve(asked)
    # of 40 years 20-29 covers 4 and 30-39 covers 9; 60 is suppressed with another one, best of the twenties
    expected = 2 * Fraction(4, 40) + 2 * Fraction(9, 40) + 2
    assert found.require_optimal().exact_objective == expected
    assert km.verify(asked, found.table).cost == expected


def test_rows_that_were_dropped_cost_what_suppressed_ones_do() -> None:
    asked = problem("ncp")
    frame = pl.DataFrame(ROWS, schema=["job", "sex"], orient="row").with_row_index("id")
    table = km.Table.from_frame(frame, ["job", "sex"], keep=["id"])
    asked = km.Problem(table, km.KAnonymity(2), asked.recoding)
    kept = frame.filter(pl.col("job").is_in(["judge"])).with_columns(pl.lit("*").alias("sex"))
    report = km.verify(asked, kept, row_id="id")
    assert report.cost == 2 + 5 * 2  # both of the domain of the original, of which "judge" is one value


def test_files_and_options_state_them(tmp_path: Path) -> None:
    pl.DataFrame(ROWS, schema=["job", "sex"], orient="row").write_csv(tmp_path / "t.csv")
    (tmp_path / "trees").mkdir()
    km.Hierarchy(JOBS).write(tmp_path / "trees" / "job.csv")
    (tmp_path / "costs.csv").write_text("label,cost\n" + "".join(f"{label},{cost}\n" for label, cost in LABELS.items()))
    labels = ", ".join(f'"{label}" = "{cost}"' for label, cost in LABELS.items())
    for option, key, costs in (
        ("ncp", '"ncp"', "ncp"),
        ("job=ncp", '{ job = "ncp" }', {"job": "ncp"}),
        ("job=0,1/4,1/2,1", "{ job = [0, 0.25, 0.5, 1] }", {"job": [0, "1/4", "1/2", 1]}),
        (f"job={tmp_path / 'costs.csv'}", f"{{ job = {{ {labels} }} }}", {"job": LABELS}),
    ):
        expected = km.solve(problem(costs)).exact_objective
        (tmp_path / "model.toml").write_text(
            '[data]\nfile = "t.csv"\nquasi_identifiers = ["job", "sex"]\n[privacy]\nk = 2\n'
            f'[recoding]\nhierarchies = "trees"\ncosts = {key}\n'
        )
        assert km.solve(km.read_model(tmp_path / "model.toml").problem).exact_objective == expected
        stated = ["--qi", "job,sex", "--k", "2", "--hierarchies", tmp_path / "trees", "--costs", option]
        out, proof = tmp_path / "out", tmp_path / "proof.json"
        done = run("solve", "--data", tmp_path / "t.csv", *stated, "--out", out, "--certificate", proof, "--quiet")
        assert done.returncode == 0, done.stderr
        released = [out / "anonymized.csv", "--original", tmp_path / "t.csv"]
        checked = run("verify", *released, *stated, "--certificate", proof, "--json")
        assert checked.returncode == 0, checked.stdout
        assert Fraction(json.loads(checked.stdout)["cost_exact"]) == expected
        other = run("verify", *released, *stated[:-1], "job=0,1/3,1/2,1", "--certificate", proof)
        assert other.returncode == 6
        assert "weights or level costs differ" in other.stdout
    for wrong in ("job", "job=ncp,job", "job=none.csv"):
        assert run("solve", "--data", tmp_path / "t.csv", *stated[:-1], wrong).returncode == 2
