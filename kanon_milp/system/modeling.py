"""What Pyomo does beside modeling: it loads SciPy's statistics, and logs each model that it declares."""

from __future__ import annotations

import logging
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


@contextmanager
def without_model_log() -> Iterator[None]:
    """While a model of this package is declared, Pyomo's logger does not inherit a level at which it prints all of it.

    A level that somebody has set for "pyomo" stays, and afterwards everything is as it was.
    """
    logger = logging.getLogger("pyomo")
    inherits = logger.level == logging.NOTSET and logger.getEffectiveLevel() < logging.INFO
    if inherits:
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        if inherits:
            logger.setLevel(logging.NOTSET)


leave_out_statistics()
