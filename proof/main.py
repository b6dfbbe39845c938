#!/usr/bin/env python3
"""Proves that sources play.

    proof/run.sh sources [FILE...]    plays a clip of every kind of source and writes docs/sources.md
    proof/run.sh quality [FILE...]    compares encodes in pieces with one call of the encoder, as a table

FILE selects clips by name; then `sources` writes no document. Exit status 0 when every row passes, else 1.
"""

import argparse
import os
import pathlib
import signal
import sys
import tempfile

import machine
import quality
import sources
from bench import BenchContext
from clips import Clips
from deployments import OneMachine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sources", "quality"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stops the server too
    machine.require_programs("ffmpeg", "ffprobe")

    work_folder = pathlib.Path(os.environ["PROOF_TARGET"]) / "bench"
    work_folder.mkdir(parents=True, exist_ok=True)
    clips = Clips(work_folder / "clips")
    with tempfile.TemporaryDirectory(dir=work_folder, prefix="proof-") as folder:
        context = BenchContext(pathlib.Path(os.environ["KINORA"]).resolve(), OneMachine(), pathlib.Path(folder))
        if arguments.what == "sources":
            rows = sources.measure(context, clips, arguments.names)
        else:
            rows = quality.measure(context, clips, arguments.names)
    if arguments.what == "quality":
        print("\n" + quality.table(rows))
    elif not arguments.names:
        sources.write(rows)
    failed = [row for row in rows if row.problems]
    for row in failed:
        print(f"{row.name}: {'; '.join(row.problems)}", file=sys.stderr)
    print(f"{len(rows) - len(failed)} of {len(rows)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
