"""`kanon-milp library build` and `check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import OPTIMAL, UNVERIFIED
from kanon_milp.cli.help import Command
from kanon_milp.errors import counted
from kanon_milp.studies import display

library = typer.Typer(
    help="A collection of instances with known answers, as MPS files.", no_args_is_help=True, rich_markup_mode=None
)
Listed = Annotated[
    Path | None, typer.Option("--list", metavar="FILE", help="Another list of instances; default: the package's own.")
]


@library.command(cls=Command)
def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only these; names may have * and ?.")
    ] = None,
    listed: Listed = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Build the instances of the list.

    DIR gets .mps.gz files with the same bytes each time, metadata and solutions of each, library.solu and library.csv.
    """
    from kanon_milp.studies.mps_library.build import build_library  # its schema takes a while to import
    from kanon_milp.studies.mps_library.entries import LIST

    silent = quiet or json
    found = build_library(
        folder, listed=listed or LIST, only=only or (), on_built=None if silent else lambda made: display.say(made.name)
    )
    if json:
        display.print_json({
            "instances": [made.name for made in found.metadata], "missing": found.missing, "notes": found.notes,
        })  # fmt: skip
        return
    for note in found.notes:
        display.say(note)
    for name, data in found.missing.items():
        display.say(f"{name}: left out, its table {data} is not here (KANON_MILP_DATA)")
    if not quiet:
        display.say(f"{counted(len(found.metadata), 'instance')} in {folder}")


@library.command(cls=Command)
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    listed: Listed = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild/--no-rebuild", help="Build again from the list, and compare the bytes.")
    ] = True,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Check a library in exact arithmetic.

    Hashes, schema, solutions, sizes, and that no two instances are alike.
    """
    from kanon_milp.studies.mps_library.check import check_library
    from kanon_milp.studies.mps_library.entries import LIST

    found = check_library(folder, listed=listed or LIST, rebuild=rebuild)
    if json:
        display.print_json({"instances": found.instances, "problems": found.problems, "not_rebuilt": found.not_rebuilt})
    else:
        for problem in found.problems:
            display.say(problem)
        for name, data in found.not_rebuilt.items():
            display.say(f"{name}: not built again, its table {data} is not here")
        if not quiet:
            problems = counted(len(found.problems), "problem") if found.problems else "no problems"
            display.say(f"{counted(found.instances, 'instance')}, {problems}")
    raise typer.Exit(OPTIMAL if found.ok else UNVERIFIED)
