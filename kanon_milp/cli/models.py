"""`kanon-milp models`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from kanon_milp.cli import options
from kanon_milp.errors import InputError
from kanon_milp.studies import display, model_library


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print this model file.")] = None,
    copy: Annotated[
        Path | None, typer.Option("--copy", metavar="DIR", help="Write the model and what it reads to a folder.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the model library, show a model, or copy it.

    Each model can be solved by its name: kanon-milp solve hospital
    """
    if name is None:
        if copy is not None:
            raise InputError("name the model to copy: kanon-milp models NAME --copy DIR")
        found = model_library.models()
        if json:
            display.print_json([{"name": m.name, "title": m.title, "optimum": m.optimum or None} for m in found])
        else:
            display.show_models(found)
        return
    if copy is not None:
        paths = [str(path) for path in model_library.copy(name, copy)]
        if json:
            display.print_json(paths)
            return
        for path in paths:
            display.say(path)
    elif json:
        one = model_library.listed(name)
        content = tomllib.loads(one.path.read_text(encoding="utf-8"))
        display.print_json({"name": one.name, "title": one.title, "optimum": one.optimum or None, "model": content})
    else:
        typer.echo(model_library.find(name).read_text(encoding="utf-8"), nl=False)
