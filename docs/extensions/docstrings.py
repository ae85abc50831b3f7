"""Docstrings of this package as Markdown: their parameters as a list, which the source writes as running text.

In the source a docstring explains parameters in sentences, "path: where it is. names: the columns." A page shows one
item a parameter. Only names that the function or class has are taken for parameters.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_NAMES = r"[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*"
_ITEM = re.compile(rf"(?:^|(?<=[.;)])\s+|\n)(?P<names>{_NAMES}):\s")
_RAISES = re.compile(r"(?<=\.)\s+(?=Raises )")


def as_markdown(text: str, names: Collection[str]) -> str:
    """A docstring whose explanations of these names are list items, each in its place, and "Raises ..." a paragraph."""
    return "\n\n".join(_paragraph(each, set(names)) for each in text.split("\n\n"))


def _paragraph(text: str, names: set[str]) -> str:
    if text.startswith((" ", "-", "*", "`")):  # code, or a list already
        return text
    found = [each for each in _ITEM.finditer(text) if set(each["names"].split(", ")) <= names]
    if not found:
        return _RAISES.sub("\n\n", text)
    parts, starts = [text[: found[0].start()].rstrip()], [each.start() for each in found[1:]]
    after = ""
    for each, end in zip(found, [*starts, len(text)], strict=True):
        said, *raised = _RAISES.split(text[each.end() : end].strip(), maxsplit=1)
        after = after or "".join(raised)
        listed = ", ".join(f"`{name}`" for name in each["names"].split(", "))
        parts.append(f"- {listed}: " + re.sub(r"\s*\n\s*", " ", said).rstrip(";"))
    items = "\n".join(parts[1:])
    return "\n\n".join(part for part in (parts[0], items, after) if part)
