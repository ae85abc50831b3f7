"""Verifier and certificate checker stand alone: of the package they reach errors and plain records, nothing else."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_line import python

import kanon_milp
from kanon_milp.problem import records

PACKAGE = Path(kanon_milp.__file__).parent
# the packages of the records and of the types of arrays have nothing of their own
ALLOWED = {"kanon_milp.errors", "kanon_milp.problem", "kanon_milp.problem.records"}
ALLOWED |= {"kanon_milp.system", "kanon_milp.system.arrays"}


def file_of(module: str) -> Path | None:
    path = PACKAGE.parent / Path(*module.split("."))
    return next((p for p in (path / "__init__.py", path.with_suffix(".py")) if p.is_file()), None)


def statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import, also within functions, but those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from statements(node)


@cache
def imported(module: str) -> set[str]:
    """The modules of the package that a module imports, with the packages that these lie in (but the outermost)."""
    path = file_of(module)
    assert path is not None, module
    found = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            assert node.level == 0, "imports are written in full"
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            found |= {".".join(parts[:end]) for end in range(2, len(parts) + 1)} if parts[0] == "kanon_milp" else set()
    return {name for name in found if file_of(name) is not None}


def reached(start: str) -> set[str]:
    found, queue = {start}, [start]
    while queue:
        new = imported(queue.pop()) - found
        found |= new
        queue += new
    return found


def test_the_verifier_reaches_errors_and_records_only() -> None:
    outside = {name for name in reached("kanon_milp.verify") if not name.startswith("kanon_milp.verify")}
    assert outside == ALLOWED


@pytest.mark.parametrize("path", sorted((PACKAGE / "verify").rglob("*.py")), ids=lambda path: path.stem)
def test_so_does_each_of_its_modules(path: Path) -> None:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = ".".join(parts[:-1] if path.stem == "__init__" else parts)
    outside = {name for name in reached(module) if not name.startswith("kanon_milp.verify")}
    assert outside <= ALLOWED


def test_the_walk_sees_what_it_should() -> None:
    assert "kanon_milp.problem.privacy" in reached("kanon_milp.problem.problem")
    assert "kanon_milp.problem.table" in reached("kanon_milp.methods.verification")  # which reads the files


def test_it_runs_without_the_rest_of_the_package() -> None:
    """With an empty package around it, so that what the package itself imports cannot hide anything."""
    code = f"""
import sys, types
package = types.ModuleType("kanon_milp")
package.__path__ = [{str(PACKAGE)!r}]
sys.modules["kanon_milp"] = package
import narwhals as nw, polars as pl
from fractions import Fraction
from types import SimpleNamespace as Data
from kanon_milp.verify import verify
frame = pl.DataFrame({{"q": ["a", "b"], "s": ["x", "y"]}})
table = Data(frame=nw.from_native(frame), quasi_identifiers=("q",), sensitive=("s",), identifying=(), source="table",
             symbol="*")
recoding = Data(hierarchies={{}}, weights={{}}, level_costs={{}}, mask=None)
problem = Data(table=table, privacy=(), recoding=recoding, suppressed_rows="strict", cost_bound=None, min_groups=None,
               max_groups=None)
report = verify(problem, frame.with_columns(q=pl.lit("*")))
assert report and report.cost == 2 and report.released.sensitive["s"].l == 2
loaded = {{name for name in sys.modules if name.startswith("kanon_milp.")}}
print(*sorted(name for name in loaded if not name.startswith("kanon_milp.verify")))
assert not {{"pyomo", "highspy"}} & set(sys.modules)
"""
    assert set(python("-c", code).stdout.split()) == ALLOWED


def test_records_are_plain_data() -> None:
    for name in ("problem", "system"):
        package = ast.parse((PACKAGE / name / "__init__.py").read_text(encoding="utf-8"))
        assert len(package.body) == 1
        assert ast.get_docstring(package)
    classes = [each for _, each in inspect.getmembers(records, inspect.isclass) if each.__module__ == records.__name__]
    assert classes
    assert all(dataclasses.is_dataclass(each) for each in classes)
    functions = [each for _, each in inspect.getmembers(records, inspect.isfunction)]
    assert all(each.__module__ != records.__name__ for each in functions)


def test_types_of_arrays_are_names_only() -> None:
    body = ast.parse((PACKAGE / "system" / "arrays.py").read_text(encoding="utf-8")).body
    assert all(isinstance(node, ast.Expr | ast.ImportFrom | ast.Import | ast.Assign) for node in body)
    modules = {node.module for node in body if isinstance(node, ast.ImportFrom)}
    assert modules == {"__future__", "numpy.typing"}
