"""`kanon-milp sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import NO_TABLE
from kanon_milp.cli.problem_options import Asked, with_swept_problem
from kanon_milp.errors import InputError
from kanon_milp.methods import registry
from kanon_milp.studies import display
from kanon_milp.studies import sweep as sweeping
from kanon_milp.studies.sweep_files import WRITTEN, SweepFolder
from kanon_milp.system.compilations import COMPILATIONS
from kanon_milp.system.files import refuse_overwriting


@with_swept_problem
def sweep(
    asked: Asked,
    swept: dict[str, list[str]],
    model: options.ModelPath = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for the tables, sweep.json, .csv, .md, .tex and .svg."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the sweep in the folder.")] = False,
    method: Annotated[str, typer.Option("--method", metavar="NAME", help="As for solve --method.")] = registry.AUTO,
    baselines: Annotated[
        list[str] | None,
        typer.Option("--baselines", metavar="A,B", help="Methods, as for --method, whose tables are measured beside."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="S", help="Seconds, of each setting.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", help="Of each setting.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    processes: Annotated[int, typer.Option("--processes", help="Settings at once.")] = 1,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="Run them on the workers of this Dask scheduler.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Solve one problem for many values of k, l or t.

    Losses and bounds rise along each parameter: a table for stricter values is one for looser ones, and a bound the
    other way round.

    Exit codes: 0 every setting has run; 2 bad usage or input; 5 interrupted.
    """
    if not swept:
        raise InputError("name what is swept: --k 2..10, --l 1.5,2 or --t 0.1,0.2")
    if resume and out is None:
        raise InputError("--resume goes on with the sweep in a folder; name it with --out")
    beside = options.names(baselines, "--baselines", required=False)
    for name in (method, *beside):
        registry.known_name(name, "--baselines" if name in beside else "--method")
    settings = {"method": method, "time_limit": time_limit, "threads": threads, "seed": seed, "baselines": beside}
    folder, known = None, []
    if out is not None:
        refuse_overwriting([("--out", out / name) for name in WRITTEN], asked.sources)
        folder = SweepFolder(out, asked.problem, list(swept), settings)
        known = folder.known(resume)

    def note(run: sweeping.Run, done: int, of: int) -> None:
        if folder is not None:
            folder.write_run(run)
        if not quiet and not json:
            display.say(f"{done} of {of}: {run.setting.name}, {run.proof}, {run.seconds:.1f} s", err=True)

    compiled = COMPILATIONS.seconds
    found = sweeping.sweep(
        asked.problem,
        **swept,  # type: ignore[arg-type]  # exact numbers, as text
        **settings,  # type: ignore[arg-type]
        processes=processes,
        dask=dask,
        known=known,
        on_run=note,
    )
    if folder is not None:
        folder.write(found)
    if json:
        display.print_json([row.as_dict() for row in found.rows])
    elif not quiet:
        display.show_grid(found.texts(), asked.title)
        if out is not None:
            display.say(f"written to {out}")
    if not quiet:
        display.tell_compiled(COMPILATIONS.seconds - compiled, time_limit)
    if found.interrupted:
        way = "" if out is None else "; the same command with --resume goes on"
        display.say(f"interrupted: {have_run(len(found.rows))}{way}", err=True)
        raise typer.Exit(NO_TABLE)


def have_run(settings: int) -> str:
    """How many settings have run, of which the last was perhaps cut short."""
    if settings == 1:
        return "1 setting has run, perhaps in part"
    return f"{settings or 'no'} settings have run" + (", the last perhaps in part" if settings else "")
