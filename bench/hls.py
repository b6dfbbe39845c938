"""Manifests and playlists as far as Kinora uses them, and a viewer that requests them as players do.

Syntax: RFC 8216. Addresses are absolute URLs.
"""

import dataclasses
import http.client
import re
import time
import urllib.parse
from typing import Self

RESPONSE_TIMEOUT_S = 60
RETRY_TIMEOUT_S = 60

# RFC 8216, 4.2: a list of names with values, quoted or not.
ATTRIBUTE = re.compile(r'([A-Z0-9-]+)=("[^"]*"|[^,]*)')


@dataclasses.dataclass(frozen=True)
class Rendition:
    """A media playlist that the manifest lists, as a variant or in a group."""

    url: str
    attributes: dict[str, str]

    @property
    def name(self) -> str:
        """Its name in the URL: `video`, `720p`, `audio`."""
        return self.url.rsplit("/", 2)[1]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as displayed; (0, 0) without video."""
        width, _, height = self.attributes.get("RESOLUTION", "0x0").partition("x")
        return int(width), int(height)


@dataclasses.dataclass(frozen=True)
class Manifest:
    """A multivariant playlist."""

    variants: list[Rendition]
    audio: list[Rendition]

    def variant(self, name: str) -> Rendition:
        """The variant of this name. Raises `KeyError`."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise KeyError(f"{name} is not among {[variant.name for variant in self.variants]}")

    @property
    def default_audio(self) -> Rendition | None:
        """The audio that plays by default."""
        chosen = [rendition for rendition in self.audio if rendition.attributes.get("DEFAULT") == "YES"]
        return next(iter(chosen or self.audio), None)


@dataclasses.dataclass(frozen=True)
class Playlist:
    """A media playlist of fragmented MP4."""

    init: str
    segments: list[tuple[str, float]]
    """URL and announced seconds of each."""


class Viewer:
    """Uses one connection to a server and retries when it is busy, as players do.

    Use it as a context manager.
    """

    def __init__(self, base: str) -> None:
        self._connection = http.client.HTTPConnection(urllib.parse.urlsplit(base).netloc, timeout=RESPONSE_TIMEOUT_S)
        self.busy_responses = 0
        """Responses with 503."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, url: str) -> bytes:
        """The body of a 200; retries after a 503, and raises for any other status."""
        deadline = time.monotonic() + RETRY_TIMEOUT_S
        while True:
            response, body = self._request(urllib.parse.urlsplit(url).path)
            if response.status == 200:
                return body
            if response.status != 503 or time.monotonic() > deadline:
                raise RuntimeError(f"{url} returned {response.status}: {body[:300]!r}")
            self.busy_responses += 1
            time.sleep(float(response.headers.get("Retry-After", "1")))

    def _request(self, path: str) -> tuple[http.client.HTTPResponse, bytes]:
        try:
            self._connection.request("GET", path)
            response = self._connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # Servers close idle connections.
            self._connection.close()
            self._connection.request("GET", path)
            response = self._connection.getresponse()
        return response, response.read()

    def manifest(self, url: str) -> Manifest:
        """The renditions in the order of the text."""
        variants, audio, attributes = [], [], None
        for line in self.get(url).decode().splitlines():
            if line.startswith("#EXT-X-STREAM-INF:"):
                attributes = parse_attributes(line)
            elif line.startswith("#EXT-X-MEDIA:"):
                found = parse_attributes(line)
                if found["TYPE"] == "AUDIO":
                    audio.append(Rendition(urllib.parse.urljoin(url, found["URI"]), found))
            elif line and not line.startswith("#") and attributes is not None:
                variants.append(Rendition(urllib.parse.urljoin(url, line), attributes))
                attributes = None
        return Manifest(variants, audio)

    def playlist(self, rendition: Rendition) -> Playlist:
        """The segments of a rendition.

        Raises `ValueError` when it has more than one initialisation segment.
        """
        inits, segments, seconds = set(), [], 0.0
        for line in self.get(rendition.url).decode().splitlines():
            if line.startswith("#EXT-X-MAP:"):
                inits.add(urllib.parse.urljoin(rendition.url, parse_attributes(line)["URI"]))
            elif line.startswith("#EXTINF:"):
                seconds = float(line.partition(":")[2].partition(",")[0])
            elif line and not line.startswith("#"):
                segments.append((urllib.parse.urljoin(rendition.url, line), seconds))
        if len(inits) != 1:
            raise ValueError(f"{rendition.url} has {len(inits)} initialisation segments")
        return Playlist(inits.pop(), segments)

    def whole(self, rendition: Rendition) -> tuple[bytes, list[bytes]]:
        """The initialisation segment and all segments of a rendition."""
        playlist = self.playlist(rendition)
        return self.get(playlist.init), [self.get(url) for url, _ in playlist.segments]


def parse_attributes(line: str) -> dict[str, str]:
    return {name: value.strip('"') for name, value in ATTRIBUTE.findall(line.partition(":")[2])}
