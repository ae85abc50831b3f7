"""`kanon-milp generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from kanon_milp.cli import options
from kanon_milp.errors import InputError
from kanon_milp.studies import display, families
from kanon_milp.studies.families.generated_files import earlier_files, write_generated, write_generated_columns


def generate(
    family: Annotated[str | None, typer.Argument(metavar="[FAMILY]", help="Which family; see --list.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the files.")] = None,
    size: Annotated[int | None, typer.Option("--size", metavar="N", help="What it counts says --list.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another instance of the same size.")] = 0,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer",
            metavar="ANSWER",
            help="yes, or no: a decision instance that is infeasible; imperfect: the best of imperfect solutions. "
            "Default yes, and what it is with --source.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="FILE", help="JSON file with a source problem of your own; see the docs."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A number that the theorem leaves open; see --list."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Say which families there are.")] = False,
    no_mps: Annotated[bool, typer.Option("--no-mps", help="Leave model.mps.gz out.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Make an instance whose optimum is known.

    The folder gets its table, model file, MPS file, and the table that attains the optimum.
    """
    if listed:
        display.show_families([*families.FAMILIES.values(), *families.COLUMN_FAMILIES.values()])
        return
    if family is None or out is None:
        raise InputError("name a family and --out DIR, or ask for --list")
    earlier = earlier_files(out)
    pairs = [each.partition("=") for each in given or ()]
    if not all(name and value for name, _, value in pairs):
        raise InputError("--set takes NAME=VALUE, such as t=1/4")
    asked = families.Asked(cast(families.Answer | None, answer), source, {name: value for name, _, value in pairs})
    found = families.generate_any(family, size, seed, asked)
    if isinstance(found, families.GeneratedColumns):
        written = write_generated_columns(found, out, exported=not no_mps)
    else:
        written = write_generated(found, out, exported=not no_mps)
    if not quiet:
        display.say(found.title)
        known = "no solution (the answer is no)" if found.optimum is None else f"optimum {found.optimum}"
        display.say(f"{known}; {found.reason}")
        place = f"{out}, in place of an earlier instance" if earlier else str(out)
        display.say(f"written to {place}: {', '.join(path.name for path in written)}")
