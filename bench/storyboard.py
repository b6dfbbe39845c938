"""A sheet of small pictures of ten minutes that nobody has asked for before, beside one call of ffmpeg that makes such a sheet of the file."""

import subprocess
import time

from bench import Bench
from kinora import Kinora
from peers import Peers
from report import Row, cost_against_yardstick

ROUNDS = 5
LIMIT = 1.2
# A tile every ten seconds, as `advanced-spritesheet.jpg` has them.
FILTERS = "fps=1/10,scale=160:90,tile=10x6"


def measure(bench: Bench) -> list[Row]:
    """720p30 with a keyframe every 2 s, a new media each round."""
    clip = bench.clips.ten_minutes_720p()
    sheet = bench.folder / "sheet.jpg"
    call = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", clip, "-vf", FILTERS, "-frames:v", "1", "-q:v", "5", sheet]
    ours, theirs = [], []
    peers = Peers()
    with Kinora(bench, "storyboard") as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        for number in range(ROUNDS + 1):
            media = kinora.create_media(peers.share(f"{number}.mp4", clip))
            peers.wait_event("video.media.ready", media["id"])
            begun = time.monotonic()
            kinora.get(f"/{media['playbackIds'][0]['id']}/advanced-spritesheet.jpg?interval=10")
            made = time.monotonic()
            subprocess.run(call, check=True)
            called = time.monotonic()
            if number > 0:  # the first round warms up
                ours.append(made - begun)
                theirs.append(called - made)
            kinora.delete_media(media["id"])
    peers.close()
    what = "sheet of 60 tiles of 10 min, 720p30, wall, against one call of ffmpeg"
    return [cost_against_yardstick(what, ours, theirs, "s", LIMIT)]
