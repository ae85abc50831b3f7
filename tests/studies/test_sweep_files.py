"""A sweep in the folder of another one: what differs is named, and no cell."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.studies.sweep import Run, Setting
from kanon_milp.studies.sweep_files import SweepFolder, differences

SECRET = "measles"
OPTIONS: dict[str, Any] = {"method": "auto", "time_limit": None, "threads": 1, "seed": 0, "baselines": []}
HEADER = ("a", "b", "sick")
ROWS = [("1", "2", SECRET), ("1", "3", "flu"), ("2", "2", SECRET), ("2", "3", "flu")]


def written(folder: Path, rows: list[tuple[str, str, str]]) -> Path:
    path = folder / "t.csv"
    pl.DataFrame(rows, schema=HEADER, orient="row").write_csv(path)
    return path


def asked(path: Path, *privacy: Any, qi: str = "a,b", **more: Any) -> km.Problem:
    return km.Problem(km.read_table(path, qi.split(","), "sick"), [km.KAnonymity(2), *privacy], **more)


def told(folder: Path, first: km.Problem, then: km.Problem, swept: str = "k", **options: Any) -> str:
    """What is said of the second in the folder of the first, which has one run."""
    out = folder / "out"
    SweepFolder(out, first, ["k"], OPTIONS).write_run(Run(Setting(k=2), None, Fraction(0), "bound", 0.1))
    with pytest.raises(km.InputError) as caught:
        SweepFolder(out, then, list(swept), {**OPTIONS, **options}).known(resume=True)
    text = str(caught.value)
    start, _, rest = text.partition(": is a run of another sweep (")
    assert start == str(out / "runs" / "k=2")
    assert rest.endswith("); choose another folder")
    assert SECRET not in text
    return rest.removesuffix("); choose another folder")


def test_each_option_is_named_then_and_now(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    one = asked(path)
    assert told(tmp_path, one, one, time_limit=5.0, baselines=["greedy"]) == (
        "--time-limit was not named, and is 5.0 now; --baselines was not named, and is greedy now"
    )
    assert told(tmp_path, one, one, swept="kl").startswith("what is swept was k, and is k,l now")
    assert told(tmp_path, one, asked(path, km.LDiversity("3/2"))) == "--l was not named, and is 3/2 now"
    assert told(tmp_path, asked(path, km.TCloseness("1/2")), one) == "--t was 1/2, and is not named now"
    alpha = km.AlphaKAnonymity("1/2", sensitive="sick")
    assert told(tmp_path, one, asked(path, alpha)) == "--alpha was not named, and is 1/2 now"
    assert told(tmp_path, asked(path, alpha), asked(path, replace(alpha, k=2))) == (
        "k of (alpha,k)-anonymity was 1, and is 2 now"
    )
    assert told(tmp_path, asked(path, km.TCloseness("1/3")), asked(path, km.TCloseness("1/2"))) == (
        "--t was 1/3, and is 1/2 now"
    )
    assert told(tmp_path, one, asked(path, cost_bound="7/2")) == "--cost-bound was not named, and is 7/2 now"
    weighted = asked(path, recoding=km.Suppression(weights={"b": 2}))
    assert told(tmp_path, one, weighted) == "--weight b was not named, and is 2 now"


def test_recodings_that_differ(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    numbers = [row[0] for row in ROWS]

    def along(widths: list[int], source: str) -> km.Problem:
        made = km.Hierarchy.intervals(numbers, widths, source=source)
        return asked(path, recoding=km.Hierarchies({"a": made}))

    first = along([2], "--numeric a (widths 2)")
    assert told(tmp_path, first, along([4], "--numeric a (widths 4)")) == (
        "the hierarchy of a was --numeric a (widths 2), and is --numeric a (widths 4) now"
    )
    few, more = (asked(path, recoding=km.PatternMask(each)) for each in ([["*", "*"]], [["*", "*"], ["keep", "*"]]))
    assert told(tmp_path, few, more) == "--mask has other patterns"


def test_cells_are_not_shown(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    before = asked(path, km.AlphaKAnonymity("1/2", 2, values=[SECRET]))
    after = asked(path, km.AlphaKAnonymity("1/2", 2, values=[SECRET, "flu"]))
    assert told(tmp_path, before, after) == (
        "the number of values of (alpha,k)-anonymity was 1, and is 2 now; a requirement is about other sensitive values"
    )
    run = Run(Setting(k=2), None, Fraction(0), "bound", 0.1)
    SweepFolder(tmp_path / "out", asked(path), ["k"], OPTIONS).write_run(run)
    written(tmp_path, [*ROWS[:3], ("2", "9", SECRET)])
    with pytest.raises(km.InputError, match=r"sweep \(the content of --data is another\); choose") as caught:
        SweepFolder(tmp_path / "out", asked(path), ["k"], OPTIONS).known(resume=True)
    assert SECRET not in str(caught.value)


def test_other_values_of_alpha_are_another_sweep(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    one, other = (asked(path, km.AlphaKAnonymity("2/3", 2, values=[value])) for value in (SECRET, "flu"))
    assert told(tmp_path, one, other) == "a requirement is about other sensitive values"


def test_many_differences_are_counted_and_damaged_ones_do_no_harm() -> None:
    table = {"source": "a.csv", "delimiter": ",", "encoding": "utf-8", "symbol": "*", "query": "1", "sha256": "2"}
    said = differences({}, {"input": {"table": table}})
    assert said.count("; ") == 5
    assert said.endswith("; and 1 more")
    cases: list[Any] = [
        None,
        [],
        {"input": 3},
        {"problem": {"requirements": [1, {"k": 2}]}},
        {"input": {"weights": []}},
    ]
    for damaged in cases:
        assert isinstance(differences(damaged, {"options": {"seed": 3}}), str)
