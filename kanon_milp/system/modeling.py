"""What Pyomo does beside modeling: it loads SciPy's statistics, and logs each model that it declares."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyomo.common import dependencies


def leave_out_statistics() -> None:
    """Have Pyomo load no more of SciPy than is asked for: that takes a fifth of the time in which the package starts.

    As soon as SciPy is there, Pyomo loads `scipy.stats` and all below it, which nothing here uses; SciPy loads its
    parts by itself when they are first used, so that whoever uses them has them all the same. Nothing changes where
    SciPy came first, or in a version of Pyomo that does this in another way.
    """
    if hasattr(dependencies.scipy_available, "_callback"):
        dependencies.scipy_available._callback = None


_open = {"models": 0, "disabled": False}
_lock = threading.Lock()


@contextmanager
def without_model_log() -> Iterator[None]:
    """While a model of this package is declared, Pyomo says nothing of it: at debug it prints all of it, and it prints
    what it raises, also where a limit ends it. Afterwards its logger is as it was; several threads may declare."""
    logger = logging.getLogger("pyomo.core")
    with _lock:
        if not _open["models"]:
            _open["disabled"] = logger.disabled
        _open["models"] += 1
        logger.disabled = True
    try:
        yield
    finally:
        with _lock:
            _open["models"] -= 1
            if not _open["models"]:
                logger.disabled = bool(_open["disabled"])


leave_out_statistics()
