"""Viewers who seek in renditions that are encoded for them, and remember what they were given."""

import hashlib
import random
import threading
from collections.abc import Iterator

from client import Client, ClientError

# Segments that one viewer jumps to.
SEEKS = 3
# The rung below the copy of the clip.
RUNG = "/240p/"


class Viewers:
    """All viewers together. May be used by many threads."""

    def __init__(self, delivery: Client) -> None:
        self._delivery = delivery
        self._lock = threading.Lock()
        self._given: dict[str, str] = {}

    def seek(self, media: dict, drawn: random.Random) -> None:
        """Jumps about in the rung of a ready media. Raises `ValueError` for a segment that is not what it was."""
        manifest = self._delivery.bytes("GET", f"/{media['playbackIds'][0]['id']}.m3u8").decode()
        playlist = next(path for path in playlists(manifest) if RUNG in path)
        folder = playlist.rpartition("/")[0]
        listed = self._delivery.bytes("GET", playlist).decode().splitlines()
        segments = [line for line in listed if line.endswith(".m4s")]
        for name in ["init.mp4", *drawn.choices(segments, k=SEEKS)]:
            # Twice: the second time another process is asked.
            for _ in range(2):
                self._look(f"{folder}/{name}")

    def look_again(self) -> Iterator[str]:
        """Asks for everything once more, and tells what is not what it was."""
        for path in sorted(self._given):
            try:
                self._look(path)
            except (ClientError, ValueError) as error:
                yield str(error)

    def count(self) -> int:
        """Files that were given, each counted once."""
        return len(self._given)

    def _look(self, path: str) -> None:
        found = hashlib.sha256(self._delivery.bytes("GET", path)).hexdigest()
        with self._lock:
            given = self._given.setdefault(path, found)
        if given != found:
            raise ValueError(f"{path} is not what it was")


def playlists(manifest: str) -> Iterator[str]:
    """The paths of the variants of a manifest, in its order."""
    for line in manifest.splitlines():
        if line and not line.startswith("#"):
            yield "/" + line.partition("://")[2].partition("/")[2] if "://" in line else "/" + line.lstrip("/")
