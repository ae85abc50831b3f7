"""Groups as boxes: legal, as private as the groups, and no wider than what the recoding releases."""

from __future__ import annotations

import hypothesis.strategies as st
import polars as pl
import pytest
from command_line import run
from hypothesis import HealthCheck, given, settings

import kanon_milp as km

relaxed = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
TEXTS = ["a", "b", "c,d", 'e"f', "{x}", " g", None]
ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["-1.5", "2", "2.25"]), st.sampled_from(TEXTS)),
    min_size=3,
    max_size=12,
)


@relaxed
@given(rows=ROWS, k=st.integers(2, 3), method=st.sampled_from(["mondrian", "milp", "greedy"]))
def test_boxes_hold_their_values_and_what_is_required(
    rows: list[tuple[int, str, str | None]], k: int, method: str
) -> None:
    frame = pl.DataFrame(rows, schema={"n": pl.Int64, "x": pl.String, "s": pl.String}, orient="row")
    problem = km.Problem(km.Table.from_frame(frame, ["n", "x", "s"]), km.KAnonymity(k))
    result = km.solve(problem, method=method)
    assert result.verified
    released = km.boxes(result)
    report = km.verify(problem, released, cells="intervals")
    assert report.ok, report.violations
    assert report.cost is not None
    assert result.exact_objective is not None
    assert report.cost <= result.exact_objective  # the boxes' groups may be narrower than what was released together
    mine, theirs = km.measure(problem, released).certainty_penalty, km.measure(problem, result.table).certainty_penalty
    assert mine is not None
    assert theirs is not None
    assert mine <= theirs


def test_cells_of_a_box() -> None:
    frame = pl.DataFrame({"n": [20, 39, 25], "x": [0.5, 1.5, 1.0], "s": ["b", "a, c", "b"], "t": ["m", "m", "m"]})
    table = km.Table.from_frame(frame, ["n", "x", "s", "t"])
    result = km.solve(km.Problem(table, km.KAnonymity(3)), method="mondrian")
    assert set(km.boxes(result).rows()) == {("20-39", "[0.5, 1.5]", '{"a, c", b}', "m")}


def test_compare_has_a_row_of_boxes() -> None:
    frame = pl.DataFrame({"n": [*range(20)]})
    problem = km.Problem(km.Table.from_frame(frame, "n"), km.KAnonymity(4))
    found = km.compare(problem, ["mondrian"], boxes=True)
    plain, boxes = found.rows
    assert boxes.name == "mondrian as boxes"
    assert plain.metrics is not None
    assert boxes.metrics is not None
    assert plain.metrics.certainty_penalty == 1
    assert boxes.metrics.certainty_penalty is not None
    assert boxes.metrics.certainty_penalty < 1
    assert boxes.message.startswith("cells are intervals")
    with pytest.raises(km.InputError, match="the result of solve"):
        km.boxes(frame)  # type: ignore[arg-type]


def test_the_option(tmp_path: pytest.TempPathFactory) -> None:
    path = f"{tmp_path}/t.csv"
    pl.DataFrame({"n": [*range(20)]}).write_csv(path)
    done = run("compare", "--data", path, "--qi", "n", "--k", "4", "--methods", "mondrian", "--boxes")
    assert done.returncode == 0, done.stderr
    assert "mondrian as boxes" in done.stdout
