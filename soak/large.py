"""Makes movies with a very large `moov` of mostly sample tables. ISO/IEC 14496-12.

The clip's frames are listed repeatedly: each sample of the long movie refers to bytes of the short one. So
the file is little larger than its `moov`, and every frame decodes.
"""

import array
import itertools
import struct
import sys
from collections.abc import Iterator

FRAMES_A_SECOND = 120
# A sample takes 4 bytes of `stsz`, 4 of `stco` (each is a chunk of its own) and 8 of `ctts` (no run of equal
# offsets).
SAMPLE_BYTES = 16
# `moov` of a track with the maximum of samples: 12 hours at 120 frames a second (crates/isobmff,
# `TRACK_SAMPLES_MAX`).
MOOV_BYTES_MAX = 12 * 3600 * FRAMES_A_SECOND * SAMPLE_BYTES
# Container boxes that are searched here.
CONTAINERS = {b"moov", b"trak", b"mdia", b"minf", b"stbl"}


def with_large_moov(clip: bytes, moov_bytes: int, trailing_bytes: int) -> bytes:
    """The video of an MP4 with a `moov` of about this size in front, and unused bytes at the end."""
    if moov_bytes > MOOV_BYTES_MAX:
        raise ValueError(f"no track may have the samples of a moov of {moov_bytes} bytes")
    ftyp, moov, mdat = (only(clip, kind) for kind in (b"ftyp", b"moov", b"mdat"))
    [video] = [trak for trak in children(moov, b"trak") if only(only(trak, b"mdia"), b"hdlr")[16:20] == b"vide"]
    mdia = only(video, b"mdia")
    minf = only(mdia, b"minf")
    stbl = only(minf, b"stbl")
    timescale = struct.unpack(">I", only(mdia, b"mdhd")[20:24])[0]
    delta = timescale // FRAMES_A_SECOND
    count = moov_bytes // SAMPLE_BYTES

    sizes = numbers(only(stbl, b"stsz")[20:])
    keys = numbers(only(stbl, b"stss")[16:])
    frames = len(sizes)
    rounds = -(-count // frames)
    all_sizes = repeated(sizes, rounds, count)
    all_keys = array.array("I", (key + frames * number for number in range(rounds) for key in keys if key + frames * number <= count))

    def tables(shift: int) -> bytes:
        """`shift`: distance of the frames from their offset in the clip."""
        chunk_offsets = array.array("I", (at + shift for at in offsets(stbl, sizes)))
        return box(
            b"stbl",
            only(stbl, b"stsd"),
            full(b"stts", struct.pack(">III", 1, count, delta)),
            full(b"ctts", struct.pack(">I", count) + struct.pack(">II", 1, 0) * count),
            full(b"stss", struct.pack(">I", len(all_keys)) + wire(all_keys)),
            full(b"stsc", struct.pack(">IIII", 1, 1, 1, 1)),
            full(b"stsz", struct.pack(">II", 0, count) + wire(all_sizes)),
            full(b"stco", struct.pack(">I", count) + wire(repeated(chunk_offsets, rounds, count))),
        )

    def movie(shift: int) -> bytes:
        ticks = count * delta
        mvhd = only(moov, b"mvhd")
        movie_ticks = ticks * struct.unpack(">I", mvhd[20:24])[0] // timescale
        of_media = box(b"minf", *(part for kind, part in boxes(minf) if kind != b"stbl"), tables(shift))
        of_track = box(
            b"mdia", with_duration(only(mdia, b"mdhd"), 24, ticks), only(mdia, b"hdlr"), of_media
        )
        trak = box(b"trak", with_duration(only(video, b"tkhd"), 28, movie_ticks), of_track)
        return box(b"moov", with_duration(mvhd, 24, movie_ticks), trak)

    # Its length does not depend on the chunk offsets.
    shift = len(ftyp) + len(movie(0)) - clip.index(mdat)
    trailing = struct.pack(">I4s", trailing_bytes, b"free") + bytes(trailing_bytes - 8)
    return ftyp + movie(shift) + mdat + trailing


def offsets(stbl: bytes, sizes: array.array) -> Iterator[int]:
    """Where each sample lies, from the chunks of an `stbl` with 32-bit offsets."""
    chunks = numbers(only(stbl, b"stco")[16:])
    runs = numbers(only(stbl, b"stsc")[16:])
    rows = [(runs[at], runs[at + 1]) for at in range(0, len(runs), 3)]
    ends = [first for first, _ in rows[1:]] + [len(chunks) + 1]
    lengths = itertools.chain.from_iterable([of_each] * (end - first) for (first, of_each), end in zip(rows, ends, strict=True))
    remaining = iter(sizes)
    for at, samples in zip(chunks, lengths, strict=True):
        for size in itertools.islice(remaining, samples):
            yield at
            at += size


def boxes(within: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The boxes of a file or of a container box."""
    at = 8 if within[4:8] in CONTAINERS else 0
    while at < len(within):
        size, kind = struct.unpack(">I4s", within[at : at + 8])
        yield kind, within[at : at + size]
        at += size


def children(within: bytes, kind: bytes) -> list[bytes]:
    return [found for name, found in boxes(within) if name == kind]


def only(within: bytes, kind: bytes) -> bytes:
    [found] = children(within, kind)
    return found


def box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", len(body) + 8, kind) + body


def full(kind: bytes, body: bytes) -> bytes:
    """A box with version 0 and no flags."""
    return box(kind, bytes(4), body)


def with_duration(header: bytes, at: int, ticks: int) -> bytes:
    """A header box of version 0 with another duration, at this byte offset."""
    return header[:at] + struct.pack(">I", ticks) + header[at + 4 :]


def numbers(body: bytes) -> array.array:
    read = array.array("I", body)
    if sys.byteorder == "little":
        read.byteswap()
    return read


def wire(written: array.array) -> bytes:
    copy = array.array("I", written)
    if sys.byteorder == "little":
        copy.byteswap()
    return copy.tobytes()


def repeated(values: array.array, times: int, count: int) -> array.array:
    return (values * times)[:count]
