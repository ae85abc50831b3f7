"""A problem as the content of a model file, from which `read_content` states the same problem again."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.methods.description import MODEL_FILE
from kanon_milp.problem.arguments import exists, file_path, instance_of, wrong
from kanon_milp.problem.distances import FROM_FILE, SIMPLE, GroundDistance
from kanon_milp.problem.group_recoding import Boxes, Microaggregation
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.privacy.base import plain_data
from kanon_milp.problem.privacy.journalist_risk import Population
from kanon_milp.problem.privacy.registry import REQUIREMENTS
from kanon_milp.problem.problem import NAMELESS, Problem
from kanon_milp.problem.recoding import PatternMask, Recoding
from kanon_milp.problem.table import SYMBOL, Table
from kanon_milp.system.files import holding, write_together

SOLVE = ("then", "pool", "pool_loss", "pool_differ")  # arguments of `solve` that are keys of [solve]


def model_content(problem: Problem, folder: Path, solver: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The content of a model file in this folder that states the problem.

    Hierarchies that were made from columns are rules there, with all that was found out of the columns, so that values
    not yet seen have labels, too. solver: arguments of `solve`. The table may have come from no file; then `file` is
    missing. Raises InputError for what no model file can name: hierarchies and distances from no file, code of the
    user's own.
    """
    given = dict(solver or {})
    asked = {key: given.pop(key) for key in SOLVE if key in given}
    content = {
        "name": None if problem.name == NAMELESS else problem.name,
        "data": data_entry(problem.table, folder),
        "privacy": {"requirements": [_requirement(each, folder) for each in _asked(problem)]},
        "recoding": _recoding(problem.recoding, problem.table, folder),
        "problem": _sides(problem),
        "solver": {key: each for key, each in given.items() if key != "parameters"},
        "solve": asked,
        "parameters": dict(given.get("parameters", {})),
    }
    return {key: each for key, each in content.items() if each}


def write_model(problem: Problem, path: str | Path, solver: Mapping[str, Any] | None = None) -> None:
    """Write a problem as a model file, with paths relative to its folder.

    solver: arguments of `solve` for [solver] and [solve]. Raises InputError where `model_content` does, and for a table
    that was not read from a file.
    """
    target = file_path(path, "path of a model file")
    if not isinstance(solver, Mapping | None):
        raise wrong("solver", "a mapping from arguments of solve", solver)
    content = holding(saved_model(instance_of(problem, Problem, "problem", "a Problem"), target, solver))
    write_together(target.parent, {target.name: content})


def saved_model(problem: Problem, target: Path, solver: Mapping[str, Any] | None = None) -> bytes:
    """What `write_model` writes."""
    content = model_content(problem, target.parent, solver)
    if "file" not in content["data"]:
        raise InputError(f"{problem.table.source}: a model file names the file of its table, and this is none")
    return toml_text(content).encode()


def toml_text(content: Mapping[str, Any]) -> str:
    """A model file: single values first, then a table each; what is within a table is written in one line."""
    lines = [f"{_key(key)} = {_toml(value)}" for key, value in content.items() if not isinstance(value, Mapping)]
    for name, table in content.items():
        if isinstance(table, Mapping):
            several = {key: each for key, each in table.items() if name == "privacy" and key == "requirements"}
            alone = {key: each for key, each in table.items() if key not in several}
            lines += ["", f"[{name}]"] if alone else []
            lines += [f"{_key(key)} = {_toml(value)}" for key, value in alone.items()]
            for key, tables in several.items():
                for each in tables:
                    lines += ["", f"[[{name}.{key}]]", *(f"{_key(at)} = {_toml(value)}" for at, value in each.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _toml(name)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_toml(each)}' for key, each in value.items())} }}"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def path_from(folder: Path, source: str) -> str | None:
    """The path of a file as it is named in a model file of this folder; None where the source is no file."""
    if source.endswith(MODEL_FILE) or "\0" in source or not exists(Path(source), Path.exists):
        return None
    target = os.path.realpath(source)
    try:
        found = source if Path(source).is_absolute() else os.path.relpath(target, os.path.realpath(folder))
    except ValueError:  # between drives of Windows
        found = target
    return Path(found).as_posix().replace("$", "$$")


def _asked(problem: Problem) -> Sequence[Requirement]:
    return [problem.privacy] if isinstance(problem.privacy, Requirement) else problem.privacy


def data_entry(table: Table, folder: Path) -> dict[str, Any]:
    """The table [data] of a model file in this folder."""
    roles, csv = table.roles, table.csv
    file = None if table.query is not None else path_from(folder, table.source)
    found: dict[str, Any] = {
        "file": file,
        "quasi_identifiers": list(roles.quasi_identifiers),
        "sensitive": list(roles.sensitive),
        "identifying": list(roles.identifying),
        "keep": list(roles.insensitive),
        "drop": list(roles.dropped),
        "unit": roles.unit[0] if roles.unit else None,
        "count": table.count,
        "delimiter": None if "delimiter" in csv.unnamed or table.kind != "CSV" or file is None else csv.delimiter,
        "encoding": None if table.kind != "CSV" or file is None else csv.named_encoding,
        "header": None if csv.header is True else csv.header if isinstance(csv.header, bool) else list(csv.header),
        "missing": "wildcard" if table.keys_match else None,
        "missing_values": list(csv.missing_values),
        "symbol": None if table.symbol == SYMBOL else table.symbol,
    }
    return {key: each for key, each in found.items() if each is not None and each != []}


def _requirement(requirement: Requirement, folder: Path) -> dict[str, Any]:
    if type(requirement) not in REQUIREMENTS.values():
        raise InputError(f"no model file can name the requirement {requirement.name}; register it with its definition")
    found: dict[str, Any] = {"kind": requirement.name}
    for each in dataclasses.fields(requirement):  # type: ignore[arg-type]
        if each.name not in {*requirement.parameters, "sensitive"}:
            continue
        value = getattr(requirement, each.name)
        if value is None or (each.default is not dataclasses.MISSING and value == each.default):
            continue
        if isinstance(value, GroundDistance):
            found[each.name] = _distance(value, folder)
        else:
            found[each.name] = _population(value, folder) if isinstance(value, Population) else plain_data(value)
    return {key: str(each) if isinstance(each, float) else each for key, each in found.items()}


def _population(population: Population, folder: Path) -> str:
    file = None if population.file is None else path_from(folder, str(population.file))
    if file is None:
        raise InputError("the population of journalist risk was read from no file, so no model file can name it")
    return file.replace("$$", "$")


def _distance(distance: GroundDistance, folder: Path) -> str:
    for name, kind in SIMPLE.items():
        if type(distance) is kind and distance == kind():
            return name
    tree = getattr(distance, "hierarchy", distance)
    file = path_from(folder, str(getattr(tree, "source", "")))
    prefix = next((prefix for prefix, kind in FROM_FILE.items() if type(distance) is kind), None)
    if prefix is None or file is None:
        raise InputError("a ground distance was read from no file, so no model file can name it")
    return f"{prefix}:{file.replace('$$', '$')}"


def _sides(problem: Problem) -> dict[str, Any]:
    found = {
        "objective": None if problem.objective == "loss" else problem.objective,
        "cost_bound": None if problem.cost_bound is None else str(problem.exact_cost_bound),
        "min_groups": problem.min_groups,
        "max_groups": problem.max_groups,
        "suppressed_rows": None if problem.suppressed_rows == "strict" else problem.suppressed_rows,
    }
    return {key: each for key, each in found.items() if each is not None}


def _recoding(recoding: Recoding, table: Table, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {**_mask(recoding.mask, table, folder)}
    if isinstance(recoding, Microaggregation | Boxes):
        found["kind"] = recoding.kind
    if isinstance(recoding, Microaggregation):
        found |= recoding.claims
    folders: dict[str, list[str]] = {}
    for name, hierarchy in recoding.hierarchies.items():
        if (rule := hierarchy.rule) is not None:
            if None in rule.arguments.values():
                raise InputError(f"{hierarchy.source}: no model file can say that other values are refused")
            found.setdefault(rule.way, {})[name] = dict(rule.arguments)
            continue
        file = path_from(folder, hierarchy.source)
        if file is None or Path(file).name != f"{name}.csv":
            raise InputError(
                f'column "{name}": a model file names a folder with the hierarchy {name}.csv, and this one comes from '
                "no such file; write it there (Hierarchy.write)"
            )
        folders.setdefault(Path(file).parent.as_posix(), []).append(name)
    if len(folders) > 1:
        raise InputError("the hierarchies lie in several folders, and a model file names one; move them together")
    found["hierarchies"] = next(iter(folders), None)
    found["weights"] = {name: str(weight) for name, weight in recoding.weights.items()}
    found["level_costs"] = {name: list(map(str, costs)) for name, costs in recoding.level_costs.items()}
    if isinstance(recoding, Boxes):
        pass  # its cost is NCP
    elif isinstance(recoding.costs, str):
        found["costs"] = recoding.costs
    else:
        found["costs"] = {
            name: each if isinstance(each, str) else {label: str(cost) for label, cost in each.items()}
            for name, each in recoding.costs.items()
        }
    return {key: each for key, each in found.items() if each}


def _mask(mask: PatternMask | None, table: Table, folder: Path) -> dict[str, Any]:
    if mask is None:
        return {}
    if mask.levels:
        return {"levels": {name: list(levels) for name, levels in mask.levels.items()}}
    file = path_from(folder, mask.source)
    if file is not None:
        return {"mask": file}
    names = table.quasi_identifiers
    header = list(mask.columns if mask.columns is not None else names)
    rows = [each if isinstance(each, Mapping) else dict(zip(header, each, strict=True)) for each in mask.patterns]
    return {"patterns": [[row[name] for name in names] for row in rows]}
