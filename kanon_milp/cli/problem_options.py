"""The options that state a problem, for every command that takes one: a model file, or a table with --data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from kanon_milp.cli import hierarchy_options, options
from kanon_milp.errors import InputError
from kanon_milp.problem.databases import Database, as_files, is_address
from kanon_milp.problem.problem import Objective, Problem
from kanon_milp.problem.table import ARROW_SUFFIXES, CSV_SUFFIXES, EXCEL_SUFFIXES, PARQUET_SUFFIXES, read_table
from kanon_milp.studies.model_files import ModelFile, read_model

TABLES = (*CSV_SUFFIXES, *EXCEL_SUFFIXES, *PARQUET_SUFFIXES, *ARROW_SUFFIXES)


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


def read_problem(
    model: Path | None,
    data: options.Data = None,
    query: options.Query = None,
    qi: options.Qi = None,
    sensitive: options.Sensitive = None,
    identifying: options.Identifying = None,
    keep: options.Keep = None,
    unit: options.Unit = None,
    k: options.K = None,
    p: options.P = None,
    l: options.L = None,  # noqa: E741  (the papers' letter)
    l_form: options.LForm = "frequency",
    t: options.T = None,
    distance: options.Distance = "equal",
    alpha: options.Alpha = None,
    beta: options.Beta = None,
    delta: options.Delta = None,
    mask: options.Mask = None,
    hierarchies: options.HierarchyFolder = None,
    numeric: hierarchy_options.Numeric = None,
    quantiles: hierarchy_options.Quantiles = None,
    dates: hierarchy_options.Dates = None,
    prefix: hierarchy_options.Prefixes = None,
    weight: options.Weights = None,
    suppressed_rows: options.Reading = "strict",
    cost_bound: Annotated[str | None, typer.Option("--cost-bound", metavar="S", help="Largest allowed loss.")] = None,
    min_groups: Annotated[int | None, typer.Option("--min-groups", help="Fewest released row types.")] = None,
    max_groups: Annotated[int | None, typer.Option("--max-groups", help="Most released row types.")] = None,
    objective: Annotated[Objective, typer.Option("--objective", help="loss, min_groups or max_groups.")] = "loss",
    symbol: options.Symbol = "*",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing: options.MissingValues = "value",
    missing_values: options.MarksOfMissing = None,
    no_header: options.NoHeader = False,
    header: options.Header = None,
) -> Asked:
    """The problem of a model file, or of a table and the options."""
    if model is not None:
        if is_address(model):
            raise InputError("the address of a database is no model file: write --data in front of it")
        if model.suffix.lower() in TABLES:
            raise InputError(f"{model}: looks like a table, not like a model file: write --data {model}")
        roles = (data, query, qi, sensitive, identifying, keep, unit)
        own = (*roles, k, p, l, t, alpha, beta, delta, mask, hierarchies, weight)
        making = (numeric, quantiles, dates, prefix)
        if any(value is not None for value in (*own, *making)):
            raise InputError("a model file holds table and problem; --data, --qi, --k, ... go without one")
        stated = {
            "--l-form": l_form != "frequency",
            "--distance": distance != "equal",
            "--suppressed-rows": suppressed_rows != "strict",
            "--cost-bound": cost_bound is not None,
            "--min-groups": min_groups is not None,
            "--max-groups": max_groups is not None,
            "--objective": objective != "loss",
            "--symbol": symbol != "*",
            "--delimiter": delimiter is not None,
            "--encoding": encoding is not None,
            "--missing": missing != "value",
            "--missing-values": missing_values is not None,
            "--no-header": no_header,
            "--header": header is not None,
        }
        for option, named in stated.items():
            if named:
                raise InputError(f"a model file holds table and problem; write into it what {option} says")
        read = read_model(model)
        return Asked(read.problem, read.title or read.problem.name, read)
    if data is None:
        raise InputError("name a model file, or a table with --data")
    database = data if isinstance(data, Database) else None
    name = data.name if database is None else str(database)
    table = read_table(
        data,
        options.names(qi, "--qi"),
        options.names(sensitive, "--sensitive", required=False),
        query=query,
        identifying=options.names(identifying, "--identifying", required=False),
        keep=options.names(keep, "--keep", required=False),
        unit=options.unit(unit),
        delimiter=delimiter,
        encoding=encoding,
        missing=missing,
        missing_values=options.marks(missing_values),
        symbol=symbol,
        header=options.header(no_header, header),
    )
    makers = hierarchy_options.makers(numeric, quantiles, dates, prefix)
    recoding = options.recoding(table, mask, hierarchies, weight, encoding, makers)
    problem = Problem(
        table,
        options.privacy(k, p, l, l_form, t, distance, alpha, beta, delta),
        recoding,
        cost_bound,
        min_groups,
        max_groups,
        objective,
        suppressed_rows,
        name,
    )
    return Asked(problem, name, None, database)


def with_problem(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `read_problem`, and what they state as its first argument.

    The command says itself how a model file is named, by a parameter `model`, which it does not see.
    """
    return _with_options(command, {})


def with_swept_problem(command: Callable[..., None]) -> Callable[..., None]:
    """As `with_problem`, for a command with lists of values for some parameters of the problem: `swept`, a mapping from
    their letters to texts, is its second argument. The problem has the first value of each."""
    return _with_options(command, options.SWEPT)


def _with_options(command: Callable[..., None], swept: Mapping[str, Any]) -> Callable[..., None]:
    stating = dict(list(inspect.signature(read_problem, eval_str=True).parameters.items())[1:])
    stating.update({name: stating[name].replace(annotation=kind) for name, kind in swept.items()})
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    own = [parameter for parameter in own if parameter.name != "swept"]
    where = next(number for number, parameter in enumerate(own) if parameter.name == "model")
    parameters = [*own[: where + 1], *stating.values(), *own[where + 1 :]]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        model = given.pop("model")
        lists = {name: options.values(given.pop(name), f"--{name}") for name in swept if given[name] is not None}
        first: dict[str, Any] = {} if model is not None else {name: values[0] for name, values in lists.items()}
        if "k" in first:
            first["k"] = options.integer(first["k"], "--k")
        asked = read_problem(model, **{name: given.pop(name) for name in stating if name in given}, **first)
        command(asked, *([lists] if swept else []), **given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    wrapped.__signature__ = inspect.Signature([each.replace(kind=keyword) for each in parameters])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapped
