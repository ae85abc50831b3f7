"""The process that CP-SAT runs in: a model on standard input, what CP-SAT finds as lines of JSON on standard output.

A process of its own, because OR-tools and highspy each bring a library of HiGHS under the same name, and the second of
them that a process loads fails (https://github.com/google/or-tools/issues/5246). So this file is run as a script and
imports nothing of the package. More input, or its end, means: stop.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_ENDLESS = 1 << 63  # CP-SAT takes the ends of its 64-bit numbers for no side of a constraint


def main() -> None:
    """Read, solve, report."""
    stream = sys.stdin.buffer
    (length,) = struct.unpack("<q", stream.read(8))
    task: dict[str, Any] = pickle.loads(stream.read(length))
    lock = threading.Lock()

    def say(**message: object) -> None:
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    # the compiled half of OR-tools' Python interface: the other one imports pandas, which takes longer than most solves
    cp = importlib.import_module("ortools.sat.python.cp_model_helper")
    model, parameters, solver = build(cp, task), cp.SatParameters(), cp.SolveWrapper()
    if (problem := set_options(parameters, task["options"])) is not None:
        say(refused=problem)
    elif invalid := cp.CpSatHelper.validate_model(model):
        say(invalid=invalid.splitlines()[0])
    else:
        if task["deadline"] is not None:
            parameters.max_time_in_seconds = max(0.0, task["deadline"] - time.time())
        solver.set_parameters(parameters)
        # not through the stream, whose lock would still be held when the process ends
        threading.Thread(target=lambda: (os.read(stream.fileno(), 1), solver.stop_search()), daemon=True).start()
        solve(cp, solver, model, task["log_file"], say)


def build(cp: Any, task: Mapping[str, Any]) -> Any:
    """The model as CP-SAT's, with the start as hints."""
    model = cp.CpModelProto()
    for low, high in zip(task["lower"], task["upper"], strict=True):
        model.variables.add().domain.extend([low, high])
    begin = task["indptr"]
    for r, (low, high) in enumerate(zip(task["low"], task["high"], strict=True)):
        if begin[r] < begin[r + 1] and not (low is None and high is None):
            entries = slice(begin[r], begin[r + 1])
            linear = model.constraints.add().linear
            linear.vars.extend(task["indices"][entries])
            linear.coeffs.extend(task["coefficients"][entries])
            linear.domain.extend([-_ENDLESS if low is None else low, _ENDLESS - 1 if high is None else high])
    if any(task["c"]):
        used = [j for j, cost in enumerate(task["c"]) if cost]
        model.objective.vars.extend(used)
        model.objective.coeffs.extend([task["c"][j] for j in used])
        # what it reports is scaling_factor · (c·x + offset)
        model.objective.scaling_factor = 1 / task["unit"]
        model.objective.offset = task["offset"] * task["unit"]
    if task["hint"]:
        model.solution_hint.vars.extend(list(task["hint"]))
        model.solution_hint.values.extend(list(task["hint"].values()))
    return model


def set_options(parameters: Any, options: Mapping[str, object]) -> tuple[str, str | None] | None:
    """Set the options; the first one that CP-SAT does not know (None behind it) or whose value it does not take."""
    for name, value in options.items():
        if name.startswith("_") or not isinstance(getattr(type(parameters), name, None), property):
            return name, None
        try:
            setattr(parameters, name, value)
        except Exception:
            return name, repr(value)
    return None


def solve(cp: Any, solver: Any, model: Any, log_file: str | None, say: Callable[..., None]) -> None:
    """Solve, and say each better point and bound, then how it ended."""

    class Follower(cp.SolutionCallback):  # type: ignore[misc]
        def OnSolutionCallback(self) -> None:  # noqa: N802
            say(point=list(self.Response().solution))

    follower = Follower()
    solver.add_solution_callback(follower)
    solver.add_best_bound_callback(lambda bound: say(bound=bound))
    with log_to(log_file) as write:
        if write is not None:
            solver.add_log_callback(write)
        answer = solver.solve(model)
    solver.clear_solution_callback(follower)
    say(status=answer.status.name, point=list(answer.solution), integer_bound=answer.inner_objective_lower_bound)


@contextlib.contextmanager
def log_to(path: str | None) -> Iterator[Callable[[str], None] | None]:
    """A function that writes lines to the log file, if there is one."""
    if path is None:
        yield None
        return
    with open(path, "ab", buffering=0) as file:

        def write(text: str) -> None:
            with contextlib.suppress(OSError):  # a full disk costs the log, not the run
                file.write(f"{text}\n".encode())

        yield write


if __name__ == "__main__":
    main()
