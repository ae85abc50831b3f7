"""A small file that unpacks to more than memory holds is refused with a plain error by every command that reads it, and
so is whatever else runs out of memory."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from command_line import python, run

import kanon_milp as km
from kanon_milp.methods import solve as solving
from kanon_milp.presolve import resources
from kanon_milp.problem import csv_files
from kanon_milp.system import processes

COMMANDS = [
    "solve --data {} --qi zip,age --k 2",
    "inspect {}",
    "compress {} --qi zip,age",
    "qid {}",
    "verify {} --original {} --qi zip,age --k 2",
    "compare --data {} --qi zip,age --k 2",
    "hierarchy {} --column age --widths 5",
    "export --data {} --qi zip,age --k 2 --to model.lp",
]


@pytest.fixture
def bomb(tmp_path: Path) -> Path:
    path = tmp_path / "bomb.csv.gz"
    rows = gzip.compress(b"1,2\n" * (4 << 20), 9)
    path.write_bytes(gzip.compress(b"zip,age\n") + 8 * rows)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_refused_before_memory_is_full(monkeypatch: pytest.MonkeyPatch, bomb: Path, command: str) -> None:
    monkeypatch.setattr(csv_files, "available_bytes", lambda: 100 << 20)
    monkeypatch.chdir(bomb.parent)
    done = run(*command.format(bomb, bomb).split())
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"error: {bomb}: is too large for the memory that is free" in done.stderr
    assert [path.name for path in bomb.parent.iterdir()] == [bomb.name]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ulimit -v")
def test_within_a_limit_of_the_shell(bomb: Path) -> None:
    """What `ulimit -v` leaves counts, not what the machine has."""
    script = (
        "import resource, sys\n"
        "from kanon_milp.system.processes import available_bytes\n"
        "import kanon_milp.cli.app\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20),) * 2)\n"
        "assert available_bytes() <= 400 << 20\n"
        f"sys.argv = ['kanon-milp', 'solve', '--data', {str(bomb)!r}, '--qi', 'zip,age', '--k', '2']\n"
        "from kanon_milp.cli import main\n"
        "main()\n"
    )
    done = python("-c", script, code=2)
    assert "is too large for the memory that is free" in done.stderr


def test_no_memory_is_an_error_with_a_documented_exit_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    (tmp_path / "data.csv").write_text("a,b\n1,2\n1,2\n")
    monkeypatch.setattr(solving, "presolve", full)
    done = run("solve", "--data", tmp_path / "data.csv", "--qi", "a,b", "--k", 2, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is not enough memory")
    assert not (tmp_path / "out").exists()


def test_a_model_is_refused_before_it_is_declared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n" + "1,2\n3,4\n1,4\n" * 3)
    problem = km.Problem(km.read_table(tmp_path / "data.csv", quasi_identifiers=["a", "b"]), km.KAnonymity(2))
    monkeypatch.setattr(resources, "available_bytes", lambda: 10_000)
    with pytest.raises(km.InputError, match="pairs would take about"):
        km.build_model(problem)
    done = run("export", "--data", tmp_path / "data.csv", "--qi", "a,b", "--k", 2, "--to", tmp_path / "model.lp")
    assert done.returncode == 2
    assert "pairs would take about" in done.stderr
    assert not (tmp_path / "model.lp").exists()


def test_a_container_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    monkeypatch.setattr(processes, "CONTROL_GROUP", tmp_path)
    assert processes.available_bytes() == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert (processes.available_bytes() or 0) > 600
