"""Every model of the library has the optimum that its file says."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest

import kanon_milp as km
from kanon_milp.instances.schema import TABLES, meanings

LIBRARY = Path(__file__).parent.parent / "models"
MODELS = sorted(LIBRARY.glob("*.toml"))
SLOW = ("cmc_l_diversity", "cmc_t_closeness")  # Adult has the same requirements, and CMC the same mask with others
CASES = [pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else [], id=path.stem) for path in MODELS]


def needs_data(path: Path) -> bool:
    return "dataset =" in path.read_text()


@pytest.mark.parametrize("path", CASES)
def test_the_known_optimum_is_found_and_proven(path: Path) -> None:
    if needs_data(path) and not os.environ.get("KANON_MILP_DATA"):
        pytest.skip("KANON_MILP_DATA is not set")
    model = km.read_model(path)
    assert model.title
    assert model.source
    assert model.known["source"]
    assert not model.problem.table.warnings  # each column of a curated table has a role
    result = km.solve(model.problem, **solver_options(model))
    if model.known.get("infeasible"):
        assert result.proof == "infeasible"
    else:
        assert result.require_optimal().exact_objective == Fraction(str(model.known["optimum"]))


def solver_options(model: km.ModelFile) -> dict[str, object]:
    options = dict(model.solver)
    if "name" in options:
        options["solver"] = options.pop("name")
    return options


def test_the_library_documents_every_key_of_a_model_file() -> None:
    text = (LIBRARY / "README.md").read_text()
    for table in TABLES:
        assert meanings(table)
        for key, meaning in meanings(table).items():
            assert f"| `{key}` | {meaning} |" in text, (table, key)


def test_the_library_lists_every_model() -> None:
    text = (LIBRARY / "README.md").read_text()
    assert len(MODELS) >= 10
    for path in MODELS:
        assert f"`{path.name}`" in text
