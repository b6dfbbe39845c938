#!/usr/bin/env python3
"""Measures Kinora against its yardsticks, in one run on one machine, and prints the ratios as a table.

    bench/run.sh [ready|segments|reads|deliveries|memory|commits ...]

Without names all of it, in some minutes. Exit status 0 when all was measured, whatever came out: these are no tests.
"""

import argparse
import datetime
import os
import pathlib
import sys
import tempfile

import commits
import deliveries
import machine
import memory
import reads
import ready
import report
import segments
from bench import Bench
from clips import Clips

BENCHES = {
    "ready": ready.measure,
    "segments": segments.measure,
    "reads": reads.measure,
    "deliveries": deliveries.measure,
    "memory": memory.measure,
    "commits": commits.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; all of them by default")
    names = parser.parse_args().names or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench {unknown[0]}; there are {', '.join(BENCHES)}")
    machine.require_programs("ffmpeg", "nginx", "wrk", "taskset")

    target = pathlib.Path(os.environ["BENCH_TARGET"])
    kept = target / "bench"
    kept.mkdir(parents=True, exist_ok=True)
    print(
        f"{datetime.date.today()}, commit {machine.revision()}: {machine.description()}; load {machine.load()}",
        flush=True,
    )
    rows = []
    with tempfile.TemporaryDirectory(dir=kept, prefix="run-") as folder:
        bench = Bench(
            kinora=pathlib.Path(os.environ["KINORA"]).resolve(),
            yardstick=target / "release" / "kinora-yardstick",
            clips=Clips(kept / "clips"),
            folder=pathlib.Path(folder),
        )
        for name in names:
            print(f"measuring {name} ...", flush=True)
            rows += BENCHES[name](bench)
    print(f"load at the end {machine.load()}\n")
    print(report.table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
