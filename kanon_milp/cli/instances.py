"""`kanon-milp models`, `generate` and `library`: instances with known answers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import OPTIMAL, UNVERIFIED
from kanon_milp.cli.help import Command, examples
from kanon_milp.errors import InputError, counted
from kanon_milp.studies import display, families, model_files
from kanon_milp.studies.families.generated_files import earlier_files, write_generated, write_generated_columns

library = typer.Typer(
    help="A collection of instances with known answers, as MPS files.",
    epilog=examples("library build instances --only 'adult*'", "library check instances"),
    no_args_is_help=True,
    rich_markup_mode=None,
)
Listed = Annotated[
    Path | None, typer.Option("--list", metavar="FILE", help="Another list of instances; default: the package's own.")
]


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print this model file.")] = None,
    copy: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy the model and the files that it reads to a folder.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the model library, show a model, or copy it.

    Each model can be solved by its name: kanon-milp solve hospital
    """
    if name is None:
        if copy is not None:
            raise InputError("name the model to copy: kanon-milp models NAME --copy DIR")
        found = model_files.library_models()
        if json:
            display.print_json([{"name": m.name, "title": m.title, "optimum": m.optimum or None} for m in found])
        else:
            display.show_models(found)
        return
    if copy is not None:
        paths = [str(path) for path in model_files.copy_model(name, copy)]
        if json:
            display.print_json(paths)
            return
        for path in paths:
            display.say(path)
    elif json:
        one = model_files.listed_model(model_files.library_model(name))
        content = tomllib.loads(one.path.read_text(encoding="utf-8"))
        display.print_json({"name": one.name, "title": one.title, "optimum": one.optimum or None, "model": content})
    else:
        typer.echo(model_files.library_model(name).read_text(encoding="utf-8"), nl=False)


def generate(
    family: Annotated[str | None, typer.Argument(metavar="[FAMILY]", help="Family of instances; see --list.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the files.")] = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="Size; --list says what it counts.")] = None,
    seed: Annotated[int, typer.Option(help="Another instance of the same size.")] = 0,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="ANSWER",
            help="yes (default); no: an infeasible decision instance; imperfect: the best of imperfect solutions. "
            "Default with --source: the true answer.",
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON file with a source problem of your own; see the docs.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A number that the theorem leaves open; see --list."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the families.")] = False,
    no_mps: Annotated[bool, typer.Option("--no-mps", help="Do not write model.mps.gz.")] = False,
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


@library.command(cls=Command, epilog=examples("library build instances --only 'adult*'"))
def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only these instances; names may have * and ?.")
    ] = None,
    chosen_set: Annotated[
        Literal["benchmark", "test"] | None,
        typer.Option("--set", help="benchmark: no solver proves them at the root, as measured; test: the others."),
    ] = None,
    listed: Listed = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Build the instances of the list.

    DIR gets .mps.gz files with the same bytes each time, metadata and solutions of each, library.solu and library.csv.
    """
    from kanon_milp.studies.mps_library.build import build_library  # its schema takes a while to import
    from kanon_milp.studies.mps_library.instances import LIST

    silent = quiet or json
    found = build_library(
        folder,
        listed=listed or LIST,
        only=only or (),
        chosen_set=chosen_set,
        on_built=None if silent else lambda made: display.say(made.name),
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


@library.command(cls=Command, epilog=examples("library check instances"))
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    listed: Listed = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild/--no-rebuild", help="Build the list again, and compare the bytes.")
    ] = True,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Check a library in exact arithmetic.

    Hashes, schema, solutions, sizes, and that no two instances are alike.
    """
    from kanon_milp.studies.mps_library.check import check_library
    from kanon_milp.studies.mps_library.instances import LIST

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
