"""HTML as text that is safe by construction: whatever is not `Markup` is escaped where it is put into an element."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from kanon_milp.errors import printable

VOID = ("meta", "rect", "line", "path")  # elements without an end, when there is nothing in them


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Any text as HTML that shows it; what could steer the direction of writing, or hide, is shown as an escape."""
    return value if isinstance(value, Markup) else Markup(html.escape(printable(value)))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Parts one after the other."""
    return Markup(between.join(map(text, parts)))


def tag(name: str, /, *children: object, **attributes: Any) -> Markup:
    """An element. Attributes: class_ is class, data_v is data-v, viewBox stays; None and False leave one out."""
    written = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    begin = f"{name}{''.join(written)}"
    return Markup(f"<{begin}/>" if name in VOID and not children else f"<{begin}>{join(children)}</{name}>")


def card(title: object, facts: Iterable[tuple[str, object]], note: object = "") -> str:
    """What a notebook shows of an object: a title, names with what they are, and a note; those without a value are left
    out."""
    style = "text-align:left;vertical-align:top;padding:.1em 1em .1em 0;background:none"
    rows = []
    for name, value in facts:
        if value not in (None, ""):
            head = tag("th", name, scope="row", style=f"{style};font-weight:normal;opacity:.75")
            rows.append(tag("tr", head, tag("td", value, style=style)))
    below = [tag("p", note)] if note else []
    above = [tag("p", tag("strong", title))] if title else []
    return tag("div", *above, tag("table", tag("tbody", *rows)), *below)


def grid(title: object, texts: Sequence[Sequence[object]], note: object = "") -> str:
    """The same of what has columns: a header and lines. Columns of numbers are flush right."""
    header, *lines = texts
    numbers = [all(str(line[j])[:1] in "-0123456789" for line in lines) for j in range(len(header))]
    look = "padding:.1em 1em .1em 0;min-width:0;white-space:nowrap;background:none"
    styles = [f"text-align:{'right' if each else 'left'};{look}" for each in numbers]
    head = tag("tr", *(tag("th", cell, scope="col", style=style) for cell, style in zip(header, styles, strict=True)))
    rows = [
        tag("tr", *(tag("td", cell, style=style) for cell, style in zip(line, styles, strict=True))) for line in lines
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    below = [tag("p", note)] if note else []
    return tag("div", tag("p", tag("strong", title)), tag("div", table, style="overflow-x:auto"), *below)
