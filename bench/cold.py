"""One segment that nobody has asked for, encoded while a viewer waits, against one call of ffmpeg for the same frames.

The last one of a media, for behind any other the server goes on with what the viewer will want next.
"""

import time

import cpu
import onecall
from bench import Bench
from hls import Viewer
from kinora import Kinora
from peers import Peers
from places import OneMachine
from report import Row, cost_against_yardstick

ROUNDS = 7
RUNG = "720p"
THREADS = 2
"""Of an encode that a viewer waits for."""
CPU_RATIO_MAX, WALL_RATIO_MAX = 1.10, 1.3
REST_WITHIN_S = 60
ENDS_WITHIN_S = 0.3
"""A process whose last bytes were answered is gone by then, and its time is its parent's."""


def measure(bench: Bench) -> list[Row]:
    """Both in turn, the machine at rest before each."""
    if not isinstance(bench.place, OneMachine):
        return []
    clip = bench.clips.hd()
    ours, theirs = [], []
    peers = Peers()
    with Kinora(bench, "cold") as kinora, Viewer(kinora.base) as viewer:
        kinora.add_webhook(f"{peers.base}/webhook")
        for number in range(ROUNDS + 1):
            media = kinora.create_media(peers.share(f"{number}.mp4", clip))
            peers.wait_event("video.media.ready", media["id"])
            variant = viewer.manifest(f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8").variant(RUNG)
            playlist = viewer.playlist(variant)
            cpu.wait_quiet(kinora.process.pid, REST_WITHIN_S)
            cost = cost_of(kinora, viewer, playlist.segments[-1][0])
            kinora.delete_media(media["id"])
            cpu.wait_quiet(kinora.process.pid, REST_WITHIN_S)
            start = sum(seconds for _, seconds in playlist.segments[:-1])
            rung = onecall.Rung.of(variant, playlist).without_cuts()
            span = start, playlist.segments[-1][1]
            target = bench.folder / "segment.mp4"
            yardstick = cpu.of_call(onecall.command(clip, [rung], [target], THREADS, span))
            if number > 0:  # the first round warms up
                ours.append(cost)
                theirs.append(yardstick)
    peers.close()
    what = f"a {RUNG} segment of {playlist.segments[-1][1]:g} s of 1080p30, cold"
    return [
        cost_against_yardstick(
            f"{what}, processor", [one.cpu_s for one in ours], [one.cpu_s for one in theirs], "s", CPU_RATIO_MAX
        ),
        cost_against_yardstick(
            f"{what}, waiting", [one.wall_s for one in ours], [one.wall_s for one in theirs], "s", WALL_RATIO_MAX
        ),
    ]


def cost_of(kinora: Kinora, viewer: Viewer, segment: str) -> cpu.Cost:
    """One request, and what the server and its processes used for it."""
    before, began = cpu.of_tree(kinora.process.pid), time.monotonic()
    viewer.get(segment)
    wall_s = time.monotonic() - began
    time.sleep(ENDS_WITHIN_S)
    return cpu.Cost(cpu.of_tree(kinora.process.pid) - before, wall_s)
