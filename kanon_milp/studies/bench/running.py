"""A study from its file to its rows, which lie in a folder, one small Parquet file a run."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.studies.bench import supervisor
from kanon_milp.studies.bench.checks import judged
from kanon_milp.studies.bench.cluster import open_client, run_all
from kanon_milp.studies.bench.plan import plan
from kanon_milp.studies.bench.study import Study
from kanon_milp.system.files import check_folder, write_file

try:
    import fcntl
except ImportError:  # Windows: two studies in one folder are not kept apart there
    fcntl = None  # type: ignore[assignment]

ROWS, PLAN, RUNS, LOCK = "rows", "plan.json", "runs.parquet", ".lock"
TRAJECTORY = pl.List(pl.Struct({"seconds": pl.Float64, "incumbent": pl.Float64, "bound": pl.Float64}))
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("run", "study", "instance", "family", "formulation", "method", "solver", "options"), pl.String),
    **dict.fromkeys(("threads", "seed", "permutation"), pl.Int64),
    "time_limit": pl.Float64,
    "memory_limit": pl.Int64,
    **dict.fromkeys(("n", "m", "t_in", "t_in_star", "k", "p"), pl.Int64),
    **dict.fromkeys(("l", "t"), pl.String),
    **dict.fromkeys(("candidates", "pairs", "variables", "constraints", "nonzeros"), pl.Int64),
    "ended": pl.String,
    "exit_code": pl.Int64,
    **dict.fromkeys(("message", "stop_reason", "proof"), pl.String),
    **dict.fromkeys(("objective", "bound"), pl.Float64),
    **dict.fromkeys(("objective_exact", "bound_exact", "sense"), pl.String),
    "gap": pl.Float64,
    "known": pl.String,
    "warnings": pl.List(pl.String),
    "verified": pl.Boolean,
    "defects": pl.List(pl.String),
    "repeat": pl.String,
    **dict.fromkeys(("seconds", "cpu_seconds", "build_seconds", "handover_seconds", "solve_seconds"), pl.Float64),
    "peak_bytes": pl.Int64,
    "trajectory": TRAJECTORY,
    "nodes": pl.Int64,
    **dict.fromkeys(("root_bound", "root_seconds"), pl.Float64),
    **dict.fromkeys(("package_version", "solver_version", "git", "python", "os", "cpu"), pl.String),
    **dict.fromkeys(("cores", "memory"), pl.Int64),
    **dict.fromkeys(("host", "started"), pl.String),
}
TIMES = ("seconds", "cpu_seconds", "build_seconds", "handover_seconds", "solve_seconds", "peak_bytes", "trajectory",
         "root_seconds", "started", "host")  # fmt: skip
"""Columns that differ from one time to the next."""


class Folder:
    """The folder of a study's results, which is made. Raises InputError where it cannot be, or another study is at
    work in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_folder(path)
        (path / ROWS).mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other studies out."""
        with (self.path / LOCK).open("w") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise InputError(f"{self.path}: another study is at work in this folder") from None
                except OSError:  # a file system without locks
                    pass
            yield

    def done(self) -> set[str]:
        """The runs that have a row."""
        return {path.stem for path in (self.path / ROWS).glob("*.parquet")}

    def begin(self, study: Mapping[str, Any], runs: Sequence[str]) -> None:
        """Note which study it is, and its runs in their order."""
        text = json.dumps({**study, "runs": list(runs)}, indent=1) + "\n"
        write_file(self.path / PLAN, lambda file: file.write(text.encode()))

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a row; one that is there stays, so that no run counts twice."""
        path = self.path / ROWS / f"{row['run']}.parquet"
        if not path.exists():
            _write(frame_of([row]), path)

    def finish(self, frame: pl.DataFrame) -> Path:
        """Write all rows as one file."""
        _write(frame, self.path / RUNS)
        return self.path / RUNS


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a data frame with all columns."""
    return pl.DataFrame([{name: row.get(name) for name in SCHEMA} for row in rows], schema=SCHEMA)


def read_folders(paths: Sequence[Path]) -> pl.DataFrame:
    """The rows of one folder; of several with the column `results`, the name of the folder, as one more thing that
    settings differ in. Raises InputError for folders of one name."""
    if len(paths) == 1:
        return read_folder(paths[0])
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        raise InputError(f"{', '.join(map(str, paths))}: folders that are compared need different names")
    frames = [read_folder(path).with_columns(results=pl.lit(name)) for path, name in zip(paths, names, strict=True)]
    return pl.concat(frames, how="diagonal")


def read_folder(path: Path) -> pl.DataFrame:
    """The rows of a study so far, in the order of its runs. Raises InputError for a folder that holds none."""
    noted = path / PLAN
    try:
        planned = json.loads(noted.read_text())["runs"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path}: not a folder of a study's results (it has no {PLAN})") from None
    files = [file for run in planned if (file := path / ROWS / f"{run}.parquet").is_file()]
    frames = [pl.read_parquet(file) for file in files]
    return pl.concat([pl.DataFrame(schema=SCHEMA), *frames], how="diagonal")


def _write(frame: pl.DataFrame, path: Path) -> None:
    def fill(file: IO[bytes]) -> None:
        frame.write_parquet(file)

    write_file(path, fill)


def default_folder(name: str) -> Path:
    """Where the results of a study go if nothing else is said."""
    return Path("out") / "bench" / os.path.basename(name)


@dataclass(frozen=True)
class Progress:
    """How far a study is: runs in all, those with a row, of these the ones from before."""

    total: int
    done: int
    before: int


OnRow = Callable[[Mapping[str, Any], Progress], None]


def run_study(
    study: Study,
    out: Path,
    *,
    resume: bool = False,
    dask: str | None = None,
    on_row: OnRow = lambda row, progress: None,
    on_start: Callable[[Progress], None] = lambda progress: None,
) -> pl.DataFrame:
    """Run what is missing of a study, and return all of its rows with their defects; `runs.parquet` has them too.

    out: the folder; one that holds rows of this study already is refused unless `resume` says so. dask: address of a
    scheduler. on_row: called for each row as it comes; on_start: before the first. Raises InputError for a study that
    cannot be run.
    """
    runs = plan(study)
    folder = Folder(out)
    with folder.alone():
        done = folder.done()
        if done and not resume:
            raise InputError(f"{out}: there are results already; --resume goes on with them, or name another --out")
        folder.begin({"study": study.name, "title": study.title, "file": str(study.path)}, [run.run for run in runs])
        missing = [run for run in runs if run.run not in done]
        before = count = len(runs) - len(missing)
        on_start(Progress(len(runs), before, before))

        def add(row: dict[str, Any]) -> None:
            nonlocal count
            folder.add(row)
            count += 1
            on_row(row, Progress(len(runs), count, before))

        if missing:
            with open_client(dask, study.parallel) as client:
                run_all(
                    client,
                    [run.as_dict() for run in missing],
                    token=secrets.token_hex(4),
                    parallel=study.parallel,
                    on_row=add,
                )
        frame = judged(read_folder(out))
        folder.finish(frame)
    return frame


def run_one(study: Study, identity: str) -> dict[str, Any]:
    """One run of a study in this host, by the beginning of its identity. Raises InputError where there is none."""
    found = [run for run in plan(study) if run.run.startswith(identity)]
    if len(found) != 1:
        many = "several runs begin so" if found else "the study has no such run"
        raise InputError(f"--only {identity}: {many}")
    row = supervisor.supervise(found[0].as_dict())
    return next(judged(frame_of([row])).iter_rows(named=True))
