"""Segments a second, packaged from the source when they are asked for, against nginx with the very same bytes as files.

One worker each on one processor, the load generator on the other, the same connections, all segments of 10 min in turn.
"""

import pathlib

import load
import machine
from bench import Bench
from kinora import Kinora
from peers import Peers
from report import Row, against_yardstick
from yardsticks import nginx

ROUNDS = 7
SECONDS = 4
WARM_UP_SECONDS = 2
VIDEO_MIN, AUDIO_MIN = 0.9, 0.5


def measure(bench: Bench) -> list[Row]:
    """Kinora and nginx in turn, first video, then audio."""
    peers = Peers()
    folder = bench.folder / "segments"
    with Kinora(bench, folder.name, cpu=machine.SERVER_CPU) as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        media = kinora.create_media(peers.share("720p.mp4", bench.clips.ten_minutes_720p()))
        peers.wait_event("video.media.ready", media["id"])
        peers.close()
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
                rows.append(against_yardstick(what, ours, theirs, "/s", minimum))
    return rows


def copy_segments(kinora: Kinora, playback: str, kind: str, folder: pathlib.Path, query: str = "") -> pathlib.Path:
    """Writes every segment of a rendition below `folder/files` under its own path; answers the list of the paths."""
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
