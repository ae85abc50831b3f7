"""`kanon-milp verify`."""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import Annotated, Any

import typer

from kanon_milp.cli import hierarchy_options, options
from kanon_milp.cli.exit_codes import OPTIMAL, UNVERIFIED
from kanon_milp.errors import InputError
from kanon_milp.methods.verification import check_certificate_files, verify_files
from kanon_milp.problem.csv_files import csv_text
from kanon_milp.problem.databases import Database
from kanon_milp.report import display, output
from kanon_milp.system.files import check_target, refuse_overwriting, write_file
from kanon_milp.verify import CertificateReport, Report
from kanon_milp.verify.plain import Cells


def verify(
    original: Annotated[
        Any,
        typer.Option("--original", metavar="FILE", click_type=options.TABLE_SOURCE, help="The table it was made from."),
    ],
    anonymized: Annotated[
        Path | None, typer.Argument(metavar="[ANONYMIZED]", help="The released table; only a certificate goes without.")
    ] = None,
    query: options.Query = None,
    qi: options.Qi = None,
    sensitive: options.Sensitive = None,
    identifying: options.Identifying = None,
    keep: options.Keep = None,
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
    suppressed_rows: options.ReadingAsked = None,
    symbol: options.Symbol = "*",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.MissingValues = "value",
    cells: Annotated[
        Cells,
        typer.Option("--cells", help="labels of the recoding, or intervals: also 20-39, [20,40[, >=20, {a,b}, 130**."),
    ] = "labels",
    groups: Annotated[
        Path | None, typer.Option("--groups", metavar="FILE", help="Write what holds in each group, as CSV.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Check a lower bound on the loss of every such table."),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Check a released table, or a certificate.

    By whatever tool it was made: exactly, and without a solver.

    Exit codes: 0 everything holds; 2 bad usage or input; 6 something does not hold.
    """
    if anonymized is None and certificate is None:
        raise InputError("name the released table, or a certificate with --certificate")
    both = anonymized is not None and certificate is not None
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
            mask,
            *([] if hierarchies is None else hierarchies.glob("*.csv")),
        ]
        read.append(Path(distance.partition(":")[2]))
        refuse_overwriting([("--groups", groups)], [path for path in read if path is not None])
        check_target(groups)
    privacy = options.privacy(k, p, l, l_form, t, distance, alpha, beta, delta, required=False)
    others = options.names(sensitive, "--sensitive", required=False)
    common: dict[str, Any] = {
        "query": query,
        "privacy": privacy,
        "mask": mask,
        "hierarchies": hierarchies,
        "makers": hierarchy_options.makers(numeric, quantiles, dates, prefix),
        "weights": options.weights(weight),
        "symbol": symbol,
        "delimiter": delimiter,
        "encoding": encoding,
        "missing": missing,
    }
    found: dict[str, Report | CertificateReport] = {}
    if anonymized is not None:
        report = verify_files(
            original,
            anonymized,
            options.names(qi, "--qi"),
            others,
            identifying=options.names(identifying, "--identifying", required=False),
            keep=options.names(keep, "--keep", required=False),
            suppressed_rows=suppressed_rows or "strict",
            cells=cells,
            **common,
        )
        if groups is not None:
            write_file(groups, lambda file: file.write(csv_text(report.group_frame(), ",").encode()))
        found["table"] = report
        if output.is_stale(anonymized) and not quiet:
            display.say(f"note: the {output.CLAIM} beside {anonymized} is not about this content of the file", err=True)
    if certificate is not None:
        quasi = options.names(qi, "--qi", required=False) or None
        found["certificate"] = check_certificate_files(
            original,
            certificate,
            quasi_identifiers=quasi,
            sensitive=others or None,
            suppressed_rows=suppressed_rows,
            **common,
        )
    if json:
        values = {name: each.as_dict() for name, each in found.items()}
        display.print_json({**values.pop("table", {}), **values})
    elif not quiet:
        for each in found.values():
            typer.echo(each.summary())
    held = all(each.ok if isinstance(each, Report) else each.valid for each in found.values())
    raise typer.Exit(OPTIMAL if held else UNVERIFIED)


def claimed_reading(certificate: Path) -> str | None:
    """The reading of fully suppressed rows that a certificate names; None for what is no certificate."""
    try:
        found = loads(certificate.read_text(encoding="utf-8"))["problem"]["suppressed_rows"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # who checks the certificate says what is wrong with it
    return found if isinstance(found, str) else None
