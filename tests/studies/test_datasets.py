"""Data sets come from the folder, the cache or a checked download, in this order."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import http.server
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.studies import datasets


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """A local HTTP server: its address, the folder it serves, and the paths asked for."""
    folder = tmp_path / "served"
    folder.mkdir()
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, directory=str(folder), **options)  # type: ignore[arg-type]

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


@pytest.fixture
def nursery_rows() -> list[str]:
    """The lines of nursery.data, but for the class: the true one is not at hand."""
    domains = [
        ["usual", "pretentious", "great_pret"], ["proper", "less_proper", "improper", "critical", "very_crit"],
        ["complete", "completed", "incomplete", "foster"], ["1", "2", "3", "more"],
        ["convenient", "less_conv", "critical"], ["convenient", "inconv"],
        ["nonprob", "slightly_prob", "problematic"], ["recommended", "priority", "not_recom"],
    ]  # fmt: skip
    return [",".join((*row, "priority")) for row in itertools.product(*domains)]


def test_nursery_with_another_class_is_refused(
    server: tuple[str, Path, list[str]], cache: Path, nursery_rows: list[str]
) -> None:
    url, served, _ = server
    file = served / "nursery/nursery.data"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(nursery_rows) + "\n\n")
    with pytest.raises(km.InputError, match="another hash"):
        datasets.load("nursery", base_url=url)
    assert not list(cache.iterdir())


@pytest.mark.parametrize("swapped", [False, True])
def test_nursery_is_checked_by_its_attributes(
    server: tuple[str, Path, list[str]],
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    nursery_rows: list[str],
    swapped: bool,
) -> None:
    """The expected hash of the file is that of the file at hand, so only its attributes are judged."""
    url, served, _ = server
    file = served / "nursery/nursery.data"
    file.parent.mkdir(parents=True)
    rows = list(nursery_rows)
    if swapped:
        rows[0], rows[1] = rows[1], rows[0]
    file.write_text("\n".join(rows) + "\n\n")
    known = dataclasses.replace(datasets.DATASETS["nursery"], raw_hash=hashlib.sha256(file.read_bytes()).hexdigest())
    monkeypatch.setitem(datasets.DATASETS, "nursery", known)
    if swapped:
        with pytest.raises(km.InputError, match="its content has another hash"):
            datasets.load("nursery", base_url=url)
        assert not list(cache.iterdir())
    else:
        frame = datasets.load("nursery", base_url=url)
        assert frame.shape == (12_960, 9)
        assert frame.n_unique(frame.columns[:-1]) == frame.height


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
    with pytest.raises(km.InputError, match="is not a folder"):
        datasets.load("cmc")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not packed",
        gzip.compress(b"a,b\n1,2\n")[:-6],
        gzip.compress(b"a,b\n1,2,3\n"),
        gzip.compress(b"a,b\n\xff,2\n"),
    ],
    ids=["empty", "not packed", "cut off", "ragged", "not UTF-8"],
)
def test_a_broken_file_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    (tmp_path / "cmc.csv.gz").write_bytes(content)
    monkeypatch.setenv("KANON_MILP_DATA", str(tmp_path))
    with pytest.raises(km.InputError, match=r"cmc\.csv\.gz.*remove or replace"):
        datasets.load("cmc")


def test_a_broken_cache_is_one_clear_error(server: tuple[str, Path, list[str]], cache: Path) -> None:
    cache.mkdir()
    (cache / "cmc.csv").write_text("")
    with pytest.raises(km.InputError, match=r"cmc\.csv: cannot be read.*remove or replace"):
        datasets.load("cmc")
    (cache / "cmc.csv").unlink()
    cache.rmdir()
    cache.write_text("no folder")
    with pytest.raises(km.InputError, match=r"cannot be used as the cache.*KANON_MILP_CACHE"):
        datasets.load("cmc", base_url=server[0])


def test_brackets_in_the_path_are_no_pattern(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data [1]*"
    folder.mkdir()
    (folder / "cmc.csv.gz").write_bytes((data_folder / "cmc.csv.gz").read_bytes())
    monkeypatch.setenv("KANON_MILP_DATA", str(folder))
    assert datasets.load("cmc").shape == (1473, 10)


def test_adult_is_the_complete_cases_of_adult_raw(data_folder: Path) -> None:
    raw = datasets.load("adult_raw")
    assert datasets.DATASETS["adult"].finish(raw).equals(datasets.load("adult"))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(km.InputError, match='did you mean "adult"'):
        datasets.load("adlut")
