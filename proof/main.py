#!/usr/bin/env python3
"""Shows that sources play.

    proof/run.sh sources [FILE...]    a clip of every kind of source, into docs/sources.md; with names only these, and no document
    proof/run.sh quality [FILE...]    encodes in pieces against one call of the encoder, as a table

Exit status 0 when all was as it must be, 1 when not.
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
from bench import Ground
from clips import Clips
from places import OneMachine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sources", "quality"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server that was started ends with us
    machine.require_programs("ffmpeg", "ffprobe")

    kept = pathlib.Path(os.environ["PROOF_TARGET"]) / "bench"
    kept.mkdir(parents=True, exist_ok=True)
    clips = Clips(kept / "clips")
    with tempfile.TemporaryDirectory(dir=kept, prefix="proof-") as folder:
        ground = Ground(pathlib.Path(os.environ["KINORA"]).resolve(), OneMachine(), pathlib.Path(folder))
        if asked.what == "sources":
            rows = sources.prove(ground, clips, asked.names)
        else:
            rows = quality.prove(ground, clips, asked.names)
    if asked.what == "quality":
        print("\n" + quality.table(rows))
    elif not asked.names:
        sources.write(rows)
    wrong = [row for row in rows if row.problems]
    for row in wrong:
        print(f"{row.name}: {'; '.join(row.problems)}", file=sys.stderr)
    print(f"{len(rows) - len(wrong)} of {len(rows)} as they must be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
