"""Click, on which typer rests: the installed package, or the copy that typer brings since 0.26."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer

_exceptions: Any = import_module(typer.BadParameter.__module__)
_globals: Any = import_module(f"{_exceptions.__package__}.globals")

UsageError: Any = _exceptions.UsageError
NAMES_THE_NEAREST = hasattr(_exceptions, "NoSuchCommand")  # of an unknown command, without typer's help


def option_of_the_command(name: str) -> Any:
    """What the command that runs was given; None where it has no such option, or where no command runs."""
    context = _globals.get_current_context(silent=True)
    return None if context is None else context.params.get(name)
