"""What studies register in this process does not outlive their test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kanon_milp.bench import plugins
from kanon_milp.solvers import registry


@pytest.fixture(scope="module", autouse=True)
def lying_solvers_are_forgotten() -> Iterator[None]:
    """The next test of this process may ask all solvers that there are."""
    before, loaded = dict(registry._registered), set(plugins._loaded)
    yield
    registry._registered.clear()
    registry._registered.update(before)
    plugins._loaded.intersection_update(loaded)
