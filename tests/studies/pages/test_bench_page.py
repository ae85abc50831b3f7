"""The page of a study, and the pictures and tables beside it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from study_runs import frame, study

import kanon_milp as km

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
from kanon_milp.studies.pages.bench_page import write_bench_page


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files of a made-up study by name."""
    out = tmp_path_factory.mktemp("study") / "report.html"
    return {path.name: path for path in write_bench_page(study(), out)}


def test_red_rows_come_first_with_what_repeats_them(written: dict[str, Path]) -> None:
    html = written["report.html"].read_text()
    assert "2 red rows" in html
    assert html.index("optimum 300 contradicts the bound 310 of scip") < html.index(">Summary</h2>")
    assert html.count("kanon-milp bench study.toml --only 0</code>") == 3  # and a crash
    assert html.count('<tr class="red">') == 2
    assert (
        html.index('id="runs"') < html.index('<tr class="red">') < html.index("census_100_0</th><td>planted</td>") + 500
    )


def test_failed_runs_are_told_with_their_message(tmp_path: Path) -> None:
    lost = {"ended": "error", "proof": "none", "message": "not for this problem"}
    html = write_bench_page(frame(lost, {**lost, "seed": 1}, {"solver": "cbc"}), tmp_path / "x.html")[0].read_text()
    assert html.count("not for this problem") == 1
    assert "The settings were not run on the same cases" in html


def test_pictures_are_there_as_svg_and_pdf(written: dict[str, Path]) -> None:
    names = {"profiles", "gap", "scatter", "scaling_n", "scaling_t_in", "scaling_k"}
    assert {path.stem for path in written.values() if path.suffix == ".svg"} == names
    for name in names:
        svg = ElementTree.parse(written[f"{name}.svg"]).getroot()
        assert svg.tag.endswith("svg")
        assert written[f"{name}.pdf"].read_bytes().startswith(b"%PDF-")
    said = ["".join(each.itertext()) for each in ElementTree.parse(written["profiles.svg"]).iter() if each.text]
    assert {"highs, strong", "highs, textbook", "scip, strong, gap=0.01", "cbc, strong"} <= set(said)


def test_each_clip_of_the_page_has_a_name_of_its_own(written: dict[str, Path]) -> None:
    html = written["report.html"].read_text()
    ids = [part.split('"')[0] for part in html.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    assert all(f'id="{part.split(")")[0]}"' in html for part in html.split("url(#")[1:])


def test_tables_hold_the_numbers(written: dict[str, Path]) -> None:
    summary = pl.read_csv(written["summary.csv"])
    assert summary["setting"].to_list()[0] == "highs, strong"
    assert summary["runs"].to_list() == [24] * 4
    runs = list(csv.DictReader(written["runs.csv"].open()))
    assert len(runs) == 96
    assert [row["defects"] for row in runs if row["red"] == "true"] == [
        "optimum 300 contradicts the bound 310 of scip",
        "the verifier found 2 violations; another optimum than highs",
    ]
    latex = written["summary.tex"].read_text()
    assert latex.startswith("\\begin{tabular}{lrrrrrrrrrrrrrrrr}\n\\toprule\nsetting & runs & solved")
    assert latex.count("\\\\") == 5
    assert r"census\_100\_0" in written["runs.tex"].read_text()


def test_one_setting_on_one_instance_is_enough(tmp_path: Path) -> None:
    files = write_bench_page(frame({}), tmp_path / "x.html", title="One")
    html = files[0].read_text()
    assert "nothing contradicts" in html
    assert "<h1>One</h1>" in html
    assert "Two settings" not in html
    assert "Scaling" not in html


def test_odd_runs_have_a_page(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {
        "objective": None,
        "bound": None,
        "gap": None,
        "proof": "none",
        "ended": "crashed",
        "seconds": 0.0,
    }
    rows: list[dict[str, Any]] = [
        {**nothing, "trajectory": None, "peak_bytes": None, "message": "killed", "family": None, "k": None, "t": "1/5"},
        {**nothing, "solver": "cbc", "seconds": 1e-5},
        {"solver": "cbc", "instance": "b", "objective": 0.0, "bound": 0.0, "n": 10_000_000, "k": 2},
    ]
    assert write_bench_page(frame(*rows), tmp_path / "x.html")[0].is_file()


def test_whatever_an_instance_is_called_is_text(tmp_path: Path) -> None:
    name = "</template><script>alert(1)</script>"
    rows: list[dict[str, Any]] = [
        {"instance": name, "solver": solver, "defects": [name], "repeat": name} for solver in (name, "cbc")
    ]
    html = write_bench_page(frame(*rows), tmp_path / "x.html")[0].read_text()
    assert html.count("<script>") == html.count("</template>") == 1
    assert json.dumps(name)[1:-1] not in html


def test_without_altair_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(km.InputError, match=r"needs altair.*kanon-milp\[report\]"):
        write_bench_page(frame({}), tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []
