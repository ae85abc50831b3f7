"""Files of a run appear together or not at all, whatever step fails and whenever the process ends."""

from __future__ import annotations

import errno
import functools
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from failing_disk import failing_at, fill, succeeds

from kanon_milp.errors import InputError
from kanon_milp.system import files
from kanon_milp.system.files import write_file, write_together

NAMES = ("table", "groups", "claim")


def write(folder: Path, run: str, *, missing: tuple[str, ...] = ()) -> None:
    write_together(folder, {name: None if name in missing else fill(f"{name} of {run}") for name in NAMES})


def shown(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if not path.name.startswith(".")}


def run(name: str, missing: tuple[str, ...] = ()) -> dict[str, str]:
    return {file: f"{file} of {name}" for file in NAMES if file not in missing}


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("missing", [(), ("table", "groups"), ("groups",)])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("killed", [False, True])
def test_after_any_failing_step_there_is_one_run_or_no_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool, before: bool, missing: tuple[str, ...]
) -> None:
    old = run("old") if before else {}
    new = run("new", missing)
    outcomes = []
    for index in range(1000):
        folder = tmp_path / str(index)
        folder.mkdir()
        if before:
            write(folder, "old")
        with failing_at(index, monkeypatch, killed=killed) as made:
            failed = not succeeds(functools.partial(write, folder, "new", missing=missing))
        found = shown(folder)
        if "claim" in found:
            assert found in (old, new), (index, made)
        # files of two runs are never beside each other, whether something is claimed of them or not
        assert all(found.get(name) in (None, old.get(name)) for name in NAMES) or found.items() <= new.items()
        if not killed:
            assert hidden(folder) == [] or made[index] == "unlink"  # which the next run makes good
            assert found == (old if failed else new), (index, made)
        outcomes.append(found)
        write(folder, "next")
        assert shown(folder) == run("next")
        assert hidden(folder) == []
        if len(made) <= index:
            break
    assert len(outcomes) > 8
    assert outcomes[-1] == new


def test_files_elsewhere_are_written_with_those_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the folder has two names; what is no file is written to, and never moved."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    pages = {str(tmp_path / "out" / "page"): fill("page"), str(tmp_path / "beside"): fill("beside")}
    write_together(Path("link"), {**pages, "/dev/null": None, os.devnull: fill("gone"), "claim": fill("claim")})
    assert shown(tmp_path / "out") == {"page": "page", "claim": "claim"}
    assert (tmp_path / "beside").read_text() == "beside"
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("second", [6, 7, 8])
def test_where_the_way_back_fails_too_nothing_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: int
) -> None:
    write(tmp_path, "old")
    real, made = os.replace, []

    def replace(source: Path, target: Path) -> None:
        made.append(target)
        if len(made) in (5, second):  # three files were put aside, and one in its place
            raise OSError(errno.EIO, "broken")
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(InputError, match="broken"):
            write(tmp_path, "new")
    assert len(made) == second
    found = shown(tmp_path)
    assert "claim" not in found
    assert found.items() <= run("old").items()


@pytest.mark.parametrize("killed", [False, True])
def test_one_file_is_the_old_one_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool) -> None:
    path = tmp_path / "one"
    for index in range(100):
        path.write_text("old")
        with failing_at(index, monkeypatch, killed=killed) as made:
            succeeds(lambda: write_file(path, fill("new")))
        assert path.read_text() in ("old", "new"), (index, made)
        if not killed:
            assert hidden(tmp_path) == [] or made[index] == "unlink"
        if len(made) <= index:
            break
    assert path.read_text() == "new"
    assert index > 3


def test_what_fails_while_it_is_written_leaves_the_old_run(tmp_path: Path) -> None:
    write(tmp_path, "old")

    def broken(file: Any) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match="No space left"):
        write_together(tmp_path, {"table": fill("new"), "groups": broken, "claim": fill("new")})
    assert shown(tmp_path) == run("old")
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_in_the_place_of_a_file_is_left_alone(tmp_path: Path, name: str) -> None:
    write(tmp_path, "old")
    (tmp_path / name).unlink()
    (tmp_path / name / "inside").mkdir(parents=True)
    for missing in ((), NAMES[:-1]):
        with pytest.raises(InputError, match=f"{name} is a folder"):
            write(tmp_path, "new", missing=missing)
        assert (tmp_path / name / "inside").is_dir()
        others = [path for path in tmp_path.iterdir() if path.is_file()]
        assert {path.name for path in others} == {*NAMES} - {name}
        assert all(path.read_text() == f"{path.name} of old" for path in others)
    assert hidden(tmp_path) == []


def _write_often(folder: Path, run_name: str, times: int) -> None:
    for _ in range(times):
        write(folder, run_name)


@pytest.mark.processes
def test_two_runs_into_one_folder_wait_for_each_other(tmp_path: Path) -> None:
    write(tmp_path, "a")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_often, args=(tmp_path, name, 60)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    looks = 0
    while any(writer.is_alive() for writer in writers):
        with files._alone_in(tmp_path):
            found = shown(tmp_path)
        assert found in (run("a"), run("b"))
        looks += 1
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert looks > 3
    assert hidden(tmp_path) == []


def test_a_folder_that_another_run_does_not_leave_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.2)
    with files._alone_in(tmp_path), pytest.raises(InputError, match="another run is writing"):
        write(tmp_path, "new")
    assert shown(tmp_path) == {}


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    write_file(tmp_path / "link", fill("text"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_text() == "text"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, fill("text"))
    reader.join(10)
    assert read == [b"text"]
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
