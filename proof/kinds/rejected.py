"""Files that are not playable media: each fails with a reason for its owner."""

import pathlib
from collections.abc import Callable

from kinds.kind import AAC, FASTSTART, X264, SourceKind, both, made, test_video
from kinds.timing import truncated

PLAYLIST = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nhttp://127.0.0.1/secret.ts\n#EXT-X-ENDLIST\n"
CONCAT = "ffconcat version 1.0\nfile /etc/passwd\n"
SCRIPT = "#!/bin/sh\ncat /etc/passwd\n"
PAGE = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Sign in to see this video</body></html>\n"


def text(content: str) -> Callable[[pathlib.Path], object]:
    return lambda target: target.write_text(content)


KINDS = (
    SourceKind("truncated, index at the end", "cut-off-moov-last.mp4", truncated(both(), X264, AAC), "G", "truncated"),
    SourceKind("truncated in the index", "cut-off-in-moov.mp4", lambda target: first_bytes(target, 400), "G", "truncated"),
    SourceKind("HLS playlist", "playlist.m3u8", text(PLAYLIST), "G", "not_media"),
    SourceKind("concat script of ffmpeg", "concat.ffconcat", text(CONCAT), "G", "not_media"),
    SourceKind("shell script", "script.sh", text(SCRIPT), "G", "not_media"),
    SourceKind("HTML page", "page.html", text(PAGE), "G", "not_media"),
    SourceKind("PNG image", "picture.png", made(test_video(seconds=1), "-frames:v 1"), "G", "not_media"),
    SourceKind("random bytes", "random.bin", lambda target: target.write_bytes(bytes(range(1, 256)) * 100), "G", "not_media"),
    SourceKind("empty file", "empty.mp4", text(""), "G", "not_media"),
)


def first_bytes(target: pathlib.Path, length: int) -> None:
    made(both(), X264, AAC, FASTSTART)(target)
    target.write_bytes(target.read_bytes()[:length])
