"""Model files: one declarative TOML file a problem, validated key by key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError, kind_of, nearest
from kanon_milp.instances import datasets, generators
from kanon_milp.privacy import REQUIREMENTS
from kanon_milp.problem import OBJECTIVES, SUPPRESSED_ROWS, Problem
from kanon_milp.recoding import Hierarchies, PatternMask, Recoding, Suppression
from kanon_milp.table import CsvFormat, Table, read_table


@dataclass(frozen=True)
class Key:
    """One key of a model file: what it may hold, and what it means."""

    types: tuple[type, ...]
    meaning: str
    choices: tuple[str, ...] = ()


TEXT, WHOLE, TRUTH = (str,), (int,), (bool,)
NUMBER, LIST, TABLE = (int, float, str), (list,), (dict,)

SCHEMA: dict[str, dict[str, Key]] = {
    "": {
        "name": Key(TEXT, "short name; default: the file's name"),
        "title": Key(TEXT, "one line for people"),
        "source": Key(TEXT, "where the problem comes from"),
    },
    "data": {
        "file": Key(TEXT, "table beside this file: CSV (also .gz), Parquet or Arrow"),
        "dataset": Key(TEXT, "or a data set by name", tuple(datasets.names())),
        "generator": Key(TEXT, "or a generator by name", tuple(generators.GENERATORS)),
        "arguments": Key(TABLE, "arguments of the generator"),
        "rows": Key(WHOLE, "only the first so many rows"),
        "quasi_identifiers": Key(
            LIST, "columns to generalize; required, except for a generator (default: all of its columns)"
        ),
        "sensitive": Key((str, list), "sensitive attribute, or a list of them"),
        "delimiter": Key(TEXT, "of a CSV file; default , (a tab for .tsv)"),
        "encoding": Key(TEXT, "of a CSV file; default utf-8"),
        "missing": Key(TEXT, "missing values are a value of their own (default), or refused", ("value", "error")),
        "symbol": Key(TEXT, "the suppression symbol; default *"),
    },
    "privacy": {
        "k": Key(WHOLE, "k-anonymity: each group has at least k rows"),
    },
    "recoding": {
        "mask": Key(
            TEXT,
            "pattern mask beside this file: CSV with the quasi-identifiers as header, keep, * or a level in the cells",
        ),
        "patterns": Key(LIST, "or the patterns themselves, each a list of cells in the order of the quasi-identifiers"),
        "random_patterns": Key(WHOLE, "or so many random patterns, the fully suppressed one among them"),
        "random_seed": Key(WHOLE, "seed of the random patterns; default 0"),
        "hierarchies": Key(
            TEXT, "folder beside this file with a hierarchy COLUMN.csv for some of the quasi-identifiers"
        ),
        "weights": Key(TABLE, "column = cost of suppressing one of its cells; default 1"),
        "level_costs": Key(TABLE, "column = [unit cost of each level]; default level/height"),
    },
    "problem": {
        "objective": Key(TEXT, "what is optimized; default loss", OBJECTIVES),
        "cost_bound": Key(NUMBER, "largest allowed loss (decision version)"),
        "groups": Key(WHOLE, "exact number of released row types"),
        "min_groups": Key(WHOLE, "smallest number of released row types"),
        "max_groups": Key(WHOLE, "largest number of released row types"),
        "suppressed_rows": Key(TEXT, "how fully suppressed rows count; default strict", SUPPRESSED_ROWS),
    },
    "solver": {
        "name": Key(TEXT, "highs (default), cbc or pulp:NAME"),
        "formulation": Key(TEXT, "strong (default) or textbook"),
        "time_limit": Key((int, float), "seconds"),
        "threads": Key(WHOLE, "default 1"),
        "seed": Key(WHOLE, "default 0"),
        "gap": Key((int, float), "relative gap at which to stop; default 0, a proof"),
    },
    "known": {
        "optimum": Key(NUMBER, "the optimal value"),
        "infeasible": Key(TRUTH, "true where the problem is known to have no solution"),
        "source": Key(TEXT, "who says so, or how it was computed"),
    },
}


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model file, read: the problem, the [solver] and [known] entries, and the descriptive ones."""

    path: Path
    problem: Problem
    solver: Mapping[str, Any]
    known: Mapping[str, Any]
    title: str
    source: str


def read_model(path: str | Path) -> ModelFile:
    """Read and check a model file; raises InputError that names file, key and the way out."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such model file")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no TOML file: {error}") from None
    validate(content, path)
    data = content.get("data")
    if data is None:
        raise InputError(f"{path}: the table [data] is missing")
    table = _table(data, path)
    recoding = _recoding(content.get("recoding", {}), table, path)
    privacy = [REQUIREMENTS[key](value) for key, value in content.get("privacy", {}).items()]
    if not privacy:
        raise InputError(f"{path}: [privacy] must name at least one requirement ({', '.join(REQUIREMENTS)})")
    sides = dict(content.get("problem", {}))
    exact = sides.pop("groups", None)
    if exact is not None:
        if "min_groups" in sides or "max_groups" in sides:
            raise InputError(f"{path}: [problem] groups stands for both min_groups and max_groups; name it alone")
        sides.update(min_groups=exact, max_groups=exact)
    problem = Problem(table, privacy, recoding, name=content.get("name", path.stem), **sides)
    return ModelFile(
        path,
        problem,
        content.get("solver", {}),
        content.get("known", {}),
        content.get("title", ""),
        content.get("source", ""),
    )


def validate(content: Mapping[str, Any], path: Path) -> None:
    """Check every key and the kind of its value against `SCHEMA`."""
    tables = [name for name in SCHEMA if name]
    for name, value in content.items():
        if name in SCHEMA[""]:
            _check_value(SCHEMA[""][name], value, name, path)
        elif name not in tables:
            raise InputError(f'{path}: unknown key "{name}"{nearest(name, [*tables, *SCHEMA[""]])}')
        elif not isinstance(value, dict):
            raise InputError(f"{path}: {name} must be a table: [{name}]")
        else:
            for key, entry in value.items():
                if key not in SCHEMA[name]:
                    raise InputError(f'{path}: unknown key "{key}" in [{name}]{nearest(key, list(SCHEMA[name]))}')
                _check_value(SCHEMA[name][key], entry, f"[{name}] {key}", path)


def _check_value(key: Key, value: object, where: str, path: Path) -> None:
    truth = isinstance(value, bool)
    if not isinstance(value, key.types) or (truth and bool not in key.types):
        names = {
            str: "text",
            int: "a whole number",
            float: "a number",
            list: "a list",
            dict: "a table",
            bool: "true or false",
        }
        expected = " or ".join(names[t] for t in key.types)
        raise InputError(f"{path}: {where} must be {expected}, found {kind_of(value)}")
    if key.choices and value not in key.choices:
        raise InputError(
            f"{path}: {where}: unknown value{nearest(str(value), list(key.choices))}; one of: {', '.join(key.choices)}"
        )


def _one_of(table: Mapping[str, Any], keys: Sequence[str], where: str, path: Path, *, required: bool) -> str | None:
    found = [key for key in keys if key in table]
    if len(found) > 1 or (required and not found):
        raise InputError(f"{path}: [{where}] needs {'exactly' if required else 'at most'} one of {', '.join(keys)}")
    return found[0] if found else None


def _table(data: Mapping[str, Any], path: Path) -> Table:
    origin = _one_of(data, ("file", "dataset", "generator"), "data", path, required=True)
    options = {key: data[key] for key in ("missing", "symbol") if key in data}
    qi, sensitive = data.get("quasi_identifiers"), data.get("sensitive")
    if qi is None and origin != "generator":
        raise InputError(f"{path}: [data] quasi_identifiers is missing")
    if origin == "file":
        csv = {key: data[key] for key in ("delimiter", "encoding", "rows") if key in data}
        assert qi is not None
        return read_table(path.parent / data["file"], qi, sensitive, **csv, **options)
    if origin == "dataset":
        frame = datasets.load(data["dataset"])
    else:
        try:
            frame = generators.GENERATORS[data["generator"]](**data.get("arguments", {}))
        except TypeError:
            raise InputError(f"{path}: [data] arguments do not fit the generator {data['generator']}") from None
    if "rows" in data:
        frame = frame.head(data["rows"])
    columns = qi if qi is not None else [name for name in frame.columns if name != sensitive]
    return Table.from_frame(frame, columns, sensitive, source=str(path), csv=CsvFormat(), **options)


def _recoding(entries: Mapping[str, Any], table: Table, path: Path) -> Recoding:
    weights = entries.get("weights", {})
    kind = _one_of(entries, ("mask", "patterns", "random_patterns"), "recoding", path, required=False)
    mask = None
    if kind == "mask":
        mask = PatternMask.read(path.parent / entries["mask"], weights, table.csv)
    elif kind == "patterns":
        mask = PatternMask([_cells(p, path) for p in entries["patterns"]], weights, source=str(path))
    elif kind == "random_patterns":
        mask = PatternMask.random(
            table.quasi_identifiers, entries["random_patterns"], entries.get("random_seed", 0), weights
        )
    if "hierarchies" in entries:
        return Hierarchies.read(
            path.parent / entries["hierarchies"],
            table.quasi_identifiers,
            weights=weights,
            level_costs=entries.get("level_costs", {}),
            mask=mask,
        )
    if "level_costs" in entries:
        raise InputError(f"{path}: [recoding] level_costs needs hierarchies; weights set the cost of suppressing")
    return mask if mask is not None else Suppression(weights)


def _cells(pattern: object, path: Path) -> list[Any]:
    if not isinstance(pattern, list):
        raise InputError(f"{path}: [recoding] patterns: each pattern is a list of cells")
    return pattern
