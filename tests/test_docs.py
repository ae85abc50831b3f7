"""What the documentation prints is what the program does."""

from __future__ import annotations

import inspect
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
from command_line import python, run
from oracle import optimum

import kanon_milp as km
from kanon_milp.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "models" / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
# in the order in which somebody would read them, since later ones use names of earlier ones
EXAMPLES: tuple[str, ...] = (
    "README.md",
    "docs/getting-started.md",
    "docs/hierarchies.md",
    "docs/methods.md",
    "docs/sweeps.md",
    "docs/quasi-identifiers.md",
    "docs/generated.md",
    "docs/extending/requirements.md",
    "docs/extending/models.md",
)
EXAMPLES += tuple(f"docs/extending/{page}.md" for page in ("solvers", "methods", "recodings", "bounds", "formulations"))
EXAMPLES += ("docs/comparing.md", "docs/problems/microaggregation-and-boxes.md", "docs/extending/group-costs.md")


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)


def lines(text: str) -> list[str]:
    """Lines without trailing blanks, and without those that hold times, versions or folders."""
    return [
        line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith(("solver ", "written "))
    ]


@pytest.mark.parametrize(
    ("page", "number", "model"),
    [
        ("README.md", 0, "hospital.toml"),
        ("docs/problems/recodings.md", 0, "hospital_hierarchies.toml"),
        ("docs/problems/t-closeness.md", 0, "hospital_t_closeness.toml"),
    ],
)
def test_the_printed_output_is_what_comes_out(
    page: str, number: int, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    done = run("solve", f"models/{model}", "--show")
    assert done.returncode == 0
    shown = [block for block in blocks(ROOT / page, "text") if "proven optimum" in block][number]
    assert lines(shown) == lines(done.stdout)


# after all examples: the extended model goes to another solver's own command, and its solution comes back
OUT_AND_BACK = """
import subprocess
from kanon_milp.solvers import get

assert isinstance(result, km.Result) and result.is_optimal
problem = km.Problem(table, [km.KAnonymity(2), AtMost(9)])
model = km.build_model(problem)
plain = km.solve(problem).require_optimal()
(column,) = [name for name in ("zip", "age") if (plain.table[name] == "*").sum() > 12]
lost = sum(model.assign[i, g] for i, g in model.PAIRS if model.level[g, column] > 0)
model.most_keep_it = pyo.Constraint(expr=lost <= 12)
ours = km.solve_model(problem, model, "scipy").require_optimal()
assert ours.objective >= plain.objective
km.export_model(problem, "model.lp", model=model)
cbc = [get("cbc").location(), "-import", "model.lp", "-ratioGap", "0", "-solve", "-solution", "model.sol"]
subprocess.run(cbc, check=True, capture_output=True)
theirs = km.import_solution(problem, "model.sol", model=model)
assert theirs.verified and theirs.objective == ours.objective
assert (theirs.table[column] == "*").sum() <= 12
print("there and back")
"""


# each page by itself, after what it goes on from
PAGE_BY_PAGE = """
import json

pages, last = json.load(open("pages.json"))
everything, start = {}, {"__name__": "__main__"}
for page, examples in pages.items():
    names = dict(start)
    print("page", page)
    exec(examples, names)
    everything.update(names)
    if page.endswith("getting-started.md"):
        start = names
exec(last, everything)
"""


@pytest.mark.processes
def test_the_python_examples_run(tmp_path: Path) -> None:
    """In an empty folder, each page with no names but those of Getting started, on which it says that it goes on."""
    pages = {page: "\n\n".join(blocks(ROOT / page, "python")) for page in EXAMPLES}
    assert all(pages.values())
    (tmp_path / "pages.json").write_text(json.dumps([pages, OUT_AND_BACK]))
    (tmp_path / "script.py").write_text(PAGE_BY_PAGE)
    done = python("-W", "ignore", "script.py", folder=tmp_path)
    assert done.stdout.endswith("there and back\n")
    assert "verification failed" not in done.stdout
    printed = dict(re.findall(r"^page (\S+)\n((?:(?!page ).*\n)*)", done.stdout, re.MULTILINE))
    for page in ("models", "solvers", "methods", "bounds", "formulations"):
        assert re.search("proven optimum|verified table", printed[f"docs/extending/{page}.md"]), page


def commands(command: Any) -> list[tuple[str, ...]]:
    """The words that lead to each command, also of commands with commands of their own."""
    inner = getattr(command, "commands", {})
    found = [(name, *rest) for name, each in inner.items() for rest in commands(each)]
    return [(), *found] if inner else [()]


def test_every_option_in_the_documentation_exists() -> None:
    text = "".join(page.read_text() for page in PAGES)
    helped = ""
    for path in commands(typer.main.get_command(app)):
        done = run(*path, "--help")
        assert done.returncode == 0
        helped += done.stdout
    assert "--out" in helped
    for option in set(re.findall(r"kanon-milp [^\n`]*", text)):
        for flag in re.findall(r"--[a-z-]+", option):
            assert flag in helped, flag


def test_the_example_about_values_finds_the_optimum() -> None:
    """The class as it is printed, judged by brute force."""
    (printed,) = [each for each in blocks(ROOT / "docs/extending/requirements.md", "python") if "SomeWithout" in each]
    found: dict[str, Any] = {"km": km, "dataclass": dataclass}
    exec(printed.partition("\n\ncareful")[0], found)
    people = [("1", "x", "flu"), ("1", "x", "flu"), ("1", "y", "cold"), ("2", "y", "flu"), ("2", "x", "ache")]
    people += [("2", "y", "flu"), ("2", "x", "cold")]
    frame = pl.DataFrame(people, schema=["a", "b", "disease"], orient="row")
    table = km.Table.from_frame(frame, ["a", "b"], "disease")
    problem = km.Problem(table, [km.KAnonymity(2), found["SomeWithout"]("disease", "flu", 2)])

    def some_without(rows: tuple[int, ...]) -> bool:
        return sum(people[row][2] != "flu" for row in rows) >= 2

    cells = [row[:2] for row in people]
    expected = optimum(cells, 2, requirement=some_without)
    assert expected != optimum(cells, 2)
    assert km.solve(problem).require_optimal().objective == expected
    with pytest.raises(km.InputError, match='column "disease" has no such value'):
        km.Problem(table, found["SomeWithout"]("disease", "gout", 2))


def test_parameters_in_docstrings_are_shown_as_lists() -> None:
    sys.path.insert(0, str(ROOT / "docs" / "extensions"))
    try:
        from docstrings import as_markdown  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    source = "What it does.\n\npath: where it\nis, such as: here. first, second:\nboth. Raises Error: never.\n"
    source += "\n    path: code"
    shown = as_markdown(source, ["path", "first", "second"])
    assert shown == (
        "What it does.\n\n- `path`: where it is, such as: here.\n- `first`, `second`: both.\n\nRaises Error: never."
        "\n\n    path: code"
    )
    solve = as_markdown(inspect.getdoc(km.solve) or "", list(inspect.signature(km.solve).parameters))
    listed = {
        name for line in solve.splitlines() if line.startswith("- ") for name in re.findall(r"`(\w+)`", line[:40])
    }
    assert listed == set(inspect.signature(km.solve).parameters) - {"problem", "formulation", "interrupt", "seed"}
    assert "\n\nRaises InputError for bad input" in solve
