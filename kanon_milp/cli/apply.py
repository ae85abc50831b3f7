"""`kanon-milp apply`: the recoding of an earlier result for another table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import OPTIMAL, UNVERIFIED
from kanon_milp.cli.help import output_option
from kanon_milp.errors import InputError
from kanon_milp.problem.csv_files import csv_text
from kanon_milp.studies import display
from kanon_milp.studies.apply import APPLIED, FILES, Applied
from kanon_milp.studies.apply import apply as apply_recoding
from kanon_milp.studies.output import CLAIM, check_output, json_text, table_files
from kanon_milp.system.files import Fill, check_folder, holding, make_folder, refuse_overwriting, write_together


@options.grouped
def apply(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder of solve --out.")],
    table: Annotated[Path, typer.Argument(metavar="FILE", help="Another table with the same columns.")],
    suppress: Annotated[bool, typer.Option("--suppress", help="Suppress the rows that break a requirement.")] = False,
    out: Annotated[
        Path | None, output_option(metavar="DIR", help=f"Folder for the released table, groups.csv, {APPLIED}.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Recode another table like an earlier result.

    By the levels of a full-domain result, else by its released groups. Says which rows break the requirements, which
    are checked in the new table alone.

    Exit codes: 0 the released table is verified; 2 bad usage or input; 6 rows break the requirements (nothing is
    released), or verification failed.
    """
    if out is not None:
        if (out / CLAIM).exists():
            raise InputError(f"{out}: holds a result of solve; choose another folder")
        refuse_overwriting([("--out", out / name) for name in FILES], [table])
        check_folder(out, FILES)
    found = apply_recoding(result, table, suppress=suppress)
    if out is not None:
        check_output(found.problem, out)
        _write(found, out)
    if json:
        display.print_json(found.as_dict())
    elif not quiet:
        for line in found.lines:
            display.say(line)
        if out is not None:
            display.say(f"written to {out}")
    raise typer.Exit(OPTIMAL if found.verified else UNVERIFIED)


def _write(found: Applied, out: Path) -> None:
    files: dict[str, Fill | None] = dict.fromkeys(FILES)
    del files[APPLIED]
    if found.verified:
        files.update(table_files(found.problem, found.table, found.placed))
    files["breaking.csv"] = holding(csv_text(found.breaking, ","))
    files[APPLIED] = holding(json_text(found.as_dict()))
    make_folder(out)
    write_together(out, files)
