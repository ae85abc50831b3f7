"""Whatever a public name is given, what is wrong with it is said in one line: what was expected, and what to do."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from misuse_cases import AGES, CALLS, DISTANCES, FRAME, MADE, PROBLEM, TABLE, WRONG
from present import present
from pyarrow import feather

import kanon_milp as km
from kanon_milp.verify import check_certificate

CASES = [
    pytest.param(function, given, argument, set(taken.split()), id=f"{name}-{argument}")
    for name, (function, given, arguments) in {**CALLS, **DISTANCES}.items()
    for argument, taken in arguments.items()
]


def test_every_public_name_is_tried_with_every_argument() -> None:
    errors = {
        name for name in km.__all__ if inspect.isclass(getattr(km, name)) and issubclass(getattr(km, name), Exception)
    }
    assert {name.partition(".")[0] for name in CALLS} | MADE | errors == set(km.__all__)


@pytest.mark.parametrize(("function", "given", "argument", "taken"), CASES)
def test_a_wrong_kind_is_told_in_one_line(
    function: Callable[..., Any], given: dict[str, Any], argument: str, taken: set[str], tmp_path: Path
) -> None:
    if given.get("path") == "@":
        path = tmp_path / "t.csv"
        FRAME.to_csv(path, index=False)
        given = {**given, "path": path}
    for kind, value in WRONG.items():
        if kind in taken:
            continue
        try:
            function(**{**given, argument: value})
        except km.InputError as error:
            said = str(error)
        else:
            pytest.fail(f"{kind}: it is taken")
        assert "\n" not in said, kind
        assert "object at 0x" not in said, kind


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: km.Problem(FRAME, km.KAnonymity(2)),  # type: ignore[arg-type]
            "a Problem needs a Table, found DataFrame; make one with read_table",
        ),
        (lambda: km.solve(TABLE, 5), r"solve takes a Problem, found Table; write Problem\(table, KAnonymity\(5\)\)"),  # type: ignore[arg-type]
        (lambda: km.solve("model.toml"), r"write read_model\(path\).problem"),  # type: ignore[arg-type]
        (lambda: km.solve(Path("model.toml")), r"write read_model\(path\).problem"),  # type: ignore[arg-type]
        (lambda: km.verify(FRAME, FRAME), "verify takes a Problem, found DataFrame; write Problem"),  # type: ignore[arg-type]
        (lambda: km.Problem(TABLE, 5), r"privacy: a requirement such as KAnonymity\(5\), .* is expected, found int"),  # type: ignore[arg-type]
        (lambda: km.Problem(TABLE, km.KAnonymity), "found the class KAnonymity"),  # type: ignore[arg-type]
        (lambda: km.Problem(TABLE, [5]), r"privacy takes requirements such as KAnonymity\(5\), found int"),  # type: ignore[list-item]
        (
            lambda: km.Problem(TABLE, km.KAnonymity(2), "suppression"),  # type: ignore[arg-type]
            r"recoding: Suppression\(\), .* is expected, found text",
        ),
        (lambda: km.Problem(TABLE, km.KAnonymity(2), km.Suppression), "found the class Suppression"),  # type: ignore[arg-type]
        (lambda: km.solve(PROBLEM, None), 'solver: a name, such as "highs", or an adapter is expected, found None'),  # type: ignore[arg-type]
        (lambda: km.solve(PROBLEM, time_limit="60"), "time_limit: a number of seconds is expected, found text"),  # type: ignore[arg-type]
        (lambda: km.solve(PROBLEM, threads=2.0), "threads must be an integer, found float"),  # type: ignore[arg-type]
        (lambda: km.KAnonymity(5.5), "k must be an integer, found a number with a fraction"),  # type: ignore[arg-type]
        (lambda: km.solve(PROBLEM, seed=True), "seed must be an integer, found true/false"),
        (lambda: km.Table.from_frame(FRAME, ["a"], 5), 'there is no column "5" \\(sensitive attribute\\)'),  # type: ignore[arg-type]
        (lambda: km.Suppression({2.5: 1}), "weights: a key: the name of a column is expected, found float"),  # type: ignore[dict-item]
    ],
)
def test_what_to_do_instead_is_said(call: Callable[[], object], said: str) -> None:
    with pytest.raises(km.InputError, match=said):
        call()


def test_a_model_file_and_a_result_are_no_problems(models: Path) -> None:
    read = km.read_model(models / "hospital.toml")
    for near in (read, km.solve(PROBLEM)):
        with pytest.raises(km.InputError, match="give its field problem"):
            km.solve(near)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    numbers: Any = [np.int64(2), np.float64(1.1), np.int32(1), np.float64(0.3), np.int64(9), np.int64(1), np.int16(4)]
    k, l_, p, weight, *sides = numbers
    privacy = [km.KAnonymity(k), km.LDiversity(l_), km.PSensitivity(p)]
    problem = km.Problem(TABLE, privacy, km.Suppression({"a": weight}), *sides)
    options: dict[str, Any] = {
        "time_limit": np.float32(60),
        "threads": np.int64(1),
        "seed": np.int8(3),
        "gap": np.float64(0),
        "node_limit": np.int64(9),
    }
    result = km.solve(problem, **options)
    assert result.require_optimal()
    from kanon_milp.studies.output import json_text

    assert json_text(result.as_dict())


def test_integers_may_name_the_columns_of_pandas() -> None:
    frame = FRAME.set_axis([0, 1, "s"], axis=1)
    for names in ([0, 1], ["0", "1"], np.array([0, 1]), frame.columns[:2]):
        table = km.Table.from_frame(frame, names, "s")  # type: ignore[arg-type]
        assert table.quasi_identifiers == ("0", "1")
        problem = km.Problem(table, [km.KAnonymity(2), km.KAnonymity(4, [1])], km.Suppression({0: 2}))  # type: ignore[dict-item, list-item]
        result = km.solve(problem).require_optimal()
        released = present(result.table)
        assert released.columns.tolist() == [0, 1, "s"]
        assert released[1].tolist() == ["*"] * 4
        assert km.verify(problem, result.table).ok
        levelled = km.Hierarchies({0: AGES}, {1: "1/2"}, {0: [0, 0.1, 1]}, km.PatternMask([{0: 1, 1: "*"}]))  # type: ignore[dict-item]
        assert km.solve(km.Problem(table, km.KAnonymity(2), levelled)).require_optimal().objective == 2.4
    numbered = FRAME.set_axis(range(3), axis=1)
    table = km.Table.from_frame(numbered, 0, 2)  # type: ignore[arg-type]
    diverse = km.solve(km.Problem(table, km.LDiversity(1.5, sensitive=2))).require_optimal()  # type: ignore[arg-type]
    assert present(diverse.table).columns.tolist() == [0, 1, 2]
    assert numbered.columns.tolist() == [0, 1, 2]  # type: ignore[comparison-overlap]
    with pytest.raises(km.InputError, match="twice, as text and as a number"):
        km.Table.from_frame(FRAME.set_axis([0, "0", "s"], axis=1), "s")
    with pytest.raises(km.InputError, match="column names must be text, or integers"):
        km.Table.from_frame(FRAME.set_axis([0.5, "0", "s"], axis=1), "s")


def test_what_is_right_is_taken() -> None:
    """So that the refusals above are about what is wrong."""
    for name, (function, given, _) in CALLS.items():
        if name not in (
            "Table",
            "apply",
            "check_certificate",
            "Hierarchies.read",
            "Hierarchy.read",
            "PatternMask.read",
            "datasets.load",
            "export_model",
            "export_series",
            "import_solution",
            "read_model",
            "read_table",
            "register_bound",
            "register_requirement",
            "solved_table",
            "write_model",
            "write_report",
            "write_result",
        ):
            function(**given)
    km.solve(PROBLEM, interrupt=threading.Event(), on_stage=print, solver_options={}, log_file=None)


@pytest.mark.parametrize("cell", ["9" * 5_000, 10**5_000], ids=["text", "integer"])
def test_a_level_of_thousands_of_digits_is_refused(cell: Any) -> None:
    mask = km.PatternMask([[cell, "keep"]])
    with pytest.raises(km.InputError, match="a level from 0 to 1"):
        km.solve(km.Problem(TABLE, km.KAnonymity(2), mask))
    asked = km.Problem(TABLE, km.KAnonymity(2))
    object.__setattr__(asked, "recoding", mask)
    with pytest.raises(km.InputError, match="a level from 0 to 1"):
        km.verify(asked, FRAME)


def test_a_hierarchy_with_too_many_levels_is_refused() -> None:
    tall = km.Hierarchy({value: (value, *(f"l{i}" for i in range(40_000)), "*") for value in "12"})
    with pytest.raises(km.InputError, match=r'column "a".*at most 32,768 levels'):
        km.solve(km.Problem(TABLE, km.KAnonymity(2), km.Hierarchies({"a": tall})))


def test_decimals_of_256_bits_are_refused(tmp_path: Path) -> None:
    wide = pa.table({"a": pa.array([Decimal("1" * 60), Decimal("2" * 60)], pa.decimal256(70, 0)), "b": ["x", "y"]})
    with pytest.raises(km.InputError, match='column "a" holds decimal256'):
        km.Table.from_frame(wide, "a")
    feather.write_feather(wide, tmp_path / "t.arrow", compression="uncompressed")
    with pytest.raises(km.InputError, match="decimal256"):
        km.read_table(tmp_path / "t.arrow", "a")
    # the verifier compares it, as it has no role
    problem = km.Problem(km.Table.from_frame(wide, "b", keep="a"), km.KAnonymity(1))
    with pytest.raises(km.InputError, match='column "a"'):
        km.verify(problem, wide)


def test_a_path_with_a_zero_character_is_refused() -> None:
    with pytest.raises(km.InputError, match="zero character"):
        km.solve(PROBLEM, log_file="a\0b")
    certificate = km.solve(PROBLEM, method="search").certify()
    for path, words in (("a\0", "zero character"), (None, "a path")):
        with pytest.raises(km.InputError, match=words):
            certificate.write(path)  # type: ignore[arg-type]


def test_what_is_no_problem_or_ground_distance_is_refused() -> None:
    with pytest.raises(km.InputError, match="takes a Problem"):
        check_certificate(FRAME, {})  # type: ignore[arg-type]
    with pytest.raises(km.InputError, match="distances: s"):
        km.verify(PROBLEM, FRAME, distances={"s": object()})
