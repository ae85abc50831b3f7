"""How candidates are drawn."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.moves import alias_tables


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=30).filter(lambda weights: sum(weights) > 1e-3))
def test_alias_tables_draw_by_weight(weights: list[float]) -> None:
    """Each is drawn by itself, or as the alias of another one."""
    weight = np.array(weights)
    chance, alias = alias_tables(weight)
    assert ((chance >= 0) & (chance <= 1)).all()
    drawn = chance + np.bincount(alias, weights=1 - chance, minlength=len(weight))
    assert np.allclose(drawn / len(weight), weight / weight.sum(), atol=1e-12)
