"""Python files of a study's own that register solvers, methods, bounds or requirements."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from kanon_milp.errors import InputError, own_code

_loaded: set[Path] = set()


def load_plugin(path: Path) -> None:
    """Run a plugin, once in a process. Raises InputError where it fails."""
    if path in _loaded:
        return
    name = f"kanon_milp_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file; the name of a plugin ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with own_code(f"the plugin {path}", "be a module that can be imported"):
        spec.loader.exec_module(module)
    _loaded.add(path)
