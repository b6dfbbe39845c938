"""Decodes a source or its playback with ffmpeg: counts frames, measures audio, decodes a first frame."""

import json
import pathlib
import subprocess

from hls import Manifest, Rendition

AUDIO_RATE = 8000
"""Samples per second; enough to measure."""
# ffmpeg opens only these protocols.
FROM_HTTP = ["-protocol_whitelist", "file,http,tcp"]
TIMEOUT_S = 300


def count_frames(source: pathlib.Path) -> int:
    """Number of decoded frames of the first video that is not a cover; 0 without one."""
    command = ["ffprobe", "-v", "error", *FROM_HTTP, "-count_frames", "-show_streams", "-of", "json", source]
    streams = json.loads(run(command))["streams"]
    videos = [s for s in streams if s["codec_type"] == "video" and not s["disposition"]["attached_pic"]]
    return int(videos[0].get("nb_read_frames", 0)) if videos else 0


def audio_seconds(source: pathlib.Path) -> float:
    """Length of the first audio from the start of the presentation; 0 without one."""
    return len(audio(source)) / 2 / AUDIO_RATE


def audio(source: pathlib.Path, rate: int = AUDIO_RATE, copy_timestamps: bool = False) -> bytes:
    """The first audio as 16-bit mono, with silence in gaps and before a late start.

    It starts with the first track, or with `copy_timestamps` at 0, as in a player, where first packets prime
    the decoder.
    """
    # Without a first sample at 0 a late start would be lost.
    filters = f"aresample={rate}:async=1:first_pts=0"
    command = ["ffmpeg", "-nostdin", "-v", "error", *FROM_HTTP, *(["-copyts"] if copy_timestamps else []), "-i", source]
    output = ["-map", "0:a:0?", "-vn", "-af", filters, "-ac", "1", "-f", "s16le", "-"]
    # A truncated stream gives the audio before its end.
    return subprocess.run([*map(str, command), *output], capture_output=True, timeout=TIMEOUT_S, check=False).stdout


def first_frame(init: bytes, segment: bytes, has_video: bool) -> None:
    """Decodes the first frame, or the first audio packet, of a segment. Raises when there is none."""
    kind = "v" if has_video else "a"
    command = ["ffmpeg", "-nostdin", "-v", "error", "-f", "mp4", "-i", "pipe:0", "-map", f"0:{kind}:0"]
    output = ["-c:v", "rawvideo", "-c:a", "pcm_s16le", f"-frames:{kind}", "1", "-f", "data", "pipe:1"]
    if not run([*command, *output], init + segment):
        raise RuntimeError("nothing was decoded from the first segment")


def run(command: list[object], stdin: bytes | None = None) -> bytes:
    return subprocess.run(
        [str(word) for word in command], input=stdin, capture_output=True, timeout=TIMEOUT_S, check=True
    ).stdout


def write_single_variant(manifest: Manifest, variant: Rendition, path: pathlib.Path) -> pathlib.Path:
    """Writes a manifest with one variant and its audio: the playback of a player that never switches."""
    lines, group = ["#EXTM3U"], ""
    if variant.attributes.get("AUDIO") and (audio := manifest.default_audio):
        lines.append(f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",DEFAULT=YES,URI="{audio.url}"')
        group = ',AUDIO="a"'
    lines += [f"#EXT-X-STREAM-INF:BANDWIDTH=1{group}", variant.url]
    path.write_text("\n".join(lines) + "\n")
    return path
