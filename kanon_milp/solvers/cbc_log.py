"""CBC's log: incumbents and bounds as they come, in the words of versions 2.10 and of the later ones."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_FOUND = re.compile(rf"(?:Integer solution of|MIPStart provided solution with cost) {_NUMBER}")
_NODES = re.compile(rf"Cbc0010I .*? {_NUMBER} best solution, best possible {_NUMBER}")
# later versions print a table: [★] nodes, on tree, depth, [best solution, method words,] best bound, gap%,
# time
_TABLE = re.compile(rf"^\s*★?\s*\d+\s+\d+\s+\d+\s+(?:{_NUMBER}\s.*?)?{_NUMBER}\s+(?:[\d.]+%|-|∞|inf)\s+[\d.]+\s*$")
_FINAL = re.compile(rf"^Lower bound:\s+{_NUMBER}")
_SECONDS = re.compile(r"Total time .*?[Ww]allclock seconds\):\s+([\d.]+(?:e[+-]?\d+)?)")
_REFUSED = re.compile(
    r"No match for (\S+) - \? for list|Unrecognized parameter - (\S+),|Possible options for (\S+) are"
)
_INFEASIBLE = ("infeasibility proved", "Problem is infeasible", "Pre-processing says infeasible")
_NOTHING = 1e40  # CBC writes 1e+50 for no incumbent and -1e+50 for no bound


class LogReader:
    """Reads the log piece by piece, copies it to a file, and notes what it says: incumbent, bound."""

    def __init__(self, offset: float, note: Callable[[float | None, float | None], None], path: Path | None) -> None:
        self._offset = offset
        self._noted = note
        self._file = None if path is None else path.open("ab", buffering=0)
        self._rest = b""
        self._last_lines: list[str] = []
        self.final_range: tuple[float, float] | None = None
        self.bound: float | None = None
        self.seconds = 0.0
        self.refused = ""
        self.says_infeasible = False

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for raw in lines:
            line = raw.rstrip(b"\r")
            if self._file is not None:
                with contextlib.suppress(OSError):  # a full disk costs the log, not the run
                    self._file.write(line + b"\n")
            self._line(line.decode("utf-8", errors="replace"))

    def close(self) -> None:
        """Take what is left and close the file."""
        self.feed(b"\n")
        if self._file is not None:
            self._file.close()

    def tail(self) -> str:
        """The last lines that are not empty."""
        return " | ".join(self._last_lines)

    def _line(self, line: str) -> None:
        if line.strip():
            self._last_lines = [*self._last_lines[-4:], line.strip()]
        if found := _FOUND.search(line):
            self._note(found.group(1), None)
        elif found := _NODES.search(line) or _TABLE.search(line):
            self._note(found.group(1), found.group(2))
        elif found := _FINAL.search(line):
            self._note(None, found.group(1))
            low, high = printed_range(found.group(1))
            self.final_range = (low + self._offset, high + self._offset)
        elif found := _SECONDS.search(line):
            self.seconds = float(found.group(1))
        elif found := _REFUSED.search(line):
            self.refused = self.refused or next(word for word in found.groups() if word)
        elif any(words in line for words in _INFEASIBLE):
            self.says_infeasible = True

    def _note(self, incumbent: str | None, bound: str | None) -> None:
        value = None if incumbent is None or abs(float(incumbent)) > _NOTHING else float(incumbent) + self._offset
        lower = None
        if bound is not None and abs(float(bound)) < _NOTHING:
            lower = printed_range(bound)[0] + self._offset
            self.bound = lower if self.bound is None else max(self.bound, lower)
        self._noted(value, lower)


def printed_range(text: str) -> tuple[float, float]:
    """Least and largest value that CBC can have printed as `text`: a bound that was rounded up is none.

    Versions 2.10 print three digits behind the point, later ones six significant digits.
    """
    number = Decimal(text)
    six_digits = Decimal(1).scaleb(number.adjusted() - 5) if number else Decimal(0)
    three_behind = Decimal("0.001")
    # more than six digits are exact to three behind the point; "9" and "9.125" may be either
    unit = three_behind if len(number.as_tuple().digits) > 6 else max(six_digits, three_behind)
    return float(number - unit / 2), float(number + unit / 2)
