"""Where tables are printed: a terminal, or a file or pipe whose lines are as long as what they say."""

from __future__ import annotations

import os
import re
import sys
from typing import IO, Any

from rich.console import Console

WIDEST = 1000  # characters of a line
_BLANKS = re.compile(r" +(?=\n)")


def screen() -> Console:
    """Standard output: as wide as the terminal, or as COLUMNS says. Elsewhere lines are not wrapped, and no blanks fill
    them up, so that they can be searched."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return Console(highlight=False)
    unfilled: Any = _Unfilled(sys.stdout)
    return Console(highlight=False, file=unfilled, width=WIDEST)


class _Unfilled:
    """A file without blanks at the ends of lines."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.encoding = getattr(file, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        self._file.write(_BLANKS.sub("", text))
        return len(text)

    def flush(self) -> None:
        self._file.flush()

    def isatty(self) -> bool:
        return False
