"""Small pictures as inline SVG, in the colours of the page: shares as bars, columns, and steps over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kanon_milp.system.markup import Markup, join, tag

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 72, 14, 12, 46
SHADES = ("one", "two", "three")


@dataclass(frozen=True)
class Steps:
    """What changes at points in time and stays until the next: (seconds, value). other: drawn in the second style."""

    title: str
    points: Sequence[tuple[float, float]]
    other: bool = False


def share_bar(shares: Sequence[float], said: str) -> Markup:
    """Shares of a whole as one bar, in the order of `SHADES`. said: the same in words."""
    parts, start = [], 0.0
    for shade, value in zip(SHADES, shares, strict=False):
        if value > 0:
            parts.append(tag("rect", x=_px(100 * start), y=0, width=_px(100 * value), height=10, class_=shade))
        start += value
    frame = tag("rect", x=0, y=9.5, width=100, height=0.5, class_="three")
    return tag(
        "svg",
        frame,
        *parts,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        class_="bar",
        role="img",
        aria_label=said,
    )


def key(*titles: str) -> Markup:
    """What the shades stand for."""
    return tag(
        "ul",
        *(
            tag(
                "li",
                tag("svg", tag("rect", width=10, height=10, class_=shade), viewBox="0 0 10 10", aria_hidden="true"),
                title,
            )
            for shade, title in zip(SHADES, titles, strict=False)
        ),
        class_="key",
    )


def steps(lines: Sequence[Steps], seconds: float, across: str, up: str, said: str) -> Markup:
    """Values over time, from 0 to so many seconds."""
    values = [value for line in lines for _, value in line.points]
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or max(abs(high), 1.0) * 0.05
    # a value near to 0 is shown from 0 on
    frame = _Frame((0.0, seconds or 1.0), (0.0 if 0 <= low < high / 2 else low - margin, high + margin))
    drawn = []
    for line in lines:
        path = [f"M{frame.point(*line.points[0])}"]
        for at, value in line.points[1:]:
            path.append(f"H{_px(frame.x(at))}V{_px(frame.y(value))}")
        path.append(f"H{_px(frame.x(seconds or 1.0))}")
        drawn.append(tag("path", d="".join(path), class_="line other" if line.other else "line"))
    return frame.picture(drawn, across, up, said)


def columns(bars: Sequence[tuple[str, float]], across: str, up: str, said: str) -> Markup:
    """A column for each (title, value)."""
    high = max(value for _, value in bars)
    frame = _Frame((0.0, float(len(bars))), (0.0, high * 1.06 or 1.0))
    drawn, every = [], math.ceil(len(bars) / 16)
    gap = max(0.12, 0.5 - 0.04 * len(bars))
    for place, (title, value) in enumerate(bars):
        left, right, top = frame.x(place + gap), frame.x(place + 1 - gap), frame.y(value)
        bar = tag("title", f"{title}: {value:,.0f}")
        box = {"x": _px(left), "y": _px(top), "width": _px(right - left), "height": _px(frame.y(0) - top)}
        drawn.append(tag("rect", bar, class_="one", **box))
        if place % every == 0:
            label = {"x": _px((left + right) / 2), "y": HEIGHT - BOTTOM + 17, "text_anchor": "middle"}
            drawn.append(tag("text", title, class_="label", **label))
    return frame.picture(drawn, across, up, said, ticks_across=False)


def before_and_after(pairs: Sequence[tuple[int, int]], said: str) -> Markup:
    """For each value of a column two numbers of rows, the second part of the first: a column behind, one in front."""
    width, height, high = 220, 64, max((before for before, _ in pairs), default=1)
    each = width / max(len(pairs), 8)
    drawn = [tag("rect", x=0, y=height - 0.5, width=width, height=0.5, class_="three")]
    for place, pair in enumerate(pairs):
        for value, shade in zip(pair, ("three", "one"), strict=True):
            tall = (height - 2) * value / high
            box = {"x": _px(place * each + 1), "y": _px(height - tall), "width": _px(each - 2), "height": _px(tall)}
            drawn.append(tag("rect", class_=shade, **box))
    return tag("svg", *drawn, viewBox=f"0 0 {width} {height}", role="img", aria_label=said)


@dataclass(frozen=True)
class _Frame:
    """Axes from the smallest to the largest value of each."""

    across: tuple[float, float]
    up: tuple[float, float]

    def x(self, value: float) -> float:
        low, high = self.across
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.up
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    def point(self, across: float, up: float) -> str:
        return f"{_px(self.x(across))},{_px(self.y(up))}"

    def picture(self, drawn: Sequence[Markup], across: str, up: str, said: str, *, ticks_across: bool = True) -> Markup:
        bottom = HEIGHT - BOTTOM
        parts = []
        for value in ticks(*self.up, least=0.0 if ticks_across else 1.0):  # columns count something
            y = _px(self.y(value))
            parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", f"{value:,.10g}", x=LEFT - 8, y=y, dy="0.33em", text_anchor="end", class_="label"))
        for value in ticks(*self.across) if ticks_across else ():
            x = _px(self.x(value))
            parts.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="axis"))
            parts.append(tag("text", f"{value:,.10g}", x=x, y=bottom + 17, text_anchor="middle", class_="label"))
        middle = (LEFT + WIDTH - RIGHT) / 2
        axis = tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=bottom, y2=bottom, class_="axis")
        below = tag("text", across, x=middle, y=HEIGHT - 8, text_anchor="middle", class_="label")
        turned = f"translate(14,{(TOP + bottom) / 2}) rotate(-90)"
        beside = tag("text", up, transform=turned, text_anchor="middle", class_="label")
        box = f"0 0 {WIDTH} {HEIGHT}"
        content = join([*parts, *drawn, axis, below, beside])
        return tag("svg", content, viewBox=box, width=WIDTH, height=HEIGHT, role="img", aria_label=said)


def ticks(low: float, high: float, about: int = 6, least: float = 0.0) -> list[float]:
    """Round numbers between two, at 1, 2 or 5 times a power of ten, at least so far apart."""
    rough = max((high - low) / about, least)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(each for each in (1, 2, 5, 10) if each * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _px(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
