"""What the campaigns share: many small jobs on a few processes, a row a job in a file, a summary, an exit code.

A job is a seed and a number, from which it draws all that it does, so that `--seed S --only NUMBER` repeats it. Its row
has `tags` (what is counted in the summary) and `failures` (empty where nothing is wrong); rows are lines of JSON that
are written as they come. A process that dies or hangs is a failure of the job that it was at, and is replaced.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.connection
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # the judges

Row = dict[str, Any]
Work = Callable[[int, int], Row]  # seed, number → tags, failures, and whatever helps to repeat it
SHOWN = 20  # failures that the summary prints
FRESH = 60.0  # seconds more for the first job of a process, which imports and compiles


@dataclass
class Lane:
    """A process that does one job after the other."""

    work: Work
    process: Any = None
    pipe: Any = None
    number: int | None = None
    since: float = 0.0

    def start(self, seed: int, number: int) -> None:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=_serve, args=(self.work, other), daemon=False)
            self.process.start()
            other.close()
        self.number, self.since = number, time.perf_counter()
        self.pipe.send((seed, number))

    def answer(self, seconds: float) -> Row | None:
        """The row of its job; None while it is at it. A process that died or takes longer is ended."""
        try:
            if self.pipe.poll():
                row: Row = self.pipe.recv()
                return row
        except (EOFError, ConnectionResetError):
            self.process.join()
            return self._ended(f"the process died with exit code {self.process.exitcode}")
        if time.perf_counter() - self.since > seconds:
            self.process.kill()
            self.process.join()
            return self._ended(f"hangs: no answer within {seconds:.0f} s")
        return None

    def end(self) -> None:
        if self.process is not None:
            self.pipe.send(None)
            self.process.join(10)
            if self.process.is_alive():
                self.process.kill()

    def _ended(self, failure: str) -> Row:
        self.pipe.close()
        self.process = None
        return {"number": self.number, "tags": [], "failures": [failure]}


def _serve(work: Work, pipe: Any) -> None:
    while (job := pipe.recv()) is not None:
        pipe.send(one(work, *job))


def one(work: Work, seed: int, number: int) -> Row:
    """Do one job here; an exception that nobody expects is a failure."""
    began = time.perf_counter()
    try:
        row = work(seed, number)
    except Exception:
        row = {"tags": [], "failures": ["exception"], "traceback": traceback.format_exc()}
    return {"seed": seed, "number": number, **row, "seconds": round(time.perf_counter() - began, 3)}


def rows_of(work: Work, seed: int, numbers: Sequence[int], processes: int, seconds: float) -> Iterator[Row]:
    """The rows of all jobs as they come. seconds: for one job, the first of a process has `FRESH` more."""
    lanes, waiting = [Lane(work) for _ in range(processes)], list(reversed(numbers))
    started: Counter[int] = Counter()
    while waiting or any(lane.number is not None for lane in lanes):
        for lane in lanes:
            if lane.number is None and waiting:
                started[id(lane)] = 1 if lane.process is None else started[id(lane)] + 1
                lane.start(seed, waiting.pop())
        busy = [lane for lane in lanes if lane.number is not None]
        multiprocessing.connection.wait([lane.pipe for lane in busy], timeout=1)
        for lane in busy:
            row = lane.answer(seconds + (FRESH if started[id(lane)] == 1 else 0))
            if row is not None:
                lane.number = None
                yield {"seed": seed, **row}
    for lane in lanes:
        lane.end()


def run(work: Work, seed: int, numbers: Sequence[int], out: Path, processes: int = 2, seconds: float = 60) -> int:
    """Do all jobs, write their rows, print the summary, and return the number of jobs that failed."""
    began, tags, kinds, failed = time.perf_counter(), Counter[str](), Counter[str](), []
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", encoding="utf-8") as file:
        for done, row in enumerate(rows_of(work, seed, numbers, processes, seconds), 1):
            file.write(json.dumps(row, ensure_ascii=True, default=str) + "\n")
            file.flush()
            tags.update(row["tags"])
            if row["failures"]:
                failed.append(row)
                kinds.update({text.split(":")[0] for text in row["failures"]})
            if done % 100 == 0:
                print(f"{done} of {len(numbers)}: {len(failed)} failed", flush=True)
    took = time.perf_counter() - began
    print(f"{len(numbers)} jobs of seed {seed} in {took:.0f} s ({len(numbers) / took:.1f} a second), rows in {out}")
    for tag, times in sorted(tags.items()):
        print(f"{times:>7} {tag}")
    print(f"{len(failed):>7} FAILED" if failed else "      0 failed")
    for kind, times in kinds.most_common():
        print(f"{times:>7}   {kind}")
    for row in failed[:SHOWN]:
        print(f"        --seed {seed} --only {row['number']}: {'; '.join(row['failures'])}"[:400])
    return len(failed)


def main(work: Work, description: str, count: int, seconds: float = 60) -> int:
    """The command line of a campaign; 1 if any job failed."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="repeat the job of this number, in this process, and print its row")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, help="file of rows; default out/NAME.jsonl")
    given = parser.parse_args()
    if given.only is not None:
        row = one(work, given.seed, given.only)
        trace = row.pop("traceback", "")
        print(json.dumps(row, indent=2, ensure_ascii=True, default=str), trace, sep="\n")
        return int(bool(row["failures"]))
    out = given.out or Path("out") / f"{parser.prog.removesuffix('.py')}.jsonl"
    return int(bool(run(work, given.seed, range(given.count), out, given.processes, seconds)))
