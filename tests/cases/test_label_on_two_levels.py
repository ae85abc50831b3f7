"""City, canton, region: the canton Basel has the name of the city Basel."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command_line import run

CITY = """city,age,cond
Lindau,34,flu
Lindau,36,cold
Torgau,35,flu
Torgau,33,ache
Basel,44,flu
Basel,47,cold
Riehen,45,ache
Riehen,41,flu
"""
TREE = "Lindau;Lindau;South;*\nTorgau;Torgau;North;*\nBasel;Basel;South;*\nRiehen;Basel;South;*\n"


@pytest.fixture
def asked(tmp_path: Path) -> list[object]:
    (tmp_path / "h1").mkdir()
    (tmp_path / "h1" / "city.csv").write_text(TREE)
    (tmp_path / "city.csv").write_text(CITY)
    return ["--qi", "city,age", "--sensitive", "cond", "--hierarchies", tmp_path / "h1"]


@pytest.mark.parametrize(("method", "code"), [("full_domain", 4), ("auto", 0)])
def test_the_hierarchy_is_taken(method: str, code: int, asked: list[object], tmp_path: Path) -> None:
    done = run(
        "solve", "--data", tmp_path / "city.csv", *asked, "--k", 2, "--numeric", "age=10", "--method", method, "--show"
    )
    assert done.returncode == code, done.stderr
    assert "loss 4," in done.stdout or "optimum 4," in done.stdout


def table(tmp_path: Path, *more: object) -> tuple[list[object], list[str | None], dict[str, object]]:
    """What was asked, the released cities of a table in which ages are expensive, and its result.json."""
    (tmp_path / "city.csv").write_text(
        "city,age,cond\nLindau,34,flu\nLindau,34,cold\nBasel,44,flu\nRiehen,44,cold\nBasel,47,ache\nBasel,47,flu\n"
    )
    given = [*more, "--k", 2, "--numeric", "age=10", "--weight", "age=100"]
    method = ["--method", given.pop(0)] if given[0] in ("full_domain", "auto") else []
    done = run("solve", "--data", tmp_path / "city.csv", *given, *method, "--out", tmp_path / "out")
    assert done.returncode in (0, 4), done.stderr
    cities = pl.read_csv(tmp_path / "out" / "anonymized.csv")["city"].to_list()
    return given, cities, json.loads((tmp_path / "out" / "result.json").read_text())


def verified(tmp_path: Path, given: list[object], cities: list[str | None]) -> tuple[int, str]:
    path = tmp_path / "out" / "changed.csv"
    pl.read_csv(tmp_path / "out" / "anonymized.csv").with_columns(city=pl.Series(cities)).write_csv(path)
    done = run("verify", path, "--original", tmp_path / "city.csv", *given)
    return done.returncode, done.stdout


def test_cells_of_several_levels_are_told_apart_and_the_wrong_one_is_refused(
    asked: list[object], tmp_path: Path
) -> None:
    given, cities, result = table(tmp_path, "auto", *asked)
    assert cities == ["Lindau", "Lindau", "Basel (level 1)", "Basel (level 1)", "Basel", "Basel"]
    assert result["objective"] == pytest.approx(2 / 3)
    assert result["renamed_labels"] == {"city": {"Basel (level 1)": {"label": "Basel", "level": 1}}}
    assert verified(tmp_path, given, cities) == (0, verified(tmp_path, given, cities)[1])
    for row in range(6):
        for wrong in {"Basel", "Basel (level 1)", "South", "Riehen", "Basel (level 2)"} - {cities[row]}:
            code, said = verified(tmp_path, given, [*cities[:row], wrong, *cities[row + 1 :]])
            assert code == 6, (row, wrong, said)
    code, said = verified(tmp_path, given, ["South", "South", "Basel", "Basel", "Basel", "Basel"])
    assert code == 6
    assert 'column "city": not the original value, not a label of its hierarchy: row 4' in " ".join(said.split())


def test_full_domain_recoding_keeps_the_labels_of_the_hierarchy(asked: list[object], tmp_path: Path) -> None:
    given, cities, result = table(tmp_path, "full_domain", *asked)
    assert cities == ["Lindau", "Lindau", "Basel", "Basel", "Basel", "Basel"]
    assert result["renamed_labels"] == {}
    assert result["verified"] is True
    code, said = verified(tmp_path, given, cities)
    assert code == 0
    assert "loss 4/3" in said  # the rows of Basel at level 1, all four
    assert verified(tmp_path, given, ["Lindau", "South", *cities[2:]])[0] == 6
    assert verified(tmp_path, given, [*cities[:3], "Basel (level 1)", *cities[4:]])[0] == 6
