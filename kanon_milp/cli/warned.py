"""Warnings of the package as lines on standard error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from kanon_milp.cli.click import option_of_the_command
from kanon_milp.errors import KanonWarning
from kanon_milp.studies.display import say


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Each warning of the package that comes in the block is one line on standard error at its end, once.

    None with --quiet, and none where the block ends in an error, of which there is one line already.
    """
    lines: list[str] = []
    usual = warnings.showwarning

    def keep(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, KanonWarning):
            usual(message, category, filename, lineno, file, line)
        elif not option_of_the_command("quiet"):
            lines.append(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", KanonWarning)
        warnings.showwarning = keep
        try:
            yield
        except SystemExit:  # how a command ends
            for each in dict.fromkeys(lines):
                say(each, err=True)
            raise
