"""Write a LinearModel as a file: free MPS, CPLEX LP or OPB, with the same bytes on every run, or as an OMMX archive.

Names in a model may contain anything; names in a file are letters, digits and `_` only. A map beside the file
leads back.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kanon_milp.errors import InputError, unreadable
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.ommx_files import ommx_archive
from kanon_milp.solvers.opb import NUMBERED, opb_lines
from kanon_milp.system.arrays import Floats
from kanon_milp.system.files import Fill, write_together

_LEGAL = re.compile(r"[A-DF-Za-df-z_][A-Za-z0-9_]{0,254}")
# section heads and keywords of the two formats, and the names that this module gives itself
_RESERVED = frozenset(
    """obj rhs rng bnd constant_one free inf infinity nan st such subject to bound bounds gen general generals
    int integer integers bin binary binaries sos sos1 sos2 semi semis sec secs semi_continuous end min max
    minimize maximize minimise maximise minimum maximum range ranges rows columns name endata objsense lazy
    user cuts constraints pwlobj""".split()  # noqa: SIM905
)
CONSTANT = "constant_one"  # of LP files: a variable fixed to one, whose cost is the objective's constant
ABOUT = "about"
NAMES = "names"  # a fact of the map: where variables are numbered in the file
_TERMS_PER_LINE = 8  # a CPLEX LP line may have 510 characters, and names up to 255


@dataclass(frozen=True)
class Notes:
    """What is said about a model beside its numbers.

    comments: lines of plain text at the head of the file. about: facts by name, in the map of names. variables,
    constraints: a label for each of them, in the map of names.
    """

    comments: Sequence[str] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    variables: Sequence[str] = ()
    constraints: Sequence[str] = ()


def write_model(model: LinearModel, path: Path | str, notes: Notes = Notes()) -> Path:
    """Write the model to `path` (.mps, .lp, .opb, all also with .gz, or .ommx) and its names to `<path>.names.csv`,
    returned.

    Both files appear complete or not at all, and a repeated call writes the same bytes. Constraints
    without a finite side say nothing and are left out. The names map has the columns kind, name_in_file, name_in_model
    and label; a kind is `variable`, `constraint` or `about`: a fact of the notes under its name.

    Raises InputError for another suffix, a folder that cannot be written, or bounds that no file format can
    state.
    """
    path = Path(path)
    name = path.name.lower()
    kind = name.removesuffix(".gz").rpartition(".")[2]
    if kind not in ("mps", "lp", "opb", "ommx") or name.endswith(".ommx.gz"):
        raise InputError(
            f"cannot tell the format of {path.name!r}: its name must end in .mps, .mps.gz, .lp, .lp.gz, .opb, .opb.gz "
            "or .ommx"
        )
    refuse_contradictions(model)
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")

    variables, constraints = names_in_file(model)
    if kind == "opb":
        variables = numbered(model)
        notes = replace(notes, about={**notes.about, NAMES: NUMBERED})
    text = (
        ommx_archive(model, variables, constraints, notes.about)
        if kind == "ommx"
        else "".join(_text_lines(kind, model, variables, constraints, notes.comments)).encode("ascii")
    )
    if name.endswith(".gz"):
        # no time and no file name in the header, else two runs differ
        text = gzip.compress(text, compresslevel=6, mtime=0)

    beside, names_map = names_path(path), _names_map(model, variables, constraints, notes)
    files: dict[str, Fill] = {
        beside.name: lambda file: file.write(names_map),
        path.name: lambda file: file.write(text),
    }
    write_together(path.parent, files)
    return beside


def _text_lines(
    kind: str, model: LinearModel, variables: Sequence[str], constraints: Sequence[str], comments: Sequence[str]
) -> Iterator[str]:
    """Pieces of the file with comments at its head; in OPB the sizes come before them."""
    mark, writer = {"mps": ("*", mps_lines), "lp": ("\\", lp_lines), "opb": ("*", opb_lines)}[kind]
    lines = writer(model, variables, constraints)
    if kind == "opb":
        yield next(lines)
        comments = [line.replace("objective of this file", "objective of the model") for line in comments]
    yield from (f"{mark} {_plain(line)}\n" for line in comments)
    yield from lines


def numbered(model: LinearModel) -> list[str]:
    """The names of variables in formats that have numbers only."""
    return [f"x{j}" for j in range(1, model.variables + 1)]


def names_path(path: Path) -> Path:
    """Where the map of names goes: beside the model."""
    return path.with_name(path.name + ".names.csv")


def names_in_file(model: LinearModel) -> tuple[list[str], list[str]]:
    """The names that variables and constraints of a model have in a file, always the same ones."""
    taken = set(_RESERVED)
    variables = file_names(model.variable_names, "x", taken)
    return variables, file_names(model.constraint_names, "c", taken)


def fingerprint(model: LinearModel) -> str:
    """SHA-256 of everything that a model is made of, so that two exports of it are known as the same model."""
    digest = hashlib.sha256(json.dumps([model.variable_names, model.constraint_names, model.offset]).encode())
    A = _clean(model.A)
    for array in (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data, model.integer.astype(np.int8)):
        digest.update(array.tobytes())
    for array in (model.c, model.lower, model.upper, model.constraint_lower, model.constraint_upper):
        digest.update(np.asarray(array, dtype=np.float64).tobytes())
    return digest.hexdigest()


def file_names(names: Sequence[str], letter: str, taken: set[str]) -> list[str]:
    """Legal, unique names for a file: the given ones with `_` for other characters, else numbered.

    `taken` holds names in lower case that are used already (some readers ignore the case) and is extended.
    """
    found: list[str | None] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
        legal = _LEGAL.fullmatch(plain) is not None and plain.lower() not in taken
        if legal:
            taken.add(plain.lower())
        found.append(plain if legal else None)
    result: list[str] = []
    for number, plain_name in enumerate(found, start=1):
        new = plain_name
        if new is None:
            new = f"{letter}{number}"
            while new in taken:
                new += "_"
            taken.add(new)
        result.append(new)
    return result


def refuse_contradictions(model: LinearModel) -> None:
    """Raise InputError for a lower bound above its upper bound, which MPS ranges cannot state."""
    for kind, low, high in (
        ("variable", model.lower, model.upper),
        ("constraint", model.constraint_lower, model.constraint_upper),
    ):
        bad = np.flatnonzero(~(low <= high) | (low == np.inf) | (high == -np.inf))
        if len(bad):
            raise InputError(
                f"{kind} number {bad[0] + 1} has contradicting bounds "
                f"({low[bad[0]]:g} and {high[bad[0]]:g}): the model is infeasible and cannot be written"
            )


def mps_lines(
    model: LinearModel, variables: Sequence[str], constraints: Sequence[str], offset: bool = True
) -> Iterator[str]:
    """Pieces of a free-format MPS file; `offset=False` leaves out the constant of the objective."""
    low, high = model.constraint_lower, model.constraint_upper
    kinds = _kinds(low, high)
    # without FREE, CBC guesses the format and misreads bounds of columns with short names
    yield f"NAME {_title(model.name)} FREE\nROWS\n N obj\n"
    yield from (f" {kind} {constraint}\n" for kind, constraint in zip(kinds, constraints, strict=True) if kind)

    yield "COLUMNS\n"
    A = _clean(model.A).tocsc()
    values, cost = _texts(A.data), _texts(model.c)
    constraint_names = [constraints[i] if kinds[i] else "" for i in range(len(constraints))]
    indptr, indices = A.indptr.tolist(), A.indices.tolist()
    markers, inside = 0, False
    for j, (name, is_integer) in enumerate(zip(variables, model.integer.tolist(), strict=True)):
        if is_integer != inside:
            yield f" M{markers} 'MARKER' '{'INTORG' if is_integer else 'INTEND'}'\n"
            markers, inside = markers + 1, is_integer
        entries = [(constraint_names[indices[e]], values[e]) for e in range(indptr[j], indptr[j + 1])]
        lines = [f" {name} {constraint} {value}\n" for constraint, value in entries if constraint]
        # a column must appear somewhere to exist
        if cost[j] != "0" or not lines:
            lines.insert(0, f" {name} obj {cost[j]}\n")
        yield "".join(lines)
    if inside:
        yield f" M{markers} 'MARKER' 'INTEND'\n"

    yield "RHS\n"
    if offset and model.offset != 0:
        yield f" rhs obj {_text(-model.offset)}\n"
    sides = np.where(np.array(kinds) == "G", low, high) if len(constraints) else high
    for constraint, kind, side in zip(constraints, kinds, sides.tolist(), strict=True):
        if kind and side != 0:
            yield f" rhs {constraint} {_text(side)}\n"

    ranged = np.flatnonzero(_is_range(low, high))
    if len(ranged):
        yield "RANGES\n"
        yield from (f" rng {constraints[i]} {_text(high[i] - low[i])}\n" for i in ranged.tolist())

    yield "BOUNDS\n"
    for name, lower, upper, is_integer in zip(
        variables, model.lower.tolist(), model.upper.tolist(), model.integer.tolist(), strict=True
    ):
        yield _mps_bound(name, lower, upper, is_integer)
    yield "ENDATA\n"


def _mps_bound(name: str, lower: float, upper: float, is_integer: bool) -> str:
    if lower == upper:
        return f" FX bnd {name} {_text(lower)}\n"
    if lower == -np.inf:
        return f" FR bnd {name}\n" if upper == np.inf else f" MI bnd {name}\n UP bnd {name} {_text(upper)}\n"
    # readers differ in the default bounds of integer columns, and in what a non-positive UP does to the lower
    # bound
    text = f" LO bnd {name} {_text(lower)}\n" if lower != 0 or is_integer or upper <= 0 else ""
    if upper < np.inf:
        return text + f" UP bnd {name} {_text(upper)}\n"
    return text + (f" PL bnd {name}\n" if is_integer else "")


def lp_lines(model: LinearModel, variables: Sequence[str], constraints: Sequence[str]) -> Iterator[str]:
    """Pieces of a CPLEX LP file.

    A range is two constraints (`_lo` and `_up` behind its name), as not every reader knows ranges; a constant in the
    objective is the cost of a variable `constant_one`.
    """
    yield f"\\ {_title(model.name)}\nMinimize\n"
    A = _clean(model.A)
    absent = np.ones(model.variables, dtype=bool)
    absent[A.indices] = False
    used = np.flatnonzero((model.c != 0) | absent)
    cost = _texts(model.c[used])
    terms = [_term(value, variables[j]) for j, value in zip(used.tolist(), cost, strict=True)]
    # CBC's reader drops a constant in the objective, so it is the cost of a variable that is fixed to one
    needs_one = model.offset != 0 or not terms
    if needs_one:
        terms.append(_term(_text(model.offset), CONSTANT))
    yield f" obj:{_wrapped(terms)}\n"

    yield "Subject To\n"
    values = _texts(A.data)
    indptr, indices = A.indptr.tolist(), A.indices.tolist()
    low, high = model.constraint_lower, model.constraint_upper
    for i, (constraint, kind) in enumerate(zip(constraints, _kinds(low, high), strict=True)):
        if not kind:
            continue
        terms = [_term(values[e], variables[indices[e]]) for e in range(indptr[i], indptr[i + 1])]
        left = _wrapped(terms or [_term("0", variables[0] if variables else CONSTANT)])
        if kind == "E":
            yield f" {constraint}:{left} = {_text(low[i])}\n"
        elif np.isfinite(low[i]) and np.isfinite(high[i]):
            yield f" {constraint}_lo:{left} >= {_text(low[i])}\n {constraint}_up:{left} <= {_text(high[i])}\n"
        elif kind == "G":
            yield f" {constraint}:{left} >= {_text(low[i])}\n"
        else:
            yield f" {constraint}:{left} <= {_text(high[i])}\n"

    yield "Bounds\n"
    if needs_one:
        yield f" {CONSTANT} = 1\n"
    for name, lower, upper in zip(variables, model.lower.tolist(), model.upper.tolist(), strict=True):
        if lower == upper:
            yield f" {name} = {_text(lower)}\n"
        elif lower == -np.inf and upper == np.inf:
            yield f" {name} free\n"
        elif upper < np.inf:
            yield f" {'-inf' if lower == -np.inf else _text(lower)} <= {name} <= {_text(upper)}\n"
        elif lower != 0:
            yield f" {name} >= {_text(lower)}\n"
    integers = [f" {variables[j]}\n" for j in np.flatnonzero(model.integer).tolist()]
    if integers:
        yield "Generals\n"
        yield from integers
    yield "End\n"


def _is_range(low: Floats, high: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.asarray(np.isfinite(low) & np.isfinite(high) & (low != high), dtype=np.bool_)


def _kinds(low: Floats, high: Floats) -> list[str]:
    """E, L (also ranges), G, or an empty text for a constraint without a finite side."""
    kinds = np.where(low == high, "E", np.where(high < np.inf, "L", np.where(low > -np.inf, "G", "")))
    return [str(kind) for kind in kinds]


def _clean(A: sp.csr_array) -> sp.csr_array:
    """A copy with neither zeros nor repeated entries, columns in order."""
    A = A.copy()
    A.sum_duplicates()
    A.eliminate_zeros()
    return A


def _text(value: float) -> str:
    value = float(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def _texts(values: Floats) -> list[str]:
    """Texts of an array; a model has few different coefficients, so each is formatted once."""
    distinct, which = np.unique(values, return_inverse=True)
    texts = [_text(value) for value in distinct.tolist()]
    return [texts[k] for k in which.tolist()]


def _signed(text: str) -> str:
    return f" - {text[1:]}" if text.startswith("-") else f" + {text}"


def _term(value: str, name: str) -> str:
    if value in ("1", "-1"):
        return f" {'-' if value == '-1' else '+'} {name}"
    return f"{_signed(value)} {name}"


def _wrapped(terms: list[str]) -> str:
    step = _TERMS_PER_LINE if max(map(len, terms)) < 50 else 1
    return "\n ".join("".join(terms[i : i + step]) for i in range(0, len(terms), step))


def _title(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:60] or "model"


def _plain(text: str) -> str:
    return " ".join(text.encode("ascii", errors="backslashreplace").decode().split())


def _names_map(model: LinearModel, variables: Sequence[str], constraints: Sequence[str], notes: Notes) -> bytes:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(("kind", "name_in_file", "name_in_model", "label"))
    table.writerows((ABOUT, name, value, "") for name, value in notes.about.items())
    labels = notes.variables or [""] * model.variables
    table.writerows(("variable", *entry) for entry in zip(variables, model.variable_names, labels, strict=True))
    labels = notes.constraints or [""] * model.constraints
    kinds = _kinds(model.constraint_lower, model.constraint_upper)
    kept = zip(constraints, model.constraint_names, labels, kinds, strict=True)
    table.writerows(("constraint", *entry) for *entry, kind in kept if kind)
    return out.getvalue().encode("utf-8")


def read_about(path: Path) -> dict[str, str]:
    """The facts in a map of names. Raises InputError for a file that is none."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            entries = csv.reader(file)
            if next(entries, [])[:3] != ["kind", "name_in_file", "name_in_model"]:
                raise InputError(f"{path}: line 1: not a map of names that `export` has written")
            # these come first
            return {
                entry[1]: entry[2]
                for entry in itertools.takewhile(lambda entry: entry[:1] == [ABOUT], entries)
                if len(entry) > 2
            }
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"{path}: {unreadable(error)}") from None
