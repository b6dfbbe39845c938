"""Sources with unusual timestamps or edit lists, and truncated sources."""

import pathlib

from boxes import replace_edits, zero_fragment_times
from clips import ffmpeg
from kinds.kind import AAC, FASTSTART, X264, SourceKind, both, made, temporary_file

TRUNCATED_SHARE = 0.6


def truncated(*arguments: str | list[str]):
    """A clip without its last bytes."""
    whole = made(*arguments)

    def make(target: pathlib.Path) -> None:
        whole(target)
        content = target.read_bytes()
        target.write_bytes(content[: int(len(content) * TRUNCATED_SHARE)])

    return make


def edited(*pieces: float):
    """The edit list plays one second from each of these times in sequence."""

    def make(target: pathlib.Path) -> None:
        made(both(), X264, AAC, "-bf 0 -g 30 -keyint_min 30")(target)
        edits = [(1000, begins) for begins in pieces]
        target.write_bytes(replace_edits(target.read_bytes(), b"vide", edits))

    return make


def broken_fragments(target: pathlib.Path) -> None:
    """Every fragment has decode time 0."""
    made(both(), X264, AAC, "-movflags +frag_keyframe+empty_moov+default_base_moof")(target)
    target.write_bytes(zero_fragment_times(target.read_bytes()))


def joined_streams(second: list[str]):
    """Two concatenated transport streams."""

    def make(target: pathlib.Path) -> None:
        content = b""
        for name, source in (("one.ts", both(seconds=3)), ("two.ts", second)):
            part = temporary_file(target, name)
            ffmpeg(*source, *X264, *AAC, part)
            content += part.read_bytes()
            part.unlink()
        target.write_bytes(content)

    return make


KINDS = (
    *(
        SourceKind(f"truncated, {what}", file, truncated(both(), codecs), expected, "truncated", counts_frames=False)
        for what, file, codecs, expected in (
            ("transport stream", "cut-off.ts", [*X264, *AAC], "F A"),
            ("FLV", "cut-off.flv", [*X264, *AAC], "F A"),
            ("AVI without its index", "cut-off.avi", ["-c:v", "mpeg4", "-q:v", "4", "-c:a", "libmp3lame"], "F C"),
        )
    ),
    SourceKind("MP4 that starts at 5 s", "starts-at-5.mp4", made(both(), X264, AAC, "-output_ts_offset 5"), "A"),
    SourceKind("Matroska that starts at 5 s", "starts-at-5.mkv", made(both(), X264, AAC, "-output_ts_offset 5"), "A"),
    SourceKind("MP4 with two edits that cut at keyframes", "edits-at-keyframes.mp4", edited(1.0, 0.0), "A"),
    SourceKind("MP4 with two edits that cut between keyframes", "edits.mp4", edited(2.5, 0.5), "C", "edit"),
    SourceKind("MP4 with one edit that starts between keyframes", "trimmed.mp4", edited(0.5), "C", "edit"),
    SourceKind("MP4 whose fragments all start at 0", "broken-fragments.mp4", broken_fragments, "A", reference_file="fragments.mp4"),
    SourceKind(
        "truncated, index in front",
        "cut-off.mp4",
        truncated(both(), X264, AAC, FASTSTART),
        "A",
        "truncated",
        counts_frames=False,
    ),
    SourceKind("transport stream", "h264.ts", made(both(), X264, AAC), "F A"),
    SourceKind("transport stream whose timestamps restart at 0", "reset.ts", joined_streams(both(seconds=3)), "F A"),
    SourceKind(
        "transport stream whose frame size changes",
        "size-changes.ts",
        joined_streams(both(size="320x180", seconds=3)),
        "F C",
        "size",
    ),
)
