"""How a command ends: what its exit code says, and what Ctrl-C and SIGTERM do. It imports next to nothing, so that they
are heard at once."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kanon_milp.methods.result import Result

OPTIMAL, BAD_INPUT, INFEASIBLE, UNPROVEN, NO_TABLE, UNVERIFIED = 0, 2, 3, 4, 5, 6
INTERRUPTED = "interrupted before there was a result\n"


def exit_code(result: Result) -> int:
    """0 proven optimal and verified; 3 proven infeasible; 4 a verified table without proof of optimality; 5 no table;
    6 a table that the verifier refuses."""
    if result.report is not None and not result.report.ok:
        return UNVERIFIED
    if result.is_optimal:
        return OPTIMAL
    if result.proof == "infeasible":
        return INFEASIBLE
    return UNPROVEN if result.verified else NO_TABLE


class Interrupted(BaseException):
    """A command was interrupted; typer would make an exit code of its own of a KeyboardInterrupt."""


class _Signals:
    """What Ctrl-C and SIGTERM do as long as no command has taken them over, as `solve` does.

    leave: end the process where it stands. So it is while modules are imported: nothing has begun that has to be put
    away, and an exception may be lost there or break a compiled library. raise: the first signal is a
    KeyboardInterrupt; another one, in case the first was lost, ends the process. ignore: the command has done its work.
    """

    answer: Literal["leave", "raise", "ignore"] = "leave"

    def install(self) -> None:
        """Listen. Where Ctrl-C is ignored, as in a background process of a shell script, it still is."""
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self.end)
        signal.signal(signal.SIGTERM, self.forward)

    def end(self, _number: int, _frame: FrameType | None) -> None:
        """Somebody wants it to end."""
        if self.answer == "raise":
            self.answer = "leave"
            raise KeyboardInterrupt
        if self.answer == "leave":
            os.write(2, INTERRUPTED.encode())
            os._exit(NO_TABLE)

    def forward(self, _number: int, frame: FrameType | None) -> None:
        """SIGTERM does what Ctrl-C does now: where a table is being made, the best one is kept, verified, written."""
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else self.end)(signal.SIGINT, frame)


signals = _Signals()
