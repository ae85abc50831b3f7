"""Made-up runs of a study, in the columns that the harness writes."""

from __future__ import annotations

import json
import random
from typing import Any

import polars as pl

from kanon_milp.studies.bench.running import SCHEMA

USUAL: dict[str, Any] = {
    **{"run": "0", "study": "made up", "instance": "a", "family": "census", "formulation": "strong", "method": "milp"},
    **{"solver": "highs", "options": "{}", "threads": 1, "seed": 0, "permutation": 0, "time_limit": 100.0},
    **{"n": 1000, "m": 8, "t_in": 700, "t_in_star": 900, "k": 5, "ended": "finished", "exit_code": 0, "message": ""},
    **{"stop_reason": "optimal", "proof": "optimal", "objective": 10.0, "bound": 10.0, "gap": 0.0, "verified": True},
    **{"defects": [], "repeat": "kanon-milp bench study.toml --only 0", "seconds": 1.0, "peak_bytes": 250_000_000},
    **{"trajectory": [], "package_version": "0.1.0", "solver_version": "1.15.1", "git": "0123abc", "python": "3.11.2"},
    **{"os": "Linux", "cpu": "a processor", "cores": 2, "memory": 8 << 30, "host": "here"},
    **{"started": "2026-01-02T03:04:05Z"},
}


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    """Runs that differ from the usual one in what is given."""
    return pl.DataFrame([{**USUAL, **row} for row in rows], schema=SCHEMA)


def point(seconds: float, incumbent: float | None, bound: float | None) -> dict[str, float | None]:
    """A point of a trajectory."""
    return {"seconds": seconds, "incumbent": incumbent, "bound": bound}


def study(instances: int = 12, seed: int = 1) -> pl.DataFrame:
    """Four settings on so many instances of growing size, two seeds each; two red rows, and a crash."""
    draw, rows = random.Random(seed), []
    settings = [
        ("highs", "strong", {}),
        ("highs", "textbook", {}),
        ("scip", "strong", {"gap": 0.01}),
        ("cbc", "strong", {}),
    ]
    for number in range(instances):
        for place, (solver, formulation, options) in enumerate(settings):
            for run_seed in range(2):
                n, k = 100 * 2 ** (number % 6), (2, 5, 11)[number % 3]
                needed = n / 150 * (1 + place) * draw.lognormvariate(0, 0.8)
                solved, seconds = needed < 60, min(needed, 60.0)
                best = float(3 * n)
                bound = best if solved else best * draw.uniform(0.7, 0.99)
                steps = sorted(draw.uniform(0, seconds) for _ in range(4))
                told = [point(at, best * (1.3 - 0.1 * i), bound * (0.4 + 0.2 * i)) for i, at in enumerate(steps)]
                rows.append(
                    {
                        "run": f"{number}-{place}-{run_seed}",
                        "instance": f"census_{n}_{number}",
                        "family": "census" if number % 2 else "planted",
                        "solver": solver,
                        "formulation": formulation,
                        "options": json.dumps(options),
                        "seed": run_seed,
                        "time_limit": 60.0,
                        "n": n,
                        "t_in": int(0.7 * n) + number,
                        "k": k,
                        "proof": "optimal" if solved else "bound",
                        "ended": "finished" if solved else "time",
                        "stop_reason": "optimal" if solved else "time_limit",
                        "objective": best,
                        "bound": bound,
                        "gap": (best - bound) / best,
                        "seconds": seconds,
                        "trajectory": told,
                    }
                )
    rows[3] |= {"defects": ["optimum 300 contradicts the bound 310 of scip"], "known": "310"}
    rows[17] |= {"defects": ["the verifier found 2 violations", "another optimum than highs"]}
    rows[20] |= {"ended": "crashed", "exit_code": -11, "proof": "none", "objective": None, "bound": None, "gap": None}
    return frame(*rows)
