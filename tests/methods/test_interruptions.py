"""Ctrl-C and SIGTERM at any moment, from the first import to the last write."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from command_line import python
from interruptions import interrupt, write_table

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="signals, and reads /proc")

# name → rows, columns, values of a column, further options: moments are spent in different places
TABLES: dict[str, tuple[int, int, int, list[str]]] = {
    "quick": (60, 4, 3, []),  # proven within a moment: imports, and writing what there is
    "solver": (120, 6, 3, ["--method", "milp"]),  # a minute and more in the solver
    "build": (3_000, 8, 4, ["--method", "milp", "--l", "2"]),  # a bound, then seconds of declaring
    "candidates": (3_000, 15, 3, []),  # enumerated and reduced for long
    "search": (2_000, 8, 4, ["--threads", "2"]),  # processes that have to end too
}
MOMENTS = {"quick": (0.0, 0.4, 0.9), "solver": (1.5,), "build": (2.0,), "candidates": (1.4,), "search": (2.5,)}


@pytest.mark.parametrize(("table", "seconds"), [(table, moment) for table, all_ in MOMENTS.items() for moment in all_])
@pytest.mark.processes
def test_a_signal_ends_it_with_a_documented_exit_code(tmp_path: Path, table: str, seconds: float) -> None:
    rows, columns, values, options = TABLES[table]
    command = [*write_table(tmp_path, rows, columns, values), *options]
    number = (signal.SIGINT, signal.SIGTERM)[round(seconds * 10) % 2]
    code = interrupt(command, tmp_path / "out", number, seconds)
    if seconds == 0:
        assert code == 5


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.processes
def test_a_second_signal_ends_it_at_once(tmp_path: Path, number: int) -> None:
    rows, columns, values, options = TABLES["solver"]
    command = [*write_table(tmp_path, rows, columns, values), *options]
    assert interrupt(command, tmp_path / "out", number, 1.5, again=0.05) in (4, 5)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_signals_at_random_moments(tmp_path: Path, table: str) -> None:
    rows, columns, values, options = TABLES[table]
    command = [*write_table(tmp_path, rows, columns, values), *options]
    draw = random.Random(0)
    for run in range(40):
        number = draw.choice((signal.SIGINT, signal.SIGTERM))
        again = draw.choice((None, None, 0.0, draw.uniform(0, 1)))
        interrupt(command, tmp_path / str(run), number, draw.uniform(0, 8), again)


def test_the_package_imports_next_to_nothing_until_it_is_used() -> None:
    heavy = ("numpy", "polars", "pyomo", "scipy", "highspy", "typer", "rich")
    script = f"import sys, kanon_milp.cli; print([name for name in {heavy} if name in sys.modules])"
    assert python("-c", script).stdout == "[]\n"


@pytest.mark.processes
def test_what_nothing_here_uses_is_not_imported() -> None:
    """Pyomo would load the statistics of SciPy; whoever uses them has them, through Pyomo as well."""
    script = (
        "import sys, kanon_milp.cli.app\n"
        "unused = 'scipy.stats', 'pyomo.environ', 'networkx', 'pooch', 'asyncio'\n"
        "print(*(each in sys.modules for each in ('scipy', *unused)))\n"
        "from pyomo.common.dependencies import scipy, scipy_available\n"
        "print(bool(scipy_available), scipy.stats.norm.cdf(0))"
    )
    assert python("-c", script).stdout.splitlines() == ["True False False False False False", "True 0.5"]


@pytest.mark.processes
def test_a_model_can_be_written_by_who_imports_nothing_of_pyomo(tmp_path: Path) -> None:
    script = (
        "import sys, polars as pl, kanon_milp as km\n"
        "table = km.Table.from_frame(pl.DataFrame({'a': ['x', 'x', 'y', 'y']}), ['a'])\n"
        "km.build_model(km.Problem(table, km.KAnonymity(2))).write(sys.argv[1])\n"
    )
    python("-c", script, tmp_path / "model.lp")
    assert "end" in (tmp_path / "model.lp").read_text()


@pytest.mark.processes
def test_a_solver_that_was_left_behind_does_not_abort_a_script(tmp_path: Path) -> None:
    """Its thread is still at work, and calls back, when the interpreter ends."""
    script = tmp_path / "script.py"
    script.write_text(
        "import random, threading, time\n"
        "import polars as pl\n"
        "import kanon_milp as km\n"
        "from kanon_milp.cli.exit_codes import exit_code\n"
        "from kanon_milp.solvers import highs\n"
        "from kanon_milp.solvers.call import Watch\n"
        "highs._LAST_SECONDS = 0.5\n"
        "reacts = Watch.wait\n"
        "def never_reacts(self, *_, **__):\n"
        "    Watch.wait = reacts\n"
        "    time.sleep(0.3)\n"
        "    return False\n"
        "Watch.wait = never_reacts\n"
        "draw = random.Random(5)\n"
        "frame = pl.DataFrame({f'q{j}': [draw.choice('abc') for _ in range(120)] for j in range(6)})\n"
        "problem = km.Problem(km.Table.from_frame(frame, frame.columns), km.KAnonymity(5))\n"
        "result = km.solve(problem, method='milp')\n"
        "print(result.stop_reason, exit_code(result), 'highs' in [t.name for t in threading.enumerate()])\n"
    )
    done = python(script)
    assert done.stdout == "interrupted 4 True\n"
    assert done.stderr == ""
