"""What a kind of source is, and the pieces that recipes of clips are made of."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping

from clips import ffmpeg, lavfi


@dataclasses.dataclass(frozen=True)
class Kind:
    """One row of the document."""

    what: str
    """As the table names it."""
    file: str
    """Name of the clip, and below which it is posted."""
    make: Callable[[pathlib.Path], object]
    """Writes the clip."""
    wanted: str
    """The classes it must be found in, in the order of `verdict.CLASSES`: `A`, `C E`, `F D`."""
    reason: str = ""
    """What its owner must find in the reason why it is not copied, or why it failed."""
    wishes: Mapping[str, object] = dataclasses.field(default_factory=dict)
    """Further fields of the request that creates the media."""
    as_in: str = ""
    """File of the kind that holds the same pictures and sound, where ffmpeg itself does not find all of them in this one."""
    has_sound: bool = True
    """Whether the sound of the clip, as ffmpeg decodes it, must come out; else there must be none."""
    counts_frames: bool = True
    """Whether every picture of the clip, as ffmpeg decodes it, must come out; else some of them."""


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


def picture(size: str = "640x360", rate: str = "30", seconds: float = SECONDS) -> list[str]:
    return lavfi(f"testsrc2=s={size}:r={rate}:d={seconds}")


def tone(hertz: int = 440, rate: int = 48000, seconds: float = SECONDS) -> list[str]:
    return lavfi(f"sine=f={hertz}:r={rate}:d={seconds}")


def both(**options: object) -> list[str]:
    """A picture and a tone of the same length."""
    return [*picture(**options), *tone(seconds=options.get("seconds", SECONDS))]


def made(*arguments: str | list[str]) -> Callable[[pathlib.Path], object]:
    """A recipe of one call of ffmpeg."""
    words: list[str] = []
    for argument in arguments:
        words += argument.split() if isinstance(argument, str) else argument
    return lambda target: ffmpeg(*words, target)


def beside(target: pathlib.Path, name: str) -> pathlib.Path:
    """A file that a recipe needs on its way; the recipe deletes it."""
    return target.with_name(f"{target.stem}-{name}")
