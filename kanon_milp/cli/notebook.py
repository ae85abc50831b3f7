"""`kanon-milp app`: the page on which a table is anonymized, served by marimo on this machine and to nobody else."""

from __future__ import annotations

import ipaddress
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from kanon_milp.cli.exit_codes import signals
from kanon_milp.cli.help import output_option, table_option
from kanon_milp.errors import InputError
from kanon_milp.studies import display
from kanon_milp.system.extras import optional

HERE = "127.0.0.1"
LOOK = 0.2  # seconds between looks whether marimo has ended
GRACE = 5  # seconds for marimo to end
GONE = 60  # seconds after which a page that was closed is taken to be gone


def notebook(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Table to begin with.")] = None,
    edit: Annotated[
        Path | None,
        output_option(metavar="MINE.py", help="Edit this notebook; if it is missing, it starts as a copy of the page."),
    ] = None,
    host: Annotated[str, table_option(help="Loopback address to serve on.")] = HERE,
    port: Annotated[int | None, table_option(min=1, max=65535, help="Port; default: a free one.")] = None,
    no_browser: Annotated[
        bool, output_option("--no-browser", help="Print the address; do not open a browser.")
    ] = False,
) -> None:
    """Anonymize a table on a page in the browser.

    The page is served to this machine only, with a token; no file leaves it. Ctrl-C ends it, and removes its uploads
    and results. --edit opens a copy of the page as a notebook.
    """
    optional("marimo", "app", "the app")
    optional("altair", "app", "the app")
    _check_loopback(host)
    if file is not None and not file.is_file():
        raise InputError(f"{file}: no such file")
    own = Path(str(resources.files("kanon_milp.studies").joinpath("app.py")))
    if edit is not None and not edit.exists():
        shutil.copyfile(own, edit)
        display.say(f"notebook    {edit}")
    way = (
        ["run", "--token", "--session-ttl", str(GONE), str(own)]
        if edit is None
        else ["edit", "--skip-update-check", str(edit.resolve())]
    )
    with tempfile.TemporaryDirectory(prefix="kanon-milp-") as folder:  # uploads and results, gone at the end
        command = [sys.executable, "-m", "marimo", *way, "--host", host, "--token-password-file", "-"]
        command += ([] if port is None else ["--port", str(port)]) + (["--headless"] if no_browser else [])
        command += ["--", "--folder", folder] + ([] if file is None else ["--file", str(file.resolve())])
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, env={**os.environ, **_quiet(folder)})
        try:
            assert process.stdin is not None
            process.stdin.write(secrets.token_urlsafe(16).encode())  # in no list of processes
            process.stdin.close()
            while process.poll() is None:  # Popen.wait would wait on after Ctrl-C, and another one would end it there
                time.sleep(LOOK)
        except KeyboardInterrupt:  # marimo has heard it, too, but may wait for pages that are open
            signals.answer = "ignore"
            _end(process)
        signals.answer = "ignore"  # the folder is removed now, whoever asks again
    raise typer.Exit(0)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _check_loopback(host: str) -> None:
    try:
        reaches_others = host != "localhost" and not ipaddress.ip_address(host).is_loopback
    except ValueError:
        reaches_others = True
    if reaches_others:
        raise InputError(
            f"--host {host}: others could reach this address. The page is for this machine only ({HERE}, ::1, "
            "localhost); from elsewhere go through a tunnel (ssh -L)"
        )


def _quiet(folder: str) -> dict[str, str]:
    """No news of versions, no traces; what marimo writes of a session goes with the folder."""
    return {"MARIMO_SKIP_UPDATE_CHECK": "1", "MARIMO_TRACING": "false", "PYTHONPYCACHEPREFIX": folder}
