"""What a run writes: all of it or none, over no file that it reads, and whatever the names and types in it."""

from __future__ import annotations

import datetime
import errno
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import run, run_process

import kanon_milp as km
from kanon_milp.studies.output import FILES, check_output

TABLE = "zip,age,sick\n101,31,flu\n101,32,cold\n102,31,flu\n102,32,ache\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    return path


def solve(people: Path, *more: object, k: int = 2, qi: str = "zip,age") -> Any:
    return run("solve", "--data", people, "--qi", qi, "--k", k, *more)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def notes(done: Any) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("note: ")]


# all or nothing


def test_the_claim_names_the_content_of_the_files_beside_it(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = solve(people, "--out", out, "--json")
    claim = json.loads((out / "result.json").read_text())
    assert json.loads(done.stdout) == claim
    others = {name: text for name, text in content(out).items() if name != "result.json"}
    assert claim["sha256"] == {name: hashlib.sha256(text).hexdigest() for name, text in others.items()}
    check = ("verify", out / "anonymized.csv", "--original", people, "--qi", "zip,age", "--keep", "sick")
    assert run(*check).stderr == ""
    with (out / "anonymized.csv").open("a") as file:
        file.write("\n")
    assert "result.json beside" in run(*check).stderr


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_full_disk_leaves_the_old_run(
    people: Path, tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert solve(people, "--out", out).returncode == 0
    old = content(out)
    real = getattr(os, call)
    for index in range(50):
        calls: list[int] = []

        def failing(*args: Any, index: int = index, calls: list[int] = calls) -> None:
            calls.append(1)
            if len(calls) - 1 == index:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(*args)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            done = solve(people, "--out", out, k=4)
        if len(calls) <= index:
            break
        assert done.returncode == 2
        assert "No space left on device" in done.stderr
        assert content(out) == old
    assert index > 3
    assert json.loads((out / "result.json").read_text())["problem"]["k"] == 4


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_the_place_of_a_file_is_found_before_solving(people: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "out" / name).mkdir(parents=True)
    done = solve(people, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert f"{name}: is a folder" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    for option in ("--certificate", "--log-file"):
        done = solve(people, option, tmp_path / "out")
        assert done.returncode == 2
        assert "is a folder" in done.stderr


def test_a_folder_that_is_not_there_is_found_before_solving(people: Path, tmp_path: Path) -> None:
    for option in ("--certificate", "--log-file"):
        done = solve(people, option, tmp_path / "none" / "file")
        assert done.returncode == 2
        assert "there is no folder" in done.stderr
    assert solve(people, "--out", tmp_path / "out", "--certificate", tmp_path / "out" / "proof.json").returncode == 0
    assert (tmp_path / "out" / "proof.json").exists()
    assert not (tmp_path / "none").exists()


def test_that_an_earlier_result_is_replaced_is_said(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = solve(people, "--out", out)
    assert first.returncode == 0
    assert notes(first) == []
    assert "inplaceof" not in "".join(first.stdout.split())
    (out / "report.html").write_text("of the first one")
    again = solve(people, "--out", out)
    assert again.returncode == 0
    files = "anonymized.csv, groups.csv, result.json"
    page = "report.html there stays, and is about the earlier one"
    note = f"note: {out} holds an earlier result, which a new one will replace ({files}); {page}"
    assert notes(again) == [note]
    assert "inplaceofanearlierresult" in "".join(again.stdout.split())  # folded
    reported = solve(people, "--out", out, "--report", out / "report.html", "--json")
    assert notes(reported) == [note.removesuffix(f"; {page}")]
    assert json.loads(reported.stdout)["verified"] is True
    shown = solve(people, "--out", out, "--report", out / "report.html").stdout
    assert f"report{out / 'report.html'}" in "".join(shown.split())
    assert notes(solve(people, "--out", out, "--quiet")) == []


def test_that_a_table_of_an_earlier_result_is_gone_is_said(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert solve(people, "--out", out).returncode == 0
    done = solve(people, "--out", out, "--mask", written(tmp_path / "mask.csv", "zip,age\nkeep,keep\n"))
    assert done.returncode == 3
    gone = f"note: {out}: anonymized.csv and groups.csv of the earlier result removed; this one has no such file"
    assert notes(done)[1:] == [gone]
    assert sorted(content(out)) == ["result.json"]


def test_leftovers_of_a_killed_run_are_removed(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / ".kanon-milp-0123456789abcdef").write_text("half a table")
    (out / ".mine").write_text("of somebody else")
    assert solve(people, "--out", out).returncode == 0
    assert sorted(content(out)) == [".mine", "anonymized.csv", "groups.csv", "result.json"]


def test_a_run_without_a_solver_has_no_log_of_another_run(people: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert solve(people, "--log-file", log).returncode == 0
    assert log.stat().st_size > 0
    log.write_text("of another run")
    solve(people, "--log-file", log, "--mask", written(tmp_path / "mask.csv", "zip,age\nkeep,keep\n"))
    assert "another" not in log.read_text()


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# no file that is read is written


def test_no_file_that_is_read_is_overwritten(tmp_path: Path) -> None:
    table = written(tmp_path / "in" / "anonymized.csv", TABLE)
    mask = written(tmp_path / "in" / "result.json.csv", "zip,age\nkeep,*\n*,keep\n*,*\n")
    (tmp_path / "in" / "groups.csv").symlink_to(mask)
    folder = tmp_path / "hierarchies"
    tree = written(folder / "groups.csv", "level0,level1\n31,*\n32,*\n")
    other = written(tmp_path / "people.csv", TABLE.replace("age", "groups"))
    order = written(tmp_path / "order.csv", "value\nache\ncold\nflu\n")
    model = written(
        tmp_path / "in" / "m.toml",
        '[data]\nfile = "anonymized.csv"\nquasi_identifiers = ["zip", "age"]\n[privacy]\nk = 2\n'
        '[recoding]\nmask = "result.json.csv"\n',
    )
    os.link(table, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(table)
    fresh = tmp_path / "fresh"
    base = ("solve", "--data", table, "--qi", "zip,age", "--k", 2)
    with_order = (*base, "--sensitive", "sick", "--t", "1/2", "--distance", f"order:{order}")
    cases: list[tuple[object, ...]] = [
        (*base, "--out", tmp_path / "in"),
        (*base, "--mask", mask, "--log-file", tmp_path / "in" / "groups.csv"),
        (*base, "--log-file", tmp_path / "in" / ".." / "in" / "anonymized.csv"),
        (*base, "--log-file", tmp_path / "hard"),
        (*base, "--certificate", tmp_path / "soft"),
        (*base, "--mask", mask, "--certificate", mask),
        (*with_order, "--certificate", order),
        ("solve", "--data", other, "--qi", "zip,groups", "--k", 2, "--hierarchies", folder, "--out", folder),
        ("solve", model, "--log-file", model),
        ("solve", model, "--out", tmp_path / "in"),
        ("solve", model, "--certificate", mask),
        (*base, "--log-file", fresh, "--certificate", fresh),
        (*base, "--out", tmp_path / "o", "--certificate", tmp_path / "o" / "result.json"),
        ("verify", tmp_path / "hard", "--original", table, "--qi", "zip,age", "--groups", tmp_path / "hard"),
        ("verify", table, "--original", table, "--qi", "zip,age", "--mask", mask, "--groups", mask),
        ("verify", table, "--original", table, "--qi", "zip", "--hierarchies", folder, "--groups", tree),
    ]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for case in cases:
        done = run(*case)
        assert done.returncode == 2, case
        assert "is read" in done.stderr or "also" in done.stderr, (case, done.stderr)
        assert len(done.stderr.splitlines()) == 1
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before, case
    assert run("export", model, "--to", written(tmp_path / "x.mps", "")).returncode == 0
    (tmp_path / "y.mps").symlink_to(model)
    assert "is read" in run("export", model, "--to", tmp_path / "y.mps").stderr
    assert before[model] == model.read_bytes()


def test_nor_from_python(people: Path) -> None:
    problem = km.Problem(km.read_table(people, ["zip", "age"]), km.KAnonymity(2))
    with pytest.raises(km.InputError, match="is read"):
        km.solve(problem, log_file=people)
    with pytest.raises(km.InputError, match="is read"):
        km.solve_model(problem, km.build_model(problem), log_file=str(people))
    assert people.read_text() == TABLE


# nothing fails once the work is done


@pytest.mark.parametrize("limit", ["inf", "Infinity"])
def test_an_infinite_time_limit_is_none(people: Path, tmp_path: Path, limit: str) -> None:
    done = solve(people, "--time-limit", limit, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["solver"]["options"]["time_limit"] is None
    assert solve(people, "--time-limit", "nan").returncode == 2


def test_infinite_options_of_a_solver_are_written_as_text(people: Path) -> None:
    problem = km.Problem(km.read_table(people, ["zip", "age"]), km.KAnonymity(2))
    result = km.solve(problem, solver_options={"objective_bound": float("inf")})
    json.dumps(result.as_dict(), allow_nan=False)


def test_what_the_encoding_lacks_is_found_before_solving(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text(TABLE.replace("flu", "grüße"), encoding="latin-1")
    base = ("--encoding", "latin-1", "--out", tmp_path / "out")
    for more, message in ((("--symbol", "Ω"), "symbol"), (("--symbol", "\udcff"), "symbol")):
        done = solve(table, *base, *more)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    tree = km.Hierarchies({"age": km.Hierarchy.from_rows([("31", "Ω", "*"), ("32", "Ω", "*")], "tree")})
    problem = km.Problem(km.read_table(table, ["zip", "age"], encoding="latin-1"), km.KAnonymity(2), tree)
    with pytest.raises(km.InputError, match="tree: a label of column"):
        check_output(problem, tmp_path / "out")
    assert "Ω" not in done.stderr
    assert not (tmp_path / "out").exists()
    done = solve(table, *base, "--symbol", "ø")
    assert done.returncode == 0
    assert "grüße" in (tmp_path / "out" / "anonymized.csv").read_text(encoding="latin-1")
    frame = tmp_path / "people.parquet"
    pl.DataFrame({"a": ["x", "Ω"]}).write_parquet(frame)
    assert solve(frame, *base, qi="a").returncode == 2


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes")
@pytest.mark.parametrize(
    "kind", ["csv", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("parquet", "arrow", "toml"))]
)
@pytest.mark.processes
def test_file_names_need_not_be_text(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / os.fsdecode(b"gr\xfc\xdfe")
    folder.mkdir()
    frame = pl.read_csv(TABLE.encode(), infer_schema=False)
    path = folder / os.fsdecode(b"t\xff.") / kind if kind == "toml" else folder / os.fsdecode(b"t\xff." + kind.encode())
    if kind == "toml":
        path = folder / os.fsdecode(b"m\xff.toml")
        path.write_text(
            'title = "[/b]"\n[data]\nfile = "t.csv"\nquasi_identifiers = ["zip", "age"]\n[privacy]\nk = 2\n'
        )
        (folder / "t.csv").write_text(TABLE)
    else:
        with path.open("wb") as file:
            write: Any = {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[kind]
            write(file)
    out = folder / os.fsdecode(b"\xff")
    given = (path,) if kind == "toml" else ("--data", path, "--qi", "zip,age", "--k", "2")
    certificate = folder / os.fsdecode(b"c\xff")
    done = run_process("solve", *given, "--out", out, "--certificate", certificate)
    assert done.returncode == 0, done.stderr
    done = run("solve", *given, "--out", out, "--json")
    assert json.loads(done.stdout) == json.loads((out / "result.json").read_text(encoding="utf-8"))
    original = folder / "t.csv" if kind == "toml" else path
    done = run("verify", out / "anonymized.csv", "--original", original, "--qi", "zip,age", "--k", "2")
    assert done.returncode == 0, done.stderr
    done = run("verify", "--original", original, "--qi", "zip,age", "--k", 2, "--certificate", certificate)
    assert done.returncode == 0, done.stderr
    assert run("compress", original, "--qi", "zip", "--json").returncode == 0
    done = run("solve", *given, "--log-file", folder / "log")
    assert (done.returncode, "UTF-8" in done.stderr) == (2, True)


MARKUP = "[/ref] [red]x[/red] [b"


def test_brackets_in_names_are_no_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    folder = tmp_path / "[bold]" / "[/bold]"
    path = written(folder / "[red]x.csv", TABLE.replace("age", MARKUP))
    out, certificate = folder / "[/out]", folder / "[link=x]"
    qi = f'zip,"{MARKUP}"'
    done = run(
        "solve",
        "--data",
        path,
        "--qi",
        qi,
        "--k",
        2,
        "--show",
        "--out",
        out,
        "--certificate",
        certificate,
    )
    assert done.returncode == 0, done.stderr
    for shown in ("[red]x.csv", MARKUP, str(out), str(certificate)):
        assert shown in done.stdout
    assert MARKUP in run("compress", path, "--qi", qi).stdout.replace("\n", "")
    model = written(
        folder / "m.toml",
        f'title = "{MARKUP}"\n[data]\nfile = "[red]x.csv"\nquasi_identifiers = ["zip", "{MARKUP}"]\n[privacy]\nk = 2\n'
        f'[[privacy.requirements]]\nkind = "k_anonymity"\nk = 2\nquasi_identifiers = ["{MARKUP}"]\n',
    )
    done = run("solve", model)
    assert done.returncode == 0, done.stderr
    assert MARKUP in done.stdout


@pytest.mark.processes
def test_a_terminal_without_the_characters_is_no_reason_to_fail(tmp_path: Path) -> None:
    path = written(tmp_path / "Ωß.csv", TABLE.replace("age", "Ωß😀"))
    given = ("solve", "--data", path, "--qi", "zip,Ωß😀", "--k", "2")
    assert run_process(*given, "--show", PYTHONIOENCODING="ascii", PYTHONUTF8="0").returncode == 0
    done = run_process(*given, "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert json.loads(done.stdout)["problem"]["quasi_identifiers"] == ["zip", "Ωß😀"]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_columnar_files_come_back_as_such(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame(
        {"zip": [101, 101, 102, 102], "age": [1.5, None, 1.5, None], "when": [datetime.date.today()] * 4}
    )
    path, out = tmp_path / f"people.{kind}", tmp_path / "out"
    (frame.write_parquet if kind == "parquet" else frame.write_ipc)(path)
    assert solve(path, "--out", out).returncode == 0
    assert set(content(out)) == {"anonymized.csv", f"anonymized.{kind}", "groups.csv", "result.json"}
    released = (pl.read_parquet if kind == "parquet" else pl.read_ipc)(out / f"anonymized.{kind}")
    assert released.columns == frame.columns
    assert released["when"].equals(frame["when"])
    for name in ("anonymized.csv", f"anonymized.{kind}"):
        done = run("verify", out / name, "--original", path, "--qi", "zip,age", "--k", 2)
        assert done.returncode == 0, done.stdout
    # and the next run of another kind leaves none of it
    assert solve(written(tmp_path / "people.csv", TABLE), "--out", out).returncode == 0
    assert sorted(content(out)) == ["anonymized.csv", "groups.csv", "result.json"]


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([[1], None, [], [2, 3]]),
        pl.Series([{"a": 1}, None, {"a": 2}, {"a": 1}]),
        pl.Series([b"\xff", None, b"", b"x"]),
        pl.Series([[1, 2], None, [3, 4], [5, 6]], dtype=pl.Array(pl.Int64, 2)),
    ],
    ids=["list", "struct", "binary", "array"],
)
def test_what_no_csv_file_can_hold_is_released_as_parquet_alone(tmp_path: Path, values: pl.Series) -> None:
    frame = pl.DataFrame({"zip": [1, 1, 2, 2], "free": values})
    path, out = tmp_path / "people.parquet", tmp_path / "out"
    frame.write_parquet(path)
    done = run("solve", "--data", path, "--qi", "zip", "--k", 2, "--out", out)
    assert done.returncode == 0, done.stderr
    assert 'no CSV file can hold the values of "free"' in done.stderr
    assert sorted(content(out)) == ["anonymized.parquet", "groups.csv", "result.json"]
    assert pl.read_parquet(out / "anonymized.parquet")["free"].equals(frame["free"])
    done = run("verify", out / "anonymized.parquet", "--original", path, "--qi", "zip", "--k", 2)
    assert done.returncode == 0, done.stdout
    done = solve(path, qi="zip,free")
    assert (done.returncode, 'column "free" holds' in done.stderr) == (2, True)
