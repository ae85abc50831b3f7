"""What the pages are made of: tables, pictures with captions, lists of facts, commands."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kanon_milp.system.markup import Markup, join, tag

WIDE = 12  # columns from which on a table is set in small type


@dataclass(frozen=True)
class Head:
    """The header of a column. kind: "bar" is a picture that takes the room that is left. digits: after the decimal
    point, for numbers. choose: offer its values to filter by."""

    title: str
    kind: Literal["text", "number", "bar"] = "text"
    digits: int = 0
    choose: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell that shows something else than what it is sorted by."""

    shown: object
    value: float | str | None


def number(value: float | None, digits: int = 0) -> str:
    """A number for people, with thousands apart; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.{digits}f}"


def share(value: float | None, digits: int = 1) -> str:
    """A share in per cent."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def table(
    caption: object,
    header: Sequence[Head],
    rows: Iterable[Sequence[object]],
    *,
    sortable: bool = False,
    first: bool = True,
    marked: Collection[int] = (),
    id_: str | None = None,
) -> Markup:
    """A table with a caption. Cells: text, numbers, None, `Markup` or `Cell`. sortable: the script lets people sort and
    filter it. first: the first cell of a row is its header. marked: numbers of rows to mark as wrong,
    from 0."""
    titles = [
        tag(
            "th",
            head.title,
            scope="col",
            class_="number" if head.kind == "number" else None,
            data_choose=sortable and head.choose,
        )
        for head in header
    ]
    body = [
        tag(
            "tr",
            *(_cell(cell, head, first and head is header[0]) for cell, head in zip(row, header, strict=True)),
            class_="red" if at in marked else None,
        )
        for at, row in enumerate(rows)
    ]
    parts = (tag("caption", caption), tag("thead", tag("tr", *titles)), tag("tbody", join(body, "\n")))
    element = tag("table", *parts, class_="sortable" if sortable else None, id=id_)
    kind = "scroll dense" if len(header) > WIDE else "scroll"
    return tag("div", element, class_=kind, tabindex="0", role="region", aria_label=str(caption))


def _cell(cell: object, head: Head, is_header: bool) -> Markup:
    value: object = None
    shown = cell
    if isinstance(cell, Cell):
        shown, value = cell.shown, "" if cell.value is None else cell.value
    elif head.kind == "number" and (cell is None or isinstance(cell, int | float)):
        shown, value = number(cell, head.digits), "" if cell is None else cell
    elif cell is None:
        shown = "–"
    kind = {"number": "number", "bar": "wide"}.get(head.kind)
    if is_header:
        return tag("th", shown, scope="row", class_=kind, data_v=value)
    return tag("td", shown, class_=kind, data_v=value)


def facts(pairs: Iterable[tuple[str, object]]) -> Markup:
    """Names and what they are, as a list of definitions; those without a value are left out."""
    found = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value not in (None, "")]
    return tag("dl", *found)


def figure(picture: Markup, said: str, caption: object, numbers: Markup | None = None) -> Markup:
    """A picture with its caption, and the numbers in it for who cannot see it, or wants to know exactly. said: what it
    is, in a few words."""
    more = "" if numbers is None else tag("details", tag("summary", "The numbers of this picture"), numbers)
    scroll = tag("div", picture, class_="scroll picture", tabindex="0", role="group", aria_label=said)
    return tag("figure", scroll, tag("figcaption", caption), more)


def command(*lines: str) -> Markup:
    """What to type, in one line or several."""
    return tag("pre", tag("code", join(lines, "\n")), tabindex="0")
