"""A study from its file to its rows."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.methods.registry import AUTO
from kanon_milp.studies.bench import supervisor
from kanon_milp.studies.bench.checks import judged
from kanon_milp.studies.bench.cluster import open_client, run_all
from kanon_milp.studies.bench.plan import Run, plan
from kanon_milp.studies.bench.results import Folder, frame_of, read_folder
from kanon_milp.studies.bench.study import Study

SETTLED = frozenset({"solver", "milp", "greedy", "mondrian", "mondrian_relaxed", "m_approximation", "full_domain"})
"""Methods that need no compiled inner loops, or few."""


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
                    warm=needs_compiled(study, missing),
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
    if needs_compiled(study, found):
        supervisor.warm_up()
    row = supervisor.supervise(found[0].as_dict())
    return next(judged(frame_of([row])).iter_rows(named=True))


def needs_compiled(study: Study, runs: list[Run]) -> bool:
    """Whether hosts should compile before the first run."""
    if study.kind.name != "solve":
        return study.kind.compiled
    return any(run.method not in SETTLED or run.method == AUTO for run in runs)
