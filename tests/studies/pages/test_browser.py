"""The pages in headless Chromium, from a file: they render, sort and filter, log nothing and ask the network for
nothing."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, chromium
from places import LIBRARY
from study_runs import study

import kanon_milp as km

SHADES = "return getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    from kanon_milp.studies.pages.bench_page import write_bench_page

    folder = tmp_path_factory.mktemp("pages")
    result = km.solve(km.read_model(LIBRARY / "hospital_hierarchies.toml").problem)
    km.write_report(result, folder / "result.html", sample=3)
    return {"result": folder / "result.html", "bench": write_bench_page(study(), folder / "bench.html")[0]}


@pytest.mark.parametrize("name", ["result", "bench"])
def test_a_page_is_complete(name: str, browser: Browser, pages: dict[str, Path]) -> None:
    browser.requests()
    browser.open(pages[name])
    assert browser.messages() == []
    assert browser.requests() == [pages[name].resolve().as_uri()]
    drawn = browser.run("return [...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect().height)")
    assert len(drawn) > 5
    assert min(drawn) > 3


@pytest.mark.parametrize("name", ["result", "bench"])
def test_light_dark_and_narrow(name: str, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name])
    browser.show(dark=False)
    light = browser.run(SHADES)
    browser.show(dark=True, width=390)
    assert browser.run(SHADES) != light
    wide, shown = browser.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    browser.show()
    assert wide == shown  # only tables and pictures scroll to the side


CONTRAST = """
const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(channel);
                     return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
                      if (c !== 'rgba(0, 0, 0, 0)') return c; } };
const found = {};
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || ['SCRIPT', 'OPTION'].includes(e.tagName)) continue;
  const style = getComputedStyle(e);
  const [a, b] = [light(e.ownerSVGElement ? style.fill : style.color), light(behind(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found[e.tagName + ' ' + e.className] = ratio;
}
return found;
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["result", "bench"])
def test_text_has_the_contrast_of_wcag(name: str, dark: bool, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name])
    browser.show(dark=dark)
    assert browser.run(CONTRAST) == {}
    browser.show()


def column(browser: Browser, number: int) -> list[str]:
    script = (
        "return [...document.querySelectorAll('#runs tbody tr')].filter(r => !r.hidden)"
        ".map(r => r.cells[arguments[0]].dataset.v ?? r.cells[arguments[0]].textContent)"
    )
    found: list[str] = browser.run(script, number)
    return found


def test_a_header_sorts_numbers_as_numbers_also_by_keyboard(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["bench"])
    head = "document.querySelectorAll('#runs thead th')[arguments[0]]"
    seconds, objective = 12, 9
    before = column(browser, seconds)
    browser.run(f"{head}.querySelector('[role=button]').click()", seconds)
    after = column(browser, seconds)
    assert after == sorted(before, key=float) != before
    assert browser.run(f"return {head}.getAttribute('aria-sort')", seconds) == "ascending"
    # by keyboard, the other way round
    browser.run(f"{head}.querySelector('[role=button]').focus()", seconds)
    browser.driver.switch_to.active_element.send_keys("\ue007")
    assert column(browser, seconds) == sorted(before, key=float, reverse=True)
    assert browser.run(f"return {head}.getAttribute('aria-sort')", seconds) == "descending"
    # what is not known stands last either way
    for _ in range(2):
        browser.run(f"{head}.querySelector('[role=button]').click()", objective)
        assert column(browser, objective)[-1] == ""
    assert browser.run("return document.querySelectorAll('#runs [aria-sort]').length") == 1
    assert browser.messages() == []


def test_words_and_choices_filter(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["bench"])
    status = "return [...document.querySelectorAll('[role=status]')].at(-1).textContent"
    assert browser.run(status) == "96 of 96 rows"
    search = browser.driver.find_element("css selector", "input[type=search]")
    search.send_keys("CRASHED scip")
    assert column(browser, 7) == ["crashed"]
    search.send_keys(" nothing")
    assert column(browser, 7) == []
    browser.open(pages["bench"])
    browser.driver.find_element("css selector", "input[type=search]").send_keys("planted scip")
    assert browser.run(status) == "12 of 96 rows"
    browser.run(
        "const s = [...document.querySelectorAll('.tools select')]"
        ".find(e => e.parentElement.textContent.startsWith('proof'));"
        "s.value = 'optimal'; s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    assert set(column(browser, 8)) == {"optimal"}
    assert set(column(browser, 1)) == {"planted"}
    assert 0 < len(column(browser, 8)) < 12
    assert browser.messages() == []


def test_two_settings_are_chosen(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["bench"])
    places = "return [...document.querySelectorAll('.scatter .mark-symbol path')].map(e => e.getAttribute('transform'))"
    first = browser.run(places)
    assert len(first) == 24
    choose = (
        "const s = document.querySelectorAll('.scatter select')[arguments[0]]; s.value = arguments[1];"
        "s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    browser.run(choose, 0, "3")
    moved = browser.run(places)
    assert moved != first
    titles = "return [...document.querySelectorAll('.scatter .role-axis-title text')].map(e => e.textContent)"
    assert browser.run(titles) == ["cbc, strong", "highs, textbook"]
    browser.run(choose, 0, "0")
    assert browser.run(places) == first
    # the same setting on both axes: all points on the line
    browser.run(choose, 1, "0")
    for each in browser.run(places):
        across, up = (float(part) for part in each[10:-1].split(","))
        assert across == pytest.approx(420 - up)
    assert browser.messages() == []


def test_points_are_where_the_picture_without_a_script_has_them(browser: Browser, pages: dict[str, Path]) -> None:
    """What the script computes is what the chart has drawn."""
    import re

    html = pages["bench"].read_text()
    drawn = re.findall(r'aria-roledescription="circle" transform="translate\(([\d.]+),([\d.]+)\)"', html)
    browser.open(pages["bench"])
    moved = browser.run(
        "return [...document.querySelectorAll('.scatter .mark-symbol path')].map(e => e.getAttribute('transform'))"
    )
    assert len(drawn) == len(moved) == 24
    for (across, up), each in zip(drawn, moved, strict=True):
        assert [float(part) for part in each[10:-1].split(",")] == pytest.approx([float(across), float(up)], abs=0.5)


@pytest.mark.parametrize("name", ["result", pytest.param("bench", marks=pytest.mark.full)])
def test_it_prints(name: str, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name])
    printed = base64.b64decode(browser.driver.print_page())
    assert printed.startswith(b"%PDF-")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.run(
        "return ['nav', '.tools', 'summary'].flatMap(s => [...document.querySelectorAll(s)])"
        ".filter(e => e.checkVisibility()).length"
    )
    assert shown == 0
    assert browser.run(SHADES) == "rgb(255, 255, 255)"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.processes
def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    import polars as pl

    owned = "document.title='owned'"
    name = f'"><img src=https://example.org/x.png onerror="{owned}"><script>{owned}</script>'
    frame = pl.DataFrame({name: ["1", "1", "2", "2"], f"{name}2": ["<b>x</b>"] * 4})
    problem = km.Problem(km.Table.from_frame(frame, name, source=name), km.KAnonymity(2), name=name)
    km.write_report(km.solve(problem), tmp_path / "x.html", sample=2, title=name)
    browser.requests()
    browser.open(tmp_path / "x.html")
    assert browser.driver.title == name
    assert browser.run("return document.querySelectorAll('img, b').length") == 0
    assert browser.messages() == []
    assert browser.requests() == [(tmp_path / "x.html").resolve().as_uri()]
