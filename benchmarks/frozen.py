"""What the engine finds under counted limits: a change of its inner structure must reproduce it to the last bit.

    python benchmarks/frozen.py                 compares with what is recorded; exit code 1 where something differs
    python benchmarks/frozen.py --only k=5      the cases whose names have this in them
    python benchmarks/frozen.py --record        records anew, after a change that is meant to change results

Neighbourhoods, iterations of bounds, rounds of cuts and nodes are counted, so that no clock plays a part; where a
problem is solved to its end, the optimum and its proof are compared. The cases are small relatives of those of the
studies golden, minute, proofs, ten_patterns and requirements_search. They depend on the version of HiGHS as well, which
is recorded. Needs KANON_MILP_DATA.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import kanon_milp as km
from kanon_milp.bounds import BOUNDS, BoundLimit, BoundTask
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock

RECORDED = Path(__file__).parent / "frozen.json"
ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
MASKED = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "salary-class"]
SENSITIVE = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
CMC = [
    "wife_age", "wife_education", "husband_education", "n_children", "wife_religion", "wife_working",
    "husband_occupation", "living_standard", "media_exposure",
]  # fmt: skip

Row = dict[str, Any]


def cases() -> dict[str, tuple[str, Row]]:
    """By name: a model file and the arguments of `solve`."""
    found: dict[str, tuple[str, Row]] = {}

    def add(name: str, columns: list[str], privacy: str, *, rows: int = 0, sensitive: str = "", recoding: str = "",
            **arguments: object) -> None:  # fmt: skip
        data = f'dataset = "{name.partition(",")[0]}"\nquasi_identifiers = {json.dumps(columns)}\n'
        data += f"rows = {rows}\n" if rows else ""
        data += f'sensitive = "{sensitive}"\n' if sensitive else ""
        text = f"[data]\n{data}[privacy]\n{privacy}\n" + (f"[recoding]\n{recoding}\n" if recoding else "")
        found[name] = text, arguments

    counted: Row = {"method": "search", "iteration_limit": 4, "node_limit": 1}
    for rows, k in ((60, 3), (80, 5), (300, 2), (100, 25), (1_000, 2)):
        for seed in (0, 1):
            add(f"adult,rows={rows},k={k},seed={seed}", ADULT, f"k = {k}", rows=rows, seed=seed, **counted)
    for rows, k, masked in ((400, 5, 0), (1_000, 10, 2)):
        recoding = f"random_patterns = 10\nrandom_seed = {masked}"
        add(f"adult,ten patterns,k={k},mask={masked}", MASKED, f"k = {k}", rows=rows, recoding=recoding, **counted)
    requirements = (
        "k = 5\nl = 3", "k = 5\np = 3", 'k = 5\nt = "0.2"', 'k = 5\nalpha = "0.5"', "k = 5\nbeta = 2",
        "k = 5\ndelta = 2", "l = 2", 't = "0.3"',
    )  # fmt: skip
    for each in requirements:
        add(f"adult,rows=24,{named(each)}", SENSITIVE, each, rows=24, sensitive="occupation", **counted)
    add("adult,rows=60,l=1.25", SENSITIVE, 'l = "1.25"', rows=60, sensitive="salary-class", **counted)
    for each in ('l = "1.5"', "k = 5\np = 2", 't = "0.2"'):
        recoding = "random_patterns = 8"
        add(f"cmc,eight patterns,{named(each)}", CMC, each, sensitive="method", rows=0, recoding=recoding, **counted)
    # bounds alone
    add("adult,rows=3000,k=5,lagrangian", ADULT, "k = 5", rows=3_000, bound="lagrangian", iterations=200)
    add(
        "adult,rows=1000,k=5,relax_and_cut", ADULT, "k = 5", rows=1_000, bound="relax_and_cut", iterations=200, rounds=3
    )
    add(
        "adult,rows=150,k=5,column_generation",
        ADULT,
        "k = 5",
        rows=150,
        bound="column_generation",
        iterations=200,
        rounds=3,
    )
    for each in ("k = 5\nl = 3", 'k = 5\nt = "0.2"', "k = 5\np = 3"):
        add(f"adult,rows=600,{named(each)},requirements", SENSITIVE, each, rows=600, sensitive="occupation",
            bound="requirements", iterations=40)  # fmt: skip
    # to their end
    for k in (3, 5):
        add(f"adult,rows=80,k={k},proven", ADULT, f"k = {k}", rows=80, method="search")
    add("adult,rows=60,k=5,l=3,proven", SENSITIVE, "k = 5\nl = 3", rows=60, sensitive="occupation", method="search")
    add("adult,rows=400,k=2,matching", ADULT, "k = 2", rows=400, method="matching")
    add("adult,rows=300,l=2,matching", SENSITIVE, "l = 2", rows=300, sensitive="occupation", method="matching")
    add("cmc,twelve patterns,k=5,proven", CMC, "k = 5", recoding="random_patterns = 12", method="search")
    add("cmc,twelve patterns,k=5,milp", CMC, "k = 5", recoding="random_patterns = 12", method="milp")
    add("adult,rows=200,greedy", ADULT, "k = 5", rows=200, method="greedy")
    add("adult,rows=2000,mondrian", ADULT, "k = 5", rows=2_000, method="mondrian")
    return found


def named(privacy: str) -> str:
    return privacy.replace("\n", ",").replace(" ", "").replace('"', "")


def run(text: str, arguments: Row) -> Row:
    """One case: what is found and proven, and fingerprints of groups and multipliers where work was counted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.toml"
        path.write_text(text)
        problem = km.read_model(path).problem
    if "bound" in arguments:
        return run_bound(problem, arguments)
    result = km.solve(problem, **arguments)
    row: Row = {
        "objective": str(result.exact_objective),
        "bound": str(result.exact_bound),
        "proof": result.proof,
        "verified": result.report is not None and result.report.ok,
    }
    if "iteration_limit" in arguments or result.proof == "none":
        row["groups"] = None if result.groups is None else fingerprint(result.groups)
        row["steps"] = len(result.trajectory)
        row["multipliers"] = None if result.dual is None else fingerprint(result.dual.multipliers)
    return row


def run_bound(problem: km.Problem, arguments: Row) -> Row:
    """A bound of the registry: what it proves, and its multipliers."""
    instance = presolve(problem, Clock(), merge=True).instance
    dual = None
    if arguments["bound"] != "lagrangian":
        start = BoundTask(BoundLimit(iterations=arguments["iterations"]))
        dual = BOUNDS["lagrangian"].compute(instance, start).dual
    limit = BoundLimit(iterations=arguments["iterations"], rounds=arguments.get("rounds"))
    found = BOUNDS[arguments["bound"]].compute(instance, BoundTask(limit, dual))
    return {"units": found.units, "multipliers": None if found.dual is None else fingerprint(found.dual.multipliers)}


def fingerprint(array: object) -> str:
    values = np.ascontiguousarray(np.asarray(array))
    return hashlib.sha256(values.tobytes()).hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument("--record", action="store_true", help="record what is found")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", km.RoleWarning)
    recorded: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.is_file() else {}
    known = recorded.get("cases", {})
    if recorded.get("highs", version("highspy")) != version("highspy"):
        print(f"recorded with HiGHS {recorded['highs']}; this is {version('highspy')}, so models may end otherwise")
    different = 0
    for name, (text, arguments) in cases().items():
        if asked.only not in name:
            continue
        began = time.perf_counter()
        row = run(text, arguments)
        same = row == known.get(name)
        different += not same
        print(f"{'  ' if same else '! '}{time.perf_counter() - began:6.1f} s  {name}", flush=True)
        if not same and name in known:
            for key in sorted(row.keys() | known[name].keys()):
                if row.get(key) != known[name].get(key):
                    print(f"             {key}: {known[name].get(key)} before, {row.get(key)} now")
        if asked.record:
            known[name] = row
    if asked.record:
        RECORDED.write_text(json.dumps({"highs": version("highspy"), "cases": known}, indent=1) + "\n")
        return 0
    print(f"{different} cases differ" if different else "nothing has changed")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
