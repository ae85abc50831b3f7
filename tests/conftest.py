"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def data_folder() -> Path:
    """The folder with the real tables; tests that need it are skipped where it is not set."""
    folder = os.environ.get("KANON_MILP_DATA")
    if not folder:
        pytest.skip("KANON_MILP_DATA is not set")
    return Path(folder)


@pytest.fixture
def models() -> Path:
    """The model library."""
    return Path(__file__).parent.parent / "models"
