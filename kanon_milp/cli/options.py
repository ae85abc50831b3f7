"""Options that several commands have, in groups: a dataclass, whose fields are options of each command with such a
parameter (`grouped`)."""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_type_hints

import typer

from kanon_milp.cli.help import (
    objective_option,
    output_option,
    privacy_option,
    recoding_option,
    solving_option,
    table_option,
)
from kanon_milp.errors import InputError
from kanon_milp.problem.column_values import DECIMALS
from kanon_milp.problem.costs import NCP
from kanon_milp.problem.databases import Database, as_files, is_address, location
from kanon_milp.problem.group_costs.numeric import Center
from kanon_milp.problem.hierarchies import Hierarchy
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.privacy.base import INTEGER, Requirement
from kanon_milp.problem.privacy.registry import REQUIREMENTS, swept_kinds
from kanon_milp.problem.problem import Objective, Problem, SuppressedRows
from kanon_milp.problem.recoding import Makers, Recoding, made_hierarchies, read_recoding
from kanon_milp.problem.side_files import read_label_costs
from kanon_milp.problem.table import (
    ARROW_SUFFIXES,
    CSV_SUFFIXES,
    EXCEL_SUFFIXES,
    PARQUET_SUFFIXES,
    Missing,
    Table,
    read_table,
)
from kanon_milp.studies.model_files import ModelFile, read_model
from kanon_milp.verify.tables import MissingKeys

MOST_VALUES = 10_000  # in a range; more are a slip of the pen
TABLES = (*CSV_SUFFIXES, *EXCEL_SUFFIXES, *PARQUET_SUFFIXES, *ARROW_SUFFIXES)

SweptWeights = Annotated[
    list[str] | None,
    recoding_option(metavar="ZIP=1,2,5", help="Try these weights of a column, one by one; once for each column."),
]
ModelPath = Annotated[
    Path | None, typer.Argument(metavar="MODEL.toml", help="Model file. Without one, name a table with --data.")
]
TableFile = Annotated[
    Any,  # a path or a database, which typer would not take as a union
    typer.Argument(
        metavar="FILE", parser=location, help="Table: CSV (also .gz), Excel, Parquet, Arrow; a database with --query."
    ),
]
Qi = Annotated[list[str] | None, table_option("--qi", metavar="A,B,C", help="Quasi-identifiers, separated by commas.")]
Sensitive = Annotated[list[str] | None, table_option("--sensitive", metavar="D", help="Sensitive attributes.")]
Count = Annotated[
    str | None,
    table_option("--count", metavar="N", help="Frequency table: column with the number of rows that a row stands for."),
]
Reading = Annotated[
    SuppressedRows | None,
    table_option(
        "--suppressed-rows",
        help="strict (default): fully suppressed rows are a group like any other; exempt: they need no partners.",
    ),
]
Symbol = Annotated[str, table_option("--symbol", help="Suppression symbol.")]
MissingValues = Annotated[
    Missing,
    table_option(
        "--missing",
        help="Missing values. value: one of their own; error: refused; wildcard: match any, as suppressed ones do.",
    ),
]
MissingAsKeys = Annotated[
    MissingKeys,
    table_option(
        "--missing-keys", help="Missing, suppressed cells. own: values of their own; match: any value (sdcMicro)."
    ),
]
RowId = Annotated[
    str | None,
    table_option(
        "--id", metavar="COLUMN", help="Column that matches released to original rows, in any order, also with gaps."
    ),
]
Seed = Annotated[int, solving_option("--seed", help="Random seed.")]
Json = Annotated[bool, output_option("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, output_option("--quiet", "-q", help="Print nothing but errors.")]
FormulationName = Annotated[
    str | None,
    solving_option("--formulation", help="strong (default), textbook, homogeneity, liang_yuan, groups, or your own."),
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its groups, each in the place of its group."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())
    keyword = inspect.Parameter.KEYWORD_ONLY
    flat = [each.replace(kind=keyword) for parameter in own for each in _options(parameter)]

    @wraps(command)
    def wrapped(**given: Any) -> None:
        command(**{each.name: _made(each.annotation, each.name, given) for each in own})

    wrapped.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in flat}
    return wrapped


def _options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    kind = parameter.annotation
    if not is_dataclass(kind):
        yield parameter
        return
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        option = inspect.Parameter(each.name, parameter.kind, default=each.default, annotation=hints[each.name])
        yield from _options(option)


def _made(kind: Any, name: str, given: dict[str, Any]) -> Any:
    if not (is_dataclass(kind) and isinstance(kind, type)):
        return given[name]
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{each.name: _made(hints[each.name], each.name, given) for each in fields(kind)})


def named(group: Any) -> Iterator[str]:
    """The options of a group that say something else than they do by default."""
    for each in fields(group):
        value = getattr(group, each.name)
        if is_dataclass(value):
            yield from named(value)
        elif value != each.default:
            yield f"--{each.name.replace('_', '-')}"


@dataclass(frozen=True)
class FileOptions:
    """How the table of a file or a database is read."""

    query: Annotated[
        str | None, table_option(metavar="SQL", help="SQL query that selects the rows of a database, with order by.")
    ] = None
    delimiter: Annotated[
        str | None,
        table_option(
            help="Delimiter of the table (hierarchies and masks have their own), such as ; or tab; default: detected "
            "if unambiguous, else a comma."
        ),
    ] = None
    encoding: Annotated[
        str | None, table_option(help="Encoding of CSV files; default: detected if unambiguous, else UTF-8.")
    ] = None
    missing_values: Annotated[
        list[str] | None, table_option(metavar="NA,?", help="Texts that stand for a missing value.")
    ] = None
    no_header: Annotated[
        bool,
        table_option("--no-header", help="The table has no header row; its columns are called column_1, column_2, ..."),
    ] = False
    header: Annotated[
        list[str] | None,
        table_option(metavar="A,B,C", help="Names of the columns of a table without a header row."),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """These as `read_table` takes them."""
        if self.no_header and self.header:
            raise InputError("--header names the columns of a table without a header row; leave --no-header out")
        return {
            "query": self.query,
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "missing_values": names(self.missing_values, "--missing-values", required=False),
            "header": names(self.header, "--header") if self.header else not self.no_header,
        }


@dataclass(frozen=True)
class RoleOptions:
    """The roles of columns."""

    qi: Qi = None
    sensitive: Sensitive = None
    identifying: Annotated[
        list[str] | None, table_option(metavar="E,F", help="Columns that must not be released; they are dropped.")
    ] = None
    drop: Annotated[
        list[str] | None, table_option(metavar="I,J", help="Columns that identify nobody and are dropped, too.")
    ] = None
    keep: Annotated[
        list[str] | None, table_option(metavar="G,H", help="Insensitive columns: kept as they are, without a warning.")
    ] = None
    unit: Annotated[
        str | None,
        table_option(metavar="U", help="Column that says whose row it is, such as patient: k counts its values."),
    ] = None
    count: Count = None

    def arguments(self, *, required: bool = True) -> dict[str, Any]:
        """These as `read_table` takes them. required: whether quasi-identifiers must be named."""
        unit = names(None if self.unit is None else [self.unit], "--unit", required=False)
        if len(unit) > 1:
            raise InputError("--unit takes one column; join several into one first")
        count = names(None if self.count is None else [self.count], "--count", required=False)
        if len(count) > 1:
            raise InputError("--count takes one column")
        return {
            "quasi_identifiers": names(self.qi, "--qi", required=required),
            "sensitive": names(self.sensitive, "--sensitive", required=False),
            "identifying": names(self.identifying, "--identifying", required=False),
            "drop": names(self.drop, "--drop", required=False),
            "keep": names(self.keep, "--keep", required=False),
            "unit": unit[0] if unit else None,
            "count": count[0] if count else None,
        }


C = TypeVar("C", bound=type)


def options_of_requirements(group: C) -> C:
    """Give a class, of which a group of options will be made, one for each parameter that has an option."""
    for kind, parameter in OPTIONS.values():
        option, declared = kind.option(parameter), kind.parameters[parameter]
        form: Any = int if declared.types == INTEGER else str
        shown = privacy_option(option, metavar=declared.metavar, help=declared.help)
        swept = getattr(group, "SWEPT", False) and kind.swept is not None and parameter == kind.letter
        if swept and kind.swept is not None:
            metavar = "A..B,C" if ".." in kind.swept.example else "A,B"
            form, help_ = str, f"Values of {kind.letter}, such as {kind.swept.example}."
            shown = privacy_option(option, metavar=metavar, help=help_)
        name = field_name(option)
        group.__annotations__[name] = Annotated[form if declared.usual else form | None, shown]
        setattr(group, name, declared.usual)
    return group


def field_name(option: str) -> str:
    """Of the option in a group, such as l_form for --l-form."""
    return option.removeprefix("--").replace("-", "_")


# field of the options below → the requirement and its parameter
OPTIONS = {
    field_name(option): (kind, parameter)
    for kind in REQUIREMENTS.values()
    for parameter in kind.parameters
    if (option := kind.option(parameter))
}


@dataclass(frozen=True)
@options_of_requirements
class PrivacyOptions:
    """What each group must have."""

    k_of: Annotated[
        list[str] | None,
        privacy_option(
            "--k-of",
            metavar="A,B=5",
            help="k-anonymity of a set of quasi-identifiers, with its own k; once for each set.",
        ),
    ] = None

    def requirements(self, *, required: bool = True) -> list[Requirement]:
        """The requirements that they ask for."""
        found = []
        for letter, kind in REQUIREMENTS.items():
            given = {parameter: getattr(self, name) for name, (of, parameter) in OPTIONS.items() if of is kind}
            if given[letter] is not None:
                found.append(kind(**given))
            for parameter, value in given.items():
                if given[letter] is None and value != kind.parameters[parameter].usual:
                    asked = kind.option(letter)
                    raise InputError(f"{kind.option(parameter)} says how {asked} is meant; name {asked} too")
        for entry in self.k_of or []:
            columns, _, k = entry.rpartition("=")
            if not columns:
                raise InputError("--k-of is COLUMNS=K, once for each set, as in --k-of age,sex=5 --k-of zip=10")
            found.append(KAnonymity(integer(k, "--k-of"), names([columns], "--k-of")))
        if required and not found:
            raise InputError("name what each group must have: --k 5")
        return found

    @property
    def files(self) -> list[Path]:
        """The files that they name."""
        named = [getattr(self, name) for name, (kind, parameter) in OPTIONS.items() if kind.parameters[parameter].files]
        found = [Path(path) for _, colon, path in (each.partition(":") for each in named) if colon]
        plain = [name for name, (kind, parameter) in OPTIONS.items() if kind.parameters[parameter].metavar == "FILE"]
        return [*found, *(Path(path) for name in plain if (path := getattr(self, name)) is not None)]


@dataclass(frozen=True)
@options_of_requirements
class SweptPrivacyOptions(PrivacyOptions):
    """The same with lists of values for what can be swept, such as k, l and t."""

    SWEPT: ClassVar[bool] = True

    def lists(self) -> dict[str, list[str]]:
        """The values of each parameter that has some."""
        given = {letter: getattr(self, letter) for letter in swept_kinds()}
        named = {letter: kind.option(letter) for letter, kind in swept_kinds().items()}
        return {letter: values(text, named[letter]) for letter, text in given.items() if text is not None}

    def without_lists(self) -> SweptPrivacyOptions:
        """All else."""
        return replace(self, **dict.fromkeys(swept_kinds()))

    def requirements(self, *, required: bool = True) -> list[Requirement]:
        """The requirements with the first value of each list."""
        first: dict[str, Any] = {letter: found[0] for letter, found in self.lists().items()}
        for letter, value in first.items():
            if REQUIREMENTS[letter].parameters[letter].types == INTEGER:
                first[letter] = integer(value, REQUIREMENTS[letter].option(letter))
        return PrivacyOptions(**{**vars(self), **first}).requirements(required=required)


@dataclass(frozen=True)
class RecodingOptions:
    """What quasi-identifiers may become, and at which cost."""

    kind: Annotated[
        Literal["microaggregation", "boxes"] | None,
        recoding_option(
            "--recoding",
            help="Recoding of whole groups: microaggregation (a mean) or boxes (intervals and sets); default: each "
            "cell becomes a label, or is suppressed.",
        ),
    ] = None
    standardize: Annotated[
        bool, recoding_option("--standardize", help="Microaggregation: give all columns the same spread in the cost.")
    ] = False
    center: Annotated[
        Center | None, recoding_option(help="Microaggregation: center of a group, mean (default), median or member.")
    ] = None
    cost: Annotated[
        str | None,
        recoding_option(
            metavar="NAME",
            help="Microaggregation: sse (default), sum of squares; l1, of absolute deviations; or a registered cost.",
        ),
    ] = None
    mask: Annotated[
        Path | None,
        recoding_option(metavar="FILE", help="Pattern mask: CSV file with keep, * or a level in the cells."),
    ] = None
    hierarchies: Annotated[
        Path | None, recoding_option(metavar="DIR", help="Folder with hierarchy files COLUMN.csv.")
    ] = None
    numeric: Annotated[
        list[str] | None,
        recoding_option(
            metavar="AGE=5,10,20",
            help="Numbers as intervals of these widths, one level each. 'AGE=5,<18,>=90': one interval below 18 and "
            "one from 90 on. PAY=100,comma: decimals have a comma.",
        ),
    ] = None
    quantiles: Annotated[
        list[str] | None,
        recoding_option(metavar="PAY=16,4", help="Numbers as so many classes of about equally many rows."),
    ] = None
    dates: Annotated[
        list[str] | None,
        recoding_option(
            metavar="BORN",
            help="Dates as month, quarter and year, or as named: BORN=month,5years,decade. BORN=%d.%m.%Y says how "
            "they are written.",
        ),
    ] = None
    prefix: Annotated[
        list[str] | None, recoding_option(metavar="ZIP=4,2", help="Codes as so many of their first characters.")
    ] = None
    level: Annotated[
        list[str] | None,
        recoding_option(metavar="AGE=2", help="The level of a column, or its allowed levels (AGE=1,2)."),
    ] = None
    weight: Annotated[
        list[str] | None, recoding_option(metavar="A=2", help="Cost of suppressing a cell of a column.")
    ] = None
    costs: Annotated[
        list[str] | None,
        recoding_option(
            metavar="AGE=0,1/4,1",
            help="Costs of a column: of each level; of each label, from a file label,cost (JOB=costs.csv); or "
            "JOB=ncp, the share of the values that a label covers. ncp alone: of all columns.",
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """These as `verify_files` takes them."""
        weights = {}
        for entry in self.weight or []:
            name, equals, value = entry.rpartition("=")
            if not equals:
                raise InputError(
                    "a weight is COLUMN=NUMBER, once for each column, as in --weight age=2 --weight sex=1/2"
                )
            if name in weights:
                raise InputError(f'--weight names column "{name}" twice')
            weights[name] = value
        return {
            "mask": self.mask,
            "hierarchies": self.hierarchies,
            "makers": self._makers(),
            "weights": weights,
            "costs": self._costs(),
            "levels": self._levels(),
            "of_groups": self._of_groups(),
        }

    def _of_groups(self) -> dict[str, Any] | None:
        """The recoding of whole groups with its arguments."""
        given = {"standardize": self.standardize, "center": self.center, "cost": self.cost}
        for name, value in given.items():
            if value and self.kind is None:
                raise InputError(f"--{name} is for microaggregation; name that too: --recoding microaggregation")
        return None if self.kind is None else {"kind": self.kind, **given}

    def _levels(self) -> dict[str, list[str]]:
        """Column → the levels that it may have."""
        found: dict[str, list[str]] = {}
        for entry in self.level or []:
            name, equals, given = entry.rpartition("=")
            if not equals or name in found:
                raise InputError("--level is COLUMN=LEVEL, or COLUMN=1,2, once for each column, as in --level age=2")
            found[name] = split(given)
        return found

    def _costs(self) -> dict[str, Any] | str:
        """Column → its costs, as `Hierarchies` takes them."""
        if self.costs == [NCP]:
            return NCP
        found: dict[str, Any] = {}
        for entry in self.costs or []:
            name, equals, given = entry.rpartition("=")
            if not equals or name in found:
                raise InputError(
                    "--costs is COLUMN=NUMBERS, COLUMN=FILE.csv or COLUMN=ncp, once for each column, as in --costs "
                    "age=0,1/4,1, or ncp alone"
                )
            read = given.lower().endswith(".csv")
            found[name] = read_label_costs(Path(given)) if read else given if given == NCP else split(given)
        return found

    def _makers(self) -> Makers:
        """Column → what makes its hierarchy, from the values of the column and what messages call it."""
        ways: dict[str, tuple[list[str] | None, Callable[[list[str]], Callable[..., Hierarchy]]]] = {
            "--numeric age=5,10,20": (
                self.numeric,
                lambda given: partial(Hierarchy.intervals, **intervals(given)),
            ),
            "--quantiles pay=16,4": (
                self.quantiles,
                lambda given: partial(Hierarchy.quantiles, **numbers("counts", given)),
            ),
            "--dates born=month,year": (self.dates, _dates),
            "--prefix zip=4,2": (self.prefix, lambda given: partial(Hierarchy.prefixes, lengths=integers(given))),
        }
        found: dict[str, Callable[..., Hierarchy]] = {}
        for example, (entries, make) in ways.items():
            for entry in entries or []:
                name, equals, values = column_and_values(entry)
                if not equals and example.startswith("--dates"):
                    name, values = values, ""
                elif not name or not values:
                    raise InputError(f"{example.split(maxsplit=1)[0]} is written COLUMN=VALUES, as in {example}")
                if name in found:
                    raise InputError(f'{example.split()[0]}: column "{name}" has a hierarchy already; name it once')
                found[name] = make(split(values))
        return found

    def recoding(self, table: Table, encoding: str | None) -> Recoding:
        """The recoding that they ask for."""
        given = self.arguments()
        made = made_hierarchies(table, given.pop("makers"))
        return read_recoding(table.quasi_identifiers, **given, encoding=encoding, made=made)


@dataclass(frozen=True)
class ProblemOptions:
    """What states a problem beside a model file, which holds all of it."""

    data: Annotated[
        Any,
        table_option(
            metavar="FILE",
            parser=location,
            help="Table: CSV (also .gz), Excel, Parquet or Arrow; SQLite or DuckDB, or postgresql://..., with --query.",
        ),
    ] = None
    roles: RoleOptions = RoleOptions()
    privacy: PrivacyOptions = PrivacyOptions()
    recoding: RecodingOptions = RecodingOptions()
    suppressed_rows: Reading = None
    cost_bound: Annotated[str | None, objective_option(metavar="S", help="Largest allowed loss.")] = None
    min_groups: Annotated[int | None, objective_option(help="Least number of released row types.")] = None
    max_groups: Annotated[int | None, objective_option(help="Largest number of released row types.")] = None
    objective: Annotated[
        Objective,
        objective_option(
            help="Least loss, as few (min_groups) or as many (max_groups, class_size) released row types as possible, "
            "or least discernibility."
        ),
    ] = "loss"
    symbol: Symbol = "*"
    missing: MissingValues = "value"
    file: FileOptions = FileOptions()

    def read(self, model: Path | None) -> Asked:
        """The problem of a model file, or of a table and the options."""
        if model is not None:
            return self._of_model(model)
        if self.data is None:
            raise InputError("name a model file, or a table with --data")
        database = self.data if isinstance(self.data, Database) else None
        name = self.data.name if database is None else str(database)
        reading = {**self.roles.arguments(), **self.file.arguments()}
        table = read_table(self.data, **reading, missing=self.missing, symbol=self.symbol)
        recoding = self.recoding.recoding(table, self.file.encoding)
        problem = Problem(
            table,
            self.privacy.requirements(),
            recoding,
            self.cost_bound,
            self.min_groups,
            self.max_groups,
            self.objective,
            self.suppressed_rows or "strict",
            name,
        )
        return Asked(problem, name, None, database)

    def _of_model(self, model: Path) -> Asked:
        if is_address(model):
            raise InputError("the address of a database is no model file: write --data in front of it")
        if model.suffix.lower() in TABLES:
            raise InputError(f"{model}: looks like a table, not like a model file: write --data {model}")
        for option in named(self):
            raise InputError(
                f"the model file already names the table and the problem, so {option} cannot be used with it; "
                "write it into the file"
            )
        read = read_model(model)
        return Asked(read.problem, read.title or read.problem.name, read)


@dataclass(frozen=True)
class SweptProblemOptions(ProblemOptions):
    """The same with lists of values for what can be swept, which may also stand beside a model file."""

    privacy: SweptPrivacyOptions = SweptPrivacyOptions()
    max_groups: Annotated[
        Any,
        objective_option(
            metavar="M", parser=str, help="Largest number of released row types; several, such as 1,10,100."
        ),
    ] = None

    def lists(self) -> dict[str, list[str]]:
        """The values of each parameter that is swept; one number of groups is the problem's own."""
        numbers = self._numbers_of_groups
        return {**self.privacy.lists(), **({"max_groups": numbers} if len(numbers) > 1 else {})}

    @property
    def _numbers_of_groups(self) -> list[str]:
        return [] if self.max_groups is None else values(self.max_groups, "--max-groups")

    def read(self, model: Path | None) -> Asked:
        """The problem, with the first value of each list of a requirement's parameter."""
        numbers = self._numbers_of_groups
        own = integer(numbers[0], "--max-groups") if len(numbers) == 1 else None
        return ProblemOptions.read(replace(self, max_groups=own), model)

    def _of_model(self, model: Path) -> Asked:
        once = self.privacy.without_lists()
        return super()._of_model(model) if once == self.privacy else replace(self, privacy=once)._of_model(model)


@dataclass(frozen=True, eq=False)
class Asked:
    """A problem as the command line states it. file: the model file, None for a table with --data.
    database: where that was read from, None for a file."""

    problem: Problem
    title: str
    file: ModelFile | None
    database: Database | None = None

    @property
    def sources(self) -> list[str | Path]:
        """The files that it was read from."""
        return [*as_files(self.problem.sources), *([] if self.file is None else [self.file.path])]


def names(values: list[str] | None, option: str, *, required: bool = True) -> list[str]:
    """Split a,b,c; a name with a comma in it goes in double quotes."""
    names = [name for value in values or [] for name in next(csv.reader([value]), [])]
    if required and not names:
        raise InputError(f"name the quasi-identifiers: {option} a,b,c")
    return names


def values(text: str, option: str) -> list[str]:
    """Split 2..5,10 into 2, 3, 4, 5, 10; other numbers stay as they are written."""
    found: list[str] = []
    for part in text.split(","):
        first, dots, last = (piece.strip() for piece in part.partition(".."))
        if not first or (dots and not last):
            raise InputError(f"{option}: values separated by commas are expected, or a range such as 2..10")
        if not dots:
            found.append(first)
            continue
        low, high = integer(first, option), integer(last, option)
        if high < low or high - low >= MOST_VALUES:
            raise InputError(
                f"{option}: a range must not end below where it begins, and has at most {MOST_VALUES:,} values"
            )
        found += map(str, range(low, high + 1))
    return found


def integer(text: str, option: str) -> int:
    """An integer as written."""
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{option}: an integer such as 5 is expected, found {text!r}") from None


def numbers(what: str, given: list[str]) -> dict[str, Any]:
    """Widths, or numbers of classes, and what stands before decimals: point or comma."""
    named = [each for each in given if each in DECIMALS]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)}: a column has one decimal sign")
    sizes = [each for each in given if each not in DECIMALS]
    return {what: integers(sizes) if what == "counts" else sizes, "decimal": named[0] if named else None}


def column_and_values(entry: str) -> tuple[str, str, str]:
    """COLUMN=VALUES as column, "=" and values, among which >=90 may be; without an "=" all is values."""
    found = re.fullmatch(r"(.*[^>])(=)((?:[^=]|>=)*)", entry, re.DOTALL)
    return (found[1], found[2], found[3]) if found else entry.rpartition("=")


def swept_weights(given: list[str] | None) -> dict[str, list[str]]:
    """Column → weights that are taken one by one, from COLUMN=WEIGHTS."""
    found: dict[str, list[str]] = {}
    for entry in given or []:
        name, _, listed = column_and_values(entry)
        if not name or name in found:
            raise InputError("--weights is COLUMN=WEIGHTS, once for each column, as in --weights zip=1,2,5")
        found[name] = values(listed, "--weights")
    return found


def intervals(given: list[str]) -> dict[str, Any]:
    """Widths, what stands before decimals, and the ends from which numbers are one: <18, >=90."""
    ends: dict[str, str] = {}
    for name, sign in (("below", "<"), ("above", ">=")):
        found = [each.removeprefix(sign) for each in given if each.startswith(sign)]
        if len(found) > 1:
            raise InputError(f"{sign}{found[0]}, {sign}{found[1]}: a column has one such end")
        if found:
            ends[name] = found[0].strip()
    return {**numbers("widths", [each for each in given if not each.startswith(("<", ">="))]), **ends}


def _dates(given: list[str]) -> Callable[..., Hierarchy]:
    """Levels, and how dates are written: that with a %."""
    forms = [each for each in given if "%" in each]
    if len(forms) > 1:
        raise InputError(
            "--dates takes one format for a column; one with a comma goes in double quotes, as "
            """in --dates 'born=year,"%B %d, %Y"'"""
        )
    levels = [each for each in given if "%" not in each]
    return partial(Hierarchy.dates, levels=levels or None, format=forms[0] if forms else None)


def split(entry: str) -> list[str]:
    """Entries that commas divide; one that holds a comma stands in double quotes."""
    return [each.strip() for each in next(csv.reader([entry]), [])]


def integers(given: list[str]) -> list[Any]:
    """Integers where these are some; what is none is refused by whoever takes it."""
    return [int(each) if each.isascii() and each.isdigit() and len(each) < 10 else each for each in given]
