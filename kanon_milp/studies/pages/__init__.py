"""HTML pages that are complete in one file: no network, no server, nothing that runs but the script of the page.

What a page says stands in its template; here is what templates call: numbers for people, cells of tables, and where the
lines of pictures lie.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kanon_milp import __version__
from kanon_milp.errors import counted, percent
from kanon_milp.system.markup import environment

if TYPE_CHECKING:
    from jinja2 import Environment


def page(template: str, **known: Any) -> str:
    """A complete page from a template. Its policy forbids it to load anything, and to run any script but its own."""
    return _environment().get_template(template).render(known)


def number(value: float | None, digits: int = 0) -> str:
    """A number for people, with thousands apart; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.{digits}f}"


def share(value: float | None, digits: int = 1) -> str:
    """A share in per cent."""
    return "–" if value is None else percent(value, digits)


@dataclass(frozen=True)
class Head:
    """The header of a column. kind: "bar" is a picture that takes the width that is left. digits: after the decimal
    point, for numbers. choose: offer its values to filter by."""

    title: str
    kind: Literal["text", "number", "bar"] = "text"
    digits: int = 0
    choose: bool = False


class Cell(NamedTuple):
    """What a cell shows, and what it is sorted by."""

    shown: object
    value: object


def cell(value: object, head: Head) -> Cell:
    """A text, a number, a picture or nothing as a cell of a column."""
    if isinstance(value, Cell):
        return Cell(value.shown, "" if value.value is None else value.value)
    if head.kind == "number" and (value is None or isinstance(value, int | float)):
        return Cell(number(value, head.digits), "" if value is None else value)
    return Cell("–" if value is None else value, None)


class Axes:
    """A picture with axes from the least to the largest value of each. WIDTH, LEFT, ...: of the picture, in pixels."""

    WIDTH, HEIGHT = 720, 260
    LEFT, RIGHT, TOP, BOTTOM = 72, 14, 12, 46

    def __init__(self, across: tuple[float, float], up: tuple[float, float], *, counts: bool = False) -> None:
        self.across, self.up = across, up
        self.ticks_up = ticks(*up, least=1.0 if counts else 0.0)
        self.ticks_across = [] if counts else ticks(*across)

    def x(self, value: float) -> float:
        """Where a value is from left to right."""
        low, high = self.across
        return self.LEFT + (self.WIDTH - self.LEFT - self.RIGHT) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        """Where a value is from top to bottom."""
        low, high = self.up
        return self.HEIGHT - self.BOTTOM - (self.HEIGHT - self.TOP - self.BOTTOM) * (value - low) / (high - low)


def axes_over_time(lines: Sequence[Sequence[tuple[float, float]]], seconds: float) -> Axes:
    """Axes for lines of (seconds, value), from 0 to so many seconds; a value near to 0 is shown from 0 on."""
    values = [value for line in lines for _, value in line]
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or max(abs(high), 1.0) * 0.05
    return Axes((0.0, seconds or 1.0), (0.0 if 0 <= low < high / 2 else low - margin, high + margin))


def axes_of_columns(counts: Sequence[float]) -> Axes:
    """Axes for a column for each of these numbers."""
    return Axes((0.0, float(len(counts))), (0.0, max(counts) * 1.06 or 1.0), counts=True)


def ticks(low: float, high: float, about: int = 6, least: float = 0.0) -> list[float]:
    """Round numbers between two, at 1, 2 or 5 times a power of ten, at least so far apart."""
    rough = max((high - low) / about, least)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(each for each in (1, 2, 5, 10) if each * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]


@functools.cache
def _environment() -> Environment:
    from markupsafe import Markup

    script, style = (
        resources.files(__name__).joinpath(name).read_text(encoding="utf-8") for name in ("page.js", "page.css")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    helpers = (Head, Cell, cell, number, share, counted, axes_over_time, axes_of_columns, zip, max)
    found = environment(
        __name__, version=__version__, newline=Markup("\n"),
        script=Markup(script), script_hash=digest, style=Markup(style),
        **{each.__name__: each for each in helpers},
    )  # fmt: skip
    found.filters |= {
        "px": lambda value: f"{value:.2f}".rstrip("0").rstrip("."),
        "anchor": lambda title: re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"),
        "thousands": lambda value: f"{value:,}",
    }
    return found
