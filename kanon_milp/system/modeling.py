"""Pyomo without the statistics of SciPy: to load these takes a fifth of the time in which the package starts."""

from __future__ import annotations

from pyomo.common import dependencies


def leave_out_statistics() -> None:
    """Have Pyomo load no more of SciPy than is asked for.

    As soon as SciPy is there, Pyomo loads `scipy.stats` and all below it, which nothing here uses; SciPy loads its
    parts by itself when they are first used, so that whoever uses them has them all the same. Nothing changes where
    SciPy came first, or in a version of Pyomo that does this in another way.
    """
    if hasattr(dependencies.scipy_available, "_callback"):
        dependencies.scipy_available._callback = None


leave_out_statistics()
