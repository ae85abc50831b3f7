"""The verifier's own definitions of the requirements of this package, one file each, found by being here.

None of them is shared with the model: a requirement is defined once in `problem.privacy` and once more here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from kanon_milp.verify.definitions.base import Definition

_FILES = [importlib.import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__)]
_FOUND: tuple[Definition, ...] = tuple(file.DEFINITION for file in _FILES if hasattr(file, "DEFINITION"))
BY_KIND: Mapping[str, Definition] = {each.kind: each for each in _FOUND}
BY_NAME: Mapping[str, Definition] = {each.name: each for each in _FOUND}
