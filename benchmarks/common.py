"""What the studies of whole tables share: which tables there are, their problems, and the gap."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import kanon_milp as km

Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
# name → data set, quasi-identifiers (None: all but the left-out columns), patterns of a random mask (None: all)
TABLES: dict[str, tuple[str, list[str] | None, int | None]] = {
    "adult8": ("adult", Q8, None),
    "adult9": ("adult", None, None),
    "adult14": ("adult_raw", None, 100),
}
LEFT_OUT = ("fnlwgt",)  # a sampling weight, no fact about a person; nearly unique in each row


def add_options(parser: argparse.ArgumentParser, *, rows: list[int], k: list[int], time_limit: float) -> None:
    """Which problems, and how long."""
    parser.add_argument("--table", choices=TABLES, default="adult8")
    parser.add_argument("--rows", type=int, nargs="*", default=rows, help="the first so many rows; 0 for all")
    parser.add_argument("--k", type=int, nargs="+", default=k)
    parser.add_argument("--time-limit", type=float, default=time_limit, metavar="SECONDS")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mask-seed", type=int, default=0)


def problems(args: argparse.Namespace) -> Iterator[tuple[int, int, km.Problem]]:
    """Number of rows, k and problem for all that was asked for."""
    if not args.rows:
        return
    data, columns, patterns = TABLES[args.table]
    frame = km.datasets.load(data)
    names = columns or [column for column in frame.columns if column not in LEFT_OUT]
    recoding = km.PatternMask.random(names, patterns, args.mask_seed) if patterns else km.Suppression()
    for rows in args.rows:
        table = km.Table.from_frame(frame.head(rows) if rows else frame, names)
        for k in args.k:
            yield table.n, k, km.Problem(table, [km.KAnonymity(k)], recoding, name=f"{args.table}, k = {k}")


def percent(gap: float | None, digits: int = 3) -> str:
    """A gap in per cent."""
    return "-" if gap is None else f"{100 * gap:.{digits}f}"


def gap_at(result: km.Result, seconds: float) -> str:
    """The gap in per cent that was reached by that time."""
    if result.seconds["total"] <= seconds:
        return percent(result.gap, 2)
    known = [point for point in result.trajectory if point[0] <= seconds and point[1] and point[2] is not None]
    if not known:
        return "-"
    loss, bound = known[-1][1], known[-1][2]
    return percent((loss - bound) / loss, 2) if loss and bound is not None else "-"
