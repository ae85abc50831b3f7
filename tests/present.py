"""What a result may be without, said to be there."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


def present(value: Value | None) -> Value:
    """The value, of which a test says that it is there."""
    assert value is not None
    return value
