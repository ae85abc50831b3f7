"""HTML from templates: whatever is put into one is escaped, and what could steer the direction of writing is shown."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kanon_milp.errors import printable

if TYPE_CHECKING:  # it takes a while to import
    from jinja2 import Environment

BREAK = re.compile(r"(?<=>)\s*\n\s*|\s*\n\s*(?=<)")


def environment(package: str, **more: object) -> Environment:
    """The templates of a package, in its folder `templates`. more: what they may call.

    A line break of a template beside a tag or a block is nothing, and a blank within text.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from jinja2.ext import Extension
    from jinja2.lexer import Token, TokenStream

    class Lines(Extension):
        def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
            found = list(stream)
            ends = [token.type for token in found]
            for token, before, after in zip(found, ["block_end", *ends], [*ends[1:], "block_begin"], strict=False):
                text = token.value
                if token.type == "data":
                    text = re.sub(r"\A\s*\n\s*", "", text) if before == "block_end" else text
                    text = re.sub(r"\s*\n\s*\Z", "", text) if after == "block_begin" else text
                    text = re.sub(r"\s*\n\s*", " ", BREAK.sub("", text))
                yield Token(token.lineno, token.type, text)

    found = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, finalize=_shown,
        extensions=[Lines, "jinja2.ext.do"],
    )  # fmt: skip
    found.globals |= more
    return found


def _shown(value: object) -> object:
    """What is no HTML yet as text in which nothing hides."""
    return value if hasattr(value, "__html__") else printable(value)


def card(title: object, facts: Iterable[tuple[str, object]], note: object = "") -> str:
    """What a notebook shows of an object: a title, names with what they are (none without a value), and a note."""
    return _notebook("card", title=title, facts=[fact for fact in facts if fact[1] not in (None, "")], note=note)


def grid(title: object, texts: Sequence[Sequence[object]], note: object = "") -> str:
    """The same of what has columns: a header and lines. Columns of numbers are flush right."""
    header, *lines = texts
    numbers = [all(str(line[j])[:1] in "-0123456789" for line in lines) for j in range(len(header))]
    return _notebook("grid", title=title, header=header, lines=lines, numbers=numbers, note=note)


def preformatted(text: str) -> str:
    """Lines as they are written."""
    return _notebook("preformatted", text=text)


def _notebook(name: str, **known: Any) -> str:
    return _notebooks().get_template(f"{name}.html").render(known)


@functools.cache
def _notebooks() -> Environment:
    return environment("kanon_milp.system")
