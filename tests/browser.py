"""Pages in a real browser: headless Chromium, without a network."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
)


@dataclass(frozen=True)
class Browser:
    """A page at a time. driver: selenium's."""

    driver: Any

    def open(self, page: Path) -> None:
        """Show a file."""
        self.messages()
        self.driver.get(page.resolve().as_uri())

    def run(self, script: str, *arguments: object) -> Any:
        """What a script returns in the page."""
        return self.driver.execute_script(script, *arguments)

    def messages(self) -> list[str]:
        """What the console has logged since somebody has looked: errors, and what was refused."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """What the page has asked for since somebody has looked, itself included."""
        told = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [each["params"]["request"]["url"] for each in told if each["method"] == "Network.requestWillBeSent"]

    def show(self, *, dark: bool = False, width: int = 1100, height: int = 900) -> None:
        """Colour scheme and width of the window, in pixels."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def picture(self, path: Path) -> None:
        """The page from top to bottom as PNG."""
        import base64

        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"})
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with a fresh profile; the test is skipped where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        pytest.skip("there is no Chromium with its chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(driver_program))
    try:
        driver.get("about:blank")
        browser = Browser(driver)
        browser.requests()  # those of the page that a new window shows
        yield browser
    finally:
        driver.quit()
