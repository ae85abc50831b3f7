"""CBC through its own executable: files in, files and a log out."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import numpy as np

from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers.adapter import MAX_SEED, Capability, SolverAdapter
from kanon_milp.solvers.call import RawResult, SolverCall, SolverOptions, StopReason, Watch
from kanon_milp.solvers.model import LinearModel, complaint
from kanon_milp.solvers.mps import mps_lines
from kanon_milp.solvers.search_log import NUMBER, SearchLog
from kanon_milp.system.arrays import Floats

_PATIENCE = 2.5  # seconds between asking CBC to stop and killing it
_SHOWN = 60  # characters of a status that nobody knows
_LONGEST_LINE = 10_000  # of the line with the status
_OVERTIME = 1.0  # seconds, or a fiftieth of the limit, that CBC may take beyond its time limit, and a moment more


class CbcAdapter(SolverAdapter):
    """CBC, looked for at the given path, on PATH, in the package cbcbox and inside PuLP, in this order.

    An interruption reaches CBC as SIGINT, on which it stops its branch and bound and writes its best point.
    Within the feasibility pump it does not listen (versions 2.10.3 and 2.9.35 of cbcbox); it is killed after
    a few seconds then, and what it had is lost, except for a complete start.
    """

    name, title = "cbc", "CBC"
    aliases = ("coin-or",)
    needs = "install cbcbox or PuLP, or name the executable"
    capabilities = frozenset(Capability) - {Capability.EXACT, Capability.LAZY}
    option_names: ClassVar = {"gap": "ratioGap", "absolute_gap": "allowableGap", "node_limit": "maxNodes"}
    always: ClassVar = {"timeMode": "elapsed"}
    engine = name
    confirms = 3
    search_log = SearchLog(
        re.compile(
            rf"Cbc0010I After (?P<node>\d+) nodes.*best possible (?P<bound>{NUMBER}) \((?P<seconds>{NUMBER}) sec"
        ),
        re.compile(r"^Enumerated nodes:\s+(\d+)"),
        re.compile(rf"^(?:Lower bound|(?P<value>Objective value)):\s+({NUMBER})"),
        root=0,
        without_offset=True,
    )

    def __init__(self, executable: Path | str | None = None) -> None:
        self._given = None if executable is None else str(executable)

    def with_executable(self, path: Path | str) -> CbcAdapter:
        """CBC at this path and nowhere else."""
        return CbcAdapter(path)

    def installed(self) -> str:
        """Version that the executable states."""
        path = self.location()
        if not path:
            raise ImportError
        if not (version := _version(path)):
            raise SolverError("it does not answer")
        return version

    def location(self) -> str:
        """Path of the executable, absolute, as it runs in a folder of its own."""
        found = shutil.which(self._given or "cbc")
        if found:
            return str(Path(found).absolute())
        return "" if self._given is not None else _in_cbcbox() or _in_pulp()

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        """CBC as a process, with files; see `SolverAdapter.run`. Of an unbounded model it looks at the relaxation."""
        return _run(self.location(), model, call)


def _run(executable: str, model: LinearModel, call: SolverCall) -> RawResult:
    options, watch = call.options, call.watch
    with tempfile.TemporaryDirectory(prefix="kanon_milp_cbc_", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (folder / "m.mps").open("w", encoding="ascii") as file:
            variables = [f"x{j}" for j in range(model.variables)]
            constraints = [f"r{i}" for i in range(model.constraints)]
            # versions differ in what they do with a constant in the objective
            file.writelines(mps_lines(model, variables, constraints, offset=False))
        if call.given:
            lines = (f"{j} x{j} {value!r} 0\n" for j, value in sorted(call.given.items()))
            with (folder / "m.mst").open("w", encoding="ascii") as file:
                file.write("Stopped on iterations - objective value 0\n")
                file.writelines(lines)
        left = call.seconds_left
        log = LogReader(model.offset, call.note, options.log_file)
        most = None if left is None else left + max(_OVERTIME, 0.02 * left)
        ended = _Child(executable, _arguments(options, left, bool(call.given)), folder, log).wait(watch, most)
        return _read(folder, model, options, log=log, ended=ended, watch=watch)


def _arguments(options: SolverOptions, seconds: float | None, has_start: bool) -> list[str]:
    seed = 1 + options.seed % MAX_SEED  # CBC takes 0 for "draw one"
    own: dict[str, object] = {"randomSeed": seed, "randomCbcSeed": seed}
    if seconds is not None:
        own["seconds"] = f"{seconds:.3f}"
    if options.threads > 1:
        own["threads"] = options.threads
    arguments = []
    for name, value in {**own, **CbcAdapter().own_options(options)}.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name):
            raise InputError(f"CBC has no option {name!r}")
        arguments += [f"-{name}"] if value is None else [f"-{name}", str(value)]
    arguments += ["-import", "m.mps"]
    if has_start:
        arguments += ["-mipstart", "m.mst"]
    return [*arguments, "-solve", "-printingOptions", "all", "-solution", "m.sol", "-saveSolution", "m.bin"]


class _Child:
    """The running executable, in a session of its own, so that a Ctrl-C of the terminal does not reach it."""

    def __init__(self, executable: str, arguments: list[str], folder: Path, log: LogReader) -> None:
        self._done = threading.Event()
        self._reader, writer = _channel()
        try:
            self._process = subprocess.Popen(
                [executable, *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._reader)
            raise SolverError(f"cannot run {executable}: {error.strerror or error}") from error
        finally:
            os.close(writer)
        self._killed = self._asked = False
        self._log = log
        self._thread = threading.Thread(target=self._follow, name="cbc log", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        try:
            while True:
                try:
                    piece = os.read(self._reader, 65536)
                except OSError:  # how a terminal says that the other side has closed
                    break
                if not piece:
                    break
                self._log.feed(piece)
            self._process.wait()
        finally:
            self._log.close()
            os.close(self._reader)
            self._done.set()

    def _ask_to_stop(self) -> None:
        self._asked = True
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGINT)
        else:
            self._kill()

    def _kill(self) -> None:
        self._killed = True
        self._process.kill()

    def wait(self, watch: Watch, seconds: float | None) -> bool:
        """Wait for the end and leave no process behind; False if it had to be killed."""
        try:
            ended = watch.wait(self._done, _PATIENCE, on_stop=self._ask_to_stop, seconds=seconds)
            if ended and self._asked and self._process.returncode == -signal.SIGINT:
                return False  # it was still starting, and had nothing yet
            if ended and self._process.returncode < 0 and not self._killed:
                raise SolverError(f"CBC crashed (signal {-self._process.returncode}) after: {self._log.tail()}")
            return ended and not self._killed
        finally:
            if not self._done.is_set():
                self._kill()
                self._done.wait()


def _channel() -> tuple[int, int]:
    """Where CBC writes its log: a pseudo-terminal if possible, as version 2.10 fills a pipe page by page."""
    if hasattr(os, "openpty"):
        with contextlib.suppress(OSError):
            return os.openpty()
    return os.pipe()


def _read(
    folder: Path, model: LinearModel, options: SolverOptions, *, log: LogReader, ended: bool, watch: Watch
) -> RawResult:
    """What CBC says: the first line of its solution file, then its log."""
    if log.refused:
        raise InputError(f"CBC does not take the option {log.refused!r}")
    stopped = StopReason.INTERRUPTED if watch.asked() else StopReason.TIME_LIMIT
    solution = folder / "m.sol"
    if not ended:
        return RawResult(stopped, None, log.bound, "CBC did not react when asked to stop and was ended without a point")
    if not solution.exists():
        if watch.asked():
            return RawResult(stopped, None, log.bound)
        raise SolverError(f"CBC wrote no solution; the end of its log: {log.tail()}")
    with solution.open(encoding="utf-8", errors="replace") as file:
        status = file.readline(_LONGEST_LINE).strip()

    limited = watch.asked() or (options.time_limit is not None and log.seconds >= 0.95 * options.time_limit)
    if status.startswith("Unbounded"):
        return RawResult(StopReason.UNBOUNDED, None, None)
    infeasible = status.startswith(("Infeasible", "Integer infeasible"))
    if infeasible or (status.startswith("Status unknown") and log.says_infeasible):
        # out of time within the first LP, CBC may call the model infeasible
        if limited and not log.says_infeasible:
            return RawResult(stopped, None, log.bound)
        return RawResult(StopReason.INFEASIBLE, None, None)

    x = None if "no integer solution" in status else _point(folder, model)
    if status.startswith("Optimal") and x is not None:
        if not model.integer.any():
            return RawResult(StopReason.OPTIMAL, x, model.value(x))
        objective = model.value(x)
        # the search has been completed up to the gaps that were asked for, unless the printed bound says
        # otherwise
        # (relative to its objective, which lacks the constant)
        bound = objective - max(options.absolute_gap, options.gap * abs(objective - model.offset))
        if log.final_range is not None:
            low, high = log.final_range
            bound = max(low, bound) if bound <= high else low
        return RawResult(StopReason.OPTIMAL, x, bound)
    if status.startswith("Stopped"):
        reason = stopped if limited or status.startswith("Stopped on time") else StopReason.ERROR
        if reason is StopReason.ERROR and options.node_limit is not None:
            reason = StopReason.NODE_LIMIT
        message = f"CBC: {status.split(' - objective')[0]}" if reason is StopReason.ERROR else ""
        return RawResult(reason, x, log.bound, message)
    said = status.split(" - objective")[0][:_SHOWN]
    raise SolverError(f"CBC ended with {said!r}, a status that proves nothing")


def _point(folder: Path, model: LinearModel) -> Floats | None:
    """The point of the binary solution file (the text has eight digits); None if it violates the model.

    Raises SolverError where there is no point in the file.
    """
    try:
        content = (folder / "m.bin").read_bytes()
        constraints, columns = np.frombuffer(content, dtype=np.int32, count=2).tolist()
        if columns != model.variables or constraints < 0:
            raise SolverError(f"CBC returned {columns} values for {model.variables} variables")
        # two counts, the objective, activities and duals of the constraints, then the columns
        x = np.frombuffer(content, dtype=np.float64, offset=16 + 16 * constraints, count=columns).copy()
    except OSError as error:
        raise SolverError(f"CBC wrote no file with its point ({error.strerror or error})") from None
    except ValueError:  # numpy's word for a file that is too short
        raise SolverError(f"CBC wrote a file of {len(content)} bytes, too few for a point; is the disk full?") from None
    if not np.isfinite(x).all():
        raise SolverError(f"CBC returned a point with {int((~np.isfinite(x)).sum())} values that are not finite")
    return None if complaint(model, x) else x


@functools.cache
def _version(path: str) -> str:
    """Version that an executable states, empty if it does not answer like CBC."""
    try:
        done = subprocess.run([path, "-quit"], capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    text = done.stdout.decode("utf-8", errors="replace")
    found = re.search(r"^Version:\s*(\S+)", text, re.MULTILINE) or re.search(r"^CBC (.+?) —", text, re.MULTILINE)
    return found.group(1) if found else ""


def _in_cbcbox() -> str:
    return _executable(lambda: importlib.import_module("cbcbox").cbc_bin_path())


def _in_pulp() -> str:
    return _executable(lambda: importlib.import_module("pulp").PULP_CBC_CMD.pulp_cbc_path)


def _executable(ask: Callable[[], object]) -> str:
    try:
        path = str(ask())
    except (ImportError, AttributeError, RuntimeError, ValueError):
        return ""
    return path if os.access(path, os.X_OK) else ""


# the log, in the words of versions 2.10 and of the later ones
_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_FOUND = re.compile(rf"Integer solution of {_NUMBER}")  # the cost of a start lacks what preprocessing took out
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


def says_infeasible(log: Path) -> bool:
    """Whether a log says that the model is."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return any(words in text for words in _INFEASIBLE)


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
