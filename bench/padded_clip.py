"""A clip padded to any size: a `free` box follows it."""

import pathlib
import random
import struct
import subprocess

NOISE = 4 << 20


def make_padded_clip(folder: pathlib.Path, length: int) -> pathlib.Path:
    """Makes `clip.mp4` and `padded.mp4` in the folder; the second has `length` bytes."""
    clip, padded = folder / "clip.mp4", folder / "padded.mp4"
    command = "ffmpeg -hide_banner -loglevel error -nostdin -f lavfi -i testsrc2=s=640x360:r=30:d=12 -f lavfi -i sine=d=12"
    command += " -c:v libx264 -preset ultrafast -g 60 -pix_fmt yuv420p -c:a aac -movflags +faststart -y"
    subprocess.run([*command.split(), clip], check=True)
    pad(clip, padded, length)
    return padded


def pad(clip: pathlib.Path, padded: pathlib.Path, length: int) -> None:
    """Writes the clip and pads it to this length."""
    remaining = length - clip.stat().st_size
    noise = random.Random(7).randbytes(NOISE)
    with padded.open("wb") as file:
        file.write(clip.read_bytes())
        file.write(struct.pack(">I4sQ", 1, b"free", remaining))
        remaining -= 16
        number = 0
        while remaining > 0:
            # Every block is unique, so a check notices bytes at the wrong offset.
            block = struct.pack(">Q", number) + noise[8:]
            file.write(block[:remaining])
            remaining -= len(block)
            number += 1
