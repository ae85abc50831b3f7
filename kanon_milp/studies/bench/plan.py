"""All runs of a study, each with an identity that depends on nothing but what the run is."""

from __future__ import annotations

import glob
import hashlib
import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError, nearest, unreadable
from kanon_milp.methods import registry
from kanon_milp.methods.description import sha256_of
from kanon_milp.methods.result import NO_SOLVER
from kanon_milp.problem.exact import exact_parameter
from kanon_milp.studies import families
from kanon_milp.studies.bench.statistics import FROM_FILE
from kanon_milp.studies.bench.study import MOST_RUNS, Solver, Study, Ways
from kanon_milp.studies.model_files import named_file, parse_toml
from kanon_milp.studies.schema import as_written, checked, put

MODEL, MPS, GENERATED, WRITTEN_OUT = "model", "mps", "generated", "stated"
ALONE = "solver"  # the method: the solver alone on the model
INFEASIBLE, UNBOUNDED = "infeasible", "unbounded"  # what may be known instead of an optimum
MOST_NAMES = 10  # in a message
_MPS_NAME = re.compile(r"(.+)\.(mps|lp)(\.gz)?", re.IGNORECASE)
_KNOWN_KEYS = ["optimum", "infeasible", "unbounded", "source"]


@dataclass(frozen=True)
class Instance:
    """One instance of a study.

    source: which of the four kinds, and what makes it, as plain data. fingerprint: SHA-256 of the files it is made of,
    by role; paths do not count. known: an exact number, "infeasible", "unbounded", or None.
    """

    name: str
    family: str | None
    source: Mapping[str, Any]
    fingerprint: Mapping[str, str | None] = field(default_factory=dict)
    known: str | None = None


@dataclass(frozen=True)
class Run:
    """One run, as plain data that can be sent to another host.

    run: its identity, 16 hexadecimal digits. grace: seconds after the time limit until it is killed.
    """

    run: str
    study: str
    kind: str
    instance: str
    family: str | None
    source: Mapping[str, Any]
    known: str | None
    formulation: str
    method: str
    solver: str
    options: Mapping[str, Any]
    threads: int
    seed: int
    permutation: int
    time_limit: float
    grace: float
    memory_limit: int | None
    parameters: Mapping[str, Any]
    plugins: Sequence[str]
    repeat: str
    program: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def plan(study: Study) -> list[Run]:
    """The runs of a study in their order, each once. Raises InputError for instances that cannot be found."""
    runs: dict[str, Run] = {}
    for instance, ways in instances(study):
        for run in _runs(study, instance, ways):
            runs.setdefault(run.run, run)
            if len(runs) > MOST_RUNS:
                raise InputError(f"{study.path}: more than {MOST_RUNS:,} runs")
    return list(runs.values())


def instances(study: Study) -> list[tuple[Instance, Ways]]:
    """The instances of a study, and how each is to be solved. Raises InputError for two of one name."""
    found = [
        (each, ways)
        for number, (entry, ways) in enumerate(study.entries, 1)
        for each in _expanded(study, number, entry)
    ]
    seen: dict[str, Mapping[str, Any]] = {}
    for instance, _ in found:
        if seen.setdefault(instance.name, instance.source) != instance.source:
            raise InputError(f'{study.path}: two instances are called "{instance.name}"; give one of them a name')
    return found


def _runs(study: Study, instance: Instance, ways: Ways) -> Iterator[Run]:
    for method in ways.methods:
        solved = study.kind.name == "solve"
        heeded = registry.heeded(method) if solved and method != ALONE else {"solver", "formulation"}
        if instance.source["kind"] == MPS and (method != ALONE or not solved):
            raise InputError(
                f'{study.path}: {instance.name} is a model without a table, for which the only method is "{ALONE}"'
            )
        formulations: Sequence[str] = ways.formulations
        if instance.source["kind"] == MPS:
            formulations = (FROM_FILE,)
        elif "formulation" not in heeded or not study.kind.formulation:
            formulations = ("",)
        asked: Sequence[Solver] = ways.solvers
        permutations: Sequence[int] = study.permutations
        if "solver" not in heeded or not study.kind.solver:
            asked, permutations = (Solver(NO_SOLVER, {}),), (0,)
        varied = itertools.product(formulations, asked, study.threads, study.seeds, permutations)
        for formulation, solver, threads, seed, permutation in varied:
            what = {
                "kind": study.kind.name,
                "instance": instance.name,
                "formulation": formulation,
                "method": method,
                "solver": solver.name,
                "options": dict(solver.options),
                "threads": threads,
                "seed": seed,
                "permutation": permutation,
                "time_limit": ways.time_limit,
                "memory_limit": study.memory_limit,
                "parameters": dict(study.parameters),
                **({"program": dict(solver.program)} if solver.program else {}),
            }
            yield _run(study, instance, what)


def _run(study: Study, instance: Instance, what: Mapping[str, Any]) -> Run:
    made_of = {key: value for key, value in instance.source.items() if key not in ("path", "relative_to")}
    text = json.dumps([what, made_of, dict(instance.fingerprint)], sort_keys=True)
    identity = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Run(
        run=identity,
        study=study.name,
        family=instance.family,
        source=dict(instance.source),
        known=instance.known,
        grace=study.grace,
        plugins=[str(path) for path in study.plugins],
        repeat=f"kanon-milp bench {shlex.quote(str(study.path))} --only {identity}",
        **what,
    )


def _expanded(study: Study, number: int, entry: Mapping[str, Any]) -> list[Instance]:
    where = f"{study.path}: [[instances]] number {number}"
    kinds = [each for each in ("model", "mps", "generate", "data") if each in entry]
    if len(kinds) != 1:
        raise InputError(f"{where} needs exactly one of model, mps, generate and [instances.data]")
    kind = kinds[0]
    others = {
        "model": {"model"},
        "mps": {"mps", "known", "solu"},
        "generate": {"generate", "sizes", "seeds", "answer", "parameters"},
        "data": {"data", "privacy", "recoding", "problem", "known", "vary"},
    }
    for name in entry:
        if name not in others[kind] | {"name", "family", "time_limit", "solvers", "formulations", "methods"}:
            raise InputError(f'{where}: "{name}" does not go with {kind}')
    if kind == "generate":
        return list(_generated(where, entry))
    found = list(_written_out(study, where, entry) if kind == "data" else _files(study, where, entry, kind))
    if "solu" in entry:
        if "known" in entry:
            raise InputError(f"{where}: solu, or known, not both")
        values = read_solu((study.path.parent / entry["solu"]).resolve())
        return [replace(each, known=values.get(each.name.rpartition(",")[2])) for each in found]
    return _with_known(where, entry["known"], found) if "known" in entry else found


def _with_known(where: str, known: Mapping[str, Any], found: Sequence[Instance]) -> list[Instance]:
    """The instances with what their entry says is known: of the only one, or of each by its name."""
    names = [each.name for each in found]
    if not known or not all(isinstance(value, dict) for value in known.values()):
        if len(found) > 1:
            example = f'known = {{ "{names[0]}" = {{ optimum = ... }} }}'
            raise InputError(
                f"{where}: known is said of one instance, and this entry stands for {len(found):,}; say it of each "
                f"by its name, {example}, or give each an entry of its own"
            )
        known = {names[0]: known}
    for name in known:
        if name not in names:
            shown = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
            raise InputError(f'{where}: known: no instance of this entry is called "{name}"; there are {shown}')
    return [replace(each, known=_known(f"{where}: {each.name}", known.get(each.name, {}))) for each in found]


def read_solu(path: Path) -> dict[str, str | None]:
    """What a file of known values says of each instance, as MIPLIB writes them: =opt= NAME VALUE, =inf= NAME, =unbd=
    NAME; of =best= and =unkn= nothing is known to be the optimum. Raises InputError for a file that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {unreadable(error)}") from None
    found: dict[str, str | None] = {}
    for number, line in enumerate(lines, 1):
        match line.partition("#")[0].split():
            case []:
                continue
            case ["=opt=", name, value]:
                found[name] = str(exact_parameter(value, f"{path}: line {number}: value"))
            case ["=inf=", name, *_]:
                found[name] = INFEASIBLE
            case ["=unbd=", name, *_]:
                found[name] = UNBOUNDED
            case ["=best=" | "=unkn=" | "=feas=", name, *_]:
                found[name] = None
            case _:
                raise InputError(f"{path}: line {number}: not a known value such as =opt= NAME VALUE")
    return found


def _files(study: Study, where: str, entry: Mapping[str, Any], kind: str) -> Iterator[Instance]:
    pattern = str(entry[kind])
    paths = sorted(glob.glob(pattern, root_dir=study.path.parent))
    if not paths:
        raise InputError(f"{where}: there is no file {pattern}")
    for relative in paths:
        path = (study.path.parent / relative).resolve()
        stem = path.stem
        if kind == "mps":
            matched = _MPS_NAME.fullmatch(path.name)
            if matched is None:
                raise InputError(f"{where}: {relative} is not called .mps, .lp, .mps.gz or .lp.gz")
            stem = matched[1]
        name = stem if len(paths) > 1 or "name" not in entry else entry["name"]
        if len(paths) > 1 and "name" in entry:
            name = f"{entry['name']},{stem}"
        fingerprint, known = {"file": sha256_of(path)}, None
        if kind == "model":
            content = parse_toml(path)
            known = _known(str(path), content.get("known", {}))
            fingerprint |= _side_files(content, path)
        yield Instance(name, entry.get("family"), {"kind": kind, "path": str(path)}, fingerprint, known)


def _side_files(content: Mapping[str, Any], path: Path) -> dict[str, str | None]:
    data, recoding = content.get("data") or {}, content.get("recoding") or {}
    named = {"table": data.get("file"), "mask": recoding.get("mask"), "hierarchies": recoding.get("hierarchies")}
    found: dict[str, str | None] = {}
    for role, name in named.items():
        if isinstance(name, str):
            place = named_file(path, name)
            inside = sorted(place.glob("*.csv")) if place.is_dir() else []
            found |= {f"{role} {each.name}": sha256_of(each) for each in inside} or {role: sha256_of(place)}
    return found


def _generated(where: str, entry: Mapping[str, Any]) -> Iterator[Instance]:
    family, answer = entry["generate"], entry.get("answer", "yes")
    parameters = as_written(entry.get("parameters", {}))
    default = [families.FAMILIES[family].default]
    for what in ("sizes", "seeds"):
        if not all(type(each) is int for each in entry.get(what, [])):
            raise InputError(f"{where}: {what} must be a list of integers")
    for size, seed in itertools.product(entry.get("sizes", default), entry.get("seeds", [0])):
        try:
            found = families.generate(family, size, seed, answer, parameters=parameters)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        known = INFEASIBLE if found.optimum is None else str(found.optimum)
        name = f"{entry.get('name', family)}-{size}-{seed}{'' if answer == 'yes' else f'-{answer}'}"
        source = {"kind": GENERATED, "family": family, "size": size, "seed": seed, "answer": answer}
        if parameters:
            source["parameters"] = parameters
        yield Instance(name, entry.get("family", family), source, {}, known)


def _written_out(study: Study, where: str, entry: Mapping[str, Any]) -> Iterator[Instance]:
    """Problems written out, every combination of what varies."""
    if "name" not in entry:
        raise InputError(f"{where}: a problem written out needs a name")
    vary = entry.get("vary", {})
    for place, values in vary.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"{where}: vary: {place} needs a list of values")
    for chosen in itertools.product(*vary.values()):
        content = {key: deepcopy(entry[key]) for key in ("data", "privacy", "recoding", "problem") if key in entry}
        name = entry["name"]
        for place, value in zip(vary, chosen, strict=True):
            if "." not in place and not isinstance(value, dict):
                raise InputError(f"{where}: vary: {place} is a table; its values must be tables")
            put(content, place, value, f"{where}: vary")
            name += "," + _called(place, value)
        checked(content, where)
        content = as_written(content)
        fingerprint = _side_files(content, study.path)
        source = {"kind": WRITTEN_OUT, "content": content, "relative_to": str(study.path.resolve())}
        yield Instance(name, entry.get("family"), source, fingerprint)


def _called(place: str, value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}={each}" for key, each in value.items()) or f"no {place}"
    return f"{place.rpartition('.')[2]}={value}"


def _known(where: str, known: Mapping[str, Any]) -> str | None:
    """What is known of the optimum: an exact number as text, which may be negative, INFEASIBLE, UNBOUNDED, or None."""
    for name in known:
        if name not in _KNOWN_KEYS:
            said = nearest(name, _KNOWN_KEYS)
            raise InputError(f'{where}: known: unknown key "{name}"{said}; there are {", ".join(_KNOWN_KEYS)}')
    found = [word for word in (INFEASIBLE, UNBOUNDED) if known.get(word) is True]
    if known.get("optimum") is not None:
        found.append(str(exact_parameter(as_written(known["optimum"]), f"{where}: known optimum")))
    if len(found) > 1:
        raise InputError(f"{where}: known: optimum, infeasible and unbounded exclude each other")
    return found[0] if found else None
