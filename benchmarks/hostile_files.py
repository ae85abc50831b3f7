"""1,000 mutated model files and 1,000 mutated CSV files through the command line: one clear error each, or a result.

python benchmarks/hostile_files.py                      about ten minutes on two cores
python benchmarks/hostile_files.py --seed 7 --only 12   one of them again; the folder of files is kept, and named

Even numbers are model files of models/ with entries or bytes changed, odd ones CSV files: a table whose cells are
marked, or a table, mask or hierarchy of a model. Every tenth runs in a process of its own. Failures: an exception or a
traceback, more than 10 s or no end, an exit code that is not documented, anything written with exit code 2 or besides
the results, an error without a word or with pages of them, an escape character on the terminal, a cell in any
message, and a released table that `verify` refuses or cannot read.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import campaign  # makes the helpers of the tests known
from command_line import run, run_process
from mutations import changed_bytes, changed_csv, changed_model

MODELS = Path(__file__).resolve().parent.parent / "models"
FOLDERS = [path for path in MODELS.iterdir() if path.is_dir()]
SMALL = sorted(path for path in MODELS.glob("*.toml") if "dataset" not in path.read_text(encoding="utf-8"))
CODES = (0, 2, 3, 4, 5, 6)
RESULTS = {"anonymized.csv", "groups.csv", "result.json", "anonymized.parquet"}
LIMIT = 10.0  # seconds of a run
LONGEST = 3000  # characters of an error
HEADER = ["age", "zip", "sex", "disease"]
OWN_PROCESS = 10  # every tenth


def work(seed: int, number: int) -> campaign.Row:
    """Write the files, run, and look at what is there afterwards."""
    draw = random.Random(f"{seed}-{number}")
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        folder = Path(name)
        for each in FOLDERS:
            shutil.copytree(each, folder / each.name)
        kind, arguments, secret = prepared(folder, number, draw)
        own = draw.randrange(OWN_PROCESS) == 0
        row = judged(folder, arguments, secret, own)
        row["tags"] = [f"file {kind}", "own process" if own else "in process", *row["tags"]]
        row["arguments"] = [each.replace(name, ".") for each in arguments]
        if row["failures"]:
            kept = Path(tempfile.gettempdir()) / f"hostile-{seed}-{number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            row["kept"] = str(kept)
        return row


def prepared(folder: Path, number: int, draw: random.Random) -> tuple[str, list[str], list[str]]:
    """Write a mutated file; returns its kind, the arguments, and what no message may show."""
    model = draw.choice(SMALL)
    text = model.read_text(encoding="utf-8")
    out = ["--out", str(folder / "out"), "--time-limit", "5"]
    if number % 2 == 0:
        (folder / "mutated.toml").write_bytes(changed_model(text, draw))
        return "model", ["solve", str(folder / "mutated.toml"), *out], []
    if draw.random() < 0.4:
        shutil.copy(model, folder / "model.toml")
        files = sorted(path for path in folder.rglob("*.csv") if path.name in text or path.parent.name in text)
        if files:
            chosen = draw.choice(files)
            chosen.write_bytes(changed_bytes(chosen.read_bytes(), draw))
            return "CSV of a model", ["solve", str(folder / "model.toml"), *out], []
    marks = ["Qz" + "".join(draw.choices("bcdfghjkmnpqrstvwxz", k=6)) for _ in range(12)]
    table = [HEADER, *([draw.choice(marks[3 * j : 3 * j + 3]) for j in range(4)] for _ in range(draw.randint(4, 12)))]
    path = folder / "people.csv"
    path.write_bytes(changed_csv(table, draw))
    asked = draw.choice([["--k", "2"], ["--k", "2", "--p", "2"], ["--l", "3/2"], ["--t", "1/2"]])
    secret = ["--sensitive", "disease"] if len(asked) > 2 or asked[0] != "--k" else []
    options = [*(["--delimiter", draw.choice([",", ";", "\t"])] if draw.random() < 0.2 else [])]
    options += ["--encoding", draw.choice(["utf-8", "latin-1", "utf-16"])] if draw.random() < 0.2 else []
    first = path.read_bytes().splitlines()[:1]
    merged = first and any(name.encode() in first[0] for name in HEADER)  # what stands there is a column's name
    shown = [mark for mark in marks if not (merged and mark.encode() in first[0])]
    roles = ["--qi", "age,zip,sex", *secret, *asked, *options]
    return "CSV", ["solve", "--data", str(path), *roles, *out], shown


def judged(folder: Path, arguments: Sequence[str], secret: Sequence[str], own: bool) -> campaign.Row:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    began, computed = time.perf_counter(), processor_seconds()
    try:
        done = run_process(*arguments) if own else run(*arguments)
    except Exception as error:
        return {"tags": ["exception"], "failures": [f"exception: {where(error)}"], "traceback": traceback.format_exc()}
    # where others compute too, a run has at least a quarter of a processor
    took = min(time.perf_counter() - began, 4 * (processor_seconds() - computed))
    failures = wrong_end(done, secret)
    if took > LIMIT:
        failures.append(f"slow: {took:.1f} s")
    if any(not path.is_file() or path.read_bytes() != data for path, data in before.items()):
        failures.append("input file: one was changed")
    written = [path for path in folder.rglob("*") if path.is_file() and path not in before]
    if done.returncode == 2 and (written or (folder / "out").exists()):
        failures.append(f"written: {', '.join(path.name for path in written) or 'a folder'} with exit code 2")
    if any(path.parent != folder / "out" or path.name not in RESULTS for path in written):
        failures.append(f"stray files: {', '.join(sorted({path.name for path in written} - RESULTS))}")
    if done.returncode in (0, 4) and "--data" in arguments:
        failures += refused_by_verify(folder, arguments)
    said = (done.stderr or done.stdout)[:500]
    return {"tags": [f"exit code {done.returncode}"], "failures": failures, "said": said.replace(str(folder), ".")}


def processor_seconds() -> float:
    """What this process and those that it waited for have computed."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def where(error: Exception) -> str:
    """The exception and the last place in the package, so that equal ones look equal."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "kanon_milp" in each.filename]
    last = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    return f"{type(error).__name__} in {last}"


def wrong_end(done: CompletedProcess[str], secret: Sequence[str]) -> list[str]:
    """What is wrong with how a run ended and with what it said."""
    found, said = [], done.stdout + done.stderr
    if done.returncode not in CODES:
        found.append(f"exit code {done.returncode}")
    if "Traceback" in said:
        found.append(f"traceback: {done.stderr.strip().splitlines()[-1][:150]}")
    if done.returncode in (2, 5) and not done.stderr.strip():
        found.append("no word: an error without a message")
    if done.returncode == 2 and len(done.stderr) > LONGEST:
        found.append(f"long message: {len(done.stderr)} characters")
    if "\x1b" in said:
        found.append("escape character: on the terminal")
    if any(mark in said for mark in secret):
        found.append("leak: a cell of the table in a message")
    return found


def refused_by_verify(folder: Path, arguments: Sequence[str]) -> list[str]:
    """What `verify` has against the released table of a run that ended well."""
    own = list(arguments[3 : arguments.index("--out")])
    original, released = str(arguments[2]), folder / "out" / "anonymized.csv"
    if not released.exists():
        return ["no table: with an exit code that says there is one"]
    try:
        done = run("verify", released, "--original", original, *own)
    except Exception as error:
        return [f"verify exception: {where(error)}"]
    return [] if done.returncode == 0 else [f"verify refuses it: exit code {done.returncode}: {done.stderr[:150]}"]


if __name__ == "__main__":
    sys.exit(campaign.main(work, __doc__ or "", 2000, seconds=60))
