"""Posts a clip of every kind of source to a server, plays the result, and writes docs/sources.md.

Each row is checked: expected classes and reason, all frames, and the length of the audio.
"""

import dataclasses
import datetime
import pathlib
import subprocess
import time
from collections.abc import Sequence

import decode
import kinds
import machine
from bench import BenchContext
from clips import Clips
from hls import Viewer
from kinds.kind import SourceKind
from kinora import Kinora
from test_servers import TestServers
from verdict import CLASSES, Outcome

SETTLE_TIMEOUT_S = 180
AUDIO_OFFSET_MAX_S = 0.05
AAC_FRAME_S = 1024 / 44100
"""Encoded audio ends with a whole frame.

It also ends with the last source packet, whose length may be unknown.
"""
PROBLEM_LEN_MAX = 300
DOCUMENT = pathlib.Path(__file__).parent.parent / "docs" / "sources.md"


@dataclasses.dataclass
class Row:
    """One row of the document. Times in milliseconds, or `None`."""

    kind: SourceKind
    outcome: Outcome
    settled_ms: float | None
    """After the last byte; `None` when it settled before."""
    first_frame_ms: float | None = None
    frames: tuple[int, int] = (0, 0)
    """In and out."""
    audio_s: tuple[float, float] = (0.0, 0.0)
    problems: list[str] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        return self.kind.file

    def cells(self) -> list[str]:
        outcome, plays = self.outcome, self.outcome.manifest is not None
        frames_in, frames_out = self.frames
        return [
            self.kind.what,
            outcome.classes,
            outcome.renditions if plays else "",
            f"{self.settled_ms:,.0f} ms" if self.settled_ms is not None else "before its end",
            f"{self.first_frame_ms:,.0f} ms" if self.first_frame_ms is not None else "",
            f"{frames_out} of {frames_in}" if frames_in else "",
            "; ".join([f"**{problem}**" for problem in self.problems] or ["plays" if plays else "fails"]),
            outcome.reason,
        ]


def measure(context: BenchContext, clips: Clips, names: Sequence[str]) -> list[Row]:
    """Ingests the clips one after the other on one server: all, or those with these file names."""
    rows = []
    selected = [kind for kind in kinds.ALL if not names or kind.file in names]
    test_servers = TestServers()
    with Kinora(context, "sources") as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for kind in selected:
            clip = clips.made(kind.file, kind.make)
            row = run_kind(context, kinora, test_servers, kind, clip)
            check(row)
            rows.append(row)
            print(" | ".join(row.cells()), flush=True)
    test_servers.close()
    return rows


def run_kind(context: BenchContext, kinora: Kinora, test_servers: TestServers, kind: SourceKind, clip: pathlib.Path) -> Row:
    """From the post to the last frame. An error becomes a problem of the row."""
    row = Row(kind, Outcome({}, "", None), None)
    try:
        row = ingest(kinora, test_servers, kind, clip)
        if row.outcome.manifest is not None:
            play(context, kinora, row, clip)
    except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        row.problems.append(f"{error}"[:PROBLEM_LEN_MAX].replace("\n", " "))
    return row


def ingest(kinora: Kinora, test_servers: TestServers, kind: SourceKind, clip: pathlib.Path) -> Row:
    """Posts the clip and waits until its media is ready or has failed."""
    media = kinora.create_media(test_servers.share(kind.file, clip, delay_last_byte=True), **kind.request_fields)
    is_ready, at = test_servers.wait_settled(media["id"], SETTLE_TIMEOUT_S)
    sent_at = test_servers.last_byte_at.get(kind.file, at + 1)
    settled_ms = (at - sent_at) * 1000 if sent_at <= at else None
    read = kinora.media(media["id"])
    if not is_ready:
        return Row(kind, Outcome(read, "", None), settled_ms)
    container = kinora.media(media["id"], "/input-info")["file"]["containerFormat"]
    with Viewer(kinora.base) as viewer:
        manifest = viewer.manifest(manifest_of(kinora, read))
    return Row(kind, Outcome(read, container, manifest), settled_ms)


def play(context: BenchContext, kinora: Kinora, row: Row, clip: pathlib.Path) -> None:
    """Decodes the first frame as a player without cache does, then the whole first variant."""
    outcome = row.outcome
    started = time.monotonic()
    with Viewer(kinora.base) as viewer:
        variant = viewer.manifest(manifest_of(kinora, outcome.media)).variants[0]
        playlist = viewer.playlist(variant)
        decode.first_frame(viewer.get(playlist.init), viewer.get(playlist.segments[0][0]), outcome.has_video)
    row.first_frame_ms = (time.monotonic() - started) * 1000
    played = decode.write_single_variant(outcome.manifest, variant, context.folder / "variant.m3u8")
    whole = clip.with_name(row.kind.reference_file or clip.name)
    row.frames = decode.count_frames(whole), decode.count_frames(played)
    row.audio_s = decode.audio_seconds(whole), decode.audio_seconds(played)


def check(row: Row) -> None:
    """Adds a problem for each difference from the expectations of the kind."""
    kind, outcome = row.kind, row.outcome
    if outcome.classes != kind.expected_classes:
        row.problems.append(f"class {outcome.classes}, not {kind.expected_classes}")
    if kind.reason.lower() not in outcome.reason.lower():
        row.problems.append(f"the reason does not say {kind.reason}")
    is_short = row.frames[0] != row.frames[1] if kind.counts_frames else row.frames[1] == 0
    if is_short and not row.problems:
        row.problems.append(f"{row.frames[1]} of {row.frames[0]} frames")
    expected_s = row.audio_s[0] if kind.has_audio else 0
    if abs(expected_s - row.audio_s[1]) > AUDIO_OFFSET_MAX_S + AAC_FRAME_S:
        row.problems.append(f"{row.audio_s[1]:.2f} s of audio, not {expected_s:.2f} s")


def manifest_of(kinora: Kinora, media: dict) -> str:
    return f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8"


HEAD = """# Sources

```sh
make sources
```

{date}, commit {revision}, on {machine}.

The command creates a clip of each kind and posts it by URL to a server with default settings. It plays the result and
writes this page. A row with an unexpected result names it in bold, and the exit status is then 1.

| Class | Meaning |
|---|---|
{classes}

| Source | Class | Renditions | Ready or failed | First frame | Frames played of source | Result | `playbackReport` or error |
|---|---|---|---|---|---|---|---|
{rows}

## How it is measured

- **Ready or failed.** Time from the last byte of the source to the first byte of the webhook. The source server delays
  the last byte until it has sent all others.
- **First frame.** Time after ready, with an empty cache. A client loads the manifest, the first listed playlist, its
  initialisation segment and its first segment. It ends when ffmpeg has decoded one frame, or one packet of audio if
  there is no video. The start of ffmpeg is about 100 ms of it.
- **Frames.** ffmpeg decodes the source, and by HTTP the stream of a player that stays with the first rendition. The
  counts must be equal.
- **Audio.** Decoded in the same way. The lengths must differ by at most {audio_offset_ms:.0f} ms and one AAC frame.
- **Renditions.** In the order of the manifest. `video` and `audio` are the bytes of the source, the others are encoded
  on demand.
"""


def write(rows: Sequence[Row]) -> None:
    """Writes the document."""
    text = HEAD.format(
        date=datetime.date.today(),
        revision=machine.revision(),
        machine=machine.description(),
        classes="\n".join(f"| {letter} | {meaning} |" for letter, meaning in CLASSES.items()),
        rows="\n".join("| " + " | ".join(row.cells()) + " |" for row in rows),
        audio_offset_ms=AUDIO_OFFSET_MAX_S * 1000,
    )
    DOCUMENT.write_text(text)
