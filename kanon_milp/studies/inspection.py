"""What a data owner asks first of a table: its columns, which of them identify, who is at risk, what to run next."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import polars.selectors as cs

from kanon_milp.errors import FileWarning, InputError, counted, percent, printable
from kanon_milp.methods.quasi_identifiers import QuasiIdentifiers, find_quasi_identifiers
from kanon_milp.presolve.row_types import RowTypes, compress
from kanon_milp.problem.arguments import column_name, column_names, integer, listed, one_of, text
from kanon_milp.problem.column_values import as_text
from kanon_milp.problem.counts import counted_rows
from kanon_milp.problem.csv_files import CsvFormat, with_missing
from kanon_milp.problem.databases import Database, asked_query, location, shown_query
from kanon_milp.problem.recoding import MAX_LEVEL_VECTORS, Suppression
from kanon_milp.problem.role_guess import may_be_sampling_weights
from kanon_milp.problem.roles import Names, Roles, another_delimiter, header_doubt, joined, visible
from kanon_milp.problem.table import SYMBOL, Missing, in_kind, open_frame, read_with_format
from kanon_milp.studies.columns import (
    Column,
    column_of,
    with_at_most,
    with_members,
    with_sensitive,
    with_unit,
    without_repeated,
)
from kanon_milp.studies.metrics import Frequencies, sampling_weights, unit_risk
from kanon_milp.studies.proposal import (
    WITHOUT_CANDIDATES,
    Proposal,
    identifying_notes,
    listing,
    marks_in,
    propose,
    protection_notes,
    reading_notes,
    repeated_notes,
    sensitive_notes,
    shell_word,
    unnamed_notes,
)
from kanon_milp.system.arrays import Ints
from kanon_milp.system.markup import card, grid
from kanon_milp.system.text_tables import markdown
from kanon_milp.verify import Report, verify
from kanon_milp.verify.report import attribute_lines
from kanon_milp.verify.tables import Original, Question, tally

KS = (2, 5, 10)
EDGES = (1, 2, 3, 5, 10, 20, 50, 100)  # where a range of class sizes begins
MOST_QUASI = MAX_LEVEL_VECTORS.bit_length() - 1
MOST_PROPOSED = 8  # quasi-identifiers of a first attempt
NO_QUASI = "no column is left that may be a quasi-identifier, so no command is proposed; name some (--qi)"
PROPOSAL = "Roles with ? are guessed from names and values; name them yourself with --qi, --sensitive, ..."
MATCHING = (
    "the risk of a row and the rows at risk count the rows that match a row, a missing or suppressed key matching any "
    "value; classes, {}what identifies and the command are about rows that are alike, which is the stricter reading"
)


@dataclass(frozen=True)
class SizeRange:
    """Classes of at least `least` and at most `most` rows (None: or more), and the rows in them."""

    least: int
    most: int | None
    classes: int
    rows: int


@dataclass(frozen=True)
class Risk:
    """Risks of re-identification by the quasi-identifiers, where classes are the rows that are alike in them (El Emam,
    *Guide to the De-Identification of Personal Health Information*, 2013).

    prosecutor: somebody looks for a person who is known to be in the table; 1/|class| of a row, the highest and the
    mean over rows. journalist: the same for somebody who does not know whether the person is in it, with the classes of
    the population; without one, the table stands for it. marketer: the share of rows that somebody who links all rows
    finds on average, Σ over classes of |class|/|class of the population| / rows.
    """

    prosecutor_highest: Fraction
    prosecutor_average: Fraction
    journalist_highest: Fraction
    marketer: Fraction

    def as_dict(self) -> dict[str, float]:
        """As plain data."""
        return {name: float(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Touched:
    """What k-anonymity of this k asks for. rows: those in classes of fewer than k, each of which must change, or be
    joined by others that do; the share of rows with a prosecutor's risk above 1/k. classes: how many classes those are.
    """

    k: int
    rows: int
    classes: int


@dataclass(frozen=True, repr=False)
class Inspection:
    """What a table gives away before it is anonymized; it holds no cell.

    columns: in the order of the table. quasi_identifiers: those named, or the proposed ones; everything else is about
    them. identification: which of them identify. classes, smallest, mean, largest, unique: sizes of the groups of
    identical rows. sizes: the same in ranges.
    command: a proposed `kanon-milp solve` for a shell, "" if no column may be a quasi-identifier; for a data frame, two
    lines of Python that do the same, in which it is called `frame`. proposal: what the command asks for, as data.
    suppressed: rows whose quasi-identifiers are all suppressed; classes, risks and the rows at risk are about the
    others, if there are any. unit_risk: of units of protection, if a unit is named or proposed: their column, and the
    content of `report.measures.unit_risk`; risk and touched are about rows.
    reading: notes on how the file was read, and whether its first row looks like data. protection: if sensitive
    attributes were named, the verifier's report of the table alone. kind: of the data frame that was given. missing:
    "wildcard" where risk and touched are about the rows that match a row.
    """

    source: str
    rows: int
    columns: tuple[Column, ...]
    quasi_identifiers: tuple[str, ...]
    identification: QuasiIdentifiers
    classes: int
    smallest: int
    largest: int
    unique: int
    sizes: tuple[SizeRange, ...]
    risk: Risk
    touched: tuple[Touched, ...]
    command: str
    suppressed: int = 0
    unit_risk: dict[str, Any] | None = None
    reading: tuple[str, ...] = ()
    protection: Report | None = None
    proposal: Proposal | None = None
    kind: nw.Implementation = field(default=nw.Implementation.POLARS, compare=False)
    missing: Missing = "value"

    @property
    def mean(self) -> Fraction:
        """Mean rows of a class."""
        return Fraction(self.rows - self.suppressed or self.rows, self.classes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before the command is run."""
        many, found = len(self.quasi_identifiers), identifying_notes(self.columns)
        if many > MOST_QUASI:
            found.append(
                f"{many} quasi-identifiers have more than {MAX_LEVEL_VECTORS:,} level vectors: the command takes the "
                f"method {WITHOUT_CANDIDATES}, which proves nothing; name those that somebody may know (--qi)"
            )
        left_out = [each for each in self.columns if each.role == "drop" and each.proposed and not each.same_as]
        weights = [each.name for each in left_out if may_be_sampling_weights(each.name, each.kind)]
        if weights:
            found.append(
                f"the command drops {joined(weights)}, which may hold sampling weights or a person's weight: with "
                "sampling weights inspect --weight estimates the risks of the population, and --keep releases them; a "
                "person's weight is a quasi-identifier (--qi)"
            )
        if dropped := [each.name for each in left_out if each.name not in weights]:
            found.append(
                f"the command drops {joined(dropped)}: with more than {MOST_PROPOSED} quasi-identifiers a first "
                "attempt is slow and its table coarse. Name those that somebody may know with --qi, and those that "
                "may stay as they are with --keep"
            )
        is_read = self.command.startswith("kanon-milp ")
        of_units = "" if self.unit_risk is None else "the risk of a unit, the units at risk, "
        matching = [MATCHING.format(of_units)] if self.missing == "wildcard" and self.quasi_identifiers else []
        found = [*self.reading, *matching, *found, *unnamed_notes(self.columns), *repeated_notes(self.columns)]
        found += reading_notes(self.columns, marks_are_read=is_read)
        if not self.quasi_identifiers:
            return (*found, *sensitive_notes(self.columns))
        return (*found, *sensitive_notes(self.columns), *protection_notes(self.columns))

    def as_dict(self) -> dict[str, Any]:
        """As plain data: what `kanon-milp inspect --json` prints."""
        return {
            "source": self.source,
            "rows": self.rows,
            "columns": [each.as_dict(self.rows) for each in self.columns],
            "quasi_identifiers": list(self.quasi_identifiers),
            "identification": self.identification.as_dict(),
            "classes": {
                "count": self.classes,
                "smallest": self.smallest,
                "mean": float(self.mean),
                "largest": self.largest,
                "unique_rows": self.unique,
                "suppressed_rows": self.suppressed,
                "sizes": [vars(each) for each in self.sizes],
            },
            "missing": self.missing,
            "risk": self.risk.as_dict(),
            "unit_risk": self.unit_risk,
            "touched": [{**vars(each), "share": each.rows / self.rows} for each in self.touched],
            "sensitive": {} if self.protection is None else self.protection.as_dict()["sensitive"],
            "command": self.command,
            "notes": list(self.notes),
        }

    def column_texts(self) -> list[list[str]]:
        """A header and a row a column of the table: cells as text."""
        texts = [["column", "values", "distinct", "missing", "unique rows", "role"]]
        for each in self.columns:
            unique = f"{each.unique:,} ({percent(each.unique / self.rows)})"
            missing = f"{each.missing:,}" if each.missing else "-"
            role = each.role if each.role != "none" else "not named"
            shown = f"{role}?" if each.proposed and each.role != "none" else role
            texts.append([visible(each.name), each.kind, f"{each.distinct:,}", missing, unique, shown])
        return texts

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What people see of it beside the columns: names, and sentences."""
        if not self.quasi_identifiers:
            return [("note", NO_QUASI), *(("note", note) for note in self.notes)]
        rows, identification, risk = self.rows, self.identification, self.risk
        few, which = identification.minimal, "without any one of them, they are not enough"
        if identification.minimum:
            few, which = identification.minimum[0], "no fewer columns are"
        spread = f"{self.smallest:,} to {self.largest:,} rows in each, {float(self.mean):,.2f} on average"
        if self.smallest == self.largest:
            spread = f"each with {'one row' if self.smallest == 1 else counted(self.smallest, 'row')}"
        told_apart = f"{_are(self.suppressed, self.suppressed / rows)} suppressed in all of these columns "
        told_apart += "and not counted among the groups" if self.suppressed < rows else "and form one group"
        highest, average = float(risk.prosecutor_highest), float(risk.prosecutor_average)
        others = (
            f"journalist {percent(float(risk.journalist_highest))} at most; marketer {percent(float(risk.marketer))}"
        )
        lines = [
            ("known", f"{joined(self.quasi_identifiers)} (the quasi-identifiers: what others may know)"),
            ("groups", f"{counted(self.classes, 'group')} of identical rows, {spread}"),
            ("unique", f"{_differ(self.unique, rows)} from every other row"),
            *([("suppressed", told_apart)] if self.suppressed else []),
            (
                "identify",
                f"{joined(few)} {'is' if len(few) == 1 else 'are'} enough to tell all different rows apart; {which}"
                if few
                else "all rows are alike",
            ),
        ]
        if self.unit_risk is not None:
            lines += _facts_of_units(self.unit_risk)
        else:
            lines.append(("risk", f"prosecutor {percent(highest)} at most, {percent(average)} on average; {others}"))
        for each in () if self.unit_risk is not None else self.touched:
            where = f"in {'a group' if each.rows == 1 else 'groups'} of fewer than {each.k}"
            above = f"where the risk is above {percent(1 / each.k)}"
            lines.append((f"k = {each.k}", f"{_are(each.rows, each.rows / rows)} {where}, {above}"))
        for name, held in (self.protection.released.sensitive if self.protection is not None else {}).items():
            said = [line.strip() for line in attribute_lines(name, held)]
            lines += [("sensitive", said[0]), *(("", line) for line in said[1:])]
        lines += [("note", note) for note in self.notes]
        return lines

    def __repr__(self) -> str:
        """Shape and names, and no cell."""
        known = ", ".join(self.quasi_identifiers)
        return printable(f"<Inspection of {self.source}: {self.rows} rows; quasi-identifiers {known}>")

    def __str__(self) -> str:
        """What people see of it, as text, and no cell."""
        header, *lines = self.column_texts()
        facts = [f"{name}: {text}" for name, text in self.facts]
        command = f"command: {self.command}".splitlines() if self.command else []
        told = [*markdown(header, lines).splitlines(), "", *facts, *command]
        return "\n".join(map(printable, told))

    def _repr_html_(self) -> str:
        title = f"{self.source}: {counted(self.rows, 'row')}, {counted(len(self.columns), 'column')}"
        note = PROPOSAL if any(each.proposed for each in self.columns) else ""
        return grid(title, self.column_texts(), note) + card(
            "", [*self.facts, *([("command", self.command)] if self.command else [])]
        )

    def frame(self) -> pl.DataFrame:
        """A row a column of the table, as a data frame of polars."""
        return pl.DataFrame([each.as_dict(self.rows) for each in self.columns])

    def to_frame(self) -> Any:
        """The same in the user's own kind of data frame."""
        return in_kind(self.frame(), self.kind)


def inspect(
    table: Any,
    quasi_identifiers: Names = None,
    sensitive: Names = None,
    *,
    identifying: Names = None,
    keep: Names = None,
    unit: str | None = None,
    drop: Names = None,
    count: str | None = None,
    weight: str | None = None,
    query: str | None = None,
    k: Sequence[int] = KS,
    population: Any = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Missing = "value",
    missing_values: Sequence[str] | str = (),
    header: bool | Sequence[str] = True,
    symbol: str = SYMBOL,
) -> Inspection:
    """Show what a table gives away: types of columns, which of them identify, groups of identical rows, risks, and what
    to run next.

    table: a path, a data frame of any kind that narwhals knows, or a database (as in `read_table`) with a query.
    k: values of k for which the rows at risk are counted; the second of them (or the only one) is that of the proposed
    command.
    unit: column of the unit of protection; risks are then those of units, too. drop: columns that the
    command drops, though they identify nobody. count: the column of a frequency table with the number of rows that a
    row stands for; all numbers are of these rows.
    population: a path or data frame of the population to which the persons belong, with the quasi-identifiers; the
    risks of the journalist and of the marketer are about it. weight: the column of sampling weights, how many of the
    population each row stands for. The population of a class is then estimated as the sum of the weights of its rows,
    F_k = Σ w_i (Templ, Kowarik, Meindl 2015, *Statistical Disclosure Control for Micro-Data Using the R Package
    sdcMicro*). The sum is a rough estimate for small classes, and these risks are those of the estimate alone.
    missing: "wildcard": risks and rows at risk count, for each row, those that match it, as `verify` does with
    missing_keys="match": f_k, and F_k with weights. Classes are still those of rows that are alike.
    delimiter, encoding, missing_values, header: as in `read_table`, for both. symbol: the suppression symbol of a
    released table; rows whose quasi-identifiers are all suppressed or missing are counted apart from the classes.

    Columns without a role get a proposed one (see `notes`); only you know which columns are sensitive:

    - unit: a column that is called like persons or their numbers (patient, customer no) and has several rows of one;
    - identifying: nearly every row has a value of its own that is text or an integer, or the column is called like
    names and numbers of persons;
    - keep: all rows have the same value;
    - sensitive, if you have named none: a column that is called so (diagnosis, income); if there is none, the last
    column, if it has a few values and no name of what others know;
    - quasi-identifier, if you have named none: at most eight of the other columns. More are dropped, and so is one of
    two that say the same of each row.

    Raises InputError for columns that the table does not have.
    """
    text(symbol, "symbol")
    one_of(missing, ("value", "wildcard"), "missing")
    if missing == "wildcard" and population is not None:
        raise InputError('missing="wildcard" is not supported with a population; leave one of the two out')
    ks = [integer(each, "k", least=2) for each in listed(k, "k", "a list of integers")]
    if not ks:
        raise InputError("k: name at least one")
    asked = (delimiter, encoding, missing_values, header)
    frame, source, fmt, own_names = _opened(table, asked, "table", query)
    if not len(frame):
        raise InputError(f"{source}: the table has no rows")
    another = another_delimiter(frame.columns)
    if delimiter is None and another:
        raise InputError(f"{source}{another.replace(';', ':', 1)}")
    named = [name for name in frame.columns if name not in own_names]
    doubt = header_doubt(named, frame, source, has_header=fmt.header is True)
    if doubt:
        warnings.warn(doubt, FileWarning, stacklevel=2)
    if weight is not None:
        if population is not None:
            raise InputError("weight estimates a population; give weight or population, not both")
        also = () if keep is None else column_names(keep, "keep")
        keep = tuple(dict.fromkeys([*also, column_name(weight, "weight")]))
    given = Roles.of(
        [] if quasi_identifiers is None else quasi_identifiers, sensitive, identifying, keep, unit, drop, count
    )
    # a quasi-identifier must be named to check roles, and here none need be
    some = given.quasi_identifiers or tuple(given.unclassified(frame.columns)[:1])
    replace(given, quasi_identifiers=some).check(frame.columns, source, doubt)
    frame, counts, uncounted = counted_rows(frame, given.count, source)
    weights = np.ones(len(frame), dtype=np.int64) if counts is None else counts
    texts = as_text(frame, frame.columns, source)
    read = [column_of(texts[name].alias(""), name, given, weights) for name in texts.columns]
    known = with_unit(with_members(read, texts))
    columns = with_at_most(MOST_PROPOSED, without_repeated(with_sensitive(known), texts))
    chosen = tuple(each.name for each in columns if each.role == "quasi-identifier")
    unit = next((each.name for each in columns if each.role == "unit"), None)
    reading = (*fmt.notes, *filter(None, (doubt, uncounted)))
    rows = int(weights.sum())
    others = None if population is None else _opened(population, asked, "population")[:2]
    if not chosen:
        return replace(_of_none(source, rows, columns, ks, reading), kind=frame.implementation)
    types = compress(texts, chosen, rows=pl.Series(weights))
    gone = _suppressed([texts[name] for name in chosen], symbol)  # a name may be a pattern of names
    shown = np.ones(len(weights), dtype=bool) if gone.all() else ~gone.to_numpy()
    held, of_held = texts.filter(shown), weights[shown]
    sizes = compress(held, chosen, rows=pl.Series(of_held)).counts if gone.any() else types.counts
    touched = [Touched(each, int(sizes[sizes < each].sum()), int((sizes < each).sum())) for each in ks]
    if (matched := missing == "wildcard") or weight is not None:
        # fully suppressed rows match all others, and are else alike with none of them
        among = shown | matched
        keys = texts.select(cs.by_name(*chosen)).filter(among)
        every = None if weight is None else sampling_weights(texts[weight], weight, source)
        sampling = every and [each for each, taken in zip(every, among, strict=True) if taken]
        symbols, of_rows = keys.select((pl.all() == symbol).fill_null(value=False)), np.where(shown, weights, 0)[among]
        frequencies = Frequencies.of(keys, symbols, weights[among], sampling, "match" if matched else "own")
        risk = _estimated(frequencies, of_rows, sampled=sampling is not None)
        if matched:
            few = {each: (frequencies.rows[frequencies.of_row] < each) & (of_rows > 0) for each in ks}
            touched = [
                Touched(each, int(of_rows[rows].sum()), len(np.unique(frequencies.of_row[rows])))
                for each, rows in few.items()
            ]
    else:
        risk = _risk(held, of_held, chosen, sizes, others)
    is_read = isinstance(table, str | Path | Database)
    marked = replace(fmt, missing_values=(*fmt.missing_values, *marks_in(columns)))
    proposal = propose(columns, ks[min(1, len(ks) - 1)], len(sizes), _free_symbol(types))
    return Inspection(
        source,
        rows,
        columns,
        chosen,
        find_quasi_identifiers(types, k=ks[0], fewest=len(chosen) <= MOST_QUASI),
        len(sizes),
        int(sizes.min()),
        int(sizes.max()),
        int((sizes == 1).sum()),
        tuple(_ranges(sizes)),
        risk,
        tuple(touched),
        _command(source, proposal, query, marked) if is_read else proposal.call(),
        int(weights[gone.to_numpy()].sum()),
        None if unit is None else {"unit": unit, **unit_risk(held.select(chosen), held[unit].alias(""), ks)},
        reading,
        _protection(frame, texts, chosen, given, source, symbol) if given.sensitive else None,
        proposal,
        frame.implementation,
        missing,
    )


def _estimated(found: Frequencies, weights: Ints, *, sampled: bool) -> Risk:
    """Risks by f_k, and by the sums of the sampling weights, F_k = Σ w_i: 1/F_k, the highest; the mean of 1/F_k over
    the rows. Without weights F_k is f_k. weights: how many rows each row stands for, 0 of those that are not shown."""
    shown, n = np.unique(found.of_row[weights > 0]), int(weights.sum())
    each = tally(found.of_row, weights, len(found.rows)).tolist()
    rows, among = found.rows.tolist(), found.population if sampled else found.rows.tolist()
    highest, estimate = (1 / Fraction(min(of[at] for at in shown.tolist())) for of in (rows, among))
    average, expected = (sum(Fraction(each[at]) / of[at] for at in shown.tolist()) / n for of in (rows, among))
    return Risk(highest, average, estimate, expected)


def _of_none(
    source: str, rows: int, columns: tuple[Column, ...], ks: Sequence[int], reading: tuple[str, ...]
) -> Inspection:
    """What is to be said where nothing may be a quasi-identifier, and all rows are alike."""
    nothing = QuasiIdentifiers(
        ks[0], rows, (), "identify", rows >= ks[0], (), complete=False, minimal=(), uniqueness=()
    )
    sizes = np.array([rows])
    touched = tuple(Touched(each, rows * (rows < each), int(rows < each)) for each in ks)
    risk = Risk(*[Fraction(1, rows)] * 4)
    ranges = tuple(_ranges(sizes))
    return Inspection(
        source, rows, columns, (), nothing, 1, rows, rows, int(rows == 1), ranges, risk, touched, "", reading=reading
    )


def _protection(
    frame: nw.DataFrame[Any],
    texts: pl.DataFrame,
    chosen: tuple[str, ...],
    given: Roles,
    source: str,
    symbol: str,
) -> Report:
    """What holds of sensitive attributes in classes of rows that are alike, distances being to the table itself."""
    keys, count = texts[[*chosen, *given.sensitive]], next(iter(given.count), None)
    table = Original(frame, chosen, given.sensitive, keys, source, symbol, is_released=True, count=count)
    return verify(Question(table, Suppression()))


def _suppressed(chosen: Sequence[pl.Series], symbol: str) -> pl.Series:
    """Of each row whether all of its cells are suppressed: the symbol, or missing beside some that are the symbol; with
    "" for the symbol, missing."""
    symbols = [(column.alias("") == symbol).fill_null(value=not symbol) for column in chosen]
    empty = [found | column.alias("").is_null() for found, column in zip(symbols, chosen, strict=True)]
    return reduce(operator.or_, symbols) & reduce(operator.and_, empty)


def _facts_of_units(risk: Mapping[str, Any]) -> list[tuple[str, str]]:
    units, alone = risk["units"], risk["alone"]
    unlike = f"{alone:,} of them ({percent(alone / units)})"
    lines = [
        ("unit", f"{units:,} different values of {risk['unit']}; {unlike} have a row like nobody else's"),
        ("risk", f"of a unit: prosecutor {percent(risk['highest'])} at most, {percent(risk['average'])} on average"),
    ]
    for k, below in risk["below"].items():
        told = f"{'has' if below == 1 else 'have'} a row in a group of fewer than {k} units, "
        told += f"where the risk is above {percent(1 / int(k))}"
        lines.append((f"k = {k}", f"{counted(below, 'unit')} ({percent(below / units)}) {told}"))
    return lines


def _differ(some: int, rows: int) -> str:
    """How many rows differ, as the beginning of a sentence."""
    return f"{counted(some, 'row')} ({percent(some / rows)}) {'differs' if some == 1 else 'differ'}"


def _are(rows: int, share: float) -> str:
    """How many rows, as the beginning of what is said of them."""
    return f"{counted(rows, 'row')} ({percent(share)}) {'is' if rows == 1 else 'are'}"


def _command(source: str, proposal: Proposal, query: str | None, fmt: CsvFormat) -> str:
    """The proposal as a shell takes it, with the options that say how the table is read, where something was said, or
    is known."""
    named = {"delimiter", "encoding"}.difference(fmt.unnamed)
    reading = ["--delimiter", "tab" if fmt.delimiter == "\t" else fmt.delimiter] if "delimiter" in named else []
    reading += ["--encoding", fmt.encoding] if "encoding" in named else []
    if not isinstance(fmt.header, bool):
        reading += ["--header", listing(fmt.header)]
    elif not fmt.header:
        reading.append("--no-header")
    reading += ["--missing-values", listing(fmt.missing_values)] if fmt.missing_values else []
    options = proposal.options(source, query and shown_query(query), reading)
    return " ".join(map(shell_word, ["kanon-milp", "solve", *options]))


def _free_symbol(types: RowTypes) -> str:
    """A symbol of suppression that is no value of the quasi-identifiers; "" where the usual one is none."""
    taken, symbol = {value for domain in types.domains for value in domain}, SYMBOL
    while symbol in taken:
        symbol += SYMBOL
    return "" if symbol == SYMBOL else symbol


def _opened(
    table: Any, asked: tuple[Any, Any, Any, Any], what: str, query: str | None = None
) -> tuple[nw.DataFrame[Any], str, CsvFormat, Mapping[str, Any]]:
    if isinstance(table, str | Path | Database):
        path = location(table, what)
        asked_query(path, query)
        frame, fmt = read_with_format(path, CsvFormat.asked(path, *asked), query)
        return nw.from_native(frame, eager_only=True), str(path), fmt, {}
    if query is not None:
        text(query, "query")
        raise InputError("query: is for a database, and the table is a data frame; leave it out")
    opened, own_names = open_frame(table, what)
    fmt = CsvFormat.asked(None, *asked)
    if fmt.header is not True:
        raise InputError("header: is for a file, and the table is a data frame; leave it out")
    if fmt.missing_values:
        opened = nw.from_native(with_missing(opened.to_polars(), fmt), eager_only=True)
    return opened, what, fmt, own_names


def _ranges(sizes: Ints) -> list[SizeRange]:
    found = []
    for least, following in zip(EDGES, (*EDGES[1:], None), strict=True):
        inside = sizes[(sizes >= least) & (sizes < (following or np.inf))]
        found.append(SizeRange(least, None if following is None else following - 1, len(inside), int(inside.sum())))
    return found


def _risk(
    texts: pl.DataFrame,
    weights: Ints,
    chosen: tuple[str, ...],
    sizes: Ints,
    population: tuple[nw.DataFrame[Any], str] | None,
) -> Risk:
    n, classes = int(sizes.sum()), len(sizes)
    highest, average = Fraction(1, int(sizes.min())), Fraction(classes, n)
    if population is None:
        return Risk(highest, average, highest, average)
    frame, source = population
    Roles.of(chosen).check(frame.columns, source)
    by = [f"c{j}" for j in range(len(chosen))]
    ours, all_ = (each.select(chosen) for each in (texts, as_text(frame, list(chosen), source)))
    ours.columns = all_.columns = by
    ours = ours.with_columns(pl.Series("rows", weights)).group_by(by).agg(pl.col("rows").sum())
    joined = ours.join(all_.group_by(by).len("among"), on=by, how="left", nulls_equal=True)
    if joined.filter(pl.col("among").is_null() | (pl.col("among") < pl.col("rows"))).height:
        raise InputError(
            f"{source}: a class has fewer rows there than in the table; the population must contain the table"
        )
    rows, among = joined["rows"].to_list(), joined["among"].to_list()
    expected = sum((Fraction(each, large) for each, large in zip(rows, among, strict=True)), Fraction(0))
    return Risk(highest, average, Fraction(1, min(among)), expected / n)
