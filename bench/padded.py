"""A file of any size that is ready at its last byte: a clip, and behind it a box that nobody reads."""

import pathlib
import random
import struct
import subprocess

NOISE = 4 << 20


def padded_clip(folder: pathlib.Path, length: int) -> pathlib.Path:
    """Makes `clip.mp4` and `padded.mp4` in the folder, the second with so many bytes."""
    clip, padded = folder / "clip.mp4", folder / "padded.mp4"
    command = "ffmpeg -hide_banner -loglevel error -nostdin -f lavfi -i testsrc2=s=640x360:r=30:d=12 -f lavfi -i sine=d=12"
    command += " -c:v libx264 -preset ultrafast -g 60 -pix_fmt yuv420p -c:a aac -movflags +faststart -y"
    subprocess.run([*command.split(), clip], check=True)
    pad(clip, padded, length)
    return padded


def pad(clip: pathlib.Path, padded: pathlib.Path, length: int) -> None:
    """Writes the clip with so much behind it that the file has this length."""
    rest = length - clip.stat().st_size
    noise = random.Random(7).randbytes(NOISE)
    with padded.open("wb") as file:
        file.write(clip.read_bytes())
        file.write(struct.pack(">I4sQ", 1, b"free", rest))
        rest -= 16
        number = 0
        while rest > 0:
            # No two stretches are the same, so bytes in the wrong place are noticed.
            stretch = struct.pack(">Q", number) + noise[8:]
            file.write(stretch[:rest])
            rest -= len(stretch)
            number += 1
