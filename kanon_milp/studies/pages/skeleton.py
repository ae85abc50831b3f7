"""The page around its sections: head, contents, style and script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from kanon_milp import __version__
from kanon_milp.system.markup import Markup, join, tag, text

PAGES = resources.files("kanon_milp.studies.pages")


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    content: Markup

    @property
    def id(self) -> str:
        """What links to it name."""
        return re.sub(r"[^a-z]+", "-", self.title.lower()).strip("-")


def page(title: str, lead: Markup, sections: Iterable[Section]) -> str:
    """A complete HTML page that needs nothing else.

    Its policy forbids it to load anything, and to run any script but the one that is in it.
    """
    script, style = _read("page.js"), _read("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    parts = list(sections)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"kanon-milp {__version__}"),
        tag("title", title),
        tag("style", style),
    )
    contents = tag(
        "nav",
        tag("ul", *(tag("li", tag("a", part.title, href=f"#{part.id}")) for part in parts)),
        aria_label="Contents",
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", tag("h1", title), lead, contents),
        tag(
            "main",
            join((tag("section", tag("h2", part.title, id=part.id), part.content) for part in parts), "\n"),
            id="content",
        ),
        tag("footer", tag("p", f"Written by kanon-milp {text(__version__)}. This page is complete in one file.")),
        tag("script", script),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _read(name: str) -> Markup:
    return Markup(PAGES.joinpath(name).read_text(encoding="utf-8"))
