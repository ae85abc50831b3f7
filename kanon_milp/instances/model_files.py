"""Model files: one declarative TOML file a problem, validated key by key."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError, kind_of, nearest, unreadable
from kanon_milp.instances import datasets, generators
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import METHODS
from kanon_milp.problem.arguments import exists, file_path
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.exact import exact_number, in_words
from kanon_milp.problem.privacy import REQUIREMENTS, Requirement
from kanon_milp.problem.problem import OBJECTIVES, SUPPRESSED_ROWS, Problem
from kanon_milp.problem.recoding import PatternMask, Recoding
from kanon_milp.problem.recoding_files import read_recoding
from kanon_milp.problem.roles import Roles
from kanon_milp.problem.table import Table, read_table


@dataclass(frozen=True)
class Key:
    """One key of a model file: what it may hold, and what it means."""

    types: tuple[type, ...]
    meaning: str
    choices: tuple[str, ...] = ()
    least: int | None = None


TEXT, WHOLE, TRUTH = (str,), (int,), (bool,)
NUMBER, LIST, TABLE = (int, float, str), (list,), (dict,)


def _parameters() -> dict[str, Key]:
    """The parameters of all kinds of requirements, and which ones have each of them."""
    meanings: dict[str, dict[str, list[str]]] = {}
    found: dict[str, Key] = {}
    for kind in REQUIREMENTS.values():
        for key, parameter in kind.parameters.items():
            meanings.setdefault(key, {}).setdefault(parameter.meaning, []).append(kind.name)
            said = (f"of {' and '.join(of)}" + (f": {text}" if text else "") for text, of in meanings[key].items())
            found[key] = Key(parameter.types, "; ".join(said), parameter.choices)
    return found


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
        "rows": Key(WHOLE, "only the first so many rows", least=1),
        "quasi_identifiers": Key(
            LIST, "columns to generalize; required, except for a generator (default: all of its columns)"
        ),
        "sensitive": Key((str, list), "sensitive attribute, or a list of them"),
        "identifying": Key((str, list), "columns that must not be released: they are dropped"),
        "keep": Key((str, list), "insensitive columns; those that are named nowhere are kept with a warning"),
        "delimiter": Key(TEXT, "of a CSV file; default , (a tab for .tsv)"),
        "encoding": Key(TEXT, "of a CSV file; default utf-8"),
        "missing": Key(TEXT, "missing values are a value of their own (default), or refused", ("value", "error")),
        "symbol": Key(TEXT, "the suppression symbol; default *"),
    },
    "privacy": {
        **{letter: Key(kind.parameters[letter].types, kind.summary) for letter, kind in REQUIREMENTS.items()},
        "requirements": Key(
            LIST,
            "or each requirement as a table of its own, [[privacy.requirements]], with all of its arguments",
        ),
    },
    "privacy.requirements": {
        "kind": Key(TEXT, "which requirement; required", tuple(kind.name for kind in REQUIREMENTS.values())),
        "sensitive": Key((str, list), "the sensitive attribute it is about; default: each one there is"),
        **_parameters(),
    },
    "recoding": {
        "mask": Key(
            TEXT,
            "pattern mask beside this file: CSV with the quasi-identifiers as header, keep, * or a level in the cells",
        ),
        "patterns": Key(LIST, "or the patterns themselves, each a list of cells in the order of the quasi-identifiers"),
        "random_patterns": Key(WHOLE, "or so many random patterns, the fully suppressed one among them", least=1),
        "random_seed": Key(WHOLE, "seed of the random patterns; default 0", least=0),
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
        "name": Key(TEXT, "highs (default), cbc, scip, cpsat or pulp:NAME"),
        "method": Key(TEXT, "auto (default), milp or search", METHODS),
        "formulation": Key(TEXT, "strong (default), textbook or groups"),
        "time_limit": Key((int, float), "seconds"),
        "threads": Key(WHOLE, "default 1"),
        "seed": Key(WHOLE, "default 0"),
        "gap": Key((int, float), "relative gap at which to stop; default 0, a proof"),
        "node_limit": Key(WHOLE, "nodes of the solver"),
        "iteration_limit": Key(WHOLE, "neighbourhoods of the search"),
    },
    "known": {
        "optimum": Key(NUMBER, "the optimal value"),
        "infeasible": Key(TRUTH, "true where the problem is known to have no solution"),
        "source": Key(TEXT, "who says so, or how it was computed"),
    },
}


class Written(float):
    """A decimal number of a model file that remembers how it was written, so that it can be read exactly."""

    text: str

    def __new__(cls, text: str) -> Written:
        """Read the number."""
        number = super().__new__(cls, text)
        number.text = text
        return number


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model file, read: the problem, the [solver] and [known] entries, and the descriptive ones."""

    path: Path
    problem: Problem
    solver: Mapping[str, Any]
    known: Mapping[str, Any]
    title: str
    source: str

    def contradiction(self, result: Result) -> str:
        """What a result says against the [known] entry; empty if it agrees, or says nothing about it."""
        where, found = f"{self.path}: [known]", result.exact_objective
        if self.known.get("infeasible") and result.verified:
            return f"{where} infeasible = true is wrong: there is a verified table with objective {in_words(found)}"
        if "optimum" not in self.known:
            return ""
        optimum = exact_number(self.known["optimum"], f"{where} optimum")
        wrong = f"{where} optimum = {in_words(optimum)} is wrong: "
        if result.proof == "infeasible":
            return f"{wrong}the problem is proven infeasible"
        if found is None or not result.verified or found == optimum:
            return ""
        if result.is_optimal:
            return f"{wrong}the proven and verified optimum is {in_words(found)}"
        better = found > optimum if self.problem.objective == "max_groups" else found < optimum
        return f"{wrong}a verified table has {in_words(found)}" if better else ""


def read_model(path: str | Path) -> ModelFile:
    """Read and check a model file; raises InputError that names file, key and the way out."""
    path = file_path(path, "path of a model file")
    if not exists(path, Path.is_file):
        raise InputError(f"{path}: no such model file")
    content = _parse(path)
    validate(content, path)
    content.update(
        {name: _exact(content[name]) for name in ("privacy", "recoding", "problem", "known") if name in content}
    )
    data = content.get("data")
    if data is None:
        raise InputError(f"{path}: the table [data] is missing")
    table = _table(data, path)
    recoding = _recoding(content.get("recoding", {}), table, path)
    privacy = _privacy(content.get("privacy", {}), table, path)
    sides = dict(content.get("problem", {}))
    exact = sides.pop("groups", None)
    if exact is not None:
        if "min_groups" in sides or "max_groups" in sides:
            raise InputError(f"{path}: [problem] groups stands for both min_groups and max_groups; name it alone")
        sides.update(min_groups=exact, max_groups=exact)
    known = content.get("known", {})
    if "optimum" in known:
        exact_number(known["optimum"], f"{path}: [known] optimum")
    problem = Problem(table, privacy, recoding, name=content.get("name", path.stem), **sides)
    return ModelFile(
        path,
        problem,
        content.get("solver", {}),
        known,
        content.get("title", ""),
        content.get("source", ""),
    )


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Written)
    except OSError as error:
        raise InputError(f"{path}: {unreadable(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is no TOML file: {error}") from None
    except (RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no TOML file: {unreadable(error)}") from None
    except ValueError:  # of Python, which converts no more than so many digits
        raise InputError(f"{path}: a number has too many digits, or a date is none") from None


def validate(content: Mapping[str, Any], path: Path) -> None:
    """Check every key and the kind of its value against `SCHEMA`."""
    tables = [name for name in SCHEMA if name and "." not in name]
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
    for number, entries in enumerate(content.get("privacy", {}).get("requirements", []), 1):
        where = f"[[privacy.requirements]] number {number}"
        if not isinstance(entries, dict):
            raise InputError(f"{path}: {where} must be a table")
        known = SCHEMA["privacy.requirements"]
        for key, entry in entries.items():
            if key not in known:
                raise InputError(f'{path}: unknown key "{key}" in {where}{nearest(key, list(known))}')
            _check_value(known[key], entry, f"{where}: {key}", path)


def _check_value(key: Key, value: object, where: str, path: Path) -> None:
    truth = isinstance(value, bool)
    if not isinstance(value, key.types) or (truth and bool not in key.types):
        names = {
            str: "text",
            int: "an integer",
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
    if key.least is not None and isinstance(value, int) and value < key.least:
        raise InputError(f"{path}: {where} must be at least {key.least}, found {value}")


def _one_of(table: Mapping[str, Any], keys: Sequence[str], where: str, path: Path, *, required: bool) -> str | None:
    found = [key for key in keys if key in table]
    if len(found) > 1 or (required and not found):
        raise InputError(f"{path}: [{where}] needs {'exactly' if required else 'at most'} one of {', '.join(keys)}")
    return found[0] if found else None


def _table(data: Mapping[str, Any], path: Path) -> Table:
    origin = _one_of(data, ("file", "dataset", "generator"), "data", path, required=True)
    options = {key: data[key] for key in ("identifying", "keep", "missing", "symbol") if key in data}
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
        except (TypeError, OverflowError):
            raise InputError(f"{path}: [data] arguments do not fit the generator {data['generator']}") from None
    if "rows" in data:
        frame = frame.head(min(data["rows"], frame.height))
    others = Roles.of((), sensitive, data.get("identifying"), data.get("keep"))
    columns = qi if qi is not None else others.unclassified(frame.columns)
    return Table.from_frame(frame, columns, sensitive, source=str(path), csv=CsvFormat(), **options)


def _privacy(entries: Mapping[str, Any], table: Table, path: Path) -> list[Requirement]:
    found = [REQUIREMENTS[key](**{key: value}) for key, value in entries.items() if key in REQUIREMENTS]
    kinds = {kind.name: kind for kind in REQUIREMENTS.values()}
    for number, given in enumerate(entries.get("requirements", []), 1):
        where = f"{path}: [[privacy.requirements]] number {number}"
        arguments = dict(given)
        kind = kinds.get(arguments.pop("kind", None))
        if kind is None:
            raise InputError(f"{where}: kind is missing; one of: {', '.join(kinds)}")
        known = {*kind.parameters, "sensitive"}
        takes = {f.name: f for f in dataclasses.fields(kind) if f.name in known}  # type: ignore[arg-type]
        for key in arguments:
            if key not in takes:
                raise InputError(f'{where}: {kind.name} has no "{key}"{nearest(key, list(takes))}; {", ".join(takes)}')
        for key, taken in takes.items():
            if taken.default is dataclasses.MISSING and key not in arguments:
                raise InputError(f"{where}: {kind.name} needs {key}")
        found.append(kind.read(arguments, path.parent, table.csv.encoding))
    if not found:
        raise InputError(f"{path}: [privacy] must name at least one requirement ({', '.join(REQUIREMENTS)})")
    return found


def _exact(value: Any) -> Any:
    """Numbers as they were written, also within lists and tables; everything else as it is."""
    if isinstance(value, list):
        return [_exact(each) for each in value]
    if isinstance(value, dict):
        return {key: _exact(each) for key, each in value.items()}
    return value.text if isinstance(value, Written) else value


def _recoding(entries: Mapping[str, Any], table: Table, path: Path) -> Recoding:
    weights = entries.get("weights", {})
    kind = _one_of(entries, ("mask", "patterns", "random_patterns"), "recoding", path, required=False)
    mask: PatternMask | Path | None = None
    if kind == "mask":
        mask = path.parent / entries["mask"]
    elif kind == "patterns":
        mask = PatternMask([_cells(p, path) for p in entries["patterns"]], weights, source=str(path))
    elif kind == "random_patterns":
        mask = PatternMask.random(
            table.quasi_identifiers, entries["random_patterns"], entries.get("random_seed", 0), weights
        )
    folder = path.parent / entries["hierarchies"] if "hierarchies" in entries else None
    if folder is None and "level_costs" in entries:
        raise InputError(f"{path}: [recoding] level_costs needs hierarchies; weights set the cost of suppressing")
    return read_recoding(table.quasi_identifiers, mask, folder, weights, entries.get("level_costs"), table.csv.encoding)


def _cells(pattern: object, path: Path) -> list[Any]:
    if not isinstance(pattern, list):
        raise InputError(f"{path}: [recoding] patterns: each pattern is a list of cells")
    return pattern
