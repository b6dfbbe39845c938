"""A client of one workspace, and how long what it asks for takes."""

import collections.abc
import concurrent.futures
import itertools
import time

from client import Client, ClientError
from loads import send
from site_of_servers import Site

LOOK_EVERY_S = 0.02
# Far above every limit: what takes longer hangs.
GIVES_UP_S = 120.0
AT_ONCE = 8


class Workspace:
    """Makes the workspace and asks the processes of the site in turn. May be used by many threads."""

    def __init__(self, site: Site, name: str) -> None:
        self.site, self.name = site, name
        site.command("workspace", "create", name)
        token = site.command("token", "create", "--workspace", name, "--permission", "read-write")
        self._client = Client(site.nodes, token)
        self._numbers = itertools.count()
        self._media: list[str] = []
        self._uploads: list[str] = []

    def api(self, method: str, path: str, body: dict | None = None) -> dict | list | None:
        """The `data` of an answer below `/v1/on-demand`. A server that is busy is asked again."""
        return self._client.json(method, f"/v1/on-demand{path}", body).get("data")

    def webhook(self, url: str) -> None:
        """Has all events of the workspace posted to an address."""
        self.site.command("webhook", "create", "--workspace", self.name, "--url", url)

    def create(self, url: str) -> str:
        """The id of a new media. Each has an address of its own below `url`."""
        body = {"inputs": [{"type": "video", "url": f"{url}/{next(self._numbers)}"}], "accessPolicy": "public"}
        media = self.api("POST", "", body)["id"]
        self._media.append(media)
        return media

    def create_many(self, url: str, count: int) -> list[str]:
        """The same, so many at once as a busy client asks for."""
        return each(lambda _: self.create(url), range(count))

    def create_upload(self) -> dict:
        """`uploadId` and `url` of a new direct upload, whose media has the same id."""
        upload = self.api("POST", "/upload", {"corsOrigin": "*"})
        self._uploads.append(upload["uploadId"])
        return upload

    def add_track(self, media: str, url: str) -> str:
        """The id of a track of subtitles that is added to a media."""
        number = next(self._numbers)
        track = {"type": "subtitle", "url": f"{url}/{number}.srt", "languageCode": "en", "languageName": f"English {number}"}
        return self.api("POST", f"/{media}/tracks", {"tracks": track})["id"]

    def status(self, media: str) -> str:
        return self.api("GET", f"/{media}")["status"]

    def is_ready(self, media: str) -> bool:
        """Raises `RuntimeError` for a media that failed."""
        if (status := self.status(media)) == "Failed":
            raise RuntimeError(f"{media} failed: {self.api('GET', f'/{media}')}")
        return status == "Ready"

    def is_available(self, media: str, track: str) -> bool:
        """Raises `RuntimeError` for a track that failed."""
        [status] = [one["status"] for one in self.api("GET", f"/{media}")["tracks"] if one["id"] == track]
        if status == "failed":
            raise RuntimeError(f"the track {track} failed")
        return status == "available"

    def ready_s(self, url: str) -> float:
        """Seconds from the request for a media to the ready media."""
        begun = time.monotonic()
        media = self.create(url)
        until(lambda: self.is_ready(media))
        return time.monotonic() - begun

    def upload_s(self, content: bytes) -> float:
        """Seconds from the request for an upload to the ready media of its file."""
        begun = time.monotonic()
        upload = self.create_upload()
        send(upload["url"], self.site.nodes[0].port, content)
        until(lambda: self.is_ready(upload["uploadId"]))
        return time.monotonic() - begun

    def track_s(self, media: str, url: str) -> float:
        """Seconds from the request for a track to the available track."""
        begun = time.monotonic()
        track = self.add_track(media, url)
        until(lambda: self.is_available(media, track))
        return time.monotonic() - begun

    def delete_all(self) -> None:
        """Cancels the uploads and deletes the media that were created here."""
        each(self._cancel, self._uploads)
        each(self._delete, self._media)
        self._media.clear()
        self._uploads.clear()

    def _cancel(self, upload: str) -> None:
        try:
            self.api("PUT", f"/upload/{upload}/cancel")
        except ClientError:  # it has ended: what is left is its media
            self._media.append(upload)

    def _delete(self, media: str) -> None:
        try:
            self.api("DELETE", f"/{media}")
        except ClientError as error:
            if " 404 " not in str(error):  # an answer was lost
                raise


def each(work: collections.abc.Callable, items: collections.abc.Iterable) -> list:
    """The results of `work` for each item, a few at once."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(work, items))


def until(look: collections.abc.Callable[[], bool], within_s: float = GIVES_UP_S, every_s: float = LOOK_EVERY_S) -> None:
    """Looks again and again until it is so. Raises `TimeoutError`."""
    begun = time.monotonic()
    while not look():
        if time.monotonic() - begun > within_s:
            raise TimeoutError(f"not within {within_s:.0f} s")
        time.sleep(every_s)
