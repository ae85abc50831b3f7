"""The app: who may reach it, and from a table to a verified download in headless Chromium, without a network."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest
from browser import chromium
from command_line import run

import kanon_milp as km

ALL = """
const all = (s, root = document) => [...root.querySelectorAll(s),
    ...[...root.querySelectorAll('*')].filter(e => e.shadowRoot).flatMap(e => all(s, e.shadowRoot))];
"""
BUTTON = (
    ALL + "const e = all('button').find(e => e.textContent.trim().startsWith(arguments[0]) && !e.disabled);"
    "e && e.click(); return !!e"
)
FILES = ALL + "return all('input[type=file]')[0]"
FILL = (
    ALL
    + """
const label = e => String(JSON.parse(e.getAttribute('data-label') || 'null')).replace(/<[^>]*>/g, '').trim();
const host = all('marimo-text').find(e => label(e) === arguments[0]);
if (!host) return false;
const input = (host.shadowRoot || host).querySelector('input');
input.focus();
Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, arguments[1]);
input.dispatchEvent(new Event('input', {bubbles: true}));
input.blur();
return true
"""
)
TEXT = "return document.body.innerText"
FETCH = "fetch(arguments[0]).then(r => r.text()).then(arguments[1])"
LINKS = ALL + "return all('a[download]').map(e => [e.getAttribute('download'), e.href])"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "example.org", "::"])
def test_others_cannot_reach_it(host: str) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    done = run("app", "--host", host)
    assert done.returncode == 2
    assert "for this machine only" in done.stderr


def test_without_marimo_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "marimo", None)
    done = run("app")
    assert done.returncode == 2
    assert "pip install 'kanon-milp[app]'" in done.stderr


def until(known: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not known():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.full
def test_from_a_table_by_stop_to_a_verified_download_and_another_setting(tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    table, log = tmp_path / "people.csv", tmp_path / "log"
    lines = [
        f"Wilhelmina{i},{100 + i * i % 83},{30 + i % 37},{'fm'[i % 2]},{('flu', 'cold', 'ache')[i % 3]}"
        for i in range(600)
    ]
    table.write_text("\n".join(["name,zip,age,sex,disease", *lines]) + "\n")
    command = [sys.executable, "-m", "kanon_milp", "app", "--no-browser"]
    stored = tmp_path / "stored"
    stored.mkdir()
    with log.open("w") as out, chromium(tmp_path / "profile") as browser:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "NO_COLOR": "1", "TMPDIR": str(stored)}
        )
        try:
            until(lambda: "access_token=" in log.read_text())
            address = re.findall(r"http://\S+", log.read_text())[0]
            home = address.partition("?")[0]
            assert "login" in urlopen(home).url  # without the token there is a page that asks for it
            browser.driver.get(address)
            until(lambda: bool(browser.run(FILES)))
            browser.run(FILES).send_keys(str(table))
            until(lambda: "What each group must have" in browser.run(TEXT))
            until(lambda: browser.run(FILL, "name of this setting", "first"))
            until(lambda: browser.run(BUTTON, "Solve"))
            until(lambda: browser.run(BUTTON, "Stop"))
            until(lambda: "What came out" in browser.run(TEXT))
            until(lambda: {"anonymized.csv", "report.html", "people.toml"} <= {name for name, _ in browser.run(LINKS)})
            for name, link in browser.run(LINKS):
                content = browser.driver.execute_async_script(FETCH, link)
                (tmp_path / name).write_text(content, newline="")
            until(lambda: browser.run(FILL, "k", "12"))
            until(lambda: browser.run(FILL, "name of this setting", "second"))
            until(lambda: browser.run(BUTTON, "Solve"))
            until(lambda: browser.run(BUTTON, "Stop"))
            until(lambda: "Two settings side by side" in browser.run(TEXT))
            inside = ("http://localhost:", "http://127.0.0.1:", "data:", "blob:", "about:")
            assert [each for each in browser.requests() if not each.startswith(inside)] == []
        finally:
            for _ in range(3):  # whoever presses Ctrl-C again leaves nothing behind
                process.send_signal(signal.SIGINT)
                time.sleep(0.3)
            assert process.wait(30) == 0
    assert list((tmp_path / "stored").iterdir()) == []
    released = tmp_path / "anonymized.csv"
    claim = json.loads((tmp_path / "result.json").read_text())
    assert (claim["stop_reason"], claim["verified"]) in {("interrupted", True), ("optimal", True)}
    assert released.read_text().count("\n") == 601
    assert "Wilhelmina" not in released.read_text() + log.read_text()
    problem = km.read_model(tmp_path / "people.toml").problem
    import polars as pl

    assert km.verify(problem, pl.read_csv(released, infer_schema=False)).ok
