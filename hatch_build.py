"""Compiles the kernels (kanon_milp/kernels) when the package is built.

    python hatch_build.py                       into this folder, what has changed since the last time
    KANON_MILP_COMPILE=no pip install .         plain Python: the same results, a hundred times slower
    KANON_MILP_COMPILE=debug pip install -e .   with checks of every index

Cython translates each .py that has a .pxd beside it to C, and a C compiler makes a module of it that every Python from
3.11 on can load (the stable ABI). Where there is no compiler the build asks for that of Zig, a package like any other.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "KANON_MILP_COMPILE"
ROOM = "kanon_milp/kernels"
SHARED = "kanon_milp.kernels._shared"  # what Cython would put into each module, once
STABLE = 0x030B0000  # the ABI of Python 3.11
DIRECTIVES = {
    "language_level": 3, "annotation_typing": False, "infer_types": True, "boundscheck": False, "wraparound": False,
    "initializedcheck": False, "cdivision": True, "emit_code_comments": False,
}  # fmt: skip
DEBUG = {"boundscheck": True, "initializedcheck": True}
ELEMENTWISE = ("volume",)  # kernels that -O3, which uses vector instructions, makes twice as fast; others no faster
ZIG = "ziglang>=0.13"
HELP = f"""\
The inner loops of kanon_milp cannot be compiled. Install a C compiler and the headers of Python (Debian, Ubuntu: apt
install gcc python3-dev; Fedora: dnf install gcc python3-devel; macOS: xcode-select --install; Windows: the build tools
of Visual Studio), or set {VARIABLE}=no: plain Python gives the same results, a hundred times slower."""


class Kernels(BuildHookInterface[Any]):
    """Puts the compiled modules into the wheel, and beside their sources in a checkout."""

    def dependencies(self) -> list[str]:
        """A compiler, where there is none."""
        return [] if _wanted() == "no" or compiler_here() else [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are gathered."""
        root = Path(self.root)
        made = build(root)
        if not made:
            return
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"cp311-abi3-{platform}"
        if version != "editable":
            build_data["force_include"].update({str(path): str(path.relative_to(root)) for path in made})


def build(root: Path) -> list[Path]:
    """Compile every kernel that has changed; returns the modules, which stand beside their sources.

    Raises SystemExit with what to install where that fails.
    """
    room = root / ROOM
    sources = sorted(path.with_suffix(".py") for path in room.glob("*.pxd"))
    if _wanted() == "no":
        for old in _modules(room):
            old.unlink()
        return []
    sysconfig.get_config_vars()  # read once: two threads that do so at the same time find nothing
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(lambda source: _module(root, source), [None, *sources]))
    except (OSError, subprocess.CalledProcessError, ImportError) as error:
        told = getattr(error, "stderr", None) or str(error)
        raise SystemExit(f"{told[:4000]}\n{HELP}") from error
    for old in set(_modules(room)) - set(made):
        old.unlink()
    return made


def compiler_here() -> bool:
    """Whether there is a C compiler that nobody has to install."""
    if sys.platform == "win32":
        from setuptools._distutils._msvccompiler import _find_vcvarsall

        return bool(_find_vcvarsall("x86_amd64")[0])
    named = shlex.split(os.environ.get("CC", ""))
    return any(map(shutil.which, named[:1] or ["cc", "gcc", "clang"]))


def _wanted() -> str:
    found = os.environ.get(VARIABLE, "yes")
    if found not in ("yes", "no", "debug"):
        raise SystemExit(f"{VARIABLE} is yes, no or debug, not {found!r}")
    return found


def _modules(room: Path) -> list[Path]:
    return [*room.glob("*.so"), *room.glob("*.pyd")]


def _module(root: Path, source: Path | None) -> Path:
    """One module, the shared one where there is no source: that of an earlier build if it was made of the same."""
    name = SHARED.rpartition(".")[2] if source is None else source.stem
    directives = {**DIRECTIVES, **(DEBUG if _wanted() == "debug" else {})}
    made_of = hashlib.sha256(
        repr(
            (directives, _flags(name), importlib.metadata.version("Cython"), sys.version_info[:2], _compiler())
        ).encode()
    )
    for path in [] if source is None else [source, *_declarations(source.with_suffix(".pxd"))]:
        made_of.update(path.name.encode() + path.read_bytes())
    folder = root / "build" / "kernels" / f"{name}-{made_of.hexdigest()[:16]}"
    suffix = ".pyd" if sys.platform == "win32" else ".abi3.so"
    built, into = folder / f"{name}{suffix}", root / ROOM / f"{name}{suffix}"
    if not built.exists():
        for old in folder.parent.glob(f"{name}-*"):
            shutil.rmtree(old)
        _compile(root, source, folder, built, directives)
    if not into.exists() or into.read_bytes() != built.read_bytes():
        partial = into.with_suffix(".partial")
        shutil.copyfile(built, partial)
        partial.replace(into)
    return into


def _declarations(pxd: Path) -> list[Path]:
    """This file and all that it takes types of, and these in turn."""
    found, left = {pxd}, [pxd]
    while left:
        names = re.findall(rf"{ROOM.replace('/', '.')}\.(\w+) cimport", left.pop().read_text())
        fresh = {pxd.with_name(f"{name}.pxd") for name in names} - found
        found, left = found | fresh, [*left, *fresh]
    return sorted(found)


def _compile(root: Path, source: Path | None, folder: Path, built: Path, directives: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    c = folder / f"{built.name.partition('.')[0]}.c"
    cython = [sys.executable, "-m", "cython"]
    if source is None:
        _run([*cython, f"--generate-shared={c}"], root)
    else:
        told = ",".join(f"{key}={value}" for key, value in directives.items())
        _run([*cython, "-X", told, f"--shared={SHARED}", str(source.relative_to(root)), "-o", str(c)], root)
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler

    if _compiler():
        os.environ["CC"] = _compiler()
    compiler = new_compiler()
    customize_compiler(compiler)
    macros: list[Any] = [("NDEBUG", None), ("CYTHON_LIMITED_API", "1"), ("Py_LIMITED_API", hex(STABLE))]
    include = [sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
    objects = compiler.compile(
        [str(c)], output_dir=str(folder), include_dirs=include, macros=macros, extra_postargs=_flags(c.stem)
    )
    partial = built.with_name(f"partial-{built.name}")
    libraries = [] if sys.platform == "win32" else ["m"]
    compiler.link_shared_object(objects, str(partial), libraries=libraries, export_symbols=[f"PyInit_{c.stem}"])
    partial.replace(built)


def _compiler() -> str:
    """What CC is set to; Zig's compiler where there is no other; else nothing: the one that Python was built with."""
    if os.environ.get("CC") or compiler_here():
        return os.environ.get("CC", "")
    return shlex.join([sys.executable, "-m", "ziglang", "cc"])


def _flags(name: str) -> list[str]:
    """Without contraction to fused operations, which would give other bits on other processors."""
    if sys.platform == "win32":
        return ["/O2", "/fp:precise"]
    level = "-O0" if _wanted() == "debug" else "-O3" if name in ELEMENTWISE else "-O2"
    return [level, "-g0", "-w", "-ffp-contract=off"]


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)


if __name__ == "__main__":
    for each in build(Path(__file__).parent):
        print(each)
