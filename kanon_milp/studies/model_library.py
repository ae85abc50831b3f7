"""The model library that comes with the package: model files by name, each with its small data."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from kanon_milp.errors import InputError, nearest
from kanon_milp.problem.arguments import exists
from kanon_milp.system.files import Fill, check_folder, write_together

SUFFIX = ".toml"


@dataclass(frozen=True)
class Listed:
    """A model of the library. optimum: as it is written, "infeasible", or "" where it is not known."""

    name: str
    title: str
    optimum: str
    path: Path


def folder() -> Path:
    """Where the library is: in the installed package, or beside it in a working copy."""
    package = Path(__file__).parents[1]
    for place in (package / "models", package.parent / "models"):
        if place.is_dir():
            return place
    raise InputError("the model library is not part of this installation")


def models() -> list[Listed]:
    """All models by name."""
    return [_listed(path) for path in sorted(folder().glob(f"*{SUFFIX}"))]


def find(name: str) -> Path:
    """The model file of this name; raises InputError where there is none."""
    known = [path.stem for path in folder().glob(f"*{SUFFIX}")]
    if name not in known:
        hint = f"{nearest(name, known)}; kanon-milp models lists them"
        raise InputError(f"{name}: no such model file, nor a model of the library{hint}")
    return folder() / f"{name}{SUFFIX}"


def named(path: Path) -> Path:
    """A model file as somebody names it: a file, or the name of a model of the library where no such file is."""
    if path.suffix or len(path.parts) != 1 or exists(path, Path.exists):
        return path
    return find(path.name)


def files_of(name: str) -> list[Path]:
    """The model file and all that it reads, relative to the library."""
    path = find(name)
    text = path.read_text(encoding="utf-8")
    inside = [each.relative_to(folder()) for each in sorted(folder().rglob("*")) if each.is_file()]
    # a file that the model names, or one in a folder that it names
    read = [each for each in inside if any(_names(text, place) for place in (each, *each.parents[:-1]))]
    return [path.relative_to(folder()), *read]


def copy(name: str, target: Path) -> list[Path]:
    """Write the model file and what it reads to a folder; returns the paths."""
    files = files_of(name)
    written = []
    for place in dict.fromkeys(file.parent for file in reversed(files)):  # the model file is the last
        inside = [file for file in files if file.parent == place]
        check_folder(target / place, [file.name for file in inside])
        (target / place).mkdir(parents=True, exist_ok=True)
        write_together(target / place, {file.name: _filler(folder() / file) for file in inside})
        written += [target / file for file in inside]
    return written


def _names(text: str, place: Path) -> bool:
    """Whether a model names a file or a folder, perhaps behind a word ("matrix:FILE")."""
    return re.search(rf'[":]{re.escape(place.as_posix())}"', text) is not None


def listed(name: str) -> Listed:
    """What is known of the model of this name; raises InputError where there is none."""
    return _listed(find(name))


def _listed(path: Path) -> Listed:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    known = content.get("known", {})
    optimum = "infeasible" if known.get("infeasible") else str(known.get("optimum", ""))
    return Listed(path.stem, content.get("title", ""), optimum, path)


def _filler(path: Path) -> Fill:
    content = path.read_bytes()
    return lambda file: file.write(content)
