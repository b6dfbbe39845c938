#!/usr/bin/env python3
"""Measures Kinora against its yardsticks, in one run on one machine, and prints the ratios as a table.

    bench/run.sh [ready|segments|reads|deliveries|memory|commits|coldready|cold|fill|sound|firstframe|uploads|lists|creation|storyboard|policy ...]

Without names all of it, in about half an hour, first on SQLite and a folder, then on PostgreSQL and S3. Exit status 0 when all was measured, whatever came out: these are no tests.
"""

import argparse
import datetime
import os
import pathlib
import shutil
import sys
import tempfile

import cold
import coldready
import commits
import creation
import deliveries
import fill
import firstframe
import lists
import machine
import memory
import policy
import reads
import ready
import report
import segments
import sound
import storyboard
import uploads
from bench import Bench
from clips import Clips
from places import PLACES

BENCHES = {
    "ready": ready.measure,
    "segments": segments.measure,
    "reads": reads.measure,
    "deliveries": deliveries.measure,
    "memory": memory.measure,
    "commits": commits.measure,
    "coldready": coldready.measure,
    "cold": cold.measure,
    "fill": fill.measure,
    "sound": sound.measure,
    "firstframe": firstframe.measure,
    "uploads": uploads.measure,
    "lists": lists.measure,
    "creation": creation.measure,
    "storyboard": storyboard.measure,
    "policy": policy.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; all of them by default")
    parser.add_argument("--place", action="append", choices=PLACES, help="where to measure, both by default")
    arguments = parser.parse_args()
    names = arguments.names or list(BENCHES)
    places = [PLACES[name] for name in arguments.place or PLACES]
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench {unknown[0]}; there are {', '.join(BENCHES)}")
    machine.require_programs("ffmpeg", "nginx", "node", "psql", "taskset", "wrk")

    target = pathlib.Path(os.environ["BENCH_TARGET"])
    kept = target / "bench"
    kept.mkdir(parents=True, exist_ok=True)
    print(
        f"{datetime.date.today()}, commit {machine.revision()}: {machine.description()}; load {machine.load()}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=kept, prefix="run-") as name:
        for number, place in enumerate(places):
            rows = []
            folder = pathlib.Path(name) / str(number)
            folder.mkdir()
            bench = Bench(
                kinora=pathlib.Path(os.environ["KINORA"]).resolve(),
                place=place,
                folder=folder,
                yardstick=target / "release" / "kinora-yardstick",
                clips=Clips(kept / "clips"),
            )
            for one in names:
                print(f"measuring {one} on {place.name} ...", flush=True)
                rows += BENCHES[one](bench)
            # What was measured is kept, also when the next place fails.
            print(f"{place.name}\n\n{report.table(rows)}\n", flush=True)
            shutil.rmtree(folder)
    print(f"load at the end {machine.load()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
