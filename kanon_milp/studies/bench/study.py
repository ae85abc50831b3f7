"""Study files: one TOML file says which runs a benchmark has, checked key by key."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_args

from kanon_milp import solvers
from kanon_milp.errors import InputError, nearest, own_code
from kanon_milp.formulations import get_formulation
from kanon_milp.methods.registry import known_name
from kanon_milp.problem.arguments import exists, file_path
from kanon_milp.solvers.adapter import MAX_SEED, SolverAdapter
from kanon_milp.solvers.command import CommandAdapter, read_command
from kanon_milp.studies import families
from kanon_milp.studies.bench.kinds import KINDS, Kind
from kanon_milp.studies.bench.statistics import PROGRAM
from kanon_milp.studies.model_files import parse_toml
from kanon_milp.studies.schema import Arguments, Entry, Integers, Of, Real, Texts, checked_as, key, one_of

_loaded: set[Path] = set()


def load_plugin(path: Path) -> None:
    """Run a plugin, once in a process. Raises InputError where it fails."""
    if path in _loaded:
        return
    name = f"kanon_milp_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file; the name of a plugin ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with own_code(f"the plugin {path}", "be a module that can be imported"):
        spec.loader.exec_module(module)
    _loaded.add(path)


MOST_RUNS = 100_000
MOST_THREADS = 1024
_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kMGT]B)")


class SolverEntry(Entry):
    """A solver and its options."""

    where = "[[solvers]]"
    name: str = key("as in solve --solver")
    options: Arguments = key("options that the solver gets as they are")
    executable: str = key("path of the solver's executable, beside the study or anywhere: for cbc")
    command: str = key("or a solver of your own: a command with {model}, {solution}, {seconds}, {threads} and {seed}")
    optimal: str = key(
        "regular expression for what the command prints where it says optimal; without it, it proves nothing"
    )
    infeasible: str = key("the same for infeasible")
    bound: str = key("the same for its bound, with one group around the number")


class InstanceEntry(Entry):
    """One entry of the list of instances: it may stand for many, by a pattern of file names, sizes, seeds or `vary`."""

    where = "[[instances]]"
    name: str = key("name in the results; several instances of one entry get what tells them apart behind it")
    family: str = key("what the instances are grouped by in the results; default: the generator's family")
    model: str = key("model file beside the study, or a pattern of file names such as ../../models/hospital*.toml")
    mps: str = key("or a model for solvers: .mps, .lp, .mps.gz or .lp.gz, or a pattern; solved without a table")
    generate: Annotated[str, one_of(lambda: tuple(families.FAMILIES))] = key("or a family of `kanon-milp generate`")
    sizes: Integers = key("sizes of the family; default: its own")
    size: int = key("one size, in the place of sizes")
    seeds: Integers = key("seeds of the family; default [0]")
    seed: int = key("one seed, in the place of seeds")
    answer: Annotated[str, one_of(lambda: get_args(families.Answer))] = key(
        "yes (default), no: infeasible ones, or imperfect: the best of imperfect solutions"
    )
    parameters: dict[str, Any] = key('numbers that the family\'s theorem leaves open, such as { t = "1/4" }')
    data: dict[str, Any] = key("or a problem written out as in a model file: [instances.data] ...")
    privacy: dict[str, Any] = key("... [instances.privacy] ...")
    recoding: dict[str, Any] = key("... [instances.recoding] ...")
    problem: dict[str, Any] = key("... [instances.problem]")
    solu: str = key("of mps: file of known values as MIPLIB has them, =opt= NAME VALUE, beside the study")
    known: dict[str, Any] = key(
        "what is known: optimum = 12, infeasible = true or unbounded = true, and source; of several instances by name"
    )
    time_limit: Real = key("in the place of the study's")
    solvers: list[SolverEntry] = key("in the place of the study's")
    formulations: Texts = key("in the place of the study's")
    methods: Texts = key("in the place of the study's")
    vary: dict[str, Any] = key('of a problem written out: "privacy.k" = [2, 5], every combination of the values')


class Content(Entry):
    """A study file."""

    name: str = key("short name; default: the file's name")
    title: str = key("one line on what the study shows")
    kind: Annotated[str, one_of(lambda: tuple(KINDS))] = key("what is measured; default solve")
    instances: Annotated[list[InstanceEntry], Of("tables, [[instances]]")] = key("")
    solvers: Annotated[list[SolverEntry], Of("names, or of tables [[solvers]]")] = key(
        "names, or tables with name and options; default highs"
    )
    formulations: Texts = key("strong (default), textbook, groups")
    methods: Texts = key("methods of solve, or solver: the solver alone on the model (default)")
    time_limit: Real = key("seconds of a run; required")
    grace: Real = key("seconds beyond it until the process is killed; default 30")
    memory_limit: str = key('of the processes of a run together, such as "4 GB"; default: none')
    threads: Integers = key("numbers of threads; default [1]")
    seeds: Integers = key("seeds of the solver; default [0]")
    permutations: Integers = key("seeds of permutations of rows and columns of the model; 0 is as it is; default [0]")
    parameters: Arguments = key("of the kind of run")
    parallel: int = key("runs at a time on one host; default 1", ge=1)
    plugins: Texts = key("Python files beside the study that register solvers or methods")


@dataclass(frozen=True)
class Solver:
    """A solver of a study, with options. program: how it is started, where the study says so: `executable`, or
    `command` with patterns."""

    name: str
    options: Mapping[str, Any]
    program: Mapping[str, str] = field(default_factory=dict)


def adapter_of(name: str, program: Mapping[str, str]) -> SolverAdapter:
    """The adapter of a solver of a study. Raises InputError for what is none."""
    if "command" in program:
        says = {word: pattern for word, pattern in program.items() if word in PROGRAM[2:]}
        return CommandAdapter(name, read_command(program["command"], says))
    if program and "executable" not in program:
        raise InputError(f"{', '.join(program)}: patterns are for what a command prints")
    return solvers.get(name, program.get("executable"))


def _program(folder: Path, entry: Mapping[str, Any]) -> dict[str, str]:
    """How a solver is started, the first word of it as an absolute path where there is such a file beside the study."""
    found = {word: str(entry[word]) for word in PROGRAM if word in entry}
    if (near := (folder / found.get("executable", ".")).resolve()).is_file():
        found["executable"] = str(near)
    first, _, rest = found.get("command", "").partition(" ")
    if (near := (folder / first).resolve()).is_file():
        found["command"] = f"{shlex.quote(str(near))} {rest}"
    return found


@dataclass(frozen=True)
class Ways:
    """How an instance is to be solved: every combination of these. time_limit: seconds."""

    solvers: tuple[Solver, ...]
    formulations: tuple[str, ...]
    methods: tuple[str, ...]
    time_limit: float


@dataclass(frozen=True)
class Study:
    """A study file, read. grace: seconds; memory_limit: bytes; plugins: absolute paths; entries: of the list of
    instances, checked by themselves, not expanded, each with the ways in which it is solved."""

    path: Path
    name: str
    title: str
    kind: Kind
    entries: tuple[tuple[dict[str, Any], Ways], ...]
    grace: float
    memory_limit: int | None
    threads: tuple[int, ...]
    seeds: tuple[int, ...]
    permutations: tuple[int, ...]
    parameters: Mapping[str, Any]
    parallel: int
    plugins: tuple[Path, ...]


def read_study(path: str | Path) -> Study:
    """Read and check a study file; raises InputError that names file, key and the way out.

    Its plugins are loaded, since names of solvers and methods may be theirs.
    """
    path = file_path(path, "path of a study file")
    if not exists(path, Path.is_file):
        raise InputError(f"{path}: no such study file")
    content = parse_toml(path)
    given = content.get("instances")
    for table in given if isinstance(given, list) else ():
        for one, several in (("size", "sizes"), ("seed", "seeds")):  # as in the library's list
            if isinstance(table, dict) and one in table and several not in table:
                table[several] = [table.pop(one)]
    for table in (content, *(given if isinstance(given, list) else ())):
        if isinstance(table, dict) and isinstance(table.get("solvers"), list):
            table["solvers"] = [{"name": each} if isinstance(each, str) else each for each in table["solvers"]]
    found = checked_as(Content, content, path)
    for what in ("instances", "time_limit"):
        if not found.get(what):
            raise InputError(f"{path}: {what} is missing")
    plugins = tuple(_plugin(path, each) for each in found.get("plugins", []))
    for plugin in plugins:
        load_plugin(plugin)
    kind = KINDS[found.get("kind", "solve")]
    parameters = found.get("parameters", {})
    for name in parameters:
        if name not in kind.parameters:
            known = list(kind.parameters)
            said = f"; {', '.join(known)}" if known else ", which has none"
            raise InputError(f'{path}: the kind {kind.name} has no parameter "{name}"{nearest(name, known)}{said}')
    return Study(
        path=path,
        name=found.get("name", path.stem),
        title=found.get("title", ""),
        kind=kind,
        entries=tuple((entry, _ways(path, kind, {**found, **entry})) for entry in found["instances"]),
        grace=_seconds(path, "grace", found.get("grace", 30.0)),
        memory_limit=_bytes(path, found.get("memory_limit")),
        threads=_numbers(path, "threads", found.get("threads", [1]), least=1, most=MOST_THREADS),
        seeds=_numbers(path, "seeds", found.get("seeds", [0])),
        permutations=_numbers(path, "permutations", found.get("permutations", [0])),
        parameters={**kind.parameters, **parameters},
        parallel=found.get("parallel", 1),
        plugins=plugins,
    )


def _ways(path: Path, kind: Kind, found: Mapping[str, Any]) -> Ways:
    asked = [
        Solver(each.get("name", ""), each.get("options", {}), _program(path.parent, each))
        for each in found.get("solvers", [])
    ]
    commands = [solver.name for solver in asked if "command" in solver.program]
    if len(set(commands)) < len(commands) or set(commands) & set(solvers.BUILT_IN):
        raise InputError(f"{path}: solvers: each command needs a name of its own: {', '.join(commands)}")
    for number, solver in enumerate(asked, 1):
        if not solver.name:
            raise InputError(f"{path}: [[solvers]] number {number}: name is missing")
        if "command" in solver.program and "executable" in solver.program:
            raise InputError(f"{path}: [[solvers]] number {number}: executable, or command, not both")
        _named(path, "solvers", lambda solver=solver: adapter_of(solver.name, solver.program))
    formulations = _texts(path, "formulations", found.get("formulations", ["strong"]))
    for name in formulations:
        _named(path, "formulations", lambda name=name: get_formulation(name))
    return Ways(
        tuple(asked) or (Solver(solvers.DEFAULT, {}),),
        formulations,
        _methods(path, kind, found.get("methods", [kind.default])),
        _seconds(path, "time_limit", found["time_limit"]),
    )


def _seconds(path: Path, what: str, value: float) -> float:
    if not value > 0:
        raise InputError(f"{path}: {what} must be a positive number of seconds")
    return value


def _named(path: Path, what: str, look_up: Any) -> None:
    """Have a name looked up; what is said of an unknown one is said of the file."""
    try:
        look_up()
    except InputError as error:
        raise InputError(f"{path}: {what}: {error}") from None


def _texts(path: Path, what: str, values: Sequence[Any]) -> tuple[str, ...]:
    if not values or not all(isinstance(each, str) for each in values):
        raise InputError(f"{path}: {what} must be a list of names")
    return tuple(dict.fromkeys(values))


def _methods(path: Path, kind: Kind, values: Sequence[Any]) -> tuple[str, ...]:
    for name in (names := _texts(path, "methods", values)):
        if name in kind.ways:
            continue
        if kind.name != "solve":
            ways = list(kind.ways)
            raise InputError(
                f'{path}: methods: the kind {kind.name} has no "{name}"{nearest(name, ways)}; {", ".join(ways)}'
            )
        _named(path, "methods", lambda name=name: known_name(name))
    return names


def _numbers(path: Path, what: str, values: Sequence[Any], least: int = 0, most: int = MAX_SEED) -> tuple[int, ...]:
    whole = all(isinstance(each, int) and not isinstance(each, bool) for each in values)
    if not values or not whole or min(values) < least or max(values) > most:
        raise InputError(f"{path}: {what} must be a list of integers from {least} to {most}")
    return tuple(dict.fromkeys(values))


def _bytes(path: Path, text: str | None) -> int | None:
    if text is None:
        return None
    found = _SIZE.fullmatch(text)
    if found is None or not float(found[1]):
        raise InputError(f'{path}: memory_limit must be a size such as "500 MB" or "4 GB"')
    return int(float(found[1]) * _UNITS[found[2]])


def _plugin(path: Path, name: object) -> Path:
    if not isinstance(name, str) or not (found := (path.parent / name).resolve()).is_file():
        raise InputError(f"{path}: plugins: no such file: {name}")
    return found
