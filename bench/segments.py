"""Segments per second, packaged from the source on request, against nginx with the same bytes as files.

One worker each on one CPU, the load generator on the other, the same connections, all segments of 10 min.
"""

import pathlib

import load
import machine
from baselines import nginx
from bench import Bench
from kinora import Kinora
from report import Row, rate_against_baseline
from test_servers import TestServers

ROUNDS = 7
SECONDS = 4
WARM_UP_SECONDS = 2
VIDEO_MIN, AUDIO_MIN = 0.9, 0.5


def measure(bench: Bench) -> list[Row]:
    """Kinora and nginx alternately, first video, then audio."""
    test_servers = TestServers()
    folder = bench.folder / "segments"
    with Kinora(bench, folder.name, cpu=machine.SERVER_CPU) as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        media = kinora.create_media(test_servers.share("720p.mp4", bench.clips.ten_minutes_720p()))
        test_servers.wait_event("video.media.ready", media["id"])
        test_servers.close()
        lists = {
            kind: copy_segments(kinora, media["playbackIds"][0]["id"], kind, folder) for kind in ("video", "audio")
        }
        with nginx(folder) as files:
            rows = []
            for kind, minimum in (("video", VIDEO_MIN), ("audio", AUDIO_MIN)):
                ours, theirs = [], []
                for server in (kinora, files):
                    load.run(server.base, lists[kind], WARM_UP_SECONDS)
                for _ in range(ROUNDS):
                    ours.append(load.run(kinora.base, lists[kind], SECONDS).per_second)
                    theirs.append(load.run(files.base, lists[kind], SECONDS).per_second)
                size = average_size(lists[kind], folder)
                what = f"720p {kind} segments, {size / 1000:.0f} kB on average"
                rows.append(rate_against_baseline(what, ours, theirs, "/s", minimum))
    return rows


def copy_segments(kinora: Kinora, playback: str, kind: str, folder: pathlib.Path, query: str = "") -> pathlib.Path:
    """Writes every segment of a rendition below `folder/files`; returns a file that lists the paths."""
    manifest = kinora.get(f"/{playback}.m3u8{query}").decode()
    playlist = "/" + next(
        word for word in manifest.replace('"', "\n").splitlines() if word.endswith(f"/{kind}/playlist.m3u8")
    )
    names = [line for line in kinora.get(playlist).decode().splitlines() if line.endswith(".m4s")]
    paths = [playlist.replace("playlist.m3u8", name) for name in names]
    for path in paths:
        file = folder / "files" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(kinora.get(path))
    listed = folder / f"{kind}.txt"
    listed.write_text("\n".join(paths) + "\n")
    return listed


def average_size(paths: pathlib.Path, folder: pathlib.Path) -> float:
    sizes = [(folder / "files" / path.lstrip("/")).stat().st_size for path in paths.read_text().split()]
    return sum(sizes) / len(sizes)
