"""What can go wrong, as types. Messages name file, column, row number and kind of a value, never a cell of a user's
table."""

from __future__ import annotations

import json
import math
import numbers
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

LONG_WORD = re.compile(r"\S{256,}")
LONGEST = 3_000  # characters of a message
LONGEST_NAME = 200  # characters of a name of a column that is shown among others
LISTED = 50  # columns in the error for one that is not there
# in what looks like the address of a database of any kind: user:password@host, password=...
_PASSWORDS = (
    (re.compile(r"""((?:^|[\s/'"(=])[^\s:/@'"()]*):(?![\s/\\])\S*@"""), r"\1@"),
    (re.compile(r"(?i)(jdbc:[^\s@]*/)[^\s@/]*@"), r"\1@"),
    (
        re.compile(
            r"""(?i)((?:password|passwd|passphrase|pwd|secret|token|api_?key|signature|\bsig)\s*=\s*)"""
            r"""("[^"]*"|'[^']*'|\{[^}]*\}|[^\s&;,)]*[^\s&;,):])"""
        ),
        r"\1***",
    ),
)


class KanonError(Exception):
    """Base of every error that this package raises on purpose. Its text is one `printable` line of readable length,
    without the password of an address."""

    def __str__(self) -> str:
        # names of columns, keys and files may be of any length
        said = without_passwords(printable(super().__str__()))
        text = LONG_WORD.sub(lambda word: f"{word[0][:100]}...{word[0][-50:]}", said)
        return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


class InputError(KanonError):
    """Bad input: a table, mask, hierarchy, model file or option that cannot be used. The message says how to correct
    it."""


class UndecidedError(InputError):
    """Whether a group has what is required was not decided within a number of steps."""


class SolverError(KanonError):
    """A solver is missing, unusable, or ended in a way from which nothing can be concluded."""


class UnusablePointError(SolverError):
    """A solver has returned a point that does not satisfy the model that it was given, or none where it claims one."""


class TooManyLevelVectorsError(InputError):
    """More level vectors are possible than can be listed."""


class NotProvenError(KanonError):
    """A result was required to be optimal and is not proven to be."""


class KanonWarning(UserWarning):
    """Base of every warning of this package."""


class RoleWarning(KanonWarning):
    """Columns without a role are about to be released."""


class FileWarning(KanonWarning):
    """How a file was read, where that was detected and not named; or its first row looks like data."""


def without_passwords(text: str) -> str:
    """Text without the passwords of what looks like addresses in it."""
    for pattern, left in _PASSWORDS:
        text = pattern.sub(left, text)
    return text


def is_built_in(thing: object) -> bool:
    """Whether its class is one of this package, and not of somebody else's making."""
    return is_ours(type(thing))


def is_ours(thing: object) -> bool:
    """Whether a class or function is one of this package."""
    return str(getattr(thing, "__module__", None)).startswith(__name__.partition(".")[0] + ".")


@contextmanager
def own_code(what: str, must: str) -> Iterator[None]:
    """Around a call of code that somebody else has written, such as a requirement's: what that raises becomes an
    InputError that names it, where it was raised, and what it must do. The original is chained.

    Of the original only its class is named, since its text may hold a cell of the table.
    """
    try:
        yield
    except KanonError:
        raise
    except Exception as error:
        at = _place(error.__traceback__)
        raise InputError(f"{what} raised {type(error).__name__}{at and f' ({at})'}; it must {must}") from error


def _place(trace: TracebackType | None) -> str:
    """Where the code that was called raised, or called what did: the deepest line in its first file."""
    inner = trace
    for _ in range(2):  # this function's caller, and who has called the code
        inner = None if inner is None else inner.tb_next
    if inner is None:  # it could not even be called
        return ""
    while inner.tb_next is not None and inner.tb_next.tb_frame.f_code.co_filename == inner.tb_frame.f_code.co_filename:
        inner = inner.tb_next
    return f"line {inner.tb_lineno} of {inner.tb_frame.f_code.co_filename.rpartition('/')[2]}"


def printable(text: object) -> str:
    """Text in which nothing can steer a terminal or forge a line: control characters, line ends, marks that change the
    direction of writing and halves of characters are shown as \\x1b, \\n, \\u202e, \\udc80.

    Whatever comes from outside (names of columns, files and solvers, labels, titles) goes through here on its way out.
    """
    return "".join(
        each if each.isprintable() or unicodedata.category(each) == "Zs" else each.encode("unicode_escape").decode()
        for each in str(text)
    )


def kind_of(value: object) -> str:
    """Describe a value without printing it: 'missing', 'empty text', 'text of 7 characters', 'number', ..."""
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "true/false"
    if isinstance(value, numbers.Number):
        return "number"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, str):
        if not value:
            return "empty text"
        return f"text of {counted(len(value), 'character')}"
    return type(value).__name__


def type_in_words(value: object) -> str:
    """The same of an argument, or of what a function returned: None is None there, and numbers are of a type."""
    if value is None:
        return "None"
    if isinstance(value, numbers.Number) and not isinstance(value, bool):
        return type(value).__name__
    return kind_of(value)


def counted(number: int, word: str, plural: str = "") -> str:
    """Such as "1 field" and "2,000 fields"; plural: where it takes more than an s."""
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"


def percent(share: float, digits: int = 1) -> str:
    """A share for people, such as "12.4 %"."""
    return f"{100 * share:.{digits}f} %"


def gap_in_words(gap: float) -> str:
    """A gap for people, rounded up: the best possible is at most so far away."""
    return percent(math.ceil(10_000 * gap - 1e-9) / 10_000, 2)


def nearest(word: str, known: list[str]) -> str:
    """Return ' (did you mean "x"?)' for the known word nearest to `word`, or an empty text.

    Nearest of all is one that differs in blanks around it or in capital letters only.
    """
    import difflib

    def bare(text: str) -> str:
        return text.strip().casefold()

    close = [each for each in known if bare(each) == bare(word)] or difflib.get_close_matches(word, known, n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def among(name: str, columns: Sequence[str], what: str = "column") -> str:
    """What to say of a column that is not there: the nearest one, and those that there are; but not where a name of one
    looks as if it had swallowed rows."""
    plain = [each for each in columns if len(each) <= LONGEST_NAME and len(each.splitlines()) < 2]
    if len(plain) < len(columns):
        number = next(at for at, each in enumerate(columns, 1) if each not in plain)
        return (
            f"{nearest(name, plain)}; a quotation mark in the header may not be closed: the name of {what} {number} of "
            f"{len(columns):,} runs over lines, or is very long"
        )
    more = f" and {len(columns) - LISTED:,} more" if len(columns) > LISTED else ""
    verb = f"{what} is" if len(columns) == 1 else f"{what}s are"
    return f"{nearest(name, list(columns))}; the {verb} {', '.join(columns[:LISTED])}{more}"


def one_line(error: BaseException) -> str:
    """What another package says of an error, with a blank in the place of line ends and tabs."""
    return " ".join(str(error).split())


def unreadable(error: BaseException) -> str:
    """What is wrong with a JSON file that could not be read, in words, from the error that reading it raised."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    if isinstance(error, OSError):
        return error.strerror or "the file cannot be opened"
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str):
        return f'"{error.args[0]}" is missing'
    if isinstance(error, RecursionError):
        return "too many brackets within brackets"
    return "a value is not of the kind that it should be"
