"""What notebooks show is text, whatever it is called."""

from __future__ import annotations

import pytest
from result_pages import HOSTILE, Read

from kanon_milp.system.markup import card, grid, preformatted


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_put_in_is_text(name: str) -> None:
    for html in (card(name, [(name, name)], name), grid(name, [[name], [name]], name), preformatted(name)):
        read = Read(html)
        assert {"script", "img", "b", "style"}.isdisjoint(read.elements)
        assert not any(key.startswith("on") for key, _ in read.attributes)
        assert "\u202e" not in read.text
    assert Read(card(HOSTILE[0], [])).text == HOSTILE[0]


def test_names_without_a_value_are_left_out() -> None:
    html = card("", [("a", 1), ("b", None), ("c", "")])
    assert ("a" in Read(html).text, "b" in Read(html).text, "c" in Read(html).text) == (True, False, False)
    assert "<p>" not in html
