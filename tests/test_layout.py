"""The packages of kanon_milp: which may import which, no circle among modules, nothing loose at the top."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

import kanon_milp

ROOT = Path(kanon_milp.__file__).parent
# a package imports only packages before it, the verifier only errors and plain records (`test_verify_imports`)
ORDER = (
    "errors",
    "system",
    "kernels",
    "problem",
    "verify",
    "presolve",
    "solvers",
    "formulations",
    "bounds",
    "heuristics",
    "methods",
    "studies",
    "cli",
)


def modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


IMPORT = re.compile(r"^ *from (kanon_milp[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules of the package that a file imports, wherever it does so, also for types only."""
    found = set()
    for module, *several in IMPORT.findall(path.read_text()):
        listed = re.sub(r"#.*", "", " ".join(several)).split(",")
        for name in (each.split()[0] for each in listed if each.strip()):  # whatever it is called here
            found.add(f"{module}.{name}" if f"{module}.{name}" in known else module)
    return found


def test_only_packages_and_errors_stand_at_the_top() -> None:
    files = {path.name for path in ROOT.glob("*.py")}
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert files == {"__init__.py", "__main__.py", "errors.py"}
    assert folders == set(ORDER) - {"errors"}


def test_imports_go_down() -> None:
    known, seen = modules(), 0
    for name, path in known.items():
        package = name.split(".")[1:2]
        if not package or package[0] not in ORDER:  # the public names, and `python -m`
            continue
        for other in imports(path, known):
            below = other.split(".")[1:2]
            if below:
                seen += 1
                assert ORDER.index(below[0]) <= ORDER.index(package[0]), f"{name} imports {other}"
    assert seen > 500


def test_the_engine_does_without_studies() -> None:
    """Neither by an import nor by a name that is imported later."""
    engine = {name: path for name, path in modules().items() if name.split(".")[1:2] not in ([], ["studies"], ["cli"])}
    assert len(engine) > 100
    assert not [name for name, path in engine.items() if "kanon_milp.studies" in path.read_text()]


def test_no_module_imports_itself_through_others() -> None:
    known = modules()
    graph = {name: imports(path, known) - {name} for name, path in known.items() if name != "kanon_milp"}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(graph)
