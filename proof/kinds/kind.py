"""A kind of source, and parts of the ffmpeg commands that make its clip."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping

from clips import ffmpeg, lavfi


@dataclasses.dataclass(frozen=True)
class SourceKind:
    """One row of the document."""

    what: str
    """Name in the table."""
    file: str
    """File name of the clip, also in its URL."""
    make: Callable[[pathlib.Path], object]
    """Writes the clip."""
    expected_classes: str
    """Its expected classes, in the order of `verdict.CLASSES`: `A`, `C E`, `F D`."""
    reason: str = ""
    """Text that the reason must contain: why it is not copied, or why it failed."""
    request_fields: Mapping[str, object] = dataclasses.field(default_factory=dict)
    """Further fields of the request that creates the media."""
    reference_file: str = ""
    """Clip with the same frames and audio, when ffmpeg cannot decode all of this one."""
    has_audio: bool = True
    """Whether the output must have the audio that ffmpeg decodes from the clip; else none."""
    counts_frames: bool = True
    """Whether the output must have every frame that ffmpeg decodes from the clip; else some of them."""


SECONDS = 4
X264 = [
    "-c:v",
    "libx264",
    "-preset",
    "veryfast",
    "-pix_fmt",
    "yuv420p",
    "-g",
    "60",
    "-keyint_min",
    "60",
    "-sc_threshold",
    "0",
]
X265 = ["-c:v", "libx265", "-preset", "ultrafast"]
AAC = ["-c:a", "aac", "-b:a", "96k", "-ac", "2"]
FASTSTART = ["-movflags", "+faststart"]


def test_video(size: str = "640x360", rate: str = "30", seconds: float = SECONDS) -> list[str]:
    return lavfi(f"testsrc2=s={size}:r={rate}:d={seconds}")


def tone(hertz: int = 440, rate: int = 48000, seconds: float = SECONDS) -> list[str]:
    return lavfi(f"sine=f={hertz}:r={rate}:d={seconds}")


def both(**options: object) -> list[str]:
    """A test video and a tone of the same length."""
    return [*test_video(**options), *tone(seconds=options.get("seconds", SECONDS))]


def made(*arguments: str | list[str]) -> Callable[[pathlib.Path], object]:
    """Makes a clip by one call of ffmpeg."""
    options: list[str] = []
    for argument in arguments:
        options += argument.split() if isinstance(argument, str) else argument
    return lambda target: ffmpeg(*options, target)


def temporary_file(target: pathlib.Path, name: str) -> pathlib.Path:
    """An intermediate file beside the target; the caller deletes it."""
    return target.with_name(f"{target.stem}-{name}")
