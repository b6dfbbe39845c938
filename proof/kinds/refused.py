"""What is no media, or none that can play: each fails with a reason that its owner understands."""

import pathlib
from collections.abc import Callable

from kinds.kind import AAC, FASTSTART, X264, Kind, both, made, picture
from kinds.timing import cut_off

PLAYLIST = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nhttp://127.0.0.1/secret.ts\n#EXT-X-ENDLIST\n"
CONCAT = "ffconcat version 1.0\nfile /etc/passwd\n"
SCRIPT = "#!/bin/sh\ncat /etc/passwd\n"
PAGE = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Sign in to see this video</body></html>\n"


def text(content: str) -> Callable[[pathlib.Path], object]:
    return lambda target: target.write_text(content)


KINDS = (
    Kind("cut off, index at the end", "cut-off-moov-last.mp4", cut_off(both(), X264, AAC), "G", "truncated"),
    Kind("cut off in the index", "cut-off-in-moov.mp4", lambda target: first_bytes(target, 400), "G", "truncated"),
    Kind("HLS playlist", "playlist.m3u8", text(PLAYLIST), "G", "not_media"),
    Kind("concat script of ffmpeg", "concat.ffconcat", text(CONCAT), "G", "not_media"),
    Kind("shell script", "script.sh", text(SCRIPT), "G", "not_media"),
    Kind("HTML page", "page.html", text(PAGE), "G", "not_media"),
    Kind("picture", "picture.png", made(picture(seconds=1), "-frames:v 1"), "G", "not_media"),
    Kind("random bytes", "random.bin", lambda target: target.write_bytes(bytes(range(1, 256)) * 100), "G", "not_media"),
    Kind("empty file", "empty.mp4", text(""), "G", "not_media"),
)


def first_bytes(target: pathlib.Path, length: int) -> None:
    made(both(), X264, AAC, FASTSTART)(target)
    target.write_bytes(target.read_bytes()[:length])
