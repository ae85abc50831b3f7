"""1,000 kills of `kanon-milp solve` at random moments, from start-up to the last write: no lie, no stray file.

python benchmarks/kills.py                        SIGKILL, SIGTERM and SIGINT in turn; about an hour on two cores
python benchmarks/kills.py --seed 7 --only 12     one of them again; moments are random, so are races

A run writes results into a folder, a certificate and a log. The folder is fresh, or holds the results of another
problem. Two of three kills come at a moment of the time that a whole run takes, every third one when the first file
changes. Then the folder is looked at as a user would: what `result.json` claims must be true of the table beside it
(`kanon_milp.verify`), for the problem that it names; groups and table belong together; files are whole, and of one run.
A certificate that is there must be one that the checker accepts. No other file is there, and no process goes on.
After SIGTERM and SIGINT the exit code is a documented one, with a word on stderr, within 10 s. After SIGKILL hidden
files may be left if the next run into the same folder takes them away, which is tried.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import campaign  # makes the helpers of the tests known
from command_line import with_ctrl_c

import kanon_milp as km
from kanon_milp.methods.verification import check_certificate_files, verify_files

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
SOLVERS = ("highs", "highs", "highs", "cbc", "scip", "cpsat")
CODES = (0, 2, 3, 4, 5, 6)
PATIENCE = 10.0  # seconds until a run must have ended after SIGTERM or SIGINT
RESULTS = {"anonymized.csv", "groups.csv", "result.json"}
QI = ["age", "zip", "job"]


@dataclass(frozen=True)
class Task:
    """A problem whose results can be told from those of another by the number of rows."""

    name: str
    rows: int
    k: int

    @property
    def table(self) -> list[tuple[str, ...]]:
        draw = random.Random(self.name)
        return [(str(draw.randint(20, 40)), str(draw.randint(1, 9)), draw.choice("abcdef")) for _ in range(self.rows)]

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.name}.csv"
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([QI, *self.table])
        return path

    def arguments(self, solver: str) -> list[str]:
        """A run with all that it writes."""
        written = ["--out", "out", "--certificate", "bound.json", "--log-file", "solver.log"]
        asked = ["--data", f"{self.name}.csv", "--qi", ",".join(QI), "--k", str(self.k), "--solver", solver]
        return ["solve", *asked, "--time-limit", "20", *written]


BEFORE, NOW = Task("earlier", 60, 2), Task("people", 150, 3)
# the console script, which says on a pipe when its first import begins: before that no signal could be heard
SCRIPT = "import os, sys; os.write(int(sys.argv.pop(1)), b'.'); from kanon_milp.cli import main; sys.exit(main())"
FIRST = 0.02  # seconds that the first import has to begin


def whole_run(task: Task, folder: Path, solver: str) -> None:
    """A run that nobody kills."""
    command = [sys.executable, "-m", "kanon_milp", *task.arguments(solver)]
    subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=120)


@functools.cache
def earlier() -> tempfile.TemporaryDirectory[str]:
    """A folder with the results of the earlier problem, made once in each process."""
    made = tempfile.TemporaryDirectory(prefix="kills-earlier-")
    for task in (BEFORE, NOW):
        task.write(Path(made.name))
    whole_run(BEFORE, Path(made.name), "highs")
    return made


@functools.cache
def usual_seconds(solver: str) -> float:
    """What a whole run takes here."""
    with tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as name:
        NOW.write(Path(name))
        began = time.perf_counter()
        whole_run(NOW, Path(name), solver)
        return time.perf_counter() - began


def work(seed: int, number: int) -> campaign.Row:
    """Kill one run, and look."""
    draw = random.Random(f"{seed}-{number}")
    sent, solver = SIGNALS[number % len(SIGNALS)], draw.choice(SOLVERS)
    used = draw.random() < 0.5
    moment = "at the first write" if draw.random() < 0.34 else "at any time"
    # most writes are over a few milliseconds after the first one
    after = 0.1 * draw.random() ** 3 if moment == "at the first write" else 1.05 * draw.random() * usual_seconds(solver)
    with tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if used:
            shutil.copytree(earlier().name, folder, dirs_exist_ok=True)
        else:
            BEFORE.write(folder)
            NOW.write(folder)
        (folder / "tmp").mkdir()
        code, said, took, orphans = killed(folder, solver, sent, after, moment)
        failures = wrong_end(sent, code, said, took) + [f"process: {each} goes on" for each in orphans]
        failures += wrong_folder(folder, sent is not signal.SIGKILL)
        left = hidden(folder)
        if left and not failures:
            whole_run(NOW, folder, "highs")
            failures += [f"stray after the next run: {shape(path)}" for path in hidden(folder)]
    tags = [f"{sent.name} {moment}", f"folder {'of an earlier run' if used else 'fresh'}", f"exit code {code}"]
    tags += ["hidden files left by SIGKILL"] if left else []
    more = {"solver": solver, "after": round(after, 3), "took": round(took, 2), "said": said[-300:]}
    return {"tags": tags, "failures": failures, **more}


def killed(
    folder: Path, solver: str, sent: signal.Signals, after: float, moment: str
) -> tuple[int, str, float, list[str]]:
    """Start, send the signal, wait; exit code, stderr, seconds from the signal to the end, processes that go on."""
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    with (folder.parent / f"{folder.name}.stderr").open("w+") as errors:
        reading, writing = os.pipe()
        with with_ctrl_c():
            process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT, str(writing), *NOW.arguments(solver)],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                pass_fds=(writing,),
            )
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        time.sleep(FIRST)
        if moment == "at the first write":
            state = seen(folder)
            while process.poll() is None and seen(folder) == state:
                time.sleep(0.0005)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after)
        began = time.perf_counter()
        process.send_signal(sent)
        try:
            process.wait(3 * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        took = time.perf_counter() - began
        orphans = ended_group(process.pid)
        errors.seek(0)
        said = errors.read()
    (folder.parent / f"{folder.name}.stderr").unlink()
    return process.returncode, said, took, orphans


def ended_group(leader: int) -> list[str]:
    """Wait a few seconds for processes that the run began; those that go on are named, and ended."""
    ends = time.perf_counter() + PATIENCE / 2
    while time.perf_counter() < ends:
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return []
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    return ["a process that the run began"]


def seen(folder: Path) -> list[tuple[str, int, int]]:
    """What is in the folders that are written to, the log aside."""
    found = [folder, folder / "out"]
    entries = [each for place in found if place.is_dir() for each in os.scandir(place)]
    state = []
    for each in entries:
        with contextlib.suppress(FileNotFoundError):
            if each.name not in ("solver.log", "tmp", "out"):
                state.append((each.path, each.stat().st_mtime_ns, each.inode()))
    return sorted(state)


def hidden(folder: Path) -> list[Path]:
    """Files of writes that did not end; temporary files of solvers are in a folder of their own."""
    return [path for path in [*folder.iterdir(), *(folder / "out").glob("*")] if path.name.startswith(".")]


def shape(path: Path) -> str:
    """A name without what is random in it."""
    return "".join("#" if c in "0123456789abcdef" and path.name.startswith(".") else c for c in path.name)


def wrong_end(sent: signal.Signals, code: int, said: str, took: float) -> list[str]:
    """What is wrong with exit code, words and time."""
    if sent is signal.SIGKILL:
        return [] if code in (-9, *CODES) else [f"exit code {code} after {sent.name}"]
    found = [] if code in CODES else [f"exit code {code} after {sent.name}"]
    if code != 0 and not said.strip():
        found.append(f"no word on stderr after {sent.name} with exit code {code}")
    if "Traceback" in said or "terminate called" in said:
        found.append(f"traceback after {sent.name}: {said.strip().splitlines()[-1][:100]}")
    if took > PATIENCE:
        found.append(f"slow: ended {took:.0f} s after {sent.name}")
    return found


def wrong_folder(folder: Path, tidy: bool) -> list[str]:
    """What is a lie, or should not be there. tidy: not even hidden files, nor those that solvers write meanwhile."""
    found = []
    known = {"earlier.csv", "people.csv", "out", "tmp", "bound.json", "solver.log"}
    for path in [*folder.iterdir(), *(folder / "out").glob("*")]:
        expected = path.name in known if path.parent == folder else path.name in RESULTS
        if not expected and (tidy or not path.name.startswith(".")):
            found.append(f"stray: {shape(path)}")
    if tidy and any((folder / "tmp").iterdir()):
        names = sorted({path.suffix or "a folder" for path in (folder / "tmp").iterdir()})
        found.append(f"stray: temporary files of a solver ({', '.join(names)})")
    if (folder / "bound.json").exists():
        found += wrong_certificate(folder)
    out = folder / "out"
    if (out / "result.json").exists():
        found += wrong_claim(folder)
    return found + [f"cut off: {name}" for name in ("anonymized.csv", "groups.csv") if cut_off(out / name)]


def cut_off(path: Path) -> bool:
    """Whether a file is there but is not whole."""
    if not path.exists():
        return False
    data = path.read_bytes()
    return not data.endswith(b"\n") or data.count(b"\n") not in (BEFORE.rows + 1, NOW.rows + 1)


def wrong_certificate(folder: Path) -> list[str]:
    try:
        named = json.loads((folder / "bound.json").read_text())["rows"]
        task = BEFORE if named == BEFORE.rows else NOW
        report = check_certificate_files(folder / f"{task.name}.csv", folder / "bound.json")
    except (ValueError, KeyError, km.InputError) as error:
        return [f"certificate: {error}"]
    return [] if report.valid else [f"certificate: not valid: {report.problems[0]}"]


def wrong_claim(folder: Path) -> list[str]:
    """What result.json claims that is not so."""
    out = folder / "out"
    try:
        result: dict[str, Any] = json.loads((out / "result.json").read_text())
    except ValueError:
        return ["cut off: result.json"]
    task = BEFORE if result["problem"]["n"] == BEFORE.rows else NOW
    if result["verified"] is not True:
        there = [name for name in ("anonymized.csv", "groups.csv") if (out / name).exists()]
        return [f"lie: result.json claims no table, and there is {' and '.join(there)}"] if there else []
    if not (out / "anonymized.csv").exists() or not (out / "groups.csv").exists():
        return ["lie: result.json claims a table that is not there"]
    try:
        report = verify_files(
            folder / f"{task.name}.csv", out / "anonymized.csv", QI, privacy=[km.KAnonymity(result["problem"]["k"])]
        )
    except km.InputError as error:
        return [f"lie: result.json is of {task.name}, and the table is not: {error}"]
    if not report.ok or report.cost != Fraction(str(result["objective"])):
        return [f"lie: result.json is not about this table: {(*report.violations, 'another loss')[0]}"]
    return wrong_groups(out)


def wrong_groups(out: Path) -> list[str]:
    """Rows of a group are released alike, those of others are not."""
    with (out / "groups.csv").open(newline="") as groups, (out / "anonymized.csv").open(newline="") as released:
        of_row: Sequence[list[str]] = list(csv.reader(groups))[1:]
        rows = list(csv.reader(released))[1:]
    pairs = {(group, tuple(row)) for (_, group), row in zip(of_row, rows, strict=False)}
    ok = len(of_row) == len(rows) and len({g for g, _ in pairs}) == len({r for _, r in pairs}) == len(pairs)
    return [] if ok else ["lie: groups.csv is not about this table"]


if __name__ == "__main__":
    sys.exit(campaign.main(work, __doc__ or "", 1000, seconds=180))
