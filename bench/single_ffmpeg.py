"""One call of ffmpeg on the source with the settings of Kinora's rungs: the baseline of an encode in pieces.

The settings are repeated here, so that a change in Kinora shows. Keyframes are at the segment boundaries.
"""

import dataclasses
import pathlib
from collections.abc import Sequence

from hls import Playlist, Rendition

# Bits a second.
MAXRATES = {
    "240p": 480_000,
    "360p": 960_000,
    "480p": 1_680_000,
    "720p": 3_360_000,
    "1080p": 6_000_000,
    "1440p": 10_800_000,
    "2160p": 19_200_000,
}
WATERMARK_MARGIN = 0.02
"""Of the side of the frame, as in `watermark.py`."""
QUALITY = ["-c:v", "libx264", "-preset", "veryfast", "-profile:v", "high", "-crf", "23", "-bf", "3"]
TIMING = [
    "-g",
    "9999",
    "-sc_threshold",
    "0",
    "-forced-idr",
    "1",
    "-fps_mode",
    "passthrough",
    "-enc_time_base",
    "1:90000",
]


@dataclasses.dataclass(frozen=True)
class Rung:
    """How one rung is encoded."""

    name: str
    size: tuple[int, int]
    level: str
    """For example `3.1`."""
    cuts: tuple[float, ...]
    """Start of each segment but the first, in seconds."""

    @classmethod
    def of(cls, variant: Rendition, playlist: Playlist) -> "Rung":
        """Reads it from the manifest."""
        codec = next(codec for codec in variant.attributes["CODECS"].split(",") if codec.startswith("avc1."))
        level = int(codec[-2:], 16)
        cuts, at = [], 0.0
        for _, seconds in playlist.segments[:-1]:
            at += seconds
            cuts.append(at)
        return cls(variant.name, variant.size, f"{level // 10}.{level % 10}", tuple(cuts))

    def without_cuts(self) -> "Rung":
        """For an encode of one segment."""
        return dataclasses.replace(self, cuts=())

    def options(self, target: str | pathlib.Path, threads: int) -> list[str]:
        """Output options of the call."""
        rate = str(MAXRATES[self.name])
        cuts = ["-force_key_frames", ",".join(f"{cut:.6f}" for cut in self.cuts)] if self.cuts else []
        bounds = ["-maxrate", rate, "-bufsize", rate, "-level", self.level, "-threads", str(threads)]
        return [*QUALITY, *bounds, *TIMING, *cuts, "-an", "-f", "mp4", str(target)]


def command(
    source: pathlib.Path,
    rungs: Sequence[Rung],
    targets: Sequence[str | pathlib.Path],
    threads: int,
    span: tuple[float, float] | None = None,
    watermark: pathlib.Path | None = None,
) -> list[str]:
    """The call: one decoder, and a scaler and an encoder per rung. `span`: start and length in seconds.

    `watermark`: an image in the lower right corner, `WATERMARK_MARGIN` away from both edges, in its own
    size at 1080p.
    """
    seek = ["-ss", f"{span[0]:.6f}", "-t", f"{span[1]:.6f}"] if span else []
    call = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-threads", str(threads), *seek, "-i", str(source)]
    names = [f"[s{number}]" for number in range(len(rungs))]
    graph = f"[0:v:0]split={len(rungs)}{''.join(names)}"
    images = [f"[i{number}]" for number in range(len(rungs))]
    if watermark:
        call += ["-i", str(watermark)]
        graph += f";[1:v:0]split={len(rungs)}{''.join(images)}"
    for number, rung in enumerate(rungs):
        width, height = rung.size
        graph += f";[s{number}]scale={width}:{height}:flags=bicubic:out_range=tv,setsar=1,format=yuv420p"
        if watermark:
            scale, margin = height / 1080, round(WATERMARK_MARGIN * height)
            corner = f"W-w-{round(WATERMARK_MARGIN * width)}:H-h-{margin}"
            graph += f"[f{number}];{images[number]}scale=iw*{scale}:ih*{scale},format=yuva420p[w{number}]"
            graph += f";[f{number}][w{number}]overlay={corner}"
        graph += f"[v{number}]"
    call += ["-filter_complex_threads", "1", "-filter_complex", graph]
    for number, (rung, target) in enumerate(zip(rungs, targets, strict=True)):
        call += ["-map", f"[v{number}]", *rung.options(target, threads)]
    return call
