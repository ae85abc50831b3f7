"""CP-SAT of OR-tools: a solver for integer programs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import math
import pickle
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from kanon_milp.errors import InputError, SolverError
from kanon_milp.solvers.adapter import SolverAdapter, SolverCall
from kanon_milp.solvers.base import Availability, Capability, Floats, LinearModel, RawResult, StopReason
from kanon_milp.solvers.common import FEASIBILITY, Watch
from kanon_milp.solvers.integer_model import IntegerModel, integer_model

_OLDEST = (9, 15)  # of OR-tools
_PATIENCE = 2.0  # seconds between an interruption and leaving the solver behind
_SCRIPT = Path(__file__).with_name("cpsat_process.py")
# of `WholeModel`
_PARTS = ("c", "unit", "indptr", "indices", "coefficients", "low", "high", "lower", "upper")


class CpsatAdapter(SolverAdapter):
    """CP-SAT in a process of its own (`cpsat_process` says why), while the caller's thread waits.

    It gets the model in integers, exactly (see `integer_model`), or refuses it: it knows neither fractional
    variables nor infinite bounds nor nodes. Its linear relaxation is on by default, without which it hardly finds a
    bound for these models. Several threads take turns that the clock has no part in, so that they give the same answer
    each time.
    """

    name, title = "cpsat", "CP-SAT"
    needs = f"install ortools {'.'.join(map(str, _OLDEST))} or newer"
    capabilities = frozenset(Capability) - {Capability.CONTINUOUS, Capability.NODE_LIMIT}
    counted: ClassVar[Mapping[str, object]] = {"max_deterministic_time": 1.0}

    def availability(self) -> Availability:
        """Say whether OR-tools is there and new enough; it is not imported."""
        version = self.version()
        if not version:
            return Availability.NOT_FOUND
        numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
        return Availability.AVAILABLE if numbers >= _OLDEST else Availability.TOO_OLD

    def version(self) -> str:
        """Version of OR-tools."""
        try:
            return importlib.metadata.version("ortools") if self.location() else ""
        except importlib.metadata.PackageNotFoundError:
            return ""

    def location(self) -> str:
        """Folder of the module."""
        try:
            found = importlib.util.find_spec("ortools")
        except (ImportError, ValueError):
            return ""
        return "" if found is None or found.origin is None else str(Path(found.origin).parent)

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        """CP-SAT in its own process; see `SolverAdapter.run`. Raises SolverError for what is no integer program."""
        integers = integer_model(model, "CP-SAT")
        return RawResult(StopReason.INFEASIBLE, None, None) if integers is None else _run(integers, call)


def _run(integers: IntegerModel, call: SolverCall) -> RawResult:
    options, watch = call.options, call.watch
    call.note(None, integers.below(integers.least))
    child = _Child(integers, call)
    ended = child.run(_task(integers, call), watch, call.seconds_left)
    if child.refused is not None:
        name, value = child.refused
        problem = "has no option" if value is None else f"does not take the value {value} for its option"
        raise InputError(f"CP-SAT {problem} {name!r}")
    if child.invalid is not None:
        raise SolverError(f"CP-SAT does not take the model: {child.invalid}")
    stopped = StopReason.INTERRUPTED
    if not watch.asked() or watch.late:
        # without a time limit it was a limit that only `extra` can set
        over = options.time_limit is not None and call.recorder.seconds() >= 0.9 * options.time_limit
        stopped = StopReason.TIME_LIMIT if over else StopReason.ERROR
    bound = integers.below(child.bound)
    if not ended:
        return replace(call.left_behind("CP-SAT", child.point), reason=stopped, bound=bound)
    if child.status == "INFEASIBLE":
        return RawResult(StopReason.INFEASIBLE, None, None)
    if child.status == "OPTIMAL":
        return RawResult(StopReason.OPTIMAL, child.point, bound)
    if child.status not in ("FEASIBLE", "UNKNOWN"):
        raise SolverError(f"CP-SAT ended with {child.status!r}, a status that proves nothing")
    return RawResult(stopped, child.point, bound, f"CP-SAT: {child.status}" if stopped is StopReason.ERROR else "")


def _task(integers: IntegerModel, call: SolverCall) -> dict[str, object]:
    """What the process is told."""
    options, left = call.options, call.seconds_left
    own: dict[str, object] = {
        "num_workers": options.threads,
        "interleave_search": options.threads > 1,
        "random_seed": options.seed,
        "relative_gap_limit": float(options.gap),
        "absolute_gap_limit": float(options.absolute_gap),
        "linearization_level": 2,
        "log_search_progress": options.log_file is not None,
        "log_to_stdout": False,
    }
    return {
        **{name: getattr(integers, name) for name in _PARTS},
        "offset": float(integers.offset),
        "hint": {j: round(value) for j, value in call.given.items() if abs(value - round(value)) <= FEASIBILITY},
        "options": {**own, **options.extra},
        "deadline": None if left is None else time.time() + left,
        "log_file": None if options.log_file is None else str(options.log_file.absolute()),
    }


class _Child:
    """The running process and what it has said: best point and bound (of c·x), how it ended."""

    def __init__(self, integers: IntegerModel, call: SolverCall) -> None:
        self._integers = integers
        self._call = call
        self._done = threading.Event()
        self.bound = integers.least
        self.point: Floats | None = None
        self.status: str | None = None
        self.refused: tuple[str, str | None] | None = None
        self.invalid: str | None = None

    def run(self, task: Mapping[str, object], watch: Watch, seconds: float | None) -> bool:
        """Start, wait for the end, and leave no process behind; False if it had to be killed."""
        try:
            message = pickle.dumps(task)
        except Exception as error:
            raise InputError("an option of CP-SAT must be a number, a text or a list of these") from error
        with tempfile.TemporaryFile() as errors:
            # a session of its own, so that a Ctrl-C of the terminal does not reach it
            process = subprocess.Popen(
                [sys.executable, "-P", str(_SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
            reader = threading.Thread(target=self._follow, args=(process,), name="cpsat", daemon=True)
            reader.start()
            try:
                with suppress(OSError):
                    _input(process).write(struct.pack("<q", len(message)) + message)
                    _input(process).flush()
                ended = watch.wait(self._done, _PATIENCE, on_stop=lambda: _close(process), seconds=seconds)
            finally:
                process.kill()
                process.wait()
                _close(process)
                reader.join()
            if ended and self.status is None and self.refused is None and self.invalid is None:
                errors.seek(0)
                lines = errors.read().decode("utf-8", errors="replace").strip().splitlines()
                raise SolverError(f"CP-SAT failed: {lines[-1] if lines else 'it exited without a message'}")
        return ended

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        try:
            with process.stdout as lines:
                for line in lines:
                    self._take(json.loads(line))
        except ValueError:  # the last line of a process that was killed
            pass
        finally:
            self._done.set()

    def _take(self, said: Mapping[str, Any]) -> None:
        integers = self._integers
        if said.get("point"):
            self.point = np.array(said["point"], dtype=np.float64)
            cost = sum(c * value for c, value in zip(integers.c, said["point"], strict=True))
            self._call.note(integers.below(cost), None)
        if "bound" in said and math.isfinite(said["bound"]):
            self.bound = max(self.bound, integers.read_objective(said["bound"]))
            self._call.note(None, integers.below(self.bound))
        if "status" in said:
            self.status = said["status"]
            # without a point, or without an objective, the bound of its answer is a 0 that means nothing
            if said["point"] and any(integers.c):
                self.bound = max(self.bound, said["integer_bound"])
        if "refused" in said:
            name, value = said["refused"]
            self.refused = name, value
        self.invalid = said.get("invalid", self.invalid)


def _input(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def _close(process: subprocess.Popen[bytes]) -> None:
    """The end of its input tells the process to stop."""
    with suppress(OSError):
        _input(process).close()
