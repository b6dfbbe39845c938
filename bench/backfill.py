"""Background encode (backfill) of a whole ladder, against one call of ffmpeg for all rungs.

Kinora encodes in pieces that it can interrupt and that viewers can play. The benchmark measures their CPU
cost. A backfill starts within a minute after a playback. Here the viewer plays one segment, the last of the
smallest rung; the backfill does not encode it again.
"""

import pathlib
import time

import cpu_time
import single_ffmpeg
from bench import Bench
from deployments import OneMachine
from hls import Viewer
from kinora import Kinora
from on_demand import Case
from report import Row, cost_against_baseline
from test_servers import TestServers

ROUNDS = 3
THREADS = 1
"""Of a background encode."""
RATIO_MAX = 1.10
SEGMENTS_BEFORE_MAX = 3
"""Segments stored before a backfill: the played one, and first segments of small rungs, encoded early."""
BACKFILL_TIMEOUT_S = 600
POLL_INTERVAL_S = 0.5


def measure(bench: Bench) -> list[Row]:
    """A media with no edit."""
    return measure_case(bench, Case("no edit", lambda kinora, _, url: [kinora.create_media(url)]))


def measure_case(bench: Bench, case: Case) -> list[Row]:
    """Both alternately, the machine idle before each. Nothing on several machines."""
    if not isinstance(bench.deployment, OneMachine):
        return []
    clip = bench.clips.hd_24_seconds()
    ours, theirs = [], []
    test_servers = TestServers()
    folder = "backfill-" + case.label.replace(" ", "-")
    with Kinora(bench, folder) as kinora, Viewer(kinora.base) as viewer:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(2 * ROUNDS):
            if len(ours) == ROUNDS:
                break
            # Before the media: its first segments may be encoded early.
            segments_before = stored_segments(kinora)
            media = case.create(kinora, test_servers, test_servers.share(f"{number}.mp4", clip))[0]
            test_servers.wait_event("video.media.ready", media["id"])
            manifest = viewer.manifest(f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8")
            ladder = [variant for variant in manifest.variants if variant.name in single_ffmpeg.MAXRATES]
            playlists = [viewer.playlist(variant) for variant in ladder]
            viewer.get(playlists[-1].segments[-1][0])
            cpu_time.wait_idle(kinora.process.pid, BACKFILL_TIMEOUT_S)
            cpu_before = cpu_time.of_tree(kinora.process.pid)
            if len(stored_segments(kinora) - segments_before) > SEGMENTS_BEFORE_MAX:
                continue  # it started too early: its CPU time includes the played segment
            wait_backfilled(kinora, segments_before, sum(len(playlist.segments) for playlist in playlists))
            cpu_time.wait_idle(kinora.process.pid, BACKFILL_TIMEOUT_S)
            ours.append(cpu_time.of_tree(kinora.process.pid) - cpu_before)
            rungs = [single_ffmpeg.Rung.of(*pair) for pair in zip(ladder, playlists, strict=True)]
            targets = [bench.folder / f"{rung.name}.mp4" for rung in rungs]
            call = single_ffmpeg.command(clip, rungs, targets, THREADS, watermark=case.watermark)
            theirs.append(cpu_time.of_command(call).cpu_s)
    test_servers.close()
    what = f"backfill of {len(ladder)} rungs, 24 s of 1080p30, {case.label}, CPU time"
    return [cost_against_baseline(what, ours, theirs, "s", RATIO_MAX)]


def stored_segments(kinora: Kinora) -> set[pathlib.Path]:
    """The encoded segments in the data folder of the server."""
    return set((kinora.folder / "data").rglob("segment/*/*/*"))


def wait_backfilled(kinora: Kinora, before: set[pathlib.Path], count: int) -> None:
    """Waits until this many segments more than `before` are stored."""
    deadline = time.monotonic() + BACKFILL_TIMEOUT_S
    while (stored := len(stored_segments(kinora) - before)) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{stored} of {count} segments after {BACKFILL_TIMEOUT_S} s")
        time.sleep(POLL_INTERVAL_S)
