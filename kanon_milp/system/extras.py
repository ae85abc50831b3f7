"""Modules that only some installations have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kanon_milp.errors import InputError


def optional(module: str, extra: str, what: str) -> Any:
    """A module that an extra of the package brings; raises InputError that says how to get it where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        need = f"{what} needs {module}, which is not installed"
        raise InputError(f"{need}; install the extra: pip install 'kanon-milp[{extra}]'") from None
