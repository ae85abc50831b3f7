"""Model files: one declarative TOML file a problem, validated key by key; a library of them comes with the package."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

from kanon_milp.errors import InputError, nearest, unreadable
from kanon_milp.formulations.goals import DIFFER, checked_goals
from kanon_milp.methods.result import Result
from kanon_milp.methods.table_pool import checked_pool
from kanon_milp.problem.arguments import exists, file_path
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.exact import exact_number, in_words
from kanon_milp.problem.generalization import WAYS
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.privacy.registry import REQUIREMENTS
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Makers, PatternMask, Recoding, made_hierarchies, read_recoding
from kanon_milp.problem.roles import Roles
from kanon_milp.problem.table import Table, read_table
from kanon_milp.studies import datasets, generators
from kanon_milp.system.files import check_folder, holding, write_together
from kanon_milp.system.parameters import Parameters


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model file, read: the problem, the [solver], [solve] and [known] entries, and the descriptive ones.

    solve: arguments of `solve`: `then`, `pool`, `pool_loss`, `pool_differ`.
    """

    path: Path
    problem: Problem
    solver: Mapping[str, Any]
    known: Mapping[str, Any]
    title: str
    source: str
    solve: Mapping[str, Any] = field(default_factory=dict)

    def contradiction(self, result: Result) -> str:
        """What a result says against the [known] entry; empty if it agrees, or says nothing about it."""
        where, found = f"{self.path}: [known]", result.exact_objective
        if self.known.get("infeasible") and result.verified:
            return f"{where} infeasible = true is wrong: there is a verified table with {result.goal} {in_words(found)}"
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
    """Read and check a model file; raises InputError that names file, key and the way out.

    path: a file, or the name of a model of the library that comes with the package, such as "hospital".
    """
    path = file_path(path, "path of a model file")
    if not path.suffix and len(path.parts) == 1 and not exists(path, Path.exists):
        path = library_model(path.name)
    if not exists(path, Path.is_file):
        raise InputError(f"{path}: no such model file")
    return read_content(parse_toml(path), path)


def read_content(raw: Mapping[str, Any], path: Path, table: Table | None = None) -> ModelFile:
    """The model file with this content. path: names are relative to its folder, and messages name it. table: in place
    of the one that it names."""
    from kanon_milp.studies.schema import checked  # takes a while to import

    content = checked(dict(raw), path)
    data = content.get("data")
    if data is None:
        raise InputError(f"{path}: the table [data] is missing")
    table = _table(data, path) if table is None else table
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
    solver = dict(content.get("solver", {}))
    if "parameters" in content:
        solver["parameters"] = _parameters(content["parameters"], path)
    asked = dict(content.get("solve", {}))
    try:
        checked_goals(asked.get("then", ()), problem)
        checked_pool(asked.get("pool"), asked.get("pool_loss"), asked.get("pool_differ", DIFFER[0]))
    except InputError as error:
        raise InputError(f"{path}: [solve] {error}") from None
    return ModelFile(path, problem, solver, known, content.get("title", ""), content.get("source", ""), asked)


def _parameters(content: Mapping[str, Any], path: Path) -> Mapping[str, float]:
    """Numbers of phases by name. Raises InputError for a name that there is not, and a value that it may not have."""
    values: dict[str, Any] = {}
    for kind, numbers in content.items():  # cuts.share = 0.3 is a table in a table
        values.update(
            {f"{kind}.{n}": x for n, x in numbers.items()} if isinstance(numbers, Mapping) else {kind: numbers}
        )
    try:
        return Parameters(values).values
    except InputError as error:
        raise InputError(f"{path}: [parameters] {error}") from None


def parse_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file, numbers with a fraction as Decimal. Raises InputError for a file that is none."""
    if exists(path) and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: is a pipe or a device, not a file; write into a file what it gives, and name that")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise InputError(f"{path}: {unreadable(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not a TOML file: {error}") from None
    except (RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {unreadable(error)}") from None
    except ValueError:  # of Python, which converts no more than so many digits
        raise InputError(f"{path}: a number has too many digits, or a date does not exist") from None


def named_file(path: Path, name: str) -> Path:
    """The file or folder that a model file or study names, relative to its own folder. `$NAME` and `${NAME}` stand for
    environment variables. Raises InputError where one is not set."""
    try:
        return path.parent / Template(name).substitute(os.environ)
    except KeyError as missing:
        variable = missing.args[0]
        raise InputError(f'{path}: "{name}" needs the environment variable {variable}, which is not set') from None
    except ValueError:
        raise InputError(f'{path}: "{name}": a dollar sign begins a variable; write $$ for the sign itself') from None


def _one_of(table: Mapping[str, Any], keys: Sequence[str], where: str, path: Path, *, required: bool) -> str | None:
    found = [key for key in keys if key in table]
    if len(found) > 1 or (required and not found):
        raise InputError(f"{path}: [{where}] needs {'exactly' if required else 'at most'} one of {', '.join(keys)}")
    return found[0] if found else None


def _table(data: Mapping[str, Any], path: Path) -> Table:
    kind = _one_of(data, ("file", "dataset", "generator"), "data", path, required=True)
    known = ("identifying", "keep", "drop", "unit", "count", "missing", "symbol")
    options = {key: data[key] for key in known if key in data}
    qi, sensitive = data.get("quasi_identifiers"), data.get("sensitive")
    if qi is None and kind != "generator":
        raise InputError(f"{path}: [data] quasi_identifiers is missing")
    if kind == "file":
        csv = {key: data[key] for key in ("delimiter", "encoding", "missing_values", "header", "rows") if key in data}
        assert qi is not None
        return read_table(named_file(path, data["file"]), qi, sensitive, **csv, **options)
    if kind == "dataset":
        frame = datasets.load(data["dataset"])
    else:
        try:
            frame = generators.GENERATORS[data["generator"]](**data.get("arguments", {}))
        except (TypeError, OverflowError):
            raise InputError(f"{path}: [data] arguments do not fit the generator {data['generator']}") from None
    if "rows" in data:
        frame = frame.head(min(data["rows"], frame.height))
    others = Roles.of((), sensitive, *map(data.get, ("identifying", "keep", "unit", "drop", "count")))
    columns = qi if qi is not None else others.unclassified(frame.columns)
    return Table.from_frame(frame, columns, sensitive, source=str(path), csv=CsvFormat.asked(None), **options)


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
        found.append(kind.read(arguments, path.parent, table.csv.named_encoding))
    if not found:
        raise InputError(f"{path}: [privacy] must name at least one requirement ({', '.join(REQUIREMENTS)})")
    return found


def _recoding(entries: Mapping[str, Any], table: Table, path: Path) -> Recoding:
    weights = entries.get("weights", {})
    kind = _one_of(entries, ("mask", "patterns", "random_patterns"), "recoding", path, required=False)
    mask: PatternMask | Path | None = None
    if kind == "mask":
        mask = named_file(path, entries["mask"])
    elif kind == "patterns":
        if not all(isinstance(pattern, list) for pattern in entries["patterns"]):
            raise InputError(f"{path}: [recoding] patterns: each pattern is a list of cells")
        mask = PatternMask(entries["patterns"], weights, source=str(path))
    elif kind == "random_patterns":
        mask = PatternMask.random(
            table.quasi_identifiers, entries["random_patterns"], entries.get("random_seed", 0), weights
        )
    folder = named_file(path, entries["hierarchies"]) if "hierarchies" in entries else None
    makers = _makers(entries, path)
    for name in ("level_costs", "costs"):
        if folder is None and not makers and name in entries:
            raise InputError(f"{path}: [recoding] {name} needs hierarchies; weights set the cost of suppressing")
    return read_recoding(
        table.quasi_identifiers, mask, folder, weights, entries.get("level_costs"), table.csv.named_encoding,
        made_hierarchies(table, makers), entries.get("costs"), entries.get("levels"), _of_groups(entries, path),
    )  # fmt: skip


def _of_groups(entries: Mapping[str, Any], path: Path) -> dict[str, Any] | None:
    given = {name: entries[name] for name in ("standardize", "center", "cost") if name in entries}
    if given and "kind" not in entries:
        raise InputError(f'{path}: [recoding] {next(iter(given))} is for kind = "microaggregation"; name that too')
    return {"kind": entries["kind"], **given} if "kind" in entries else None


def _makers(entries: Mapping[str, Any], path: Path) -> Makers:
    """Column → what makes its hierarchy, of the keys numeric, quantiles, dates and prefix."""
    found: dict[str, Callable[..., Hierarchy]] = {}
    for way, (name, first) in WAYS.items():
        make = getattr(Hierarchy, name)
        known = [each for each in inspect.signature(make).parameters if each not in ("column", "source")]
        for column, given in entries.get(way, {}).items():
            where = f'{path}: [recoding] {way}: column "{column}"'
            if column in found:
                raise InputError(f"{where} has a hierarchy already; name it once")
            if not isinstance(given, Mapping):
                arguments = {first: given}
            elif strange := [each for each in given if each not in known]:
                raise InputError(f'{where}: unknown key "{strange[0]}"{nearest(strange[0], known)}; {", ".join(known)}')
            else:
                arguments = dict(given)
            if first not in arguments and way in ("numeric", "prefix"):
                raise InputError(f"{where}: {first} is missing")
            found[column] = partial(make, **arguments)
    return found


SUFFIX = ".toml"


@dataclass(frozen=True)
class LibraryModel:
    """A model of the library. optimum: as it is written, "infeasible", or "" where it is not known."""

    name: str
    title: str
    optimum: str
    path: Path


def library_folder() -> Path:
    """Where the library is: in the installed package, or beside it in a working copy."""
    package = Path(__file__).parents[1]
    for place in (package / "models", package.parent / "models"):
        if place.is_dir():
            return place
    raise InputError("the model library is not part of this installation")


def library_models() -> list[LibraryModel]:
    """All models by name."""
    return [listed_model(path) for path in sorted(library_folder().glob(f"*{SUFFIX}"))]


def library_model(name: str) -> Path:
    """The model file of this name; raises InputError where there is none."""
    known = [path.stem for path in library_folder().glob(f"*{SUFFIX}")]
    if name not in known:
        hint = f"{nearest(name, known)}; kanon-milp models lists them"
        raise InputError(f"{name}: no such model file, nor a model of the library{hint}")
    return library_folder() / f"{name}{SUFFIX}"


def copy_model(name: str, target: Path) -> list[Path]:
    """Write the model file and what it reads to a folder; returns the paths."""
    path, folder = library_model(name), library_folder()
    text = path.read_text(encoding="utf-8")
    inside = [each.relative_to(folder) for each in sorted(folder.rglob("*")) if each.is_file()]

    def named(place: Path) -> bool:  # perhaps behind a word ("matrix:FILE")
        return re.search(rf'[":]{re.escape(place.as_posix())}"', text) is not None

    # a file that the model names, or one in a folder that it names
    files = [path.relative_to(folder), *(f for f in inside if any(map(named, (f, *f.parents[:-1]))))]
    written = []
    for place in dict.fromkeys(file.parent for file in reversed(files)):  # the model file is the last
        inside = [file for file in files if file.parent == place]
        check_folder(target / place, [file.name for file in inside])
        (target / place).mkdir(parents=True, exist_ok=True)
        write_together(target / place, {file.name: holding((library_folder() / file).read_bytes()) for file in inside})
        written += [target / file for file in inside]
    return written


def listed_model(path: Path) -> LibraryModel:
    """What a model file of the library says of itself."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    known = content.get("known", {})
    optimum = "infeasible" if known.get("infeasible") else str(known.get("optimum", ""))
    return LibraryModel(path.stem, content.get("title", ""), optimum, path)
