"""`kanon-milp report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import OPTIMAL, UNVERIFIED
from kanon_milp.studies import display
from kanon_milp.studies.output import PAGE
from kanon_milp.studies.pages.reports import report_of_folder


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What solve --out has written.")],
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help=f"Where to write the page; default DIR/{PAGE}.")
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", min=0, help="Show the first N released rows; default none.")
    ] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Write the report of a result as one HTML page.

    It needs no network.

    Exit codes: 0 written; 2 bad usage or input; 6 written, and a file in the folder is not the one that was written.
    """
    files = report_of_folder(folder, to, sample=sample)
    if not quiet:
        display.say(f"written to {folder / PAGE if to is None else to}")
    changed = [each.path for each in files if each.state != "unchanged"]
    for path in changed:
        display.say(f"error: {path} is not the file that was written with result.json", err=True)
    raise typer.Exit(UNVERIFIED if changed else OPTIMAL)
