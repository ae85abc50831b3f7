"""Types of numpy arrays, by what one entry is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]  # of which there are many: members of candidates, codes of values
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
