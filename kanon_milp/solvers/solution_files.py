"""Read what solvers write, also compressed by gzip; the table of formats is at the end of this file.

The format is told from the first line. A name that the model does not have, a number that is none and a file that ends
too early are errors that name the line; nothing of the content is repeated in them.
"""

from __future__ import annotations

import gzip
import itertools
import math
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from xml.parsers import expat

import numpy as np

from kanon_milp.errors import InputError, counted, unreadable
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Floats

_LONGEST_LINE = 100_000  # bytes; names have at most 255 characters
_BYTES_PER_NAME, _LEAST_BYTES = 2_000, 1_000_000  # a file with more than so many bytes for each name is no solution
_OBJECTIVE = 1e-5  # relative; CBC and the pretty file of HiGHS write few digits
_GZIP = b"\x1f\x8b"
_CBC = re.compile(
    r"(Optimal|Stopped|Feasible|Infeasible|Integer infeasible|Unbounded|Status unknown)\b.*objective value"
)
_LITERAL = re.compile(r"(-?)x([1-9][0-9]{0,9})")
_NOTHING = ("infeasible", "integer infeasible", "unbounded")  # how CBC begins where its values are no solution


@dataclass(frozen=True, eq=False)
class SolutionFile:
    """A point as a file states it. solver: whose format it is.

    x: float64 (variables,); variables that the file does not name are 0, as solvers leave these out. objective: what
    the file says, None where it does not.
    """

    solver: str
    x: Floats
    objective: float | None

    def contradiction(self, model: LinearModel) -> str:
        """In words, where its objective is not what its values come to; empty where it is. Readers of models differ in
        what they do with a constant, and in nothing else."""
        if self.objective is None:
            return ""
        value = model.value(self.x)
        off, allowed = self.objective - value, _OBJECTIVE * max(1.0, abs(value))
        if any(abs(off + constant) <= allowed for constant in (0.0, model.offset, 2 * model.offset)):
            return ""
        return f"says objective {self.objective:.9g}, and its values come to {value:.9g}"


def read_solution(
    path: Path, columns: Mapping[str, int], variables: int, constraints: Collection[str] = ()
) -> SolutionFile:
    """Read a solution file.

    columns: name in the exported model → column, -1 for a name whose value plays no part. constraints: the names of
    the constraints, which some files hold as well. Raises InputError for a file that cannot be read, naming the line.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such solution file")
    most = _LEAST_BYTES + _BYTES_PER_NAME * (len(columns) + len(constraints))
    point = _Point(path, columns, variables, constraints)
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            if packed:
                with gzip.open(raw) as unpacked:
                    return _read(unpacked, point, most)  # type: ignore[arg-type]
            return _read(raw, point, most)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise point.error("the compressed file is damaged or ends too early") from None
    except OSError as error:
        raise InputError(f"{path}: {unreadable(error)}") from None


class _Point:
    def __init__(self, path: Path, columns: Mapping[str, int], variables: int, constraints: Collection[str]) -> None:
        self._path, self._columns, self._constraints = path, columns, constraints
        self._given: set[str] = set()
        self.line = 1
        self.x = np.zeros(variables)
        self.objective: float | None = None

    def error(self, problem: str) -> InputError:
        return InputError(f"{self._path}: line {self.line}: {problem}")

    def number(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise self.error("a number is expected here") from None
        if not math.isfinite(value):
            raise self.error("the number is not finite")
        return value

    def take(self, name: str, text: str, *, or_constraint: bool = False) -> None:
        """The value of a variable; of a constraint, where the file lists these too, nothing is taken."""
        column = self._columns.get(name)
        if column is None:
            if or_constraint and name in self._constraints:
                return
            raise self.error("unknown variable name; was the solution written for another model?")
        if name in self._given:
            raise self.error("the variable already has a value")
        self._given.add(name)
        value = self.number(text)
        if column >= 0:
            self.x[column] = value

    def take_literal(self, text: str) -> None:
        """x3, or -x3: the third variable is 1, or 0."""
        found = _LITERAL.fullmatch(text)
        if found is None or int(found[2]) > len(self.x):
            raise self.error("a literal such as x3 or -x3, of a variable of the model, is expected here")
        if found[0] in self._given:
            raise self.error("the variable already has a value")
        self._given.add(found[0])
        self.x[int(found[2]) - 1] = 0.0 if found[1] else 1.0

    def complete(self) -> None:
        """Raise InputError unless every variable of the model has a value."""
        missing = sum(column >= 0 and name not in self._given for name, column in self._columns.items())
        if missing:
            raise self.error(f"the file ends with no value for {counted(missing, 'variable')} of this model")


def _read(file: IO[bytes], point: _Point, most: int) -> SolutionFile:
    lines = _lines(file, point, most)
    first = next((line for line in lines if line.strip()), "")
    for begins, solver, read in _FORMATS:
        if begins(first.strip()):
            read(first, lines, point)
            return SolutionFile(solver, point.x, point.objective)
    known = ", ".join(dict.fromkeys(solver for _, solver, _ in _FORMATS[:-1]))
    raise point.error(f"not a solution file of {known}, nor a list of names and values")


def _lines(file: IO[bytes], point: _Point, most: int) -> Iterator[str]:
    """The lines as text, and their number in `point`; a file beyond all sizes is refused before it is read."""
    number, size = 0, 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        point.line = number
        size += len(line)
        if (len(line) == _LONGEST_LINE and not line.endswith(b"\n")) or size > most:
            raise point.error("too long for a solution of this model")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            raise point.error("not UTF-8 text") from None


def _highs_raw(_first: str, lines: Iterator[str], point: _Point) -> None:
    """Style 0, and 4, which leaves zeros out and counts the others with a minus sign."""
    status = next(lines, "").strip()
    for line in lines:
        words = line.split()
        if line.startswith("# Primal solution values"):
            if next(lines, "").strip() in ("None", ""):
                raise point.error(f"the file contains no solution: HiGHS says {_word(status)}")
        elif words[:1] == ["Objective"] and len(words) == 2:
            point.objective = point.number(words[1])
        elif words[:2] == ["#", "Columns"] and len(words) in (3, 4):  # HiGHS 1.16 says "sparse", too
            count = point.number(words[2])
            for _ in range(int(abs(count))):
                words = next(lines, "").split()
                if len(words) not in (2, 3):
                    raise point.error("the columns end too early, or a line is not a name and a value")
                point.take(words[0], words[1])
            if count >= 0:
                point.complete()
            return
    raise point.error("the file ends before the values of the columns")


def _highs_pretty(_first: str, lines: Iterator[str], point: _Point) -> None:
    """Style 1: a table whose entries end where the heads of their columns end."""
    head = next(lines, "")
    begin, end = head.find("Upper") + len("Upper"), head.find("Primal") + len("Primal")
    if not 0 < begin < end or not head.split()[-1:] == ["Name"]:
        raise point.error("the headings of the table of columns are expected here")
    for line in lines:
        words = line.split()
        if words[:1] == ["Rows"]:
            break
        if len(words) < 3:
            raise point.error("a line of the table of columns is incomplete")
        point.take(words[-1], line[begin:end].strip())
    else:
        raise point.error("the file ends within the table of columns")
    point.complete()
    for line in lines:
        what, _, said = line.partition(":")
        if what.strip() == "Objective value":
            point.objective = point.number(said)
            return
    raise point.error("the file ends before the value of the objective")


def _cbc(first: str, lines: Iterator[str], point: _Point) -> None:
    status, _, said = first.strip().rpartition("objective value")
    if status.lower().startswith(_NOTHING) or "no integer solution" in status:
        raise point.error(f"the file contains no solution: CBC says {_word(status.split(' - ')[0])}")
    point.objective = point.number(said)
    for line in lines:
        words = line.replace("**", "", 1).split()
        if not words:
            continue
        if len(words) not in (3, 4):
            raise point.error("a line is not a number, a name, a value and a reduced cost")
        point.take(words[1], words[2], or_constraint=True)


def _named_values(first: str, lines: Iterator[str], point: _Point) -> None:
    """SCIP, Gurobi and MIPLIB: one line a variable, and some that say something about the solution."""
    for line in itertools.chain([first], lines):
        text = line.strip()
        if not text:
            continue
        words = text.split()
        about = re.match(r"(?:# Objective value\s*=?|objective value:|=obj=)\s*(\S+)$", text)
        if about:
            point.objective = point.number(about[1])
        elif text.startswith("solution status:"):
            if words[2:3] and words[2] in ("infeasible", "unbounded", "inforunbd"):
                raise point.error(f"the file contains no solution: SCIP says {words[2]}")
        elif text.startswith("no solution available"):
            raise point.error("the file contains no solution")
        elif not text.startswith(("#", "=infeas=", "=unkn=")):
            if len(words) < 2 or (len(words) > 2 and not words[2].startswith("(obj:")):
                raise point.error("a line is not a name and a value")
            point.take(words[0], words[1])
        elif text.startswith("="):
            raise point.error("the file contains no solution")


def _cplex(first: str, lines: Iterator[str], point: _Point) -> None:
    """The first solution of a file in XML. Entities of its own are refused: they can be of any size."""
    parser = expat.ParserCreate()
    inside: list[str] = []
    solutions = 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal solutions
        point.line = parser.CurrentLineNumber
        inside.append(tag)
        if tag == "CPLEXSolution":
            solutions += 1
        if solutions > 1:
            return
        if tag == "header" and "objectiveValue" in attributes:
            point.objective = point.number(attributes["objectiveValue"])
        elif tag == "variable" and "variables" in inside:
            if "name" not in attributes or "value" not in attributes:
                raise point.error("a variable without a name or a value")
            point.take(attributes["name"], attributes["value"])

    def end(_tag: str) -> None:
        inside.pop()

    def refuse(*_: object) -> None:
        point.line = parser.CurrentLineNumber
        raise point.error("a document type declaration, which solution files do not have")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        for line in itertools.chain([first], lines):
            parser.Parse(line, False)
        parser.Parse("", True)
    except expat.ExpatError as error:
        point.line = error.lineno
        raise point.error(f"not well-formed XML ({expat.ErrorString(error.code)})") from None
    if not solutions:
        raise point.error("XML, but not a solution of CPLEX")


def _list(first: str, lines: Iterator[str], point: _Point) -> None:
    """A name and a value in each line, between them spaces, a comma or =; perhaps a head, and comments after #."""
    for line in itertools.chain([first], lines):
        words = line.partition("#")[0].replace("=", " ").replace(",", " ").split()
        if not words or (line is first and words[-1].lower() == "value"):
            continue
        if len(words) != 2:
            raise point.error("a line is not a name and a value")
        point.take(*words)


def _glpk(first: str, lines: Iterator[str], point: _Point) -> None:
    """What `glpsol -o` writes: a report, whose second table is that of the columns; a long name has its own line."""
    if first.startswith("c "):
        raise point.error("what glpsol --write writes has no names; take glpsol --output (-o)")
    for line in lines:
        what, _, said = line.partition(":")
        if what == "Status" and said.split()[-1:] not in (["OPTIMAL"], ["NON-OPTIMAL"], ["FEASIBLE"]):
            raise point.error(f"the file contains no solution: GLPK says {_word(said)}")
        if what == "Objective" and (value := re.search(r"=\s*(\S+)", said)):
            point.objective = point.number(value[1])
        if "Column name" in line:
            break
    next(lines, "")
    for line in lines:
        words = line.split()
        if not words:
            point.complete()
            return
        words += next(lines, "").split() if len(words) == 2 else []
        values = [word for word in words[2:4] if word not in ("*", "B", "NL", "NU", "NF", "NS")]
        if not values:
            raise point.error("a line of the table of columns is incomplete")
        point.take(words[1], values[0])
    raise point.error("the file ends within the table of columns")


def _pseudo_boolean(first: str, lines: Iterator[str], point: _Point) -> None:
    """The answer of a pseudo-Boolean solver: lines of values (v) and of the status (s). Its objective lacks the model's
    constant, so it is not taken."""
    given = False
    for line in itertools.chain([first], lines):
        kind, _, said = line.strip().partition(" ")
        if kind == "s" and said.strip() in ("UNSATISFIABLE", "UNKNOWN"):
            raise point.error(f"the file contains no solution: the solver says {_word(said)}")
        if kind == "v":
            given = True
            for literal in said.split():
                point.take_literal(literal)
    if not given:
        raise point.error("the file contains no solution: it has no line of values, which begins with v")


def _word(status: str) -> str:
    """A status if it is words, so that nothing else is repeated from a file."""
    plain = status.strip().lower()
    return f'"{plain}"' if re.fullmatch(r"[a-z /-]{1,60}", plain) else "nothing that is known"


_FORMATS: tuple[tuple[Callable[[str], object], str, Callable[[str, Iterator[str], _Point], None]], ...] = (
    (lambda line: line == "Model status", "HiGHS", _highs_raw),
    (lambda line: line == "Columns", "HiGHS", _highs_pretty),
    (_CBC.match, "CBC", _cbc),
    (re.compile(r"(solution status:|objective value:|no solution available)").match, "SCIP", _named_values),
    (re.compile(r"# Objective value [^=]").match, "COPT", _named_values),
    (re.compile(r"# (Solution for model|Objective value)").match, "Gurobi", _named_values),
    (re.compile(r"=(obj|infeas|unkn)=").match, "MIPLIB", _named_values),
    (re.compile(r"<\?xml|<CPLEXSolution").match, "CPLEX", _cplex),
    (re.compile(r"(c )?Problem:").match, "GLPK", _glpk),
    (re.compile(r"[cosv]( |$)").match, "a pseudo-Boolean solver", _pseudo_boolean),
    (re.compile(r"#|\S+[ \t]*[ \t=,][ \t]*([-+.\d]|value$)", re.IGNORECASE).match, "an unnamed solver", _list),
)
