"""Parameters as data: defaults, other values, and what is wrong with a setting."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import kanon_milp as km
from kanon_milp.errors import InputError
from kanon_milp.system.parameters import DEFAULT, Parameters, described, number, parameters, registered


@parameters("tests_of_parameters")
@dataclass(frozen=True)
class Some:
    share: float = number(0.35, "of the time left", most=1)
    rounds: int = number(4, "rounds at most", least=1)
    tried: bool = number(True, "whether it is tried")


def test_a_value_takes_the_place_of_its_default_and_others_stay() -> None:
    changed = Parameters.read(["tests_of_parameters.share=0.5", "tests_of_parameters.tried=false"])
    assert changed.of(Some) == Some(0.5, 4, False)
    assert DEFAULT.of(Some) == Some()
    assert pickle.loads(pickle.dumps(changed)).of(Some) == Some(0.5, 4, False)


def test_an_integer_is_a_number_and_a_whole_number_an_integer() -> None:
    found = Parameters({"tests_of_parameters.share": 1, "tests_of_parameters.rounds": np.float64(7)}).of(Some)
    assert (found.share, found.rounds) == (1.0, 7)
    assert isinstance(found.share, float)
    assert isinstance(found.rounds, int)


def test_every_parameter_says_what_it_means() -> None:
    found = {each.name: each for each in described()}
    assert found["tests_of_parameters.share"].default == 0.35
    relative = ("the same", "that ", "of it", "of these", "of that", "of them")
    assert [name for name, each in found.items() if not each.meaning or each.meaning.startswith(relative)] == []


def test_a_parameter_that_is_set_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r'"tests_of_parameters.share" is set twice'):
        Parameters.read(["tests_of_parameters.share=0.3", " tests_of_parameters.share = 0.4"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tests_of_parameters.shares=1", "did you mean"),
        ("tests_of_parameters.share", "a name and a number"),
        ("tests_of_parameters.share=much", "a name and a number"),
        ("tests_of_parameters.share=nan", "a number is expected"),
        ("tests_of_parameters.share=2", "at most 1"),
        ("tests_of_parameters.share=inf", "at most 1"),
        ("tests_of_parameters.rounds=0", "at least 1"),
        ("tests_of_parameters.rounds=" + 400 * "9", "at most 1e"),
        ("tests_of_parameters.rounds=1.5", "an integer is expected"),
        ("tests_of_parameters.rounds=true", "an integer is expected"),
        ("tests_of_parameters.tried=1", "true or false is expected"),
    ],
)
def test_a_setting_that_is_none_is_refused_with_its_reason(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Parameters.read([text])


def test_a_name_is_that_of_one_class() -> None:
    @dataclass(frozen=True)
    class Other:
        pass

    with pytest.raises(InputError, match="registered already"):
        parameters("tests_of_parameters")(Other)


def test_no_parameters_are_without_effect() -> None:
    """Whoever runs a phase looks its parameters up, so that what a user sets is heeded."""
    text = "\n".join(file.read_text() for file in Path(km.__file__).parent.rglob("*.py"))
    calls = re.findall(r"\.(?:of|get)\(([^()]*)\)", text)
    looked_up = {name for arguments in calls for name in re.findall(r"\w+", arguments)}
    looked_up |= set(re.findall(r"^    numbers = (\w+)$", text, re.MULTILINE))  # by `ByShare`
    kinds = {name: kind.__name__ for name, kind in registered().items() if kind.__module__.startswith("kanon_milp.")}
    assert len(kinds) > 20
    assert {name for name, kind in kinds.items() if kind not in looked_up} == set()
