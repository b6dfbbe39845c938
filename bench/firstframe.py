"""From ready, or ten seconds later, to the first frame of a new media in a Chromium without cache."""

import json
import pathlib
import subprocess
import time
from typing import Self

from bench import Bench
from deployments import OneMachine
from kinora import Kinora
from report import Row, at_most, figure
from test_servers import TestServers

ROUNDS = 7
COPIED = "H.264 of 5.8 Mb/s, copied"
LATER_S = 10
GOAL_MS = 1000
GOAL_LATER_MS = 600
SCRIPT = pathlib.Path(__file__).parent.parent / "web" / "e2e" / "first-frame.mjs"


class Browser:
    """A browser that waits for URLs. Use it as a context manager."""

    def __init__(self, start: str) -> None:
        """`own`: hls.js chooses its first rung; `listed`: the first of the manifest, as on our page."""
        self._start = start

    def __enter__(self) -> Self:
        command = ["node", SCRIPT, "-", "--start", self._start]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        if self._process.stdout.readline().strip() != "ready":
            raise RuntimeError("the browser has not started")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()

    def first_frame_ms(self, address: str) -> float:
        """From the URL to a frame. Raises when none appears."""
        self._process.stdin.write(address + "\n")
        seen = json.loads(self._process.stdout.readline())
        if seen["firstFrameMs"] is None:
            raise RuntimeError(f"no frame of {address}: {seen['errors']}")
        return seen["firstFrameMs"]


def measure(bench: Bench) -> list[Row]:
    """All sources alternately, a new media each time.

    Only on one deployment: others differ only in the store.
    """
    if not isinstance(bench.deployment, OneMachine):
        return []
    clips = {
        COPIED: bench.clips.hd(),
        "H.264 of 5 Mb/s, copied": bench.clips.hd_light(),
        "VP9, encoded": bench.clips.hd_vp9(),
        "ProRes, encoded": bench.clips.hd_prores(),
    }
    # Source, first rung of hls.js, seconds after the ready event.
    trials = [(name, "own", 0) for name in clips]
    trials += [(COPIED, "own", LATER_S), (COPIED, "listed", 0), (COPIED, "listed", LATER_S)]
    took_ms: dict[tuple[str, str, int], list[float]] = {trial: [] for trial in trials}
    test_servers = TestServers()
    with Kinora(bench, "firstframe") as kinora, Browser("own") as own, Browser("listed") as listed:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(ROUNDS + 1):
            for trial in trials:
                name, start, later_s = trial
                shared = test_servers.share(f"{number}-{start}-{later_s}-{clips[name].name}", clips[name])
                media = kinora.create_media(shared)
                test_servers.wait_event("video.media.ready", media["id"])
                time.sleep(later_s)
                browser = own if start == "own" else listed
                took = browser.first_frame_ms(f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8")
                if number > 0:  # the first round warms up
                    took_ms[trial].append(took)
                kinora.delete_media(media["id"])
    test_servers.close()
    return [row(*trial, took) for trial, took in took_ms.items()]


def row(name: str, start: str, later_s: int, took_ms: list[float]) -> Row:
    begin = f"{later_s} s after ready" if later_s else "ready"
    player = "hls.js" if start == "own" else "hls.js as on our page"
    what = f"{begin} → first frame in Chromium, {player}, 1080p30 {name}"
    if name != COPIED:
        return figure(what, took_ms, "ms")
    return at_most(what, took_ms, "ms", GOAL_LATER_MS if later_s else GOAL_MS)
