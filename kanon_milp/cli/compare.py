"""`kanon-milp compare`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Annotated

import typer

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import NO_TABLE
from kanon_milp.cli.problem_options import Asked, with_problem
from kanon_milp.errors import InputError
from kanon_milp.methods import registry
from kanon_milp.methods.verification import read_released
from kanon_milp.studies import comparison, display
from kanon_milp.system.compilations import COMPILATIONS
from kanon_milp.system.files import check_target, refuse_overwriting, write_file

WRITTEN: dict[str, Callable[[comparison.Comparison], str]] = {
    ".csv": comparison.Comparison.to_csv,
    ".md": comparison.Comparison.to_markdown,
    ".tex": comparison.Comparison.to_latex,
    ".svg": comparison.Comparison.to_svg,
}


@with_problem
def compare(
    asked: Asked,
    model: options.ModelPath = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--methods",
            metavar="A,B",
            help=f"As for solve --method; default: those of {','.join(comparison.METHODS)} that are for the problem.",
        ),
    ] = None,
    released: Annotated[
        list[Path] | None,
        typer.Option("--released", metavar="FILE", help="A table that another tool has released; may be repeated."),
    ] = None,
    row_id: options.RowId = None,
    missing_keys: options.MissingAsKeys = "own",
    boxes: Annotated[
        bool,
        typer.Option("--boxes", help="Measure each method's groups as intervals and sets, too."),
    ] = False,
    to: Annotated[
        list[Path] | None,
        typer.Option("--to", metavar="FILE", help="Write the comparison as .csv, .md, .tex or .svg; may be repeated."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="S", help="Seconds, of each method.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", help="Of each method.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run several methods on one table, side by side.

    Tables that other tools have released are measured beside them, and each is held against the best proven bound.

    Exit codes: 0 every method has run; 2 bad usage or input; 5 interrupted.
    """
    for path in to or []:
        if path.suffix.lower() not in WRITTEN:
            raise InputError(f"{path}: --to writes {', '.join(WRITTEN)}, by the end of the name")
    refuse_overwriting([("--to", path) for path in to or []], [*asked.sources, *(released or [])])
    for path in to or []:
        check_target(path)
    names = options.names(methods, "--methods", required=False)
    for name in names:
        registry.known_name(name, "--methods")
    tables = {
        str(path): read_released(path, asked.problem.table.csv, asked.problem.table.quasi_identifiers)
        for path in released or []
    }
    compiled = COMPILATIONS.seconds
    found = comparison.compare(
        asked.problem,
        names or None,
        released=tables,
        boxes=boxes,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        missing_keys=missing_keys,
        row_id=row_id,
        on_method=None if quiet or json else lambda name: display.say(f"running {name} ...", err=True),
    )
    drawn = not found.interrupted or any(row.objective is not None for row in found.rows)
    written = [path for path in to or [] if drawn or path.suffix.lower() != ".svg"]
    for path in written:
        text = WRITTEN[path.suffix.lower()](found)
        write_file(path, partial(_fill, text))
    if json:
        display.print_json(found.as_dict())
    elif not quiet:
        display.show_comparison(found, asked.title)
        if written:
            display.say(f"written to {', '.join(map(str, written))}")
    if not quiet:
        display.tell_compiled(COMPILATIONS.seconds - compiled, time_limit)
    if found.interrupted:
        undrawn = [f"not written, as there is no table to draw: {path}" for path in to or [] if path not in written]
        notes = [f"{row.name} ({row.note})" for row in found.rows if row.note]
        display.say(f"interrupted: {'; '.join([', '.join(notes), *undrawn])}", err=True)
        raise typer.Exit(NO_TABLE)


def _fill(text: str, file: IO[bytes]) -> None:
    file.write(text.encode())
