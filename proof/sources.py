"""Posts a clip of every kind of source to a server, plays what came of it, and writes docs/sources.md.

Each row is judged: its classes and its reason are those its kind names, all pictures come out, the sound is as long as it was.
"""

import dataclasses
import datetime
import pathlib
import subprocess
import time
from collections.abc import Sequence

import decoded
import kinds
import machine
from bench import Ground
from clips import Clips
from hls import Viewer
from kinds.kind import Kind
from kinora import Kinora
from peers import Peers
from verdict import CLASSES, Found

SETTLED_WITHIN_S = 180
SOUND_OFF_MAX_S = 0.05
AAC_FRAME_S = 1024 / 44100
"""Sound that is encoded ends with a whole frame, and with the last packet of the source, whose true length not every container tells."""
PROBLEM_LEN_MAX = 300
DOCUMENT = pathlib.Path(__file__).parent.parent / "docs" / "sources.md"


@dataclasses.dataclass
class Row:
    """One line of the document. Times in milliseconds; `None` where there is none."""

    kind: Kind
    found: Found
    settled_ms: float | None
    """After the last byte; `None` where it was settled before."""
    first_frame_ms: float | None = None
    frames: tuple[int, int] = (0, 0)
    """In and out."""
    sound_s: tuple[float, float] = (0.0, 0.0)
    problems: list[str] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        return self.kind.file

    def cells(self) -> list[str]:
        found, plays = self.found, self.found.manifest is not None
        frames_in, frames_out = self.frames
        return [
            self.kind.what,
            found.classes,
            found.renditions if plays else "",
            f"{self.settled_ms:,.0f} ms" if self.settled_ms is not None else "before its end",
            f"{self.first_frame_ms:,.0f} ms" if self.first_frame_ms is not None else "",
            f"{frames_out} of {frames_in}" if frames_in else "",
            "; ".join([f"**{problem}**" for problem in self.problems] or ["plays" if plays else "fails"]),
            found.reason,
        ]


def prove(ground: Ground, clips: Clips, names: Sequence[str]) -> list[Row]:
    """Takes in the clips in turn, all of them or those whose file is named, on one server."""
    rows = []
    chosen = [kind for kind in kinds.ALL if not names or kind.file in names]
    peers = Peers()
    with Kinora(ground, "sources") as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        for kind in chosen:
            clip = clips.made(kind.file, kind.make)
            row = follow(ground, kinora, peers, kind, clip)
            judge(row)
            rows.append(row)
            print(" | ".join(row.cells()), flush=True)
    peers.close()
    return rows


def follow(ground: Ground, kinora: Kinora, peers: Peers, kind: Kind, clip: pathlib.Path) -> Row:
    """From the post to the last frame. What breaks on the way is a problem of the row, not the end of the command."""
    row = Row(kind, Found({}, "", None), None)
    try:
        row = take_in(kinora, peers, kind, clip)
        if row.found.manifest is not None:
            play(ground, kinora, row, clip)
    except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        row.problems.append(f"{error}"[:PROBLEM_LEN_MAX].replace("\n", " "))
    return row


def take_in(kinora: Kinora, peers: Peers, kind: Kind, clip: pathlib.Path) -> Row:
    """Posts the clip and waits until its media is ready or has failed."""
    media = kinora.create_media(peers.share(kind.file, clip, hold=True), **kind.wishes)
    is_ready, at = peers.wait_settled(media["id"], SETTLED_WITHIN_S)
    sent_at = peers.last_byte_at.get(kind.file, at + 1)
    settled_ms = (at - sent_at) * 1000 if sent_at <= at else None
    read = kinora.media(media["id"])
    if not is_ready:
        return Row(kind, Found(read, "", None), settled_ms)
    container = kinora.media(media["id"], "/input-info")["file"]["containerFormat"]
    with Viewer(kinora.base) as viewer:
        manifest = viewer.manifest(manifest_of(kinora, read))
    return Row(kind, Found(read, container, manifest), settled_ms)


def play(ground: Ground, kinora: Kinora, row: Row, clip: pathlib.Path) -> None:
    """The first frame as a player that has nothing gets it, then the whole of what that player chose."""
    found = row.found
    began = time.monotonic()
    with Viewer(kinora.base) as viewer:
        chosen = viewer.manifest(manifest_of(kinora, found.media)).variants[0]
        playlist = viewer.playlist(chosen)
        decoded.first_picture(viewer.get(playlist.init), viewer.get(playlist.segments[0][0]), found.has_video)
    row.first_frame_ms = (time.monotonic() - began) * 1000
    played = decoded.only(found.manifest, chosen, ground.folder / "chosen.m3u8")
    whole = clip.with_name(row.kind.as_in or clip.name)
    row.frames = decoded.pictures(whole), decoded.pictures(played)
    row.sound_s = decoded.sound_seconds(whole), decoded.sound_seconds(played)


def judge(row: Row) -> None:
    """Adds what is not as the kind wants it."""
    kind, found = row.kind, row.found
    if found.classes != kind.wanted:
        row.problems.append(f"class {found.classes}, not {kind.wanted}")
    if kind.reason.lower() not in found.reason.lower():
        row.problems.append(f"the reason does not say {kind.reason}")
    is_short = row.frames[0] != row.frames[1] if kind.counts_frames else row.frames[1] == 0
    if is_short and not row.problems:
        row.problems.append(f"{row.frames[1]} of {row.frames[0]} frames")
    wanted_s = row.sound_s[0] if kind.has_sound else 0
    if abs(wanted_s - row.sound_s[1]) > SOUND_OFF_MAX_S + AAC_FRAME_S:
        row.problems.append(f"{row.sound_s[1]:.2f} s of sound, not {wanted_s:.2f} s")


def manifest_of(kinora: Kinora, media: dict) -> str:
    return f"{kinora.base}/{media['playbackIds'][0]['id']}.m3u8"


HEAD = """# Sources

```sh
make sources
```

{date}, commit {revision}, on {machine}. The command makes a clip of each kind, posts it by URL to a server with
its ordinary settings, plays what came of it, and writes this page. It ends with status 1 when a row is not as it must be; then the row says so in bold.

| Class | |
|---|---|
{classes}

| Source | Class | Renditions | Ready or failed | First frame | Frames out of in | Verdict | What the owner reads |
|---|---|---|---|---|---|---|---|
{rows}

## How it is measured

- **Ready or failed.** From the last byte of the source, which is held back until all others were taken, to the first byte of the webhook.
- **First frame.** After ready: manifest, the playlist it lists first, its initialisation segment and its first segment, until ffmpeg has decoded
  one frame of them (one packet of sound where there is no picture). Some 100 ms of it are the start of ffmpeg. Nothing was asked of the media before.
- **Frames.** ffmpeg decodes the source, and by HTTP what a player plays that stays with the first rendition; the counts must be equal.
- **Sound.** Decoded likewise; the lengths must be within {sound_ms:.0f} ms and a frame of AAC.
- **Renditions.** In the order of the manifest: `video` and `audio` are the bytes of the source, the others are encoded while they are watched.
"""


def write(rows: Sequence[Row]) -> None:
    """Writes the document."""
    text = HEAD.format(
        date=datetime.date.today(),
        revision=machine.revision(),
        machine=machine.description(),
        classes="\n".join(f"| {letter} | {meaning} |" for letter, meaning in CLASSES.items()),
        rows="\n".join("| " + " | ".join(row.cells()) + " |" for row in rows),
        sound_ms=SOUND_OFF_MAX_S * 1000,
    )
    DOCUMENT.write_text(text)
