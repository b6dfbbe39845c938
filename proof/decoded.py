"""What ffmpeg makes of a source or of what a player would load: pictures counted, sound measured, a first picture."""

import json
import pathlib
import subprocess

from hls import Manifest, Rendition

SOUND_RATE = 8000
"""Samples a second of sound that is only measured."""
# ffmpeg opens addresses only where it was told to.
FROM_HTTP = ["-protocol_whitelist", "file,http,tcp"]
WITHIN_S = 300


def pictures(source: pathlib.Path) -> int:
    """How many pictures of the first video that is no cover come out of the decoder; 0 without one."""
    command = ["ffprobe", "-v", "error", *FROM_HTTP, "-count_frames", "-show_streams", "-of", "json", source]
    streams = json.loads(run(command))["streams"]
    moving = [s for s in streams if s["codec_type"] == "video" and not s["disposition"]["attached_pic"]]
    return int(moving[0].get("nb_read_frames", 0)) if moving else 0


def sound_seconds(source: pathlib.Path) -> float:
    """How long the first audio sounds, from the first instant of the presentation; 0 without one."""
    return len(sound(source)) / 2 / SOUND_RATE


def sound(source: pathlib.Path, rate: int = SOUND_RATE, keeps_times: bool = False) -> bytes:
    """The first audio as 16-bit mono, silence where it has gaps or begins late.

    It begins where the first track does, or with `keeps_times` at 0, as what a player loads does, whose first packets prepare the decoder.
    """
    # Without a first sample at 0 a late start would be lost.
    filters = f"aresample={rate}:async=1:first_pts=0"
    command = ["ffmpeg", "-nostdin", "-v", "error", *FROM_HTTP, *(["-copyts"] if keeps_times else []), "-i", source]
    heard = ["-map", "0:a:0?", "-vn", "-af", filters, "-ac", "1", "-f", "s16le", "-"]
    # A stream that breaks off gives what came before.
    return subprocess.run([*map(str, command), *heard], capture_output=True, timeout=WITHIN_S, check=False).stdout


def first_picture(init: bytes, segment: bytes, has_video: bool) -> None:
    """Decodes the first picture, or the first packet of sound, of a segment. Raises when there is none."""
    kind = "v" if has_video else "a"
    command = ["ffmpeg", "-nostdin", "-v", "error", "-f", "mp4", "-i", "pipe:0", "-map", f"0:{kind}:0"]
    shown = ["-c:v", "rawvideo", "-c:a", "pcm_s16le", f"-frames:{kind}", "1", "-f", "data", "pipe:1"]
    if not run([*command, *shown], init + segment):
        raise RuntimeError("nothing was decoded from the first segment")


def run(command: list[object], given: bytes | None = None) -> bytes:
    return subprocess.run(
        [str(word) for word in command], input=given, capture_output=True, timeout=WITHIN_S, check=True
    ).stdout


def only(manifest: Manifest, variant: Rendition, path: pathlib.Path) -> pathlib.Path:
    """Writes a manifest that lists one variant and the audio that plays beside it: what a player plays that never switches."""
    lines, group = ["#EXTM3U"], ""
    if variant.attributes.get("AUDIO") and (audio := manifest.default_audio):
        lines.append(f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",DEFAULT=YES,URI="{audio.url}"')
        group = ',AUDIO="a"'
    lines += [f"#EXT-X-STREAM-INF:BANDWIDTH=1{group}", variant.url]
    path.write_text("\n".join(lines) + "\n")
    return path
