"""For mkdocstrings: what `docstrings.as_markdown` makes of each function and class."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import as_markdown


class Parameters(griffe.Extension):
    """Shows parameters and fields as lists."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Once everything is loaded."""
        _rewrite(pkg)


def _rewrite(owner: griffe.Module | griffe.Class) -> None:
    for member in owner.members.values():
        if member.is_alias:
            continue
        if member.docstring is not None and (member.is_function or member.is_class):
            names = [each.name for each in member.parameters] if member.is_function else list(member.members)
            member.docstring.value = as_markdown(member.docstring.value, names)
        if member.is_class or member.is_module:
            _rewrite(member)
