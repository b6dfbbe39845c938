"""A sprite sheet of ten minutes, not cached, against one call of ffmpeg that makes such a sheet."""

import subprocess
import time

from bench import Bench
from kinora import Kinora
from report import Row, cost_against_baseline
from test_servers import TestServers

ROUNDS = 5
LIMIT = 1.2
# A tile every ten seconds, as in `advanced-spritesheet.jpg`.
FILTERS = "fps=1/10,scale=160:90,tile=10x6"


def measure(bench: Bench) -> list[Row]:
    """720p30 with a keyframe every 2 s, a new media each round."""
    clip = bench.clips.ten_minutes_720p()
    sheet = bench.folder / "sheet.jpg"
    call = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", clip, "-vf", FILTERS, "-frames:v", "1", "-q:v", "5", sheet]
    ours, theirs = [], []
    test_servers = TestServers()
    with Kinora(bench, "storyboard") as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(ROUNDS + 1):
            media = kinora.create_media(test_servers.share(f"{number}.mp4", clip))
            test_servers.wait_event("video.media.ready", media["id"])
            started = time.monotonic()
            kinora.get(f"/{media['playbackIds'][0]['id']}/advanced-spritesheet.jpg?interval=10")
            made = time.monotonic()
            subprocess.run(call, check=True)
            called = time.monotonic()
            if number > 0:  # the first round warms up
                ours.append(made - started)
                theirs.append(called - made)
            kinora.delete_media(media["id"])
    test_servers.close()
    what = "sprite sheet of 60 tiles of 10 min, 720p30, wall time, against one call of ffmpeg"
    return [cost_against_baseline(what, ours, theirs, "s", LIMIT)]
