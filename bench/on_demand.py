"""One segment encoded on demand while a viewer waits, against one call of ffmpeg for the same frames.

It is the last segment of a media: after any other the server continues with the next segments.
"""

import dataclasses
import pathlib
import time
from collections.abc import Callable

import cpu_time
import single_ffmpeg
from bench import Bench
from deployments import OneMachine
from hls import Viewer
from kinora import Kinora
from report import Row, cost_against_baseline
from test_servers import TestServers

ROUNDS = 7
RUNG = "720p"
THREADS = 2
"""Of an on-demand encode."""
CPU_RATIO_MAX, WALL_RATIO_MAX = 1.10, 1.3
IDLE_TIMEOUT_S = 60
PROCESS_EXIT_S = 0.3
"""An encoder has exited by then, and its CPU time counts for its parent."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A media whose last segment is measured."""

    label: str
    create: Callable[[Kinora, TestServers, str], list[dict]]
    """Creates the media from the URL of the source, and returns it, with other media that it needs after it."""
    start_s: float = 0
    """Where it begins in the source."""
    watermark: pathlib.Path | None = None
    """The image that the call of ffmpeg draws too."""


def measure(bench: Bench) -> list[Row]:
    """Both alternately, the machine idle before each."""
    return measure_case(bench, Case("on demand", lambda kinora, _, url: [kinora.create_media(url)]))


def measure_case(bench: Bench, case: Case) -> list[Row]:
    """CPU and wall time of the segment. Nothing on several machines."""
    if not isinstance(bench.deployment, OneMachine):
        return []
    clip = bench.clips.hd()
    ours, theirs = [], []
    test_servers = TestServers()
    folder = "segment-" + case.label.replace(" ", "-")
    with Kinora(bench, folder) as kinora, Viewer(kinora.base) as viewer:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(ROUNDS + 1):
            created = case.create(kinora, test_servers, test_servers.share(f"{number}.mp4", clip))
            media = created[0]
            test_servers.wait_event("video.media.ready", media["id"])
            variant = viewer.manifest(f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8").variant(RUNG)
            playlist = viewer.playlist(variant)
            cpu_time.wait_idle(kinora.process.pid, IDLE_TIMEOUT_S)
            cost = cost_of(kinora, viewer, playlist.segments[-1][0])
            for each in created:
                kinora.delete_media(each["id"])
            cpu_time.wait_idle(kinora.process.pid, IDLE_TIMEOUT_S)
            start = case.start_s + sum(seconds for _, seconds in playlist.segments[:-1])
            rung = single_ffmpeg.Rung.of(variant, playlist).without_cuts()
            span = start, playlist.segments[-1][1]
            target = bench.folder / "segment.mp4"
            command = single_ffmpeg.command(clip, [rung], [target], THREADS, span, case.watermark)
            baseline = cpu_time.of_command(command)
            if number > 0:  # the first round warms up
                ours.append(cost)
                theirs.append(baseline)
    test_servers.close()
    what = f"a {RUNG} segment of {playlist.segments[-1][1]:g} s of 1080p30, {case.label}"
    return [
        cost_against_baseline(
            f"{what}, CPU time", [one.cpu_s for one in ours], [one.cpu_s for one in theirs], "s", CPU_RATIO_MAX
        ),
        cost_against_baseline(
            f"{what}, wall time", [one.wall_s for one in ours], [one.wall_s for one in theirs], "s", WALL_RATIO_MAX
        ),
    ]


def cost_of(kinora: Kinora, viewer: Viewer, segment: str) -> cpu_time.Cost:
    """Requests a segment; the cost includes all processes of the server."""
    before, started = cpu_time.of_tree(kinora.process.pid), time.monotonic()
    viewer.get(segment)
    wall_s = time.monotonic() - started
    time.sleep(PROCESS_EXIT_S)
    return cpu_time.Cost(cpu_time.of_tree(kinora.process.pid) - before, wall_s)
