"""Viewers that seek in renditions encoded on demand, and store the hash of each response."""

import hashlib
import random
import threading
from collections.abc import Iterator

from client import Client, ClientError

# Seeks per viewer.
SEEKS = 3
# The rung below the copy of the clip.
RUNG = "/240p/"


class Viewers:
    """All viewers. Thread-safe."""

    def __init__(self, delivery: Client) -> None:
        self._delivery = delivery
        self._lock = threading.Lock()
        self._hashes: dict[str, str] = {}

    def seek(self, media: dict, rng: random.Random) -> None:
        """Seeks in the rung of a ready media. Raises `ValueError` for a segment that has changed."""
        manifest = self._delivery.bytes("GET", f"/{media['playbackIds'][0]['id']}.m3u8").decode()
        playlist = next(path for path in playlists(manifest) if RUNG in path)
        folder = playlist.rpartition("/")[0]
        listed = self._delivery.bytes("GET", playlist).decode().splitlines()
        segments = [line for line in listed if line.endswith(".m4s")]
        for name in ["init.mp4", *rng.choices(segments, k=SEEKS)]:
            # Twice: the second request goes to another process.
            for _ in range(2):
                self._check(f"{folder}/{name}")

    def check_again(self) -> Iterator[str]:
        """Requests everything again; yields an error for each change."""
        for path in sorted(self._hashes):
            try:
                self._check(path)
            except (ClientError, ValueError) as error:
                yield str(error)

    def count(self) -> int:
        """Number of distinct files received."""
        return len(self._hashes)

    def _check(self, path: str) -> None:
        now = hashlib.sha256(self._delivery.bytes("GET", path)).hexdigest()
        with self._lock:
            first = self._hashes.setdefault(path, now)
        if first != now:
            raise ValueError(f"{path} has changed")


def playlists(manifest: str) -> Iterator[str]:
    """The paths of the variants of a manifest, in its order."""
    for line in manifest.splitlines():
        if line and not line.startswith("#"):
            yield "/" + line.partition("://")[2].partition("/")[2] if "://" in line else "/" + line.lstrip("/")
