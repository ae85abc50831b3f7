"""`kanon-milp verify`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from json import loads
from pathlib import Path
from typing import Annotated, Any

import typer

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import OPTIMAL, UNVERIFIED
from kanon_milp.cli.help import output_option, table_option
from kanon_milp.errors import InputError
from kanon_milp.methods.verification import check_certificate_files, verify_alone, verify_files, verify_released
from kanon_milp.problem.csv_files import csv_text
from kanon_milp.problem.databases import Database, as_files, location
from kanon_milp.problem.table import read_table
from kanon_milp.studies import display, output
from kanon_milp.studies.model_files import ModelFile, read_model
from kanon_milp.system.files import check_target, refuse_overwriting, write_file
from kanon_milp.verify import CertificateReport, Report, check_certificate
from kanon_milp.verify.tables import Cells

# the rest, a model file says itself
WITH_MODEL = ("anonymized", "model", "cells", "missing_keys", "row_id", "groups", "certificate", "json", "quiet")
OF_ORIGINAL = (*(each.name for each in fields(options.RecodingOptions)), "cells", "row_id")


@options.grouped
def verify(
    context: typer.Context,
    roles: options.RoleOptions,
    privacy: options.PrivacyOptions,
    recoding: options.RecodingOptions,
    file: options.FileOptions,
    anonymized: Annotated[
        Path | None,
        typer.Argument(metavar="ANONYMIZED", help="The released table; not needed to check a certificate alone."),
    ] = None,
    original: Annotated[
        Any,
        table_option(
            metavar="FILE", parser=location, help="The original table; without it, the released table is checked alone."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        table_option(metavar="MODEL.toml", help="Model file, instead of --original and the options of the problem."),
    ] = None,
    suppressed_rows: options.Reading = None,
    symbol: options.Symbol = "*",
    missing: options.MissingValues = "value",
    cells: Annotated[
        Cells,
        table_option(help="Cells are labels of the recoding; intervals: also 20-39, [20,40[, >=20, {a,b}, 130**."),
    ] = "labels",
    missing_keys: options.MissingAsKeys = "own",
    row_id: options.RowId = None,
    groups: Annotated[Path | None, output_option(metavar="FILE", help="Write what holds in each group as CSV.")] = None,
    certificate: Annotated[
        Path | None,
        output_option(metavar="FILE", help="Check this certificate, a lower bound on the loss of every such table."),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Check a released table, or a certificate.

    The table may be of any tool. The check is exact and needs no solver. Without --original the released table is
    checked alone: its groups and the requirements.

    Exit codes: 0 everything holds; 2 bad usage or input; 6 something does not hold.
    """
    if anonymized is None and certificate is None:
        raise InputError("name the released table, or a certificate with --certificate")
    asked: ModelFile | None = None
    if model is not None:
        others = [each.name or "" for each in context.command.params if each.name not in WITH_MODEL]
        _refuse(
            context,
            others,
            "--model holds the original table and the problem, so {} cannot be named beside it; leave out one of the "
            "two",
        )
        asked = read_model(model)
    elif original is None and certificate is not None:
        raise InputError("name the original table with --original, or the model file with --model")
    elif original is None:
        _refuse(
            context,
            OF_ORIGINAL,
            "{} says what became of the original table; name that with --original, or leave the option out",
        )
    both = anonymized is not None and certificate is not None and asked is None
    if certificate is not None and both and suppressed_rows is None and claimed_reading(certificate) == "exempt":
        raise InputError(
            f"{certificate}: the certificate is about tables whose fully suppressed rows need no partners, and the "
            "released table would be checked strictly; name one reading for both: --suppressed-rows exempt (or strict)"
        )
    if groups is not None:
        read = [
            original.file if isinstance(original, Database) else original,
            anonymized,
            certificate,
            recoding.mask,
            *([] if recoding.hierarchies is None else recoding.hierarchies.glob("*.csv")),
            *([] if asked is None else [asked.path, *as_files(asked.problem.sources)]),
            *privacy.files,
        ]
        refuse_overwriting([("--groups", groups)], [path for path in read if path is not None])
        check_target(groups)
    columns = roles.arguments(required=asked is None and anonymized is not None)
    needed = privacy.requirements(required=False)
    of_certificate = {**file.arguments(), "symbol": symbol, "missing": missing}
    if missing == "wildcard":  # released tables are judged so under every requirement
        missing, missing_keys = "value", "match"
    reading = {**of_certificate, "missing": missing}
    comparing: dict[str, Any] = {"cells": cells, "missing_keys": missing_keys, "row_id": row_id}
    strict = suppressed_rows or "strict"
    found: dict[str, Report | CertificateReport] = {}
    if anonymized is not None:
        if asked is not None:
            report = verify_released(asked.problem, anonymized, **comparing)
        elif original is None:
            alone = {name: value for name, value in columns.items() if name not in ("keep", "drop")}
            table = read_table(location(str(anonymized), "ANONYMIZED"), **alone, **reading, released=True)
            report = verify_alone(table, needed, suppressed_rows=strict, missing_keys=missing_keys)
        else:
            report = verify_files(
                original,
                anonymized,
                **columns,
                **reading,
                **recoding.arguments(),
                **comparing,
                privacy=needed,
                suppressed_rows=strict,
            )
        if groups is not None:
            write_file(groups, lambda file: file.write(csv_text(report.group_frame(), ",").encode()))
        found["table"] = report
        if output.is_stale(anonymized) and not quiet:
            display.say(f"note: the {output.CLAIM} beside {anonymized} is not about this content of the file", err=True)
        if cells == "labels" and not quiet and any("not the original value" in each for each in report.violations):
            display.say("note: intervals, sets and prefixes of another tool are read with --cells intervals", err=True)
    if certificate is not None and asked is not None:
        found["certificate"] = check_certificate(asked.problem, certificate)
    elif certificate is not None:
        claimed: dict[str, Any] = {
            name: columns[name] or None for name in ("quasi_identifiers", "sensitive", "unit", "count")
        }
        found["certificate"] = check_certificate_files(
            original,
            certificate,
            **claimed,
            **of_certificate,
            **recoding.arguments(),
            privacy=needed,
            suppressed_rows=suppressed_rows,
        )
    if json:
        values = {name: each.as_dict() for name, each in found.items()}
        display.print_json({**values.pop("table", {}), **values})
    elif not quiet:
        for each in found.values():
            typer.echo(each.summary())
    refused = [each for each in found.values() if not (each.ok if isinstance(each, Report) else each.valid)]
    for each in refused if quiet and not json else ():
        display.say(f"error: {each.summary().splitlines()[0]}", err=True)
    raise typer.Exit(UNVERIFIED if refused else OPTIMAL)


def _refuse(context: typer.Context, names: Sequence[str], why: str) -> None:
    """Raise InputError for options that were given and do not fit. why: with {} for the option."""
    for each in context.command.params:
        source = context.get_parameter_source(each.name or "")
        if each.name in names and source is not None and source.name == "COMMANDLINE":
            raise InputError(why.format(each.opts[0]))


def claimed_reading(certificate: Path) -> str | None:
    """The reading of fully suppressed rows that a certificate names; None for what is no certificate."""
    try:
        found = loads(certificate.read_text(encoding="utf-8"))["problem"]["suppressed_rows"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # who checks the certificate says what is wrong with it
    return found if isinstance(found, str) else None
