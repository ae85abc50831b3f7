"""Real tables by name: from the folder in KANON_MILP_DATA, then the user's cache, then a download with a known hash.

The tables are of the UCI Machine Learning Repository (CC BY 4.0); the package carries none of them. Every value is
text.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kanon_milp.errors import InputError, nearest
from kanon_milp.problem.arguments import text
from kanon_milp.system.files import write_file

FOLDER_VARIABLE = "KANON_MILP_DATA"
CACHE_VARIABLE = "KANON_MILP_CACHE"
BASE_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

ADULT_RAW = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary-class",
)  # fmt: skip
ADULT = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
CMC = (
    "wife_age", "wife_education", "husband_education", "n_children", "wife_religion", "wife_working",
    "husband_occupation", "living_standard", "media_exposure", "method",
)  # fmt: skip
NURSERY = ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class")


@dataclass(frozen=True)
class DataSet:
    """A table that can be downloaded: file below `BASE_URL`, its SHA-256, its column names, and what is made of it.

    raw_hash: of the file as served. table_hash: of the finished table as CSV without the columns in `unchecked`; it
    guards what comes from the folder, the cache and the download alike.
    """

    file: str
    columns: tuple[str, ...]
    raw_hash: str
    table_hash: str
    finish: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame
    unchecked: tuple[str, ...] = ()


_ADULT_FILE = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
DATASETS: dict[str, DataSet] = {
    "adult": DataSet(
        "adult/adult.data",
        ADULT_RAW,
        _ADULT_FILE,
        "2dc6b45aa5244ac8f8b471859d30d851375c4006059442ddddc8b0c8dc17339e",
        lambda frame: frame.select(ADULT).filter(pl.all_horizontal(pl.all() != "?")),
    ),
    "adult_raw": DataSet(
        "adult/adult.data", ADULT_RAW, _ADULT_FILE, "8fb550d41c43de9dba884c297067639ef94ae5aced00c30275ea52b97eb87efc"
    ),
    "cmc": DataSet(
        "cmc/cmc.data",
        CMC,
        "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9",
        "15d8f3074ad31a68388113488856875647a5c6bc417d1d06cc9b13c723d55aaa",
    ),
    # the eight attributes are a full product and so known without the file; the class is guarded by raw_hash alone,
    # which is the one that UCIData.jl pins
    "nursery": DataSet(
        "nursery/nursery.data",
        NURSERY,
        "8e0389c3dd37590248a921c2726d869ee96b817761a35eb8416afa24f31f931d",
        "b1f6249fd0ee98d750c76a2611fb2abecf522eee5e19319547ad3df2bf327627",
        unchecked=("class",),
    ),
}


def names() -> list[str]:
    """Names of the data sets."""
    return list(DATASETS)


def load(name: str, *, base_url: str = BASE_URL) -> pl.DataFrame:
    """Load a data set, every value as text, missing ones as UCI's `?`.

    Raises InputError for an unknown name, a table that is not the expected one, or where nothing can be downloaded.
    """
    text(name, "name of a data set")
    text(base_url, "base_url")
    source = path(name, base_url=base_url)
    try:
        # bytes, because polars takes the characters * ? [ ] of a path for a pattern
        frame = pl.read_csv(source.read_bytes(), infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{source}: cannot be read as CSV ({type(error).__name__}); remove or replace the file"
        ) from None
    return _checked(frame, name, str(source))


def path(name: str, *, base_url: str = BASE_URL) -> Path:
    """Where the data set is on this machine: CSV with a header, packed or not; downloaded if it is nowhere yet.

    Raises InputError for an unknown name, or where nothing can be downloaded.
    """
    _known(name)
    given = _given(name)
    if given is not None:
        return given
    cached = _cache() / f"{name}.csv"
    if not cached.exists():
        _download(name, cached, base_url)
    return cached


def at_hand(name: str) -> bool:
    """Whether the data set is on this machine: nothing is downloaded. Raises InputError for an unknown name."""
    _known(name)
    return _given(name) is not None or (_cache() / f"{name}.csv").exists()


def table_hash(frame: pl.DataFrame, unchecked: tuple[str, ...] = ()) -> str:
    """SHA-256 of a table as CSV, without the unchecked columns."""
    return hashlib.sha256(frame.drop(unchecked).write_csv().encode()).hexdigest()


def _known(name: str) -> None:
    if name not in DATASETS:
        raise InputError(f'unknown data set "{name}"{nearest(name, names())}; known: {", ".join(names())}')


def _given(name: str) -> Path | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise InputError(f"{FOLDER_VARIABLE} names {folder}, which is not a folder")
    return next((p for p in (Path(folder) / f"{name}.csv.gz", Path(folder) / f"{name}.csv") if p.exists()), None)


def _cache() -> Path:
    import pooch  # slow to import

    return Path(os.environ.get(CACHE_VARIABLE) or pooch.os_cache("kanon_milp"))


def _checked(frame: pl.DataFrame, name: str, source: str) -> pl.DataFrame:
    entry = DATASETS[name]
    if set(entry.unchecked) - set(frame.columns) or table_hash(frame, entry.unchecked) != entry.table_hash:
        raise InputError(
            f'{source}: is not the data set "{name}": its content has another hash; remove or replace the file'
        )
    return frame


def _download(name: str, target: Path, base_url: str) -> None:
    """Put the table into the cache: made in a file beside `target`, checked, then renamed."""
    entry = DATASETS[name]
    url = base_url + entry.file
    temporary = target.with_name(f"download-{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _fetch(url, entry.raw_hash, temporary, name)
        # UCI's files have no header, blanks after commas, and a blank line at the end
        lines = [line.split(",") for line in temporary.read_bytes().decode("utf-8").splitlines() if line.strip()]
        rows = [[cell.strip() for cell in line] for line in lines]
        raw = pl.DataFrame(rows, schema=dict.fromkeys(entry.columns, pl.String), orient="row")
        frame = _checked(entry.finish(raw), name, url)
        write_file(target, lambda file: file.write(frame.write_csv().encode()))
    except OSError as error:
        raise InputError(
            f"{target.parent}: cannot be used as the cache ({type(error).__name__}); "
            f"let {CACHE_VARIABLE} name another folder, or {_way_out(name)}"
        ) from None
    finally:
        with contextlib.suppress(OSError):  # there may be nothing to remove, or no way to reach it
            temporary.unlink()


def _fetch(url: str, known: str, temporary: Path, name: str) -> None:
    import pooch  # slow to import

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("ERROR")  # pooch announces each download
    try:
        pooch.retrieve(url, known_hash=f"sha256:{known}", fname=temporary.name, path=temporary.parent)
    except ValueError:
        raise InputError(
            f"{url}: what was downloaded has another hash than the data set {name}; {_way_out(name)}"
        ) from None
    except OSError as error:
        raise InputError(f"{url}: cannot be downloaded ({type(error).__name__}); {_way_out(name)}") from None
    finally:
        logger.setLevel(level)


def _way_out(name: str) -> str:
    return f"put {name}.csv.gz into the folder named by {FOLDER_VARIABLE}"
