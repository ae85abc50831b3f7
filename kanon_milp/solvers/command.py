"""A solver by a command: an MPS file in, a solution file and a log out."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kanon_milp.errors import InputError, SolverError, UnusablePointError
from kanon_milp.solvers.adapter import Capability, SolverAdapter
from kanon_milp.solvers.call import RawResult, SolverCall, StopReason
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.mps import names_in_file, write_model
from kanon_milp.solvers.solution_files import SolutionFile, read_solution

_POLL = 0.02  # seconds between two looks at the process
_EARLY = 0.1  # of the time limit: a command that ends with so much left, and without a solution, has failed
PLACES = ("model", "solution", "seconds", "threads", "seed")


@dataclass(frozen=True)
class Command:
    """words: the command, in which {model}, {solution}, {seconds}, {threads} and {seed} stand for what they say. says:
    patterns for what the command prints: `optimal` and `infeasible` where it claims that, `bound` with one group for
    its bound."""

    words: tuple[str, ...]
    says: Mapping[str, re.Pattern[str]]


def read_command(text: str, says: Mapping[str, str]) -> Command:
    """A command as it is written down. Raises InputError for one that cannot run."""
    try:
        words = shlex.split(text)
        filled = [word.format(**dict.fromkeys(PLACES, "1")) for word in words]
        patterns = {name: re.compile(pattern, re.MULTILINE) for name, pattern in says.items()}
    except (ValueError, KeyError, IndexError, re.error) as error:
        places = ", ".join("{" + place + "}" for place in PLACES)
        raise InputError(f"cannot be read ({error}); {places} may stand in a command") from None
    if "{model}" not in text or "{solution}" not in text:
        raise InputError("the command must name {model} and {solution}")
    if "bound" in patterns and patterns["bound"].groups != 1:
        raise InputError("bound needs a pattern with one group, such as 'Dual bound: (\\S+)'")
    program = shutil.which(filled[0]) if filled else None
    if program is None:
        raise InputError(f"there is no program {filled[0]}")
    return Command((str(Path(program).absolute()), *words[1:]), patterns)


class CommandAdapter(SolverAdapter):
    """A solver that is called by a command in a folder of its own, and says of itself what patterns find in its output.

    Without a pattern for "optimal" it proves nothing.
    """

    capabilities = frozenset({Capability.CONTINUOUS, Capability.THREADS, Capability.SEED})

    def __init__(self, name: str, command: Command) -> None:
        self.name = self.title = name
        self._command = command

    def installed(self) -> str:
        """Nobody knows its version."""
        return "0"

    def location(self) -> str:
        """Path of the program."""
        return self._command.words[0]

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        """Run the command; see `SolverAdapter.run`."""
        with tempfile.TemporaryDirectory(prefix="kanon_milp_command_", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            places: dict[str, object] = {
                "model": folder / "model.mps", "solution": folder / "model.sol", "threads": call.options.threads,
                "seed": call.options.seed,
                "seconds": "1e9" if call.seconds_left is None else f"{call.seconds_left:.3f}",
            }  # fmt: skip
            write_model(model, folder / "model.mps")
            said, stopped, status = _said([word.format(**places) for word in self._command.words], folder, call)
            claims = {name for name in ("optimal", "infeasible") if self._found(name, said)}
            if "infeasible" in claims:
                return RawResult(StopReason.INFEASIBLE, None, None)
            bound = self._found("bound", said)
            point = _point(folder / "model.sol", model)
            if point is not None and (amiss := point.contradiction(model)):
                raise UnusablePointError(f"its solution {amiss}")
            x, lower = None if point is None else point.x, None if bound is None else _number(bound[1])
            if "optimal" in claims and x is not None:
                return RawResult(StopReason.OPTIMAL, x, model.value(x) if lower is None else lower)
            reason, left = StopReason.INTERRUPTED if stopped else StopReason.TIME_LIMIT, call.seconds_left
            if x is None and not stopped and (left is None or left > _EARLY * (call.options.time_limit or 0)):
                reason = StopReason.ERROR
            ended = f", exit status {status}" if status > 0 else ""
            return RawResult(reason, x, lower, "" if x is not None else f"the command wrote no solution{ended}")

    def _found(self, name: str, said: str) -> re.Match[str] | None:
        pattern = self._command.says.get(name)
        return None if pattern is None else next(iter([*pattern.finditer(said)][-1:]), None)


def _said(words: Sequence[str], folder: Path, call: SolverCall) -> tuple[str, bool, int]:
    """What the command prints, whether it was asked to stop (by SIGINT, and killed a moment later), its exit status."""
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        patience, stopped = 2.5, False
        while process.poll() is None:
            if call.watch.asked():
                if not stopped:
                    process.send_signal(signal.SIGINT)
                elif patience < 0:
                    process.kill()
                stopped, patience = True, patience - _POLL
            time.sleep(_POLL)
    if process.returncode < 0 and not stopped:
        raise SolverError(f"the command ended by {signal.Signals(-process.returncode).name}")
    return log.read_text(encoding="utf-8", errors="replace"), stopped, process.returncode


def _point(path: Path, model: LinearModel) -> SolutionFile | None:
    if not path.is_file() or not path.stat().st_size:
        return None
    variables, constraints = names_in_file(model)
    try:
        return read_solution(path, {name: j for j, name in enumerate(variables)}, model.variables, set(constraints))
    except InputError as error:
        if "contains no solution" in str(error):
            return None
        raise SolverError(f"its solution cannot be read: {str(error).removeprefix(f'{path}: ')}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SolverError("its bound is no number") from None
