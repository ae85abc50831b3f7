"""Requirements that are added: to a copy of the package by a class and one line, and in a script.

What every part of the package makes of them is judged by brute force.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from html import unescape
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from command_line import python
from oracle import optimum
from places import ROOT, TESTS
from present import present

PACKAGE = ROOT / "kanon_milp"
ROWS = [("30", "x"), ("30", "x"), ("30", "x"), ("30", "x"), ("30", "x"), ("40", "y"), ("40", "y"), ("40", "x")]

REQUIREMENT = '''
"""No group is larger than so many rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kanon_milp.problem.privacy.base import INTEGER, Parameter, Requirement, Swept


@dataclass(frozen=True)
class AtMost(Requirement):
    most: int
    name: ClassVar[str] = "at_most"
    term: ClassVar[str] = "few rows"
    letter: ClassVar[str] = "most"
    summary: ClassVar[str] = "no group has more than so many rows"
    parameters: ClassVar[Mapping[str, Parameter]] = {"most": Parameter(INTEGER, help="No group has more rows.")}
    swept: ClassVar[Swept] = Swept(-1, "2,3,8")
    sentence: ClassVar[str] = "no group has more than {most} rows"

    def bind(self, table):
        return (self,)

    def smallest_group(self, whole):
        return 1

    def holds(self, group):
        return group.size <= self.most

    def certified(self, table):
        return ()

    def declare(self, block, model, instance):
        @block.Constraint(model.CANDIDATES, doc="a group has at most so many rows")
        def limit(block, g):
            return model.rows[g] <= self.most * model.open[g]

    def describe(self):
        return {"most": self.most}
'''

DEFINITION = '''
"""The verifier's definition of groups that are not too large: of any attribute, counts say how many rows there are."""

from kanon_milp.verify.definitions import AtLeast, Definition, ValueRule
from kanon_milp.verify.numbers import integer


def rules(requirement, table):
    most = integer(requirement.most, "most")
    return [ValueRule("at_most", table.sensitive, {"most": most}, lambda counts: counts.size <= most)]


DEFINITION = Definition(
    "AtMost", "at_most", rules, {"most": "count"}, lambda requirement, table: AtLeast(1), term="few rows"
)
'''

SCRIPT = """
import kanon_milp as km

km.register_requirement(AtMost, DEFINITION)
if __name__ == "__main__":
    from kanon_milp.cli import main

    main()
"""

IN_PYTHON = """
import json, sys
import kanon_milp as km

data, model, asked = sys.argv[1:]
exec(asked)
people = km.read_table(data, quasi_identifiers=["age", "city"], sensitive="job")
problem = km.Problem(people, [km.KAnonymity(2), AtMost(3)])
result = km.solve(problem)
print(json.dumps({
    "objective": result.require_optimal().objective,
    "held": km.verify(problem, result.table).ok,
    "own": list(result.report.own),
    "read": km.read_model(model).problem.requirements[1].spelled,
    "swept": [[row.most, row.objective] for row in km.sweep(problem, most=[2, 3]).rows],
    "columns": km.sweep(problem, most=[3]).frame().columns[:6],
}, default=int))
"""


def best_of(most: int) -> Fraction | None:
    return optimum(ROWS, 2, requirement=lambda rows: len(rows) <= most)


def added(way: str, folder: Path) -> tuple[Path, list[str], str]:
    """Where Python looks first, the words that begin a command, and what a script in Python begins with."""
    if way == "by a script":
        script = folder / "few_rows.py"
        script.write_text(REQUIREMENT + DEFINITION + SCRIPT)
        return folder, [str(script)], "from few_rows import AtMost"
    copy = folder / "copy"
    shutil.copytree(PACKAGE, copy / "kanon_milp")
    (copy / "kanon_milp/problem/privacy/at_most.py").write_text(REQUIREMENT)
    (copy / "kanon_milp/verify/definitions/at_most.py").write_text(DEFINITION)
    with (copy / "kanon_milp/problem/privacy/__init__.py").open("a") as names:
        names.write("from kanon_milp.problem.privacy.at_most import AtMost as AtMost\n")
    return copy, ["-m", "kanon_milp"], "AtMost = km.AtMost"


@pytest.mark.processes
@pytest.mark.parametrize("way", ["two files and a line", "by a script"])
def test_a_class_a_definition_and_a_line(way: str, tmp_path: Path) -> None:
    first, command, begin = added(way, tmp_path)
    ours = {"PYTHONPATH": f"{first}{os.pathsep}{ROOT}"}

    def run(*words: object, code: int = 0) -> CompletedProcess[str]:
        return python(*command, *words, code=code, folder=tmp_path, environment=ours)

    data, model, certificate = tmp_path / "people.csv", tmp_path / "model.toml", tmp_path / "certificate.json"
    data.write_text("age,city,job\n" + "".join(f"{age},{city},p\n" for age, city in ROWS))
    columns = f'file = "{data.name}"\nquasi_identifiers = ["age", "city"]\nsensitive = "job"\n'
    model.write_text(f"[data]\n{columns}[privacy]\nk = 2\nmost = 3\n")
    best = {most: best_of(most) for most in (2, 3, 8)}
    table = ("--data", data, "--qi", "age,city", "--sensitive", "job", "--k", 2)

    # solved by options and by a model file, proven, verified, certified
    assert "--most <int> No group has more rows." in " ".join(run("solve", "--help").stdout.split())
    out, page = tmp_path / "out", tmp_path / "report.html"
    solved = run("solve", *table, "--most", 3, "--json", "--out", out, "--report", page)
    result: dict[str, Any] = json.loads(solved.stdout)
    assert result["objective"] == best[3]
    assert best[3] != best[8]
    assert result["proof"] == "optimal"
    assert result["verified"] is True
    assert result["problem"]["requirements"][1] == {"name": "at_most", "most": 3}
    by_file = json.loads(run("solve", model, "--json", "--certificate", certificate).stdout)
    assert by_file["objective"] == best[3]
    said = run("verify", "--original", data, "--certificate", certificate).stdout
    assert "no table with k-anonymity (k = 2) and few rows (most = 3) suppresses fewer than 2 cells" in said
    # the page has it in words, and the command that checks the table again
    text = unescape(page.read_text())
    assert "few rows: no group has more than 3 rows" in text
    (again,) = re.findall("kanon-milp (verify [^<]*)", text)
    assert "--most 3" in again
    run(*shlex.split(again.replace(" anonymized.csv", f" {out / 'anonymized.csv'}")))
    failed = run("verify", out / "anonymized.csv", "--original", data, "--qi", "age,city", "--most", 1, code=6)
    assert "few rows (most = 1)" in failed.stdout
    # exported, and the solver's constraint is there
    run("export", model, "--to", tmp_path / "model.lp")
    assert "at_most" in (tmp_path / "model.lp").read_text()
    # swept
    rows = json.loads(run("sweep", *table, "--most", "3,8", "--json").stdout)
    assert [(row["most"], row["k"], row["objective"]) for row in rows] == [(3, 2, best[3]), (8, 2, best[8])]
    # misspelt
    model.write_text(f"[data]\n{columns}[privacy]\nk = 2\nmosst = 3\n")
    assert 'did you mean "most"' in run("solve", model, code=2).stderr
    # in Python
    model.write_text(f'[data]\n{columns}[privacy]\nk = 2\n[[privacy.requirements]]\nkind = "at_most"\nmost = 3\n')
    script = tmp_path / "in_python.py"
    script.write_text(IN_PYTHON)
    found = json.loads(python(script, data, model, begin, folder=tmp_path, environment=ours).stdout)
    assert found == {
        "objective": best[3],
        "held": True,
        "own": [],
        "read": "few rows (most = 3)",
        "swept": [[2, best[2]], [3, best[3]]],
        "columns": ["k", "risk", "journalist_risk", "l", "t", "most"],
    }


OWN_SCRIPT = TESTS / "own_requirement.py"
PEOPLE = [
    ("30", "x", "p"), ("30", "x", "p"), ("30", "x", "p"), ("30", "x", "q"), ("30", "x", "r"),
    ("40", "y", "q"), ("40", "y", "r"), ("40", "x", "p"),
]  # fmt: skip
CELLS = [row[:2] for row in PEOPLE]


def at_most_three(rows: tuple[int, ...]) -> bool:
    return len(rows) <= 3


def no_more_than_half(rows: tuple[int, ...]) -> bool:
    return 2 * max(Counter(PEOPLE[row][2] for row in rows).values()) <= len(rows)


def by_script(asked: str, folder: Path) -> dict[str, Any]:
    (folder / "people.csv").write_text("age,city,job\n" + "".join(",".join(row) + "\n" for row in PEOPLE))
    found: dict[str, Any] = json.loads(python(OWN_SCRIPT, folder, asked).stdout)
    return found


@pytest.mark.parametrize(("asked", "judge"), [("most", at_most_three), ("half", no_more_than_half)])
@pytest.mark.processes
def test_a_requirement_in_a_script(tmp_path: Path, asked: str, judge: Callable[[tuple[int, ...]], bool]) -> None:
    """Two solvers find the optimum, the exported file has it, the verifier asks the requirement itself."""
    expected = optimum(CELLS, 2, requirement=judge)
    assert expected != optimum(CELLS, 2)
    found = by_script(asked, tmp_path)
    assert found["objectives"] == [expected, expected]
    assert found["exported"] == expected
    assert found["verified"] is True
    assert found["refused"] is False or asked == "half"
    # a certificate is about the requirements that it can state, and leaves this one out
    valid, bound, statement = found["certified"]
    assert valid
    assert 0 < Fraction(bound) <= present(optimum(CELLS, 2))
    assert statement.startswith("no 2-anonymous table suppresses fewer than")
    assert found["stated"] == ["k_anonymity"]
    assert found["hybrid"] == expected
    # what bounds may know is what the requirement says of itself
    assert found["known to bounds"] == ([[0.0, 0.5] * 3] if asked == "half" else [])
    assert asked == "half" or found["largest"] <= 3
