"""The list of the library: what each instance is made from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from kanon_milp.errors import InputError, nearest
from kanon_milp.studies.model_files import parse_toml

NAME = r"[a-z][a-z0-9-]{0,15}"
LIST = Path(__file__).with_name("library.toml")
Kind = Literal["release", "full_domain", "minimum_qid"]


class Entry(BaseModel):
    """One instance of the list.

    name: lower case, at most 16 characters. kind: a table to release, the best full-domain recoding, or a minimum
    quasi-identifier. series: a name that instances on one table share. Either family with size, seed and answer, or the
    tables of a model file. bounded: False leaves out a family's bound on the loss, whose optimum is the same.
    suppression_limit: share of the rows, of full-domain recoding. reading, k: of the minimum quasi-identifier, as in
    `kanon-milp qid`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
    where: ClassVar[str] = "[[instance]]"
    name: Annotated[str, StringConstraints(pattern=rf"^{NAME}$")]
    kind: Kind = "release"
    formulation: Literal["strong", "textbook", "groups"] = "strong"
    series: str | None = None
    family: str | None = None
    size: int | None = None
    seed: int = Field(0, ge=0)
    answer: Literal["yes", "no"] = "yes"
    bounded: bool = True
    data: dict[str, Any] | None = None
    privacy: dict[str, Any] | None = None
    recoding: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    suppression_limit: str = "0"
    reading: Literal["identify", "violate"] = "identify"
    k: int = Field(2, ge=2)

    @model_validator(mode="after")
    def _one_source(self) -> Entry:
        if (self.family is None) == (self.data is None):
            raise ValueError("an instance is made from either family or data")
        if self.family is not None and (self.privacy or self.recoding or self.problem):
            raise ValueError("a family has its own privacy, recoding and problem")
        if not self.bounded and self.answer == "no":
            raise ValueError("without its bound on the loss the answer is not no")
        return self

    @property
    def dataset(self) -> str | None:
        """The real table that is needed, if one is."""
        return None if self.data is None else self.data.get("dataset")

    @property
    def content(self) -> dict[str, Any]:
        """As the content of a model file."""
        parts = {"data": self.data, "privacy": self.privacy, "recoding": self.recoding, "problem": self.problem}
        return {"name": self.name, **{key: value for key, value in parts.items() if value is not None}}


def read_list(path: Path = LIST) -> list[Entry]:
    """The instances of a list. Raises InputError for an unknown key or value, and for a name that occurs twice."""
    content = parse_toml(path)
    given = content.pop("instance", None)
    if content or not isinstance(given, list) or not given:
        raise InputError(f"{path}: a list of instances consists of tables [[instance]] and nothing else")
    found: dict[str, Entry] = {}
    for number, each in enumerate(given, 1):
        where = f"{path}: [[instance]] number {number}"
        try:
            entry = Entry.model_validate(each)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise InputError(f"{where}: {key + ': ' if key else ''}{first['msg']}") from None
        if entry.name in found:
            raise InputError(f"{where}: the name {entry.name} occurs twice")
        found[entry.name] = entry
    return list(found.values())


def chosen(entries: Sequence[Entry], only: Sequence[str]) -> list[Entry]:
    """The instances with one of these names, which may have * and ?; all for none. Raises InputError for none found."""
    for each in only:
        if not any(fnmatch(entry.name, each) for entry in entries):
            stems = list(dict.fromkeys(entry.name.partition("-")[0] for entry in entries))
            meant = f' (did you mean "{each}-*"?)' if each in stems else nearest(re.split("[*?-]", each)[0], stems)
            raise InputError(f"no instance of the list is called {each}{meant}; names begin with {', '.join(stems)}")
    return [entry for entry in entries if not only or any(fnmatch(entry.name, each) for each in only)]


def is_name(name: str) -> bool:
    """Whether a name is one for a collection: lower case, at most 16 characters."""
    return re.fullmatch(NAME, name) is not None
