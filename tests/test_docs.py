"""What the documentation prints is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import run

import kanon_milp as km

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "models" / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
# in the order in which somebody would read them, since later ones use names of earlier ones
EXAMPLES = ("README.md", "docs/getting-started.md", "docs/extending/requirements.md", "docs/extending/models.md")
EXAMPLES += ("docs/extending/solvers.md", "docs/extending/methods.md")


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


def test_the_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diseases = ("flu", "cold", "ache")
    rows = "\n".join(f"P{i},{100 + i // 4},{30 + i % 5},{'fm'[i % 2]},{diseases[i % 3]},{i % 2}" for i in range(40))
    (tmp_path / "people.csv").write_text(f"name,zip,age,sex,disease,ward\n{rows}\n")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    examples = [example for page in EXAMPLES for example in blocks(ROOT / page, "python")]
    assert len(examples) >= len(EXAMPLES)
    for example in examples:
        exec(example, names)
    result = names["result"]
    assert isinstance(result, km.Result)
    assert result.is_optimal


def test_every_option_in_the_documentation_exists() -> None:
    text = "".join(page.read_text() for page in PAGES)
    helped = ""
    for name in ("solve", "verify", "export", "import", "compress", "doctor"):
        done = run(name, "--help")
        assert done.returncode == 0
        helped += done.stdout
    for option in set(re.findall(r"kanon-milp [^\n`]*", text)):
        for flag in re.findall(r"--[a-z-]+", option):
            assert flag in helped, flag
