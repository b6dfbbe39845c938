"""From ready to the first frame on the screen of a Chromium that has nothing cached, of media that nobody has asked for before."""

import json
import pathlib
import subprocess
from typing import Self

from bench import Bench
from kinora import Kinora
from peers import Peers
from places import OneMachine
from report import Row, figure

ROUNDS = 7
SCRIPT = pathlib.Path(__file__).parent.parent / "web" / "e2e" / "first-frame.mjs"


class Browser:
    """A browser that waits for addresses. Use it as a context manager."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            ["node", SCRIPT, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        if self._process.stdout.readline().strip() != "ready":
            raise RuntimeError("the browser has not started")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()

    def first_frame_ms(self, address: str) -> float:
        """From the address to a frame. Raises when none came."""
        self._process.stdin.write(address + "\n")
        seen = json.loads(self._process.stdout.readline())
        if seen["firstFrameMs"] is None:
            raise RuntimeError(f"no frame of {address}: {seen['errors']}")
        return seen["firstFrameMs"]


def measure(bench: Bench) -> list[Row]:
    """The sources in turn, a new media each time. The same on every place but for the store, so on one only."""
    if not isinstance(bench.place, OneMachine):
        return []
    clips = {
        "H.264, copied": bench.clips.hd_light(),
        "VP9, encoded": bench.clips.hd_vp9(),
        "ProRes, encoded": bench.clips.hd_prores(),
    }
    took_ms: dict[str, list[float]] = {name: [] for name in clips}
    peers = Peers()
    with Kinora(bench, "firstframe") as kinora, Browser() as browser:
        kinora.add_webhook(f"{peers.base}/webhook")
        for number in range(ROUNDS + 1):
            for name, clip in clips.items():
                media = kinora.create_media(peers.share(f"{number}-{clip.name}", clip))
                peers.wait_event("video.media.ready", media["id"])
                took = browser.first_frame_ms(f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8")
                if number > 0:  # the first round warms up
                    took_ms[name].append(took)
                kinora.delete_media(media["id"])
    peers.close()
    return [figure(f"ready → first frame in Chromium, 1080p30 {name}", took_ms[name], "ms") for name in clips]
