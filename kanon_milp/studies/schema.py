"""The keys of a model file: what each may hold and what it means; a file is checked against them key by key.

Imported when a model file is read: the library that checks takes a while to import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails, PydanticCustomError

from kanon_milp.errors import InputError, kind_of, nearest
from kanon_milp.formulations.goals import DIFFER
from kanon_milp.methods import registry
from kanon_milp.problem.group_costs import GROUP_COSTS
from kanon_milp.problem.group_costs.numeric import CENTERS
from kanon_milp.problem.group_recoding import GROUP_RECODINGS
from kanon_milp.problem.privacy.base import INTEGER, LIST, NUMBER, TEXT, Requirement
from kanon_milp.problem.privacy.registry import REQUIREMENTS
from kanon_milp.problem.problem import OBJECTIVES, SUPPRESSED_ROWS
from kanon_milp.studies import datasets, generators


def _converted(value: Any, convert: Callable[[Decimal], object]) -> Any:
    if isinstance(value, list):
        return [_converted(each, convert) for each in value]
    if isinstance(value, dict):
        return {key: _converted(each, convert) for key, each in value.items()}
    return convert(value) if isinstance(value, Decimal) else value


# decimal numbers as text, also within lists and tables, so that they are read exactly, or as floats; all else as it is
as_written, _as_float = partial(_converted, convert=str), partial(_converted, convert=float)


def put(content: dict[str, Any], place: str, value: Any, where: str) -> None:
    """Set a value at a place such as privacy.k or privacy.requirements.0.t, or a whole table such as privacy. Raises
    InputError for a place that there cannot be."""
    *tables, last = place.split(".")
    at: Any = content
    for table in tables:
        if isinstance(at, list) and table.isdecimal() and int(table) < len(at):
            at = at[int(table)]
        elif isinstance(at, dict):
            at = at.setdefault(table, {})
    if not isinstance(at, dict):
        raise InputError(f"{where}: {place}: {tables[-1]} is no table")
    at[last] = deepcopy(value)


def one_of(known: Callable[[], Sequence[str]]) -> AfterValidator:
    """A text that is one of these."""

    def check(value: str) -> str:
        if value not in known():
            raise PydanticCustomError("choice", "unknown value", {"known": list(known())})
        return value

    return AfterValidator(check)


# numbers of a file are integers or decimals, which are exact
Number = Annotated[int | Decimal | str, AfterValidator(as_written)]
Real = Annotated[int | Decimal, AfterValidator(_as_float)]


@dataclass(frozen=True)
class Of:
    """What a list of a file holds, for messages; whoever reads it checks its members."""

    what: str


Texts = Annotated[list[Any], Of("names")]
Integers = Annotated[list[Any], Of("integers")]
Names = str | list[Any]  # whoever reads the table says what is wrong with a name
List = Annotated[list[Any], AfterValidator(as_written)]
Entries = Annotated[dict[str, Any], AfterValidator(as_written)]
Arguments = Annotated[dict[str, Any], AfterValidator(_as_float)]


class Entry(BaseModel):
    """One table of a model file. where: as messages name it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    where: ClassVar[str] = ""


def key(meaning: str, **limits: Any) -> Any:
    """A key that may be left out."""
    return Field(None, description=meaning, **limits)


class Data(Entry):
    """The table."""

    where = "[data]"
    file: str = key("table, relative to this file: CSV (also .gz), Excel, Parquet or Arrow")
    dataset: Annotated[str, one_of(datasets.names)] = key("or a data set by name")
    generator: Annotated[str, one_of(lambda: tuple(generators.GENERATORS))] = key("or a generator by name")
    arguments: Arguments = key("arguments of the generator")
    rows: int = key("only so many of the first rows", ge=1)
    quasi_identifiers: Texts = key(
        "columns to generalize; required, except for a generator (default: all of its columns)"
    )
    sensitive: Names = key("sensitive attribute, or a list of them")
    identifying: Names = key("columns that must not be released: they are dropped")
    keep: Names = key("insensitive columns; columns without a role are kept with a warning")
    drop: Names = key("columns that identify nobody and are dropped, too")
    unit: str = key("unit of protection: the column whose different values k counts; dropped like identifying ones")
    count: str = key("of a frequency table: the column with the number of rows that a row stands for; released as well")
    delimiter: str = key("of a CSV file; default: detected if unambiguous, else , (a tab for .tsv)")
    encoding: str = key("of a CSV file; default: detected if unambiguous, else utf-8")
    header: bool | Texts = key("of a file: false if no row names the columns, or a list of their names; default true")
    missing: Annotated[str, one_of(lambda: ("value", "error", "wildcard"))] = key(
        "missing values are a value of their own (default), or refused, or match any value, as suppressed ones do then"
    )
    missing_values: Names = key('of a file: texts that stand for a missing value, such as ["NA", "?"]')
    symbol: str = key("the suppression symbol; default *")


_ANNOTATIONS: dict[tuple[type, ...], Any] = {INTEGER: int, NUMBER: Number, LIST: List, TEXT: str}


def _field(types: tuple[type, ...], meaning: str, choices: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """A field for a parameter of a requirement, as `create_model` takes it."""
    kind = _ANNOTATIONS[types]
    return (Annotated[kind, one_of(lambda: choices)] if choices else kind), key(meaning)


def _parameters(kinds: Sequence[type[Requirement]]) -> dict[str, tuple[Any, Any]]:
    """The parameters of all kinds of requirements, and which ones have each of them."""
    meanings: dict[str, dict[str, list[str]]] = {}
    found: dict[str, tuple[Any, Any]] = {}
    for kind in kinds:
        for name, parameter in kind.parameters.items():
            meanings.setdefault(name, {}).setdefault(parameter.meaning, []).append(kind.name)
            said = (f"of {' and '.join(of)}" + (f": {text}" if text else "") for text, of in meanings[name].items())
            found[name] = _field(parameter.types, "; ".join(said), parameter.choices)
    return found


class _AnyRequirement(Entry):
    where = "[[privacy.requirements]]"
    kind: Annotated[str, one_of(lambda: tuple(kind.name for kind in REQUIREMENTS.values()))] = key(
        "which requirement; required"
    )
    sensitive: Names = key("the sensitive attribute it is about; default: each one there is")


class _AnyPrivacy(Entry):
    where = "[privacy]"


class Recoding(Entry):
    """How values may be generalized."""

    where = "[recoding]"
    kind: Annotated[str, one_of(lambda: tuple(each.kind for each in GROUP_RECODINGS))] = key(
        "recoding of whole groups: microaggregation or boxes; default: each cell becomes a label, or is suppressed"
    )
    standardize: bool = key("of microaggregation: true gives all columns the same spread in the cost; default false")
    center: Annotated[str, one_of(lambda: CENTERS)] = key("of microaggregation: mean (default), median or member")
    cost: Annotated[str, one_of(lambda: tuple(GROUP_COSTS))] = key(
        "of microaggregation: sse (default), the sum of squares around the center, or l1, of absolute deviations"
    )
    mask: str = key("pattern mask: CSV file with the quasi-identifiers as header, and keep, * or a level in the cells")
    patterns: List = key("or the patterns themselves, each a list of cells in the order of the quasi-identifiers")
    random_patterns: int = key("or a number of random patterns, including the fully suppressed one", ge=1)
    random_seed: int = key("seed of the random patterns; default 0", ge=0)
    hierarchies: str = key("folder with a hierarchy COLUMN.csv for some of the quasi-identifiers")
    levels: Entries = key("column = its level, or a list of its allowed levels")
    numeric: Entries = key("column = [widths of intervals], or the arguments of Hierarchy.intervals as a table")
    quantiles: Entries = key("column = [numbers of classes], or the arguments of Hierarchy.quantiles as a table")
    dates: Entries = key(
        'column = ["month", "year"], or the arguments of Hierarchy.dates as a table; {} for the default levels'
    )
    prefix: Entries = key("column = [characters that are kept], or the arguments of Hierarchy.prefixes as a table")
    weights: Entries = key("column = cost of suppressing one of its cells; default 1")
    level_costs: Entries = key("column = [unit cost of each level]; default level/height")
    costs: str | Entries = key(
        'column = [unit cost of each level], { label = its cost } or "ncp" (share of the values that a label covers); '
        'or "ncp" for all columns'
    )


class Sides(Entry):
    """Objective, side constraints and reading."""

    where = "[problem]"
    objective: Annotated[str, one_of(lambda: OBJECTIVES)] = key(
        "what is optimized: loss (default), min_groups, max_groups, class_size or discernibility"
    )
    cost_bound: Number = key("largest allowed loss (decision version)")
    groups: int = key("exact number of released row types")
    min_groups: int = key("smallest number of released row types")
    max_groups: int = key("largest number of released row types")
    suppressed_rows: Annotated[str, one_of(lambda: SUPPRESSED_ROWS)] = key(
        "how fully suppressed rows count; default strict"
    )


class Solver(Entry):
    """How it is solved where the command line says nothing else."""

    where = "[solver]"
    name: str = key("highs (default), cbc, scip, cpsat or pulp:NAME")
    method: Annotated[str, one_of(registry.names)] = key("auto (default), milp, search or another by its name")
    formulation: str = key("strong (default), textbook, homogeneity, liang_yuan, groups, or one that is registered")
    time_limit: Real = key("seconds")
    threads: int = key("default 1")
    seed: int = key("default 0")
    gap: Real = key("relative gap at which to stop; default 0, a proof")
    node_limit: int = key("nodes of the solver")
    iteration_limit: int = key("neighbourhoods of the search")


class Solve(Entry):
    """What is asked beside one best table, where the command line says nothing else."""

    where = "[solve]"
    then: Names = key(
        "what is optimized after the objective: groups, discernibility, keep COLUMN, ..., or a list of them"
    )
    pool: int = key("number of different tables at most, the best ones first")
    pool_loss: Number = key('how much worse than the best they may be, a number or a share such as "5%"; default: any')
    pool_differ: Annotated[str, one_of(lambda: DIFFER)] = key("how they differ, in rows (default) or in columns")


class Known(Entry):
    """What the optimum is known to be."""

    where = "[known]"
    optimum: Number = key("the optimal value")
    infeasible: bool = key("true if the problem is known to have no solution")
    source: str = key("who says so, or how it was computed")


class _AnyContent(Entry):
    name: str = key("short name; default: the file's name")
    title: str = key("one line that describes the problem")
    source: str = key("where the problem comes from")
    data: Data = key("")
    parameters: Arguments = key("numbers of phases, such as cuts.share = 0.3; all others have their defaults")


def tables() -> tuple[type[Entry], ...]:
    """The tables of a model file, with the keys of the requirements that there are: all of it, then its parts."""
    return _tables(tuple(REQUIREMENTS.values()))


@cache
def _tables(kinds: tuple[type[Requirement], ...]) -> tuple[type[Entry], ...]:
    one = create_model("OneRequirement", __base__=_AnyRequirement, **_parameters(kinds))  # type: ignore[call-overload]
    privacy = create_model(  # type: ignore[call-overload]
        "Privacy",
        __base__=_AnyPrivacy,
        **{kind.letter: _field(kind.parameters[kind.letter].types, kind.summary) for kind in kinds},
        requirements=(
            list[one],  # type: ignore[valid-type]
            key("or each requirement as a table of its own, [[privacy.requirements]], with all of its arguments"),
        ),
    )
    parts = {
        "privacy": privacy,
        "recoding": Recoding,
        "problem": Sides,
        "solver": Solver,
        "solve": Solve,
        "known": Known,
    }
    content = create_model(  # type: ignore[call-overload]
        "Content", __base__=_AnyContent, **{name: (table, key("")) for name, table in parts.items()}
    )
    return content, Data, privacy, one, Recoding, Sides, Solver, Solve, Known


def meanings(table: type[Entry]) -> dict[str, str]:
    """Key → meaning, of one table of a model file; the tables within it have none of their own."""
    return {name: field.description for name, field in table.model_fields.items() if field.description}


def checked(content: dict[str, Any], path: Path | str) -> dict[str, Any]:
    """The content of a model file, checked: decimal numbers as they were written where they are exact, else floats.

    Raises InputError that names file, table and key, the kind of the value that was found, and the way out.
    """
    values = checked_as(tables()[0], content, path)
    # requirements keep the order in which the file names them
    return {**values, "privacy": {name: values["privacy"][name] for name in content.get("privacy", {})}}


def checked_as(table: type[Entry], content: dict[str, Any], path: Path | str) -> dict[str, Any]:
    """The same of a file whose outermost table is this one."""
    try:
        found = table.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{path}: {_in_words(error.errors(include_url=False)[0], content, table)}") from None
    return found.model_dump(exclude_unset=True, warnings=False)


def _in_words(error: ErrorDetails, content: Any, table: type[Entry]) -> str:
    where, value, loc = "", content, list(error["loc"])
    while True:
        name = str(loc.pop(0))
        field = table.model_fields.get(name)
        if field is None:
            inside = f" in {where}" if where else ""
            return f'unknown key "{name}"{inside}{nearest(name, list(table.model_fields))}'
        at = f"{where}{':' * where.startswith('[[')} {name}".strip()
        value, inner = value[name], _table_of(field.annotation)
        if inner is None:
            break
        if isinstance(value, list) and loc:
            number = int(loc.pop(0))
            at = where = f"{inner.where} number {number + 1}"
            value = value[number]
        else:
            where = inner.where
        if not loc:
            break
        table = inner
    match error["type"]:
        case "model_type":
            return f"{at} must be a table" + ("" if at == where else f": {where}")
        case "choice":
            known = error["ctx"]["known"]
            return f"{at}: unknown value{nearest(str(value), known)}; one of: {', '.join(known)}"
        case "greater_than_equal":
            return f"{at} must be at least {error['ctx']['ge']}, found {value}"
        case "int_type" if field.annotation is int and isinstance(value, Decimal):
            return f"{at} must be an integer, found a number with a fraction"
        case _ if isinstance(value, Decimal) and not value.is_finite():
            return f"{at} must be a finite number"
    of = "".join(f" of {each.what}" for each in field.metadata if isinstance(each, Of))
    return f"{at} must be {_expected(field.annotation)}{of}, found {kind_of(value)}"


def _table_of(annotation: Any) -> type[Entry] | None:
    inner = (*get_args(annotation), annotation)[0]
    return inner if isinstance(inner, type) and issubclass(inner, Entry) else None


_KINDS = {str: "text", int: "an integer", Decimal: "a number", list: "a list", dict: "a table", bool: "true or false"}


def _expected(annotation: Any) -> str:
    kinds = [getattr(each, "__origin__", each) for each in get_args(annotation) or [annotation]]
    if getattr(annotation, "__origin__", annotation) in _KINDS:
        kinds = [getattr(annotation, "__origin__", annotation)]
    elif Decimal in kinds:  # integers are numbers
        kinds.remove(int)
    return " or ".join(_KINDS[kind] for kind in kinds)
