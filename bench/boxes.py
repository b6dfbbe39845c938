"""Boxes of ISO base media files, as far as the benchmarks need them. Independent of ffmpeg."""

import dataclasses
import struct
from collections.abc import Iterator, Sequence

CONTAINERS = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf", b"edts"}


@dataclasses.dataclass(frozen=True)
class Box:
    """One box; positions count from the start of the file."""

    kind: bytes
    start: int
    body: int
    end: int


@dataclasses.dataclass(frozen=True)
class Fragment:
    """The only track of a `moof`: ticks of the track's timescale, bytes of its samples."""

    begins: int
    durations: tuple[int, ...]
    size: int

    @property
    def ends(self) -> int:
        return self.begins + sum(self.durations)


def boxes(content: bytes, start: int = 0, end: int | None = None) -> Iterator[Box]:
    """The boxes of one level. Raises `ValueError` when one does not fit."""
    end = len(content) if end is None else end
    while start < end:
        size, kind = struct.unpack_from(">I4s", content, start)
        body = start + 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", content, body)
            body += 8
        if size < body - start or start + size > end:
            raise ValueError(f"a box {kind!r} of {size} bytes at {start} does not fit before {end}")
        yield Box(kind, start, body, start + size)
        start += size


def walk(content: bytes, start: int = 0, end: int | None = None) -> Iterator[Box]:
    """All boxes in file order, a container before its children."""
    for box in boxes(content, start, end):
        yield box
        if box.kind in CONTAINERS:
            yield from walk(content, box.body, box.end)


def timescale(init: bytes) -> int:
    """Ticks a second of the first track."""
    box = next(box for box in walk(init) if box.kind == b"mdhd")
    return struct.unpack_from(">I", init, box.body + (20 if init[box.body] == 1 else 12))[0]


def first_edit(init: bytes) -> int:
    """Media time of the first edit of the first track: 0 without an edit list."""
    box = next((box for box in walk(init) if box.kind == b"elst"), None)
    if box is None:
        return 0
    wide = init[box.body] == 1
    return struct.unpack_from(">q" if wide else ">i", init, box.body + (16 if wide else 12))[0]


def fragments(segment: bytes) -> list[Fragment]:
    """Every `moof` of a segment, in its order."""
    return [fragment(segment, box) for box in boxes(segment) if box.kind == b"moof"]


def fragment(segment: bytes, moof: Box) -> Fragment:
    inside = {box.kind: box for box in walk(segment, moof.body, moof.end)}
    header, run, time = inside[b"tfhd"], inside[b"trun"], inside[b"tfdt"]
    if sum(box.kind == b"trun" for box in walk(segment, moof.body, moof.end)) != 1:
        raise ValueError("a fragment does not have one run")
    begins = struct.unpack_from(">Q" if segment[time.body] == 1 else ">I", segment, time.body + 4)[0]

    # ISO/IEC 14496-12, 8.8.7: defaults for all samples, in this order.
    flags, at, defaults = word(segment, header.body) & 0xFFFFFF, header.body + 8, {}
    for flag, name, length in (
        (1, "offset", 8),
        (2, "entry", 4),
        (8, "duration", 4),
        (16, "size", 4),
        (32, "flags", 4),
    ):
        if flags & flag:
            defaults[name] = word(segment, at)
            at += length
    # 8.8.8: fields of the run, then of each sample.
    flags, count = word(segment, run.body) & 0xFFFFFF, word(segment, run.body + 4)
    at = run.body + 8 + (4 if flags & 1 else 0) + (4 if flags & 4 else 0)
    durations, size = [], 0
    for _ in range(count):
        row = dict(defaults)
        for flag, name in ((0x100, "duration"), (0x200, "size"), (0x400, "flags"), (0x800, "shift")):
            if flags & flag:
                row[name] = word(segment, at)
                at += 4
        durations.append(row["duration"])
        size += row["size"]
    return Fragment(begins, tuple(durations), size)


def word(content: bytes, at: int) -> int:
    return struct.unpack_from(">I", content, at)[0]


def replace_edits(content: bytes, handler: bytes, edits: Sequence[tuple[int, float]]) -> bytes:
    """Replaces the edit list of the track with this handler.

    An edit is a length in movie ticks and a start in the media in seconds. The `moov` must be the last box.
    """
    moov = list(boxes(content))[-1]
    if moov.kind != b"moov":
        raise ValueError("the moov is not at the end")
    track = next(
        box
        for box in boxes(content, moov.body, moov.end)
        if box.kind == b"trak" and handler in content[box.start : box.end]
    )
    media = next(box for box in walk(content, track.body, track.end) if box.kind == b"mdhd")
    ticks = word(content, media.body + 12)
    rows = b"".join(struct.pack(">Iihh", length, round(begins * ticks), 1, 0) for length, begins in edits)
    table = struct.pack(">I4sII", 16 + len(rows), b"elst", 0, len(edits)) + rows
    table = struct.pack(">I4s", 8 + len(table), b"edts") + table
    old = next((box for box in boxes(content, track.body, track.end) if box.kind == b"edts"), None)
    inner = next(box for box in boxes(content, track.body, track.end) if box.kind == b"mdia")
    start, end = (old.start, old.end) if old else (inner.start, inner.start)
    changed = bytearray(content[:start] + table + content[end:])
    grown = len(table) - (end - start)
    for box in (moov, track):
        struct.pack_into(">I", changed, box.start, box.end - box.start + grown)
    return bytes(changed)


def zero_fragment_times(content: bytes) -> bytes:
    """Sets the decode time of all fragments to 0."""
    changed = bytearray(content)
    for box in walk(content):
        if box.kind == b"tfdt":
            changed[box.body + 4 : box.end] = bytes(box.end - box.body - 4)
    return bytes(changed)
