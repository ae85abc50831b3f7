"""Data sets come from the folder, the cache or a checked download, in this order."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.instances import datasets


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """A local HTTP server: its address, the folder it serves, and the paths asked for."""
    folder = tmp_path / "served"
    folder.mkdir()
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, directory=str(folder), **options)  # type: ignore[arg-type,misc]

        def do_GET(self) -> None:
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/", folder, asked
        running.shutdown()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no data folder."""
    monkeypatch.delenv("KANON_MILP_DATA", raising=False)
    monkeypatch.setenv("KANON_MILP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def uci_file(data: Path, name: str) -> bytes:
    """The file as UCI serves it, made from the table with a header."""
    frame = pl.read_csv(data / f"{name}.csv.gz", infer_schema=False)
    between = ", " if name.startswith("adult") else ","
    ending = "\n\n" if name.startswith("adult") else "\n"
    return ("\n".join(between.join(row) for row in frame.rows()) + ending).encode()


@pytest.mark.parametrize("name", ["adult", "adult_raw", "cmc"])
def test_the_folder_comes_first(data_folder: Path, name: str) -> None:
    assert datasets.path(name) == data_folder / f"{name}.csv.gz"
    assert datasets.load(name).dtypes == [pl.String] * datasets.load(name).width


@pytest.mark.parametrize("name", ["adult", "adult_raw", "cmc"])
def test_a_download_gives_the_same_table_and_is_kept(
    data_folder: Path, server: tuple[str, Path, list[str]], cache: Path, name: str
) -> None:
    url, served, asked = server
    file = served / datasets.DATASETS[name].file
    file.parent.mkdir(parents=True)
    file.write_bytes(uci_file(data_folder, "adult_raw" if name == "adult" else name))
    frame = datasets.load(name, base_url=url)
    assert frame.equals(pl.read_csv(data_folder / f"{name}.csv.gz", infer_schema=False))
    assert [p.name for p in cache.iterdir()] == [f"{name}.csv"]
    assert datasets.load(name, base_url=url).equals(frame)
    assert len(asked) == 1
    assert datasets.path(name) == cache / f"{name}.csv"


@pytest.mark.parametrize("name", ["adult", "cmc", "nursery"])
def test_another_content_is_refused_and_nothing_stays(
    server: tuple[str, Path, list[str]], cache: Path, name: str
) -> None:
    url, served, _ = server
    file = served / datasets.DATASETS[name].file
    file.parent.mkdir(parents=True)
    file.write_text(",".join("x" * len(datasets.DATASETS[name].columns)) + "\n")
    with pytest.raises(km.InputError, match="another hash"):
        datasets.load(name, base_url=url)
    assert not list(cache.iterdir())


def test_nursery_is_checked_by_its_attributes(server: tuple[str, Path, list[str]], cache: Path) -> None:
    import itertools

    url, served, _ = server
    domains = [
        ["usual", "pretentious", "great_pret"], ["proper", "less_proper", "improper", "critical", "very_crit"],
        ["complete", "completed", "incomplete", "foster"], ["1", "2", "3", "more"],
        ["convenient", "less_conv", "critical"], ["convenient", "inconv"],
        ["nonprob", "slightly_prob", "problematic"], ["recommended", "priority", "not_recom"],
    ]  # fmt: skip
    file = served / "nursery/nursery.data"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(",".join((*row, "priority")) for row in itertools.product(*domains)) + "\n\n")
    assert datasets.load("nursery", base_url=url).shape == (12_960, 9)


def test_no_network_is_one_clear_error(cache: Path) -> None:
    with pytest.raises(km.InputError, match=r"cannot be downloaded.*KANON_MILP_DATA"):
        datasets.load("cmc", base_url="http://127.0.0.1:9/")
    assert not list(cache.glob("*"))


def test_a_file_that_is_missing_on_the_server_is_one_clear_error(
    server: tuple[str, Path, list[str]], cache: Path
) -> None:
    with pytest.raises(km.InputError, match="cannot be downloaded"):
        datasets.load("cmc", base_url=server[0])


def test_a_changed_file_in_the_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cmc.csv").write_text("a,b\n1,2\n")
    monkeypatch.setenv("KANON_MILP_DATA", str(tmp_path))
    with pytest.raises(km.InputError, match="another hash"):
        datasets.load("cmc")
    monkeypatch.setenv("KANON_MILP_DATA", str(tmp_path / "none"))
    with pytest.raises(km.InputError, match="is no folder"):
        datasets.load("cmc")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(km.InputError, match='did you mean "adult"'):
        datasets.load("adlut")
