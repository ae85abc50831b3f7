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
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "KANON_MILP_COMPILE"
ROOM = "kanon_milp/kernels"
SHARED = "kanon_milp.kernels._shared"  # what Cython would put into each module, once
STABLE = 0x030B0000  # the ABI of Python 3.11
DIRECTIVES = {
    "language_level": 3, "annotation_typing": False, "infer_types": True, "boundscheck": False, "wraparound": False,
    "initializedcheck": False, "cdivision": True, "emit_code_comments": False, "auto_pickle": False,
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
            build_data["force_include"].update({str(path): path.relative_to(root).as_posix() for path in made})


def build(root: Path) -> list[Path]:
    """Compile every kernel that has changed; returns the modules, which stand beside their sources.

    Raises SystemExit with what to install where that fails.
    """
    room = root / ROOM
    if _wanted() == "no":
        for old in _modules(room):
            old.unlink()
        return []
    modules = [_Module.of(root, source) for source in [None, *sorted(room.glob("*.pxd"))]]
    stale = [module for module in modules if not module.built.exists()]
    cores = os.cpu_count() or 1
    sysconfig.get_config_vars()  # read once: two threads that do so at the same time find nothing
    try:
        with ThreadPoolExecutor(cores) as pool:
            # one process of Cython for many modules: what it reads first takes longer than a module
            list(pool.map(lambda some: _translate(root, some), [stale[first::cores] for first in range(cores)]))
            stale.sort(key=lambda module: -module.c.stat().st_size)
            list(pool.map(_compile, stale))
    except (OSError, subprocess.CalledProcessError, ImportError) as error:
        told = getattr(error, "stderr", None) or str(error)
        raise SystemExit(f"{told[:4000]}\n{HELP}") from error
    finally:
        shutil.rmtree(_zig_cache(root), ignore_errors=True)
    made = [module.put_into(room) for module in modules]
    for old in set(_modules(room)) - set(made):
        old.unlink()
    return made


def compiler_here() -> bool:
    """Whether there is a C compiler that nobody has to install."""
    if sys.platform == "win32":
        return True  # Python.h there is for that of Visual Studio; where that is missing its own error says so
    named = shlex.split(os.environ.get("CC", ""))
    return any(map(shutil.which, named[:1] or ["cc", "gcc", "clang"]))


def _wanted() -> str:
    found = os.environ.get(VARIABLE, "yes")
    if found not in ("yes", "no", "debug"):
        raise SystemExit(f"{VARIABLE} is yes, no or debug, not {found!r}")
    return found


def _modules(room: Path) -> list[Path]:
    return [*room.glob("*.so"), *room.glob("*.pyd")]


class _Module(NamedTuple):  # hatchling loads this file in a way that dataclasses cannot live with
    """One module to be made in a folder named after what it is made of; the shared one has no source."""

    source: Path | None
    folder: Path

    @classmethod
    def of(cls, root: Path, pxd: Path | None) -> _Module:
        source = None if pxd is None else pxd.with_suffix(".py")
        name = SHARED.rpartition(".")[2] if source is None else source.stem
        made_of = hashlib.sha256(
            repr(
                (_directives(), _flags(name), importlib.metadata.version("Cython"), sys.version_info[:2], _compiler())
            ).encode()
        )
        for path in [] if source is None or pxd is None else [source, *_declarations(pxd)]:
            made_of.update(path.name.encode() + path.read_bytes())
        return cls(source, root / "build" / "kernels" / f"{name}-{made_of.hexdigest()[:16]}")

    @property
    def name(self) -> str:
        return self.folder.name.rpartition("-")[0]

    @property
    def c(self) -> Path:
        return self.folder / f"{self.name}.c"

    @property
    def built(self) -> Path:
        return self.folder / (self.name + (".pyd" if sys.platform == "win32" else ".abi3.so"))

    def put_into(self, room: Path) -> Path:
        """Copy it beside its source, if another stands there."""
        into = room / self.built.name
        if not into.exists() or into.read_bytes() != self.built.read_bytes():
            partial = into.with_suffix(".partial")
            shutil.copyfile(self.built, partial)
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


def _translate(root: Path, modules: list[_Module]) -> None:
    """Make C files of some modules."""
    cython = [sys.executable, "-m", "cython"]
    for module in modules:
        for old in module.folder.parent.glob(f"{module.name}-*"):
            shutil.rmtree(old)
        module.folder.mkdir(parents=True)
        if module.source is None:
            _run([*cython, f"--generate-shared={module.c}"], root)
    sources = {module.c: str(module.source.relative_to(root)) for module in modules if module.source}
    if sources:
        told = ",".join(f"{key}={value}" for key, value in _directives().items())
        with tempfile.TemporaryDirectory() as folder:
            _run([*cython, "-X", told, f"--shared={SHARED}", *sources.values(), "-o", folder], root)
            for c in sources:
                shutil.move(Path(folder) / c.name, c)


def _compile(module: _Module) -> None:
    """Make a module of a C file."""
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler

    if _compiler():
        os.environ["CC"] = _compiler()
        os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(_zig_cache(module.folder.parents[2])))
    compiler = new_compiler()
    customize_compiler(compiler)
    macros: list[Any] = [("NDEBUG", None), ("CYTHON_LIMITED_API", "1"), ("Py_LIMITED_API", hex(STABLE))]
    include = [sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
    objects = compiler.compile(
        [str(module.c)],
        output_dir=str(module.folder),
        include_dirs=include,
        macros=macros,
        extra_postargs=_flags(module.name),
    )
    partial = module.built.with_name(f"partial-{module.built.name}")
    windows = sys.platform == "win32"
    compiler.link_shared_object(
        objects,
        str(partial),
        libraries=[] if windows else ["m"],
        library_dirs=[str(Path(sys.base_exec_prefix) / "libs")] if windows else [],  # python3.lib
        export_symbols=[f"PyInit_{module.name}"],
    )
    partial.replace(module.built)


def _zig_cache(root: Path) -> Path:
    """Not at home, which may be read-only; 60 MB."""
    return root / "build" / "zig"


def _compiler() -> str:
    """What CC is set to; Zig's compiler where there is no other; else nothing: the one that Python was built with."""
    if os.environ.get("CC") or compiler_here():
        return os.environ.get("CC", "")
    return shlex.join([sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"])  # not only for this very processor


def _directives() -> dict[str, Any]:
    return DIRECTIVES | DEBUG if _wanted() == "debug" else DIRECTIVES


def _flags(name: str) -> list[str]:
    """Without contraction to fused operations, which would give other bits on other processors.

    A second scheduling of instructions takes a seventh of gcc's time and makes no kernel faster; no hot loop is in the
    shared module.
    """
    if sys.platform == "win32":
        return ["/O2", "/fp:precise"]
    level = "-O3" if name in ELEMENTWISE else "-O1" if SHARED.endswith(f".{name}") else "-O2"
    return ["-O0" if _wanted() == "debug" else level, "-fno-schedule-insns2", "-g0", "-w", "-ffp-contract=off"]


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)


if __name__ == "__main__":
    for each in build(Path(__file__).parent):
        print(each)
