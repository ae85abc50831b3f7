"""Where things are in the repository, wherever a test stands."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
LIBRARY = ROOT / "models"
