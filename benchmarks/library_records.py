"""Write the records of the instance library: solve what has none for a while, and say who proved what.

    python benchmarks/library_records.py [NAME ...] [--seconds 10] [--search 15] [--again]

Names may have * and ?. The records are a part of the package (kanon_milp/studies/mps_library/records).
"""

from __future__ import annotations

import argparse
import time

from kanon_milp.errors import KanonError
from kanon_milp.studies import datasets
from kanon_milp.studies.mps_library.instances import LIST, chosen, read_list
from kanon_milp.studies.mps_library.metadata import RECORDS, read_record
from kanon_milp.studies.mps_library.record import recorded, write_record


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("names", nargs="*")
    given.add_argument("--seconds", type=float, default=10.0, help="for HiGHS on the model")
    given.add_argument("--search", type=float, default=15.0, help="for another method where that proves nothing")
    given.add_argument("--again", action="store_true", help="also where there is a record")
    asked = given.parse_args()
    for entry in chosen(read_list(), asked.names):
        if entry.dataset is not None and not datasets.at_hand(entry.dataset):
            print(f"{entry.name}: the table {entry.dataset} is not here", flush=True)
            continue
        if not asked.again and read_record(entry.name) is not None:
            continue
        began = time.perf_counter()
        try:
            found = recorded(entry, LIST.parent, asked.seconds, asked.search)
        except KanonError as error:
            print(f"{entry.name}: {error}", flush=True)
            continue
        write_record(found, RECORDS)
        print(
            f"{found.name:16} {found.status:4} {found.difficulty:4} {found.best_in_file} {found.bound_in_file} "
            f"lp {found.lp_bound} presolved {found.presolved} {time.perf_counter() - began:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
