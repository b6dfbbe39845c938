#!/usr/bin/env python3
"""Measures Kinora against its baselines, in one run on one machine, and prints the ratios as a table.

    bench/run.sh [ready|segments|reads|deliveries|memory|commits|encoded-ready|on-demand|backfill|audio|
                  firstframe|uploads|lists|creation|storyboard|access|cutting|watermark|
                  loudness|dashboard ...]
                 [--deployment sqlite|postgres]

Without names it runs all in about half an hour, first on SQLite and a folder, then on PostgreSQL and S3.
Exit status: 0 when all ran, also when a goal is missed: these are no tests.
"""

import argparse
import datetime
import os
import pathlib
import shutil
import sys
import tempfile

import access_check
import audio
import backfill
import commits
import creation
import cutting
import dashboard
import deliveries
import encoded_ready
import firstframe
import lists
import loudness
import machine
import memory
import on_demand
import reads
import ready
import report
import segments
import storyboard
import uploads
import watermark
from bench import Bench
from clips import Clips
from deployments import DEPLOYMENTS

BENCHES = {
    "ready": ready.measure,
    "segments": segments.measure,
    "reads": reads.measure,
    "deliveries": deliveries.measure,
    "memory": memory.measure,
    "commits": commits.measure,
    "encoded-ready": encoded_ready.measure,
    "on-demand": on_demand.measure,
    "backfill": backfill.measure,
    "audio": audio.measure,
    "firstframe": firstframe.measure,
    "uploads": uploads.measure,
    "lists": lists.measure,
    "creation": creation.measure,
    "storyboard": storyboard.measure,
    "access": access_check.measure,
    "cutting": cutting.measure,
    "watermark": watermark.measure,
    "loudness": loudness.measure,
    "dashboard": dashboard.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; default: all")
    parser.add_argument("--deployment", action="append", choices=DEPLOYMENTS, help="where to measure; default: both")
    arguments = parser.parse_args()
    names = arguments.names or list(BENCHES)
    deployments = [DEPLOYMENTS[name] for name in arguments.deployment or DEPLOYMENTS]
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]}; there are {', '.join(BENCHES)}")
    machine.require_programs("ffmpeg", "nginx", "node", "psql", "taskset", "wrk")

    target = pathlib.Path(os.environ["BENCH_TARGET"])
    work_folder = target / "bench"
    work_folder.mkdir(parents=True, exist_ok=True)
    print(
        f"{datetime.date.today()}, commit {machine.revision()}: {machine.description()}; load {machine.load()}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=work_folder, prefix="run-") as name:
        for number, deployment in enumerate(deployments):
            rows = []
            folder = pathlib.Path(name) / str(number)
            folder.mkdir()
            bench = Bench(
                kinora=pathlib.Path(os.environ["KINORA"]).resolve(),
                deployment=deployment,
                folder=folder,
                baseline_binary=target / "release" / "kinora-yardstick",
                clips=Clips(work_folder / "clips"),
            )
            for one in names:
                print(f"measuring {one} on {deployment.name} ...", flush=True)
                measured = BENCHES[one](bench)
                # Printed now, in case the next one fails.
                print(report.table(measured), flush=True)
                rows += measured
            print(f"{deployment.name}\n\n{report.table(rows)}\n", flush=True)
            shutil.rmtree(folder)
    print(f"load at the end {machine.load()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
