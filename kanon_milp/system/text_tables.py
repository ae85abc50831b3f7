"""Tables for papers: LaTeX with the rules of booktabs, and Markdown."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import polars as pl

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{each: f"\\{each}" for each in "_#%&${}"},
}


class Tabular(ABC):
    """What is a data frame for programs and a table of texts for people."""

    @abstractmethod
    def frame(self) -> pl.DataFrame:
        """All that is known, a row a case, as a data frame of polars."""

    @abstractmethod
    def to_frame(self) -> Any:
        """The same in the user's own kind of data frame."""

    @abstractmethod
    def texts(self) -> list[list[str]]:
        """A header, and cells as text."""

    def __str__(self) -> str:
        return self.to_markdown()

    def to_csv(self) -> str:
        """All columns as CSV."""
        return self.frame().write_csv()

    def to_markdown(self) -> str:
        """The table of people as Markdown."""
        header, *lines = self.texts()
        return markdown(header, lines)

    def to_latex(self) -> str:
        """The table of people as LaTeX, with the rules of booktabs."""
        header, *lines = self.texts()
        return booktabs(header, lines)


def booktabs(header: Sequence[str], lines: Sequence[Sequence[str]], align: str = "") -> str:
    """Lines of plain text as a tabular. align: a letter a column; by default the first one to the left."""
    align = align or "l" + "r" * (len(header) - 1)
    rows = [" & ".join(map(escaped, cells)) + " \\\\\n" for cells in (header, *lines)]
    head, *body = rows
    return f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{head}\\midrule\n{''.join(body)}\\bottomrule\n\\end{{tabular}}\n"


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """The same as Markdown, numbers to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, rule, *lines))


def shown(value: object, digits: int = 0) -> str:
    """A cell: a number with so many digits, two where a fraction would be hidden; "-" where there is nothing."""
    if isinstance(value, float | int):
        return f"{value:,.{digits or (2 if value % 1 else 0)}f}"
    return "-" if value is None else str(value)


def amount(value: float | None) -> str:
    """A number for people, never as 1.2e+06; a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, int) or not math.isfinite(value) or not value:
        return f"{value:,}"
    digits = max(4, 5 - math.floor(math.log10(abs(value))))  # never as 1.2e+06
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")


def escaped(text: str) -> str:
    """Plain text as LaTeX prints it."""
    return "".join(_SPECIAL.get(character, character) for character in text)
