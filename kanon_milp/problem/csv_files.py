"""CSV files: reading them cell by cell as they are, and writing values so that they are read as the same text.

How a file is written is found where nobody says it and there is no doubt: its delimiter from its first lines, its
encoding from all of it. Where there is doubt the defaults stand, and the error or the warning names the option.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import math
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, TypeVar

import polars as pl
import polars.selectors as cs

from kanon_milp.errors import FileWarning, InputError, counted
from kanon_milp.problem.arguments import listed, text
from kanon_milp.problem.column_values import text_of
from kanon_milp.problem.roles import another_delimiter, spoken
from kanon_milp.system.extras import optional
from kanon_milp.system.processes import available_bytes

UTF8 = ("utf-8", "utf8")
DELIMITERS = (",", ";", "\t", "|")
HEAD = 1 << 16  # bytes from which the delimiter is found
SEP = re.compile(r'"?sep=([^\w"\r\n])"?[ \t]*\r?(?:\n|\Z)', re.IGNORECASE)  # a first line that Excel writes and reads
COLUMN = re.compile(r"column_[1-9]\d*")  # how columns without a name are called
MARKS = (  # what a file may begin with; a longer one before one that is its beginning
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LETTERS, _SIGNS, _JOINING = "À-ÖØ-öø-ÿŒœ", "€„“”‘…°§²³µ¼½¾«»‹›£©®™±×÷¡¿ºª•", "’–—´·\xa0"
DOUBTFUL = re.compile(  # of a text that was read as cp1252: what words of western languages do not look like
    rf"[^\x00-\x7f{_LETTERS}{_SIGNS}{_JOINING}]|[{_LETTERS}]{{3}}|[a-zß-öø-ÿ][À-ÖØ-Þ]"
    rf"|(?<![A-Za-z{_LETTERS}])[{_LETTERS}]{{2}}(?![A-Za-z{_LETTERS}])"
    rf"|[A-Za-z{_LETTERS}][{_SIGNS}][A-Za-z{_LETTERS}]"
)
LIKELY = ("cp1252", "mac-roman", "cp850")  # encodings of western languages, to name where one of them fits
F = TypeVar("F", pl.DataFrame, pl.LazyFrame)


@dataclass(frozen=True)
class CsvFormat:
    """How a table is written: the delimiter of a CSV file, its text encoding (a Python codec name), and texts that
    stand for a missing value, such as NA, blanks around them aside (in other files, too).

    header: True where the first row names the columns; False where there is no such row, and columns are called
    column_1, column_2, ...; or their names, where there is none. unnamed: which of "delimiter" and "encoding" nobody
    has named, so that reading may find another one. mark: a byte order mark precedes the text. line_end: of each row.
    found: of unnamed, what reading found to be another one. notes: what there is to say of the file.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    missing_values: Sequence[str] | str = ()
    header: bool | Sequence[str] = True
    unnamed: tuple[str, ...] = ()
    mark: bool = False
    line_end: str = "\n"
    found: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        given = self.missing_values
        texts = [given] if isinstance(given, str) else listed(given, "missing_values", "a text, or a list of texts,")
        object.__setattr__(self, "missing_values", tuple(text(each, "missing_values").strip() for each in texts))
        if text(self.delimiter, "delimiter") in ("\\t", "tab"):
            object.__setattr__(self, "delimiter", "\t")
        if len(self.delimiter.encode(errors="replace")) != 1 or self.delimiter in '"\r\n\0':
            raise InputError('the delimiter must be one ASCII character, such as "," or ";", or tab')
        try:
            "".encode(text(self.encoding, "encoding"))
        except (LookupError, ValueError):
            raise InputError(f'unknown encoding "{self.encoding}"; try utf-8, latin-1 or cp1252') from None
        if not isinstance(self.header, bool):
            one = isinstance(self.header, str)
            names = [self.header] if one else listed(self.header, "header", "true, false, or a list of names,")
            if not names or len({text(name, "header") for name in names}) < len(names):
                raise InputError("header: each column needs a name of its own (header=[...], --header a,b,c)")
            object.__setattr__(self, "header", tuple(names))

    @classmethod
    def asked(
        cls,
        path: object,
        delimiter: str | None = None,
        encoding: str | None = None,
        missing_values: Sequence[str] | str = (),
        header: bool | Sequence[str] = True,
    ) -> CsvFormat:
        """What a user says of a table; None where reading is to find it."""
        named = {"delimiter": delimiter, "encoding": encoding}
        return cls(
            default_delimiter(path) if delimiter is None else delimiter,
            "utf-8" if encoding is None else encoding,
            missing_values,
            header,
            tuple(name for name, value in named.items() if value is None),
        )

    @property
    def named_encoding(self) -> str | None:
        """The encoding that somebody has named, and that other files are read with, too."""
        return None if "encoding" in self.unnamed else self.encoding


def default_delimiter(path: object) -> str:
    """A tab for .tsv, else a comma."""
    return "\t" if isinstance(path, Path) and ".tsv" in path.suffixes else ","


def with_missing(frame: F, fmt: CsvFormat) -> F:
    """A frame of polars, lazy or not, in which the texts that stand for a missing value are null."""
    if not fmt.missing_values:
        return frame
    return frame.with_columns(pl.when(~_shown().is_in(list(_bare(fmt)))).then(cs.string()))


def absent_marks(frame: pl.DataFrame | pl.LazyFrame, fmt: CsvFormat, source: str) -> str:
    """One line that names the texts for a missing value that no cell of a frame is; empty where each occurs."""
    if not fmt.missing_values:
        return ""
    bare = _bare(fmt)
    found = frame.lazy().select(_shown().filter(_shown().is_in(list(bare))).unique().implode()).collect()
    there = {bare[each] for cells in found.rows() for column in cells for each in column}
    absent = [f'"{mark}"' for mark in fmt.missing_values if mark not in there]
    if not absent:
        return ""
    return f"{source}: no cell is {' or '.join(absent)}, although it was named as a missing value (--missing-values)"


def _shown() -> pl.Expr:
    return cs.string().str.strip_chars()


def _bare(fmt: CsvFormat) -> dict[str, str]:
    """Each text that stands for a missing value, to how it was named: one in quotation marks without them, too."""
    found = {mark: mark for mark in fmt.missing_values}
    for mark in fmt.missing_values:
        if len(mark) > 2 and mark[0] == mark[-1] and mark[0] in "'\"":
            found.setdefault(mark[1:-1].strip(), mark)
    return found


PIECE = 1 << 24  # bytes
TIMES = 4  # as much memory as a file has bytes is needed to read it
DAMAGED = EOFError, zlib.error, gzip.BadGzipFile  # what reading a damaged file compressed by gzip raises


class _BareReturnError(Exception):
    """A carriage return that ends no line."""


def csv_text(frame: pl.DataFrame, delimiter: str = ",", line_end: str = "\n") -> str:
    """A frame as CSV: missing values as nothing, empty text as \"\", quotes only where needed."""
    # without its name: methods of a series called ^a.*$ would read that as a pattern
    columns = {series.name: text_of(series.alias("")) for series in frame}
    return pl.DataFrame(columns).write_csv(separator=delimiter, line_terminator=line_end)


def csv_bytes(frame: pl.DataFrame, fmt: CsvFormat) -> bytes:
    """The same as the content of a file, in the encoding of the format and with its byte order mark."""
    return ("\ufeff" * fmt.mark + csv_text(frame, fmt.delimiter, fmt.line_end)).encode(fmt.encoding)


def unpacked(path: Path) -> bytes:
    """The bytes of a file; of one whose name ends in .gz those that it packs. Raises InputError for a damaged one, and
    for one that memory does not hold."""
    return b"".join(_pieces(path))


def _pieces(path: Path) -> Iterator[bytes]:
    """The same piece by piece, until they are more than memory holds."""
    free = available_bytes()
    most, size = math.inf if free is None else free / TIMES, 0
    try:
        with _open(path) as file:
            while piece := file.read(PIECE):
                size += len(piece)
                if size > most:
                    unit = 2**30
                    raise InputError(
                        f"{path}: is too large for the memory that is free: it has more than {size / unit:.2g} GB"
                        f"{' unpacked' if path.suffix.lower() == '.gz' else ''}, reading takes about {TIMES} times as "
                        f"much, and {(free or 0) / unit:.2g} GB are free; give a sample of the rows"
                    )
                yield piece
    except DAMAGED:
        raise _damaged(path) from None


def read_csv(path: Path, fmt: CsvFormat) -> tuple[pl.DataFrame, CsvFormat]:
    """Read an entire file, every cell as text, and say how it is written.

    A cell is missing where it is empty and not quoted; in a file in which all cells are quoted, where it is empty.
    """
    raw, fmt = decoded(path, unpacked(path), fmt)
    return read_text(path, raw, fmt)


def read_text(path: Path, raw: bytes, fmt: CsvFormat) -> tuple[pl.DataFrame, CsvFormat]:
    """The same of UTF-8 without a mark, which `path` held."""
    fmt = _with_delimiter(path, raw[:HEAD].decode(errors="ignore"), len(raw) > HEAD, fmt)
    raw, stand_in = _without_bare_returns(raw)
    shape = _shape(io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline="\n"), path, fmt)
    fmt = _told(path, shape, fmt)
    if shape.rows == 0:
        raise InputError(f"{path}: the table has no rows{' below its header' * (fmt.header is True)}")
    if shape.blanks:
        blanks = set(shape.blanks)
        raw = b"".join(line for number, line in enumerate(io.BytesIO(raw), 1) if number not in blanks)
    frame = shape.of(pl.read_csv(io.BytesIO(raw), separator=fmt.delimiter, **shape.options))
    if frame.height != shape.rows:
        raise InputError(f"{path}: cannot be read as CSV: a cell with a quotation mark in it must be quoted")
    if stand_in:
        frame = frame.with_columns(pl.all().str.replace_all(stand_in, "\r", literal=True))
        frame.columns = [name.replace(stand_in, "\r") for name in frame.columns]
    return frame, fmt


def read_excel(path: Path, fmt: CsvFormat) -> tuple[pl.DataFrame, CsvFormat]:
    """Read the first sheet of a workbook as if it were a CSV file; dates as 2020-12-31, and numbers as they are."""
    fastexcel = optional("fastexcel", "excel", f"{path}: reading an Excel workbook")
    raw = path.read_bytes()
    try:
        sheets = fastexcel.read_excel(raw).sheet_names
        found = pl.read_excel(raw, sheet_id=1, has_header=False, infer_schema_length=0, raise_if_empty=False)
    except fastexcel.FastExcelError:
        raise InputError(f"{path}: cannot be read as an Excel workbook; is it one, without a password?") from None
    midnight = r"^(\d{4}-\d\d-\d\d) 00:00:00$"
    for name in found.columns:
        below = found[name].slice(fmt.header is True).drop_nulls()
        if below.str.contains(midnight).all():
            found = found.with_columns(pl.col(name).str.replace(midnight, "$1"))
    content = found.write_csv(include_header=False).encode()
    frame, read = read_text(path, content, CsvFormat(header=fmt.header))
    told = (f'{path}: has {len(sheets)} sheets; the first one, "{sheets[0]}", is read',) if len(sheets) > 1 else ()
    for each in told:
        warnings.warn(each, FileWarning, stacklevel=3)
    return frame, replace(fmt, notes=(*told, *read.notes))


def scan_csv(path: Path, fmt: CsvFormat) -> tuple[pl.LazyFrame, CsvFormat]:
    """Open a file lazily, and say how it is written; it is checked line by line."""
    if path.suffix.lower() == ".gz":  # which is unpacked into memory
        for _ in _pieces(path):
            pass
    try:
        with _open(path) as file:
            head = file.read(HEAD)
            more = bool(file.read(1))
        plain = fmt.encoding.lower().replace("_", "-") in (*UTF8, "ascii") and b"\n" in head
        if plain and ("encoding" not in fmt.unnamed or _marked(head) in (None, "utf-8")):
            told = replace(fmt, encoding="utf-8", mark=head.startswith(codecs.BOM_UTF8), found=(), notes=())
            told = replace(told, line_end="\r\n" if b"\r\n" in head[: head.find(b"\n") + 1] else "\n")
            found = _with_delimiter(path, head.decode("utf-8-sig", errors="ignore"), more, told)
            with io.TextIOWrapper(_open(path), "utf-8-sig", newline="\n") as lines:
                shape = _shape(_refuse_bare_returns(lines), path, found)
            if not shape.blanks:
                scanned = pl.scan_csv(path, separator=found.delimiter, glob=False, **shape.options)
                return shape.of(scanned), _told(path, shape, found)
    except (UnicodeError, _BareReturnError):
        pass  # which reading all of it finds, too
    except DAMAGED:
        raise _damaged(path) from None
    frame, fmt = read_csv(path, fmt)
    return frame.lazy(), fmt


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _refuse_bare_returns(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if "\r" in line and "\r" in line.rstrip("\n").removesuffix("\r"):
            raise _BareReturnError
        yield line


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: cannot be unpacked by gzip: the file is damaged, ends too early, or is not packed")


def decoded(path: Path, raw: bytes, fmt: CsvFormat) -> tuple[bytes, CsvFormat]:
    """The content of a file as UTF-8 without a mark, lines that end in returns alone as others; and its encoding.

    Where nobody has named that, a byte order mark does; else it is UTF-8 if it can be, then that of `fmt`, then
    cp1252 if all letters beyond ASCII stand in words of western languages. Raises InputError for another one.
    """
    encodings = [fmt.encoding]
    if "encoding" in fmt.unnamed:
        encodings = list(dict.fromkeys([_marked(raw) or "utf-8", fmt.encoding, "cp1252"]))
    for encoding in encodings:
        try:
            if encoding.lower() in UTF8:
                raw.decode("utf-8")  # the CSV reader would pass some faults on
                content = raw
            else:
                # incrementally, as then UTF-16 and UTF-32 without a mark of their byte order are refused, not guessed
                text = codecs.getincrementaldecoder(encoding)().decode(raw, final=True)
                if encoding not in (encodings[0], fmt.encoding) and DOUBTFUL.search(text):
                    continue
                content = text.encode("utf-8")
            break
        except UnicodeError:
            continue
    else:
        fits = [each for each in LIKELY if each not in encodings and _looks_like(each, raw)]
        such = f", such as {' or '.join(fits)}" if fits else f"; {', '.join(LIKELY)} do not seem to fit either"
        line = _line_of_fault(raw) if encodings[0].lower() in UTF8 else ""
        raise InputError(f"{path}{line}: is not {encodings[0]}; name its encoding (encoding=..., --encoding){such}")
    marked = content.startswith(codecs.BOM_UTF8)
    content = content.removeprefix(codecs.BOM_UTF8)
    line_end = "\n"
    if b"\r" in content:
        first = content.find(b"\n")
        line_end = "\r" if first < 0 else "\r\n" if content[first - 1 : first] == b"\r" else "\n"
        content = content if first >= 0 else content.replace(b"\r", b"\n")
    fmt = replace(fmt, mark=marked, line_end=line_end, found=(), notes=())
    if encoding in (*UTF8, fmt.encoding):
        return content, replace(fmt, encoding=encoding)
    note = f"{path}: read as {encoding} text (name another encoding by --encoding)"
    return content, replace(fmt, encoding=encoding, found=("encoding",), notes=(note,))


def _line_of_fault(raw: bytes) -> str:
    """Where bytes are no UTF-8 first."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return f", line {line}"
    return ""


def _looks_like(encoding: str, raw: bytes) -> bool:
    """Whether these bytes can be text of a western language in this encoding."""
    try:
        return DOUBTFUL.search(raw.decode(encoding)) is None
    except UnicodeError:
        return False


def _marked(raw: bytes) -> str | None:
    """The encoding that a byte order mark tells, or zero bytes in every other place; None where nothing does."""
    for mark, encoding in MARKS:
        if raw.startswith(mark):
            return encoding
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = raw[first:HEAD:2], raw[1 - first : HEAD : 2]
        if 0 not in others and set(zeros[:4]) == {0} and 2 * zeros.count(0) > len(zeros):
            return encoding
    return None


def _with_delimiter(path: Path, head: str, more: bool, fmt: CsvFormat) -> CsvFormat:
    """The format with the delimiter that the first lines of a file tell beyond doubt; more: lines follow.

    That is the one in a line sep=; before the header, or the only one that divides all of these lines in as many
    columns, two at least. The delimiter of the format is taken wherever it does so, too.
    """
    if "delimiter" not in fmt.unnamed:
        return fmt
    tried = dict.fromkeys((fmt.delimiter, *DELIMITERS))
    sep = SEP.match(head)
    fitting = [sep[1]] if sep else [each for each in tried if _divides(head, more, each)]
    if not fitting or fitting == [fmt.delimiter]:
        return fmt
    if len(fitting) == 1:
        fmt = replace(fmt, delimiter=fitting[0], found=(*fmt.found, "delimiter"))
        note = f"{path}: its columns are divided by {spoken(fmt.delimiter)}"
    else:
        said = " and ".join(map(spoken, fitting))
        note = f"{path}: {said} divide its rows evenly; {spoken(fmt.delimiter)} was taken for the delimiter"
    return replace(fmt, notes=(*fmt.notes, f"{note} (--delimiter names another)"))


def _divides(head: str, more: bool, delimiter: str) -> bool:
    """Whether all lines have as many fields, and two at least; more: the last line may be cut off."""
    whole = head[: head.rfind("\n") + 1] if more else head
    widths = set()
    try:
        for row in csv.reader(io.StringIO(whole, newline="\n"), delimiter=delimiter, strict=True):
            if len(row) > 1 or "".join(row).strip():
                widths.add(len(row))
            if len(widths) > 1:
                return False
    except csv.Error as error:
        if not (more and "unexpected end" in str(error)):  # a quoted cell of several lines may be cut off
            return False
    return bool(widths) and min(widths) > 1


def _told(path: Path, shape: _Shape, fmt: CsvFormat) -> CsvFormat:
    """The format with all notes on a file, which are said here."""
    if shape.blanks:
        lines = f"line {shape.blanks[0]:,} is blank and holds no row"
        if len(shape.blanks) > 1:
            lines = f"{len(shape.blanks):,} lines are blank and hold no row, line {shape.blanks[0]:,} first"
        fmt = replace(fmt, notes=(*fmt.notes, f"{path}: {lines}"))
    if shape.zeros:
        count, first = shape.zeros
        lines = f"line {first:,} holds" if count == 1 else f"{count:,} lines, line {first:,} first, hold"
        said = (
            f"{path}: {lines} a zero byte (NUL), which text has none of; the file may be damaged, or another encoding"
        )
        fmt = replace(fmt, notes=(*fmt.notes, f"{said} be right (--encoding)"))
    for note in fmt.notes:
        warnings.warn(note, FileWarning, stacklevel=4)
    return fmt


def _without_bare_returns(raw: bytes) -> tuple[bytes, str]:
    """Put a character that does not occur in the place of each carriage return that ends no line.

    The CSV reader drops one at the end of a cell. Returns the character too, or an empty text where there was none.
    """
    if b"\r" not in raw:
        return raw, ""
    unused = next(character for character in map(chr, range(0xE000, 0xF900)) if character.encode() not in raw)
    changed, count = re.subn(rb"\r(?!\n|\Z)", unused.encode(), raw)
    return changed, unused if count else ""


@dataclass(frozen=True)
class _Shape:
    """Column names; lines before the first row; rows; blank lines between them; whether every cell is quoted; how many
    lines hold a character of code 0, and the first of them."""

    names: tuple[str, ...]
    before: int
    rows: int
    blanks: tuple[int, ...]
    quoted: bool
    zeros: tuple[int, int] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What the CSV reader is told. It is not shown the header: it would misread names with quotation marks."""
        schema = dict.fromkeys(self.names, pl.String)
        return {"has_header": False, "skip_lines": self.before, "schema": schema}

    def of(self, frame: F) -> F:
        """The rows as the file means them, of those that the CSV reader found."""
        rows = frame.head(self.rows)
        return rows.with_columns(pl.when(pl.all() != "").then(pl.all())) if self.quoted else rows


def _shape(lines: Iterable[str], path: Path, fmt: CsvFormat) -> _Shape:
    """Read the header, and count the rows that follow.

    Every row must have as many fields as the header: the CSV reader would fill short rows up, and blank lines, with
    missing values. Only in a file of one column, of which not all cells are quoted, a blank line is a row, with a
    missing value.
    """
    watched = _Watched(lines)
    names, before, lines = _header(watched, path, fmt)
    blanks: list[int] = []
    row, last, quoted = 0, 0, True
    for fields, end, every in _fields(lines, fmt.delimiter, path, before):
        if fields == 0:
            blanks.append(end)
            continue
        row += 1
        last = end
        if fields != len(names):
            doubt = another_delimiter(names) or f'; is the delimiter "{fmt.delimiter}" right (delimiter=, --delimiter)?'
            if fields == len(names) + 1 and watched.last.rstrip("\r\n").endswith(fmt.delimiter):
                doubt = (
                    f"; the row ends in {spoken(fmt.delimiter)}: where all do, end the header in it, too (a last "
                    "column without a name), or remove it from the rows"
                )
            first = "the header" if fmt.header is True else "the first row"
            number = row + len(blanks) * (len(names) == 1)
            raise InputError(
                f"{path}: line {end}: row {number} has {counted(fields, 'field')}, {first} has {len(names)}{doubt}"
            )
        quoted = quoted and every
    quoted = quoted and row > 0
    if len(names) == 1 and not quoted:
        return _Shape(names, before, row + len(blanks), (), quoted, watched.zeros)
    return _Shape(names, before, row, tuple(line for line in blanks if line < last), quoted, watched.zeros)


class _Watched(Iterator[str]):
    """Lines, of which the last that was read is kept, and counted what `_Shape.zeros` is."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._read = 0
        self.last = ""
        self.zeros: tuple[int, int] | None = None

    def __next__(self) -> str:
        self.last = next(self._lines)
        self._read += 1
        if "\0" in self.last:
            self.zeros = (1, self._read) if self.zeros is None else (self.zeros[0] + 1, self.zeros[1])
        return self.last


def _header(lines: Iterator[str], path: Path, fmt: CsvFormat) -> tuple[tuple[str, ...], int, Iterator[str]]:
    """Column names, the number of lines before the first row, and the lines from there on."""
    before, first = 0, next(lines, None)
    if first is not None and SEP.match(first):
        before, first = 1, next(lines, None)
    while first is not None and not first.strip() and fmt.delimiter not in first:
        before, first = before + 1, next(lines, None)
    if first is None:
        what = "a header row with the column names is expected" if fmt.header is True else "it has no rows"
        raise InputError(f"{path}: the file is {'blank' if before else 'empty'}: {what}")
    try:
        cells, taken, _ = _row(first, lines, fmt.delimiter)
    except csv.Error as error:
        where = "the header" if fmt.header is True else "the first row"
        raise InputError(f"{path}: {where} is not valid CSV: {_fault(error)}") from None
    if fmt.header is True:
        _refuse_repeated(cells, path)
        return tuple(cells), before + len(taken), lines
    names = [f"column_{number}" for number in range(1, len(cells) + 1)]
    if not isinstance(fmt.header, bool):
        names = list(fmt.header)
    known = all(cell in names or (fmt.header is False and COLUMN.fullmatch(cell)) for cell in cells)
    if known and len(set(cells)) == len(cells):  # a table that was released from one without a header has one
        return tuple(cells), before + len(taken), lines
    if len(names) != len(cells):
        raise InputError(
            f"{path}: {counted(len(names), 'column')} named (header=[...], --header), and its first row has "
            f"{counted(len(cells), 'field')}{another_delimiter(cells)}"
        )
    return tuple(names), before, itertools.chain(taken, lines)


def _refuse_repeated(names: Sequence[str], path: Path) -> None:
    """The CSV reader would rename a repeated column silently."""
    first: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if first.setdefault(name, position) != position:  # unnamed: without a header row, the name would be a cell
            what = "have the same name; rename one of them" if name else "have no name; name them, or remove them"
            raise InputError(
                f"{path}: columns {first[name]} and {position} of the header {what}. If the file has no header row, "
                "say so (header=False, --no-header), or name its columns (--header a,b,c)"
            )


def _row(line: str, lines: Iterator[str], delimiter: str) -> tuple[list[str], list[str], str]:
    """The cells of the row that begins with this line, the lines that it takes, and these as one text."""
    taken: list[str] = []

    def read() -> Iterator[str]:
        for each in itertools.chain([line], lines):
            taken.append(each)
            yield each

    cells = next(csv.reader(read(), delimiter=delimiter, strict=True))
    return cells, taken, "".join(taken)


def _fields(lines: Iterator[str], delimiter: str, path: Path, before: int) -> Iterator[tuple[int, int, bool]]:
    """For each row its number of fields (0 for a blank line), the number of its last line, and whether every cell is
    quoted; before: lines read."""
    quoted = re.compile(r'"[^"]*(?:""[^"]*)*"(?:D"[^"]*(?:""[^"]*)*")*\r?\n?'.replace("D", re.escape(delimiter)))
    end = before  # line at which the row before ends
    while (line := next(lines, None)) is not None:
        if '"' not in line:  # counting delimiters is exact, and fast
            end += 1
            yield (line.count(delimiter) or bool(line.strip()) - 1) + 1, end, False
            continue
        if '""' not in line and quoted.fullmatch(line):  # and so it is here
            end += 1
            yield line.count('"') // 2, end, True
            continue
        try:
            cells, taken, text = _row(line, lines, delimiter)
        except csv.Error as error:
            raise InputError(
                f"{path}: the row that begins in line {end + 1} is not valid CSV: {_fault(error)}"
            ) from None
        end += len(taken)
        yield len(cells), end, quoted.fullmatch(text) is not None


def _fault(error: csv.Error) -> str:
    kinds = {
        "unexpected end of data": "a quotation mark is opened and never closed",
        "expected after": "text follows a closing quotation mark; a quotation mark within a value is written twice",
        "field limit": "a value is longer than 131,072 characters",
    }
    return next((said for mark, said in kinds.items() if mark in str(error)), "it cannot be divided into fields")
