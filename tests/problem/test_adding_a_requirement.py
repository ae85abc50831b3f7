"""Adding a requirement to the package takes two files and its name in the registry; done here to a copy of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from oracle import optimum
from places import ROOT

PACKAGE = ROOT / "kanon_milp"
ROWS = [("30", "x"), ("30", "x"), ("30", "x"), ("30", "x"), ("30", "x"), ("40", "y"), ("40", "y"), ("40", "x")]

REQUIREMENT = '''
"""No group is larger than so many rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kanon_milp.problem.privacy.base import INTEGER, Parameter, Requirement


@dataclass(frozen=True)
class AtMost(Requirement):
    most: int
    name: ClassVar[str] = "at_most"
    letter: ClassVar[str] = "most"
    summary: ClassVar[str] = "no group has more than so many rows"
    parameters: ClassVar[Mapping[str, Parameter]] = {"most": Parameter(INTEGER)}

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

from kanon_milp.verify.definitions import AtLeast, Definition, ValueRule, count
from kanon_milp.verify.numbers import integer


def rules(requirement, table):
    most = integer(requirement.most, "most")
    return [ValueRule("at_most", table.sensitive, {"most": most}, lambda counts: counts.size <= most)]


DEFINITION = Definition("AtMost", "at_most", rules, {"most": count}, lambda requirement, table: AtLeast(1))
'''


@pytest.mark.processes
def test_two_files_and_a_name_in_the_registry(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(PACKAGE, copy / "kanon_milp")
    (copy / "kanon_milp/problem/privacy/at_most.py").write_text(REQUIREMENT)
    (copy / "kanon_milp/verify/definitions/at_most.py").write_text(DEFINITION)
    registry = copy / "kanon_milp/problem/privacy/__init__.py"
    text = registry.read_text().replace("KINDS: ", "from kanon_milp.problem.privacy.at_most import AtMost\n\nKINDS: ")
    registry.write_text(text.replace("    DeltaDisclosure,\n)", "    DeltaDisclosure,\n    AtMost,\n)"))

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kanon_milp", *map(str, words)]
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False, cwd=copy, env=environment
        )

    data = tmp_path / "people.csv"
    data.write_text("age,city,job\n" + "".join(f"{age},{city},p\n" for age, city in ROWS))
    model = tmp_path / "model.toml"
    columns = 'file = "people.csv"\nquasi_identifiers = ["age", "city"]\nsensitive = "job"\n'
    model.write_text(f"[data]\n{columns}[privacy]\nk = 2\nmost = 3\n")
    certificate = tmp_path / "certificate.json"
    solved = run("solve", model, "--json", "--certificate", certificate)
    assert solved.returncode == 0, solved.stderr
    result: dict[str, Any] = json.loads(solved.stdout)
    assert result["objective"] == optimum(ROWS, 2, requirement=lambda rows: len(rows) <= 3)
    assert result["verified"] is True
    assert [each["name"] for each in json.loads(certificate.read_text())["problem"]["requirements"]] == [
        "k_anonymity",
        "at_most",
    ]
    checked = run("verify", "--original", data, "--certificate", certificate)
    assert checked.returncode == 0, checked.stderr
    assert "no table with k-anonymity (k = 2) and at_most (most = 3) suppresses fewer than 2 cells" in checked.stdout
    model.write_text(f"[data]\n{columns}[privacy]\nk = 2\nmosst = 3\n")
    misspelt = run("solve", model)
    assert misspelt.returncode == 2
    assert 'did you mean "most"' in misspelt.stderr
