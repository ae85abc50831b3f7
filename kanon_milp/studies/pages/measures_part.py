"""Sections of a result's page about what a release costs and protects, from the entry `measures` of `result.json`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from kanon_milp.errors import counted
from kanon_milp.studies.pages import pictures
from kanon_milp.studies.pages.elements import Cell, Head, figure, share, table
from kanon_milp.system.markup import Markup, join, tag

BARS = 40  # columns of a picture of group sizes


def risk_part(measures: Mapping[str, Any]) -> Markup:
    """Risk before and after: of units of protection where there are such, else of rows."""
    if measures.get("unit_risk") is not None:
        return _unit_risk_part(measures["unit_risk"])
    before, after, k = measures["risk"]["before"], measures["risk"]["after"], measures["risk"]["k"]
    n = before["rows"]
    rows = [
        ("prosecutor: highest risk of a row", before["highest"], after["highest"]),
        ("prosecutor: average risk of a row", before["average"], after["average"]),
        ("journalist: highest risk of a row", before["journalist"], after["journalist"]),
        ("marketer: share of rows found on average", before["marketer"], after["marketer"]),
        ("rows that are unique", before["unique_rows"] / n, after["unique_rows"] / n),
        (
            f"rows in groups of fewer than {k}",
            before["rows_below_k"] / n,
            after["rows_below_k"] / n,
        ),
    ]
    lines = [[what, *_risk(what, "before", was), *_risk(what, "after", now)] for what, was, now in rows]
    header = [Head("risk"), Head("before", "number"), Head("", "bar"), Head("after", "number"), Head("", "bar")]
    gone = after["suppressed_rows"]
    apart = (
        f" The figures after leave out {counted(gone, 'row')} of which nothing is released. Who finds a person in no "
        f"group knows that the row is {'that one' if gone == 1 else 'one of these'}."
    )
    said = (
        f"Before, {counted(before['unique_rows'], 'row')} of {n:,} could be told from all others by the "
        f"quasi-identifiers; in the released table {after['unique_rows']:,} can. Somebody who knows that a row is "
        "in the table, and all of its quasi-identifiers, picks the right one with a chance of at most "
        f"{share(after['highest'])} (before: {share(before['highest'])}). That is the chance of finding a person where "
        "each person has one row: of somebody with several rows they count as several here."
        f"{apart if 0 < gone < n else ''}"
    )
    caption = "Risk of re-identification (1 / rows that look the same)"
    return join([tag("p", said), table(caption, header, lines), tag("p", _MODELS, class_="note")])


def _unit_risk_part(found: Mapping[str, Any]) -> Markup:
    """The same over units of protection."""
    before, after, k, unit = found["before"], found["after"], found["k"], found["unit"]
    n, left = before["units"], after["units"]
    rows = [
        (f"prosecutor: highest risk of a {unit}", before["highest"], after["highest"]),
        (f"prosecutor: average risk of a {unit}", before["average"], after["average"]),
        ("units with a row in a group of their own", before["alone"] / n, after["alone"] / left),
        (
            f"units with a row in a group of fewer than {k} units",
            before["below"][str(k)] / n,
            after["below"][str(k)] / left,
        ),
    ]
    lines = [[what, *_risk(what, "before", was), *_risk(what, "after", now)] for what, was, now in rows]
    header = [Head("risk"), Head("before", "number"), Head("", "bar"), Head("after", "number"), Head("", "bar")]
    said = (
        f"The unit of protection is {unit}: {counted(n, 'different value')}, each of which may have several rows, and "
        f"the risks are theirs. Before, {before['alone']:,} of them had rows that nobody else's were like; in the "
        f"released table {after['alone']:,} have. Somebody who knows that a unit is in the table, and all quasi-"
        f"identifiers of one of its rows, picks the right unit with a chance of at most {share(after['highest'])} "
        f"(before: {share(before['highest'])}). Who knows several rows of one unit, and that they are of one, may know "
        "more."
    )
    if left < n:
        said += f" The figures after leave out {counted(n - left, 'unit')} of which nothing is released."
    caption = "Risk of re-identification (1 / different units in the group of a row; for each unit in its smallest one)"
    return join([tag("p", said), table(caption, header, lines)])


_MODELS = (
    "The prosecutor knows that a row is in the table; the journalist does not, and looks among a whole population; "
    "the marketer links all rows to it. Nothing is known here of a population, so the table stands for it: that is the "
    "worst case, in which the journalist's highest risk is the prosecutor's, and the marketer's share the average. "
    "With a file of the population, `kanon-milp inspect --population` says what they are in the original table."
)


def _risk(what: str, when: str, value: float) -> list[object]:
    return [Cell(share(value), value), pictures.share_bar([value], f"{what}, {when}: {share(value)}")]


def columns_part(described: Mapping[str, Any], measures: Mapping[str, Any]) -> Markup:
    """Kept, generalized and suppressed by column, and how the values of each column are still there."""
    n, columns = described["problem"]["n"], measures["columns"]
    rows = []
    for each in columns:
        parts = [each[what] / n for what in ("kept", "generalized", "suppressed")]
        said = f"{each['name']}: kept {share(parts[0])}, generalized {share(parts[1])}, suppressed {share(parts[2])}"
        cells = [Cell(share(part), part) for part in parts]
        rows.append(
            [each["name"], pictures.share_bar(parts, said), *cells, each["values_before"], each["values_after"]]
        )
    header = [
        Head("column"),
        Head("cells", "bar"),
        *(Head(what, "number") for what in ("kept", "generalized", "suppressed", "values before", "values after")),
    ]
    caption = "What became of the cells of each quasi-identifier; values: numbers of distinct ones, * among those after"
    return join(
        [
            pictures.key("kept", "generalized", "suppressed"),
            table(caption, header, rows),
            tag("h3", "How the distributions changed"),
            tag("p", _DISTRIBUTIONS, class_="note"),
            tag("div", *(_distribution(each, n) for each in columns), class_="small"),
        ]
    )


_DISTRIBUTIONS = (
    "For each column its values from the most to the least frequent: rows that had the value (pale), and rows that "
    "still show it (in colour). Values are counted, not named."
)


def _distribution(column: Mapping[str, Any], n: int) -> Markup:
    values: Sequence[Sequence[int]] = column["largest_values"]
    rows, kept = column["other_values"]
    more = column["values_before"] - len(values)
    pairs = [(before, still) for before, still in values]
    said = "; ".join(f"{before:,} rows, {still:,} kept" for before, still in pairs[:5])
    words = f"{column['name']}, most frequent values first: {said}{'; and so on' if len(pairs) > 5 else ''}"
    others = f"; {counted(more, 'rarer value')} in {counted(rows, 'row')}, {kept:,} kept" if more else ""
    return tag(
        "div",
        tag("h3", column["name"]),
        pictures.before_and_after(pairs, words),
        tag(
            "p",
            f"{counted(column['values_before'], 'value')}; most frequent: {share(values[0][0] / n)} of rows{others}",
        ),
    )


def groups_part(measures: Mapping[str, Any]) -> Markup:
    """How many rows are in groups of which size."""
    sizes: Sequence[tuple[int, int]] = [(size, groups) for size, groups in measures["group_sizes"]]
    bars = binned(sizes)
    rows, groups = sum(size * count for size, count in sizes), sum(count for _, count in sizes)
    span = f"{sizes[0][0]:,} to {counted(sizes[-1][0], 'row')}"
    said = f"{counted(groups, 'group')} of {span}, {rows / groups:.1f} on average."
    picture = pictures.columns([(title, count) for title, count in bars], "rows in a group", "groups", said)
    header = [Head("rows in a group", "number"), Head("groups", "number"), Head("rows", "number")]
    lines = [[size, count, size * count] for size, count in sizes]
    return figure(picture, "group sizes", said, table("Groups by size", header, lines))


def binned(sizes: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """(title, groups) for each size; where there are many sizes, for ranges of them that grow by the same factor."""
    first, last = sizes[0][0], sizes[-1][0]
    counts = dict(sizes)
    if last - first < BARS:
        return [(f"{size:,}", counts.get(size, 0)) for size in range(first, last + 1)]
    factor, edges = (last / first) ** (1 / 16), [first]
    while edges[-1] <= last:
        edges.append(max(edges[-1] + 1, round(edges[-1] * factor)))
    found = []
    for low, high in itertools.pairwise(edges):
        title = f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}"
        found.append((title, sum(count for size, count in sizes if low <= size < high)))
    return found
