"""The whole ladder of a media that was watched, made in the background, against one call of ffmpeg for all of it.

Ours is made in pieces that can be interrupted and watched; what that costs in processor time is the question. It begins within a
minute after somebody watched: here one segment, the last of the smallest rung, which is no part of the fill any more.
"""

import pathlib
import time

import cpu
import onecall
from bench import Bench
from hls import Viewer
from kinora import Kinora
from peers import Peers
from places import OneMachine
from report import Row, cost_against_yardstick

ROUNDS = 3
THREADS = 1
"""Of an encode that nobody waits for."""
RATIO_MAX = 1.10
MADE_BEFORE_MAX = 3
"""Segments that are there before a fill: the one that was watched, and the first ones of small rungs, made ahead of any viewer."""
FILLED_WITHIN_S = 600
LOOK_EVERY_S = 0.5


def measure(bench: Bench) -> list[Row]:
    """Both in turn, the machine at rest before each."""
    if not isinstance(bench.place, OneMachine):
        return []
    clip = bench.clips.hd_half_a_minute()
    ours, theirs = [], []
    peers = Peers()
    with Kinora(bench, "fill") as kinora, Viewer(kinora.base) as viewer:
        kinora.add_webhook(f"{peers.base}/webhook")
        for number in range(2 * ROUNDS):
            if len(ours) == ROUNDS:
                break
            media = kinora.create_media(peers.share(f"{number}.mp4", clip))
            peers.wait_event("video.media.ready", media["id"])
            manifest = viewer.manifest(f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8")
            ladder = [variant for variant in manifest.variants if variant.name in onecall.MAXRATES]
            playlists = [viewer.playlist(variant) for variant in ladder]
            kept = segments_kept(kinora)
            viewer.get(playlists[-1].segments[-1][0])
            cpu.wait_quiet(kinora.process.pid, FILLED_WITHIN_S)
            before = cpu.of_tree(kinora.process.pid)
            if len(segments_kept(kinora) - kept) > MADE_BEFORE_MAX:
                continue  # it began at once, and what it took is not told from what the viewer's segment took
            wait_filled(kinora, kept, sum(len(playlist.segments) for playlist in playlists))
            cpu.wait_quiet(kinora.process.pid, FILLED_WITHIN_S)
            ours.append(cpu.of_tree(kinora.process.pid) - before)
            rungs = [onecall.Rung.of(*pair) for pair in zip(ladder, playlists, strict=True)]
            targets = [bench.folder / f"{rung.name}.mp4" for rung in rungs]
            theirs.append(cpu.of_call(onecall.command(clip, rungs, targets, THREADS)).cpu_s)
    peers.close()
    what = f"background fill of {len(ladder)} rungs, 24 s of 1080p30, processor"
    return [cost_against_yardstick(what, ours, theirs, "s", RATIO_MAX)]


def segments_kept(kinora: Kinora) -> set[pathlib.Path]:
    """The encoded segments in the folder of the server."""
    return set((kinora.folder / "data").rglob("segment/*/*/*"))


def wait_filled(kinora: Kinora, before: set[pathlib.Path], count: int) -> None:
    """Waits until so many more segments are kept than before."""
    until = time.monotonic() + FILLED_WITHIN_S
    while (made := len(segments_kept(kinora) - before)) < count:
        if time.monotonic() > until:
            raise TimeoutError(f"{made} of {count} segments after {FILLED_WITHIN_S} s")
        time.sleep(LOOK_EVERY_S)
