"""Pages of results for tests: small problems whose cells are marked, and a page read as a browser would."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl

import kanon_milp as km

SECRET = "Wilhelmina"
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\u202eb", "</style><b>&amp;'", "line\nend"]


class Read(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text += data


def small(names: list[str], **roles: Any) -> km.Problem:
    """Two columns to change, one sensitive, one that identifies; every cell has the secret in it."""
    first, second, sick, person = names
    frame = pl.DataFrame(
        {
            first: [f"{SECRET}{i // 2}" for i in range(8)],
            second: [f"{SECRET}{i % 3}" for i in range(8)],
            sick: [f"{SECRET}{i % 2}" for i in range(8)],
            person: [f"{SECRET}{i}" for i in range(8)],
        }
    )
    table = km.Table.from_frame(frame, [first, second], sick, identifying=person)
    return km.Problem(table, [km.KAnonymity(2), km.LDiversity(2)], **roles)


def page(result: km.Result | dict[str, km.Result], folder: Path, **given: Any) -> str:
    target = folder / "report.html"
    km.write_report(result, target, **given)
    return target.read_text(encoding="utf-8")
