"""Sources whose times, edits or ends are odd."""

import pathlib

from boxes import replace_edits, zero_fragment_times
from clips import ffmpeg
from kinds.kind import AAC, FASTSTART, X264, Kind, beside, both, made

TRUNCATED_PART = 0.6


def cut_off(*arguments: str | list[str]):
    """A clip whose last bytes never came."""
    whole = made(*arguments)

    def make(target: pathlib.Path) -> None:
        whole(target)
        content = target.read_bytes()
        target.write_bytes(content[: int(len(content) * TRUNCATED_PART)])

    return make


def edited(*pieces: float):
    """The video shows a second from each of these places, one behind the other, said by its edit list alone."""

    def make(target: pathlib.Path) -> None:
        made(both(), X264, AAC, "-bf 0 -g 30 -keyint_min 30")(target)
        edits = [(1000, begins) for begins in pieces]
        target.write_bytes(replace_edits(target.read_bytes(), b"vide", edits))

    return make


def broken_fragments(target: pathlib.Path) -> None:
    """Every fragment says that it begins at 0."""
    made(both(), X264, AAC, "-movflags +frag_keyframe+empty_moov+default_base_moof")(target)
    target.write_bytes(zero_fragment_times(target.read_bytes()))


def joined_streams(second: list[str]):
    """Two transport streams, one behind the other."""

    def make(target: pathlib.Path) -> None:
        content = b""
        for name, picture in (("one.ts", both(seconds=3)), ("two.ts", second)):
            part = beside(target, name)
            ffmpeg(*picture, *X264, *AAC, part)
            content += part.read_bytes()
            part.unlink()
        target.write_bytes(content)

    return make


KINDS = (
    *(
        Kind(f"cut off, {what}", file, cut_off(both(), codecs), wanted, "truncated", counts_frames=False)
        for what, file, codecs, wanted in (
            ("transport stream", "cut-off.ts", [*X264, *AAC], "F A"),
            ("FLV", "cut-off.flv", [*X264, *AAC], "F A"),
            ("AVI, without its index", "cut-off.avi", ["-c:v", "mpeg4", "-q:v", "4", "-c:a", "libmp3lame"], "F C"),
        )
    ),
    Kind("MP4 that begins at 5 s", "starts-at-5.mp4", made(both(), X264, AAC, "-output_ts_offset 5"), "A"),
    Kind("Matroska that begins at 5 s", "starts-at-5.mkv", made(both(), X264, AAC, "-output_ts_offset 5"), "A"),
    Kind("MP4 with two edits that cut at keyframes", "edits-at-keyframes.mp4", edited(1.0, 0.0), "A"),
    Kind("MP4 with two edits that cut between keyframes", "edits.mp4", edited(2.5, 0.5), "C", "edit"),
    Kind("MP4 with one edit that begins between keyframes", "trimmed.mp4", edited(0.5), "C", "edit"),
    Kind("MP4 whose fragments all begin at 0", "broken-fragments.mp4", broken_fragments, "A", as_in="fragments.mp4"),
    Kind(
        "cut off, index in front",
        "cut-off.mp4",
        cut_off(both(), X264, AAC, FASTSTART),
        "A",
        "truncated",
        counts_frames=False,
    ),
    Kind("transport stream", "h264.ts", made(both(), X264, AAC), "F A"),
    Kind("transport stream that begins again at 0", "reset.ts", joined_streams(both(seconds=3)), "F A"),
    Kind(
        "transport stream whose pictures change size",
        "size-changes.ts",
        joined_streams(both(size="320x180", seconds=3)),
        "F C",
        "size",
    ),
)
