"""CP-SAT of OR-tools: a solver for integer programs."""

from __future__ import annotations

import json
import math
import pickle
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from kanon_milp.errors import InputError, SolverError, counted
from kanon_milp.solvers.adapter import Capability, Setting, SolverAdapter
from kanon_milp.solvers.call import RawResult, SolverCall, StopReason, Watch
from kanon_milp.solvers.model import FEASIBILITY, LinearModel
from kanon_milp.system.arrays import Floats, Ints

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
    aliases = ("ortools", "or-tools", "cp-sat")
    module = "ortools"  # which is not imported to find out
    oldest = (9, 15)
    needs = f"install ortools {'.'.join(map(str, oldest))} or newer"
    capabilities = frozenset(Capability) - {Capability.CONTINUOUS, Capability.NODE_LIMIT, Capability.LAZY}
    option_names: ClassVar = {
        "threads": "num_workers",
        "seed": "random_seed",
        "gap": "relative_gap_limit",
        "absolute_gap": "absolute_gap_limit",
    }
    always: ClassVar = {"linearization_level": 2, "log_to_stdout": False}
    settings: ClassVar = {Setting.SAME_WORK: {"max_deterministic_time": 1.0}}
    engine = name
    confirms = 4

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
    options, left = call.options, call.seconds_left
    own = {"interleave_search": options.threads > 1, "log_search_progress": options.log_file is not None}
    return {
        **{name: getattr(integers, name) for name in _PARTS},
        "offset": float(integers.offset),
        "hint": {j: round(value) for j, value in call.given.items() if abs(value - round(value)) <= FEASIBILITY},
        "options": {**own, **CpsatAdapter().own_options(options)},
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


_DENOMINATOR = 1000  # largest denominator that a number may have
_EXACT = 1 << 53  # every integer below is a double
_OBJECTIVE = 1 << 40  # values of the objective below are told apart even where a solver reports them as doubles
_ROUNDS = 10  # of deriving bounds from constraints
_CLOSE = Fraction(1, 10**6)  # sides that miss an integer by rounding only, such as 0.3 computed as 3 * 0.1


@dataclass(frozen=True, eq=False)
class IntegerModel:
    """Minimize offset + (c·x)/unit subject to low ≤ A·x ≤ high and lower ≤ x ≤ upper, all data and variables integer.

    None as a side of a constraint is no side. least: c·x is at least that within the bounds.
    """

    c: list[int]
    unit: int
    offset: Fraction
    indptr: list[int]
    indices: list[int]
    coefficients: list[int]
    low: list[int | None]
    high: list[int | None]
    lower: list[int]
    upper: list[int]
    least: int

    def below(self, value: int) -> float:
        """The objective where c·x is this number, rounded down if it is no double."""
        exact = self.offset + Fraction(value, self.unit)
        rounded = float(exact)
        return math.nextafter(rounded, -math.inf) if Fraction(rounded) > exact else rounded

    def read_objective(self, objective: float) -> int:
        """c·x where a solver reports this objective, which is an integer but for rounding."""
        return math.floor((Fraction(objective) - self.offset) * self.unit + Fraction(1, 1000))


def integer_model(model: LinearModel, solver: str) -> IntegerModel | None:
    """State a model in integers; None if its bounds contradict each other then.

    Continuous variables become integer where `model.integral` says that this loses nothing. Numbers are read as the
    fraction of a denominator up to 1000 whose double they are. Infinite bounds are replaced by what the constraints
    imply. Raises SolverError where any of this is impossible.
    """
    if not (model.integer.all() or model.integral):
        raise SolverError(
            f"{solver} solves integer programs only, and {counted(int((~model.integer).sum()), 'variable')} of this "
            "model may be fractional; take another solver"
        )
    A = sp.csr_array(model.A)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    units = _units(A, solver)
    scale = np.repeat(units, np.diff(A.indptr))
    coefficients = [int(v) for v in np.rint(A.data * scale).tolist()]
    ones = np.ones(model.variables, dtype=np.int64)
    low, lower = _rounded_up(model.constraint_lower, units, 1), _rounded_up(model.lower, ones, 1)
    high, upper = _rounded_up(model.constraint_upper, units, -1), _rounded_up(model.upper, ones, -1)
    matrix = A.indptr.tolist(), A.indices.tolist(), coefficients
    _tighten(matrix, low, high, lower, upper)
    if None in lower or None in upper:
        raise SolverError(
            f"{solver} needs bounds for all variables, and neither the bounds nor the constraints of this model limit "
            f"{sum(a is None or b is None for a, b in zip(lower, upper, strict=True))} of them; take another solver"
        )
    least_values, most_values = [v for v in lower if v is not None], [v for v in upper if v is not None]
    if any(a > b for a, b in zip(least_values, most_values, strict=True)):
        return None
    unit = _unit(model.c.tolist(), solver, "objective")
    c = [int(_read(v) * unit) for v in model.c.tolist()]
    ends = [(v * a, v * b) for v, a, b in zip(c, least_values, most_values, strict=True)]
    if sum(max(abs(a), abs(b)) for a, b in ends) + abs(model.offset * unit) >= _OBJECTIVE:
        raise SolverError(f"the objective has values that are too large for {solver}; take another solver")
    least = sum(min(a, b) for a, b in ends)
    return IntegerModel(c, unit, Fraction(model.offset), *matrix, low, high, least_values, most_values, least)


def _rounded_up(values: Floats, units: Ints, sign: int) -> list[int | None]:
    """Sides in these units as integers, rounded up, or with sign -1 down; None for an infinite one."""
    pairs = zip(values.tolist(), units.tolist(), strict=True)
    return [sign * math.ceil(sign * _read(v) * u - _CLOSE) if math.isfinite(v) else None for v, u in pairs]


def _read(value: float) -> Fraction:
    """The fraction of a small denominator whose double this is; other numbers as they are."""
    if value.is_integer():
        return Fraction(int(value))
    simple = Fraction(value).limit_denominator(_DENOMINATOR)
    return simple if float(simple) == value else Fraction(value)


def _unit(values: Iterable[float], solver: str, where: str) -> int:
    """What all these numbers have to be multiplied by to be integers."""
    unit, largest = 1, 0.0
    for value in values:
        largest = max(largest, abs(value))
        if not value.is_integer():
            read = _read(value)
            unit = math.lcm(unit, read.denominator)
            if read.denominator > _DENOMINATOR or unit > _DENOMINATOR**2:
                raise SolverError(
                    f"{solver} solves integer programs only, and the {where} has coefficients that are not fractions "
                    "with small denominators; take another solver"
                )
    if largest * unit >= _EXACT:
        raise SolverError(f"the {where} has coefficients that are too large for {solver}; take another solver")
    return unit


def _units(A: sp.csr_array, solver: str) -> Ints:
    units = np.ones(A.shape[0], dtype=np.int64)
    plain = (A.data == np.rint(A.data)) & (np.abs(A.data) < _EXACT)
    constraint = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    for r in np.unique(constraint[~plain]).tolist():
        units[r] = _unit(A.data[A.indptr[r] : A.indptr[r + 1]].tolist(), solver, f"constraint {r}")
    return units


def _tighten(
    matrix: tuple[list[int], list[int], list[int]],
    low: list[int | None],
    high: list[int | None],
    lower: list[int | None],
    upper: list[int | None],
) -> None:
    """Bound what is unbounded by the constraints: a_j·x_j ≤ high - (the least that the other terms can be)."""
    indptr, indices, coefficients = matrix
    for _ in range(_ROUNDS):
        if None not in lower and None not in upper:
            return
        for r in range(len(low)):
            entries = [(indices[e], coefficients[e]) for e in range(indptr[r], indptr[r + 1])]
            if any(lower[j] is None or upper[j] is None for j, _ in entries):
                _tighten_one(entries, high[r], lower, upper)
                negated = None if low[r] is None else -(low[r] or 0)
                _tighten_one([(j, -a) for j, a in entries], negated, lower, upper)


def _tighten_one(
    entries: list[tuple[int, int]], high: int | None, lower: list[int | None], upper: list[int | None]
) -> None:
    if high is None:
        return
    total, endless = 0, []
    for j, a in entries:
        end = lower[j] if a > 0 else upper[j]
        if end is None:
            endless.append(j)
        else:
            total += a * end
    for j, a in entries:
        if a == 0 or (endless and endless != [j]):
            continue
        end = lower[j] if a > 0 else upper[j]
        left = high - total + (0 if end is None else a * end)
        if a > 0 and upper[j] is None:
            upper[j] = left // a
        elif a < 0 and lower[j] is None:
            lower[j] = -(left // -a)
