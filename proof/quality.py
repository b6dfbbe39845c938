"""Quality of an encode in pieces: each rung of several clips against one call of the same encoder.

Every rung must also have all frames at their times, no gap between segments, no segment above the announced
rate, and audio in sync with the source.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Sequence

import boxes
import decode
import single_ffmpeg
from audio_offset import offsets_ms
from bench import BenchContext
from clips import Clips, ffmpeg, lavfi, video
from hls import Manifest, Playlist, Rendition, Viewer
from kinora import Kinora
from test_servers import TestServers

THREADS = 2
"""Of the one call, as of an on-demand encode."""
SSIM_MIN, BYTES_MAX, AUDIO_OFFSET_MAX_MS, GAP_MAX_TICKS = 0.995, 1.05, 5, 1
READY_TIMEOUT_S = 180
REAL_CLIP = "KINORA_PROOF_CLIP"
"""Environment variable with the path of a camera clip, compared in addition to the generated ones."""

LIFE = "life=s=1280x720:r=30:mold=10:ratio=0.1:death_color=#C83232:life_color=#00ff00"


@dataclasses.dataclass(frozen=True)
class Source:
    """A generated clip: H.264 video, and pink noise, whose correlation has one peak."""

    file: str
    video: str
    audio_codec: str
    """Audio codec of the clip."""
    seconds: int = 12
    crf: int = 20

    def make(self, target: pathlib.Path) -> None:
        noise = lavfi(f"anoisesrc=d={self.seconds}:c=pink:a=0.3:r=48000:seed=7")
        audio = ["-c:a", self.audio_codec, "-ac", "2", "-t", str(self.seconds)]
        ffmpeg(*lavfi(self.video), *noise, *video("veryfast", self.crf), *audio, target)


FILM, NOISE = "a film", "noise alone"
"""Noise tests BANDWIDTH. Its bytes have no limit: it fills the rate bounds, which restart with each segment,
so pieces may be larger, and are better by as much.
"""
SOURCES = {
    "chart with noise": Source(
        "quality-chart.mov", "testsrc2=s=1920x1080:r=30,noise=alls=6:allf=t", "pcm_s16le", seconds=8, crf=26
    ),
    "mandelbrot": Source("quality-mandelbrot.mkv", "mandelbrot=s=1280x720:r=30", "libopus"),
    "game of life": Source("quality-life.mp4", LIFE, "ac3"),
    NOISE: Source("quality-noise.mp4", "color=gray:s=1280x720:r=30,noise=alls=100:allf=t", "aac", seconds=8, crf=36),
}


@dataclasses.dataclass
class Row:
    """One rung of one clip; ratios are ours over one call."""

    clip: str
    rung: str
    ssim: tuple[float, float]
    size: tuple[int, int]
    frames: tuple[int, int]
    moved_ms: float
    gap_ticks: int
    peak: float
    """Largest rate of a segment over BANDWIDTH."""
    audio_offsets_ms: list[float]

    @property
    def name(self) -> str:
        return f"{self.clip}, {self.rung}"

    @property
    def problems(self) -> list[str]:
        checks = {
            "SSIM": self.ssim[0] >= SSIM_MIN * self.ssim[1],
            "bytes": self.clip == NOISE or self.size[0] <= BYTES_MAX * self.size[1],
            "frames": self.frames[0] == self.frames[1],
            "times": self.moved_ms < 1,
            "gaps": self.gap_ticks <= GAP_MAX_TICKS,
            "BANDWIDTH": self.peak <= 1,
            "audio": all(abs(offset) < AUDIO_OFFSET_MAX_MS for offset in self.audio_offsets_ms),
        }
        return [name for name, holds in checks.items() if not holds]

    def cells(self) -> list[str]:
        return [
            self.clip,
            self.rung,
            f"{self.ssim[0]:.4f}",
            f"{self.ssim[1]:.4f}",
            f"{self.ssim[0] / self.ssim[1]:.4f}",
            f"{self.size[0] / self.size[1]:.3f}",
            f"{self.frames[0]} of {self.frames[1]}",
            f"{self.moved_ms:.2f} ms",
            f"{self.gap_ticks}",
            f"{self.peak:.0%}",
            " ".join(f"{offset:+.1f}" for offset in self.audio_offsets_ms) + " ms" if self.audio_offsets_ms else "",
            f"**no: {', '.join(self.problems)}**" if self.problems else "yes",
        ]


HEADINGS = [
    "Clip",
    "Rung",
    "SSIM",
    "one call",
    "ratio ≥ 0.995",
    "bytes ≤ 1.05",
    "frames",
    "times moved < 1 ms",
    "gap ≤ 1 tick",
    "peak of BANDWIDTH",
    "audio late < 5 ms",
    "met",
]


def measure(context: BenchContext, clips: Clips, names: Sequence[str]) -> list[Row]:
    """All clips, or those with these file names, on one server."""
    rows = []
    test_servers = TestServers()
    with Kinora(context, "quality") as kinora, Viewer(kinora.base) as viewer:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for what, clip in sources(clips):
            if names and clip.name not in names:
                continue
            media = kinora.create_media(test_servers.share(clip.name, clip))
            test_servers.wait_event("video.media.ready", media["id"], READY_TIMEOUT_S)
            manifest = viewer.manifest(f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8")
            with tempfile.TemporaryDirectory(dir=context.folder) as folder:
                for row in compare(viewer, manifest, what, clip, pathlib.Path(folder)):
                    print(" | ".join(row.cells()), flush=True)
                    rows.append(row)
    test_servers.close()
    return rows


def sources(clips: Clips) -> list[tuple[str, pathlib.Path]]:
    film = os.environ.get(REAL_CLIP)
    made = [(what, clips.made(source.file, source.make)) for what, source in SOURCES.items()]
    return [*made, (FILM, pathlib.Path(film))] if film else made


def compare(viewer: Viewer, manifest: Manifest, what: str, clip: pathlib.Path, folder: pathlib.Path) -> list[Row]:
    """Every encoded rung of one media."""
    audio_peak, audio_offsets_ms = compare_audio(viewer, manifest, clip, folder)
    rungs = [variant for variant in manifest.variants if variant.name in single_ffmpeg.MAXRATES]
    if not rungs:
        raise RuntimeError(f"{what} has no rung")
    return [compare_rung(viewer, rung, what, clip, folder, audio_peak, audio_offsets_ms) for rung in rungs]


def compare_rung(
    viewer: Viewer,
    variant: Rendition,
    what: str,
    clip: pathlib.Path,
    folder: pathlib.Path,
    audio_peak: float,
    audio_offsets_ms: list[float],
) -> Row:
    playlist = viewer.playlist(variant)
    init, segments = viewer.whole(variant)
    ours, theirs = folder / f"{variant.name}.mp4", folder / f"{variant.name}-one-call.mp4"
    ours.write_bytes(init + b"".join(segments))
    rung = single_ffmpeg.Rung.of(variant, playlist)
    subprocess.run(single_ffmpeg.command(clip, [rung], [theirs], THREADS), check=True)
    peak = rate_peak(playlist, segments) + audio_peak
    return Row(
        clip=what,
        rung=variant.name,
        ssim=(ssim(ours, clip, rung.size), ssim(theirs, clip, rung.size)),
        size=(packet_bytes(ours), packet_bytes(theirs)),
        frames=(decode.count_frames(ours), decode.count_frames(clip)),
        moved_ms=moved_ms(ours, clip),
        gap_ticks=gap_ticks(segments),
        peak=peak / int(variant.attributes["BANDWIDTH"]),
        audio_offsets_ms=audio_offsets_ms,
    )


def compare_audio(viewer: Viewer, manifest: Manifest, clip: pathlib.Path, folder: pathlib.Path) -> tuple[float, list[float]]:
    """The largest segment rate of the default audio, and its offset at three positions."""
    rendition = manifest.default_audio
    if rendition is None:
        return 0.0, []
    init, segments = viewer.whole(rendition)
    if gap_ticks(segments) > GAP_MAX_TICKS:
        raise RuntimeError(f"the segments of {rendition.name} are {gap_ticks(segments)} ticks apart")
    path = folder / "audio.mp4"
    path.write_bytes(init + b"".join(segments))
    ours, theirs = (decode.audio(file, copy_timestamps=True) for file in (path, clip))
    return rate_peak(viewer.playlist(rendition), segments), offsets_ms(ours, theirs, decode.AUDIO_RATE)


def rate_peak(playlist: Playlist, segments: list[bytes]) -> float:
    """Bits per second of the largest segment. RFC 8216, 4.3.4.2."""
    return max(len(body) * 8 / seconds for body, (_, seconds) in zip(segments, playlist.segments, strict=True))


def gap_ticks(segments: list[bytes]) -> int:
    """The largest distance between the end of a fragment and the beginning of the next one."""
    parts = [part for segment in segments for part in boxes.fragments(segment)]
    return max((abs(after.begins - before.ends) for before, after in zip(parts, parts[1:])), default=0)


def ssim(encoded: pathlib.Path, source: pathlib.Path, size: tuple[int, int]) -> float:
    """Of all planes, against the source scaled to the same size, frame by frame."""
    width, height = size
    graph = (
        f"[0:v:0]setpts=N/25/TB[a];[1:v:0]scale={width}:{height}:flags=bicubic,setsar=1,format=yuv420p,"
        "setpts=N/25/TB[b];[a][b]ssim"
    )
    command = ["ffmpeg", "-nostdin", "-hide_banner", "-i", encoded, "-i", source, "-lavfi", graph, "-f", "null", "-"]
    output = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stderr
    return float(re.findall(r"SSIM .*All:([0-9.]+)", output)[-1])


def packets(path: pathlib.Path) -> list[dict]:
    fields = ["-show_entries", "packet=pts_time,size", "-select_streams", "v:0", "-of", "json"]
    return json.loads(decode.run(["ffprobe", "-v", "error", *fields, path]))["packets"]


def packet_bytes(path: pathlib.Path) -> int:
    return sum(int(packet["size"]) for packet in packets(path))


def moved_ms(encoded: pathlib.Path, source: pathlib.Path) -> float:
    """Largest shift of a frame from its time in the source.

    Ignores the first frame, which starts its segment.
    """
    ours, theirs = (sorted(float(packet["pts_time"]) for packet in packets(path))[1:] for path in (encoded, source))
    return max((abs(our - their) * 1000 for our, their in zip(ours, theirs)), default=0.0)


def table(rows: Sequence[Row]) -> str:
    """For docs/benchmarks.md."""
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
