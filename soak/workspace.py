"""A client of one workspace that measures durations."""

import collections.abc
import concurrent.futures
import itertools
import time

from client import Client, ClientError
from cluster import Cluster
from slow_uploads import send

POLL_INTERVAL_S = 0.02
# Far above every limit: a longer operation hangs.
HANG_TIMEOUT_S = 120.0
CONCURRENCY = 8


class Workspace:
    """Creates the workspace; sends requests to the processes of the cluster, round robin. Thread-safe."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        cluster.command("workspace", "create", name)
        token = cluster.command("token", "create", "--workspace", name, "--permission", "read-write")
        self._client = Client(cluster.nodes, token)
        self._numbers = itertools.count()
        self._media: list[str] = []
        self._uploads: list[str] = []

    def api(self, method: str, path: str, body: dict | None = None) -> dict | list | None:
        """The `data` of a response below `/v1/on-demand`. Retries while a server is busy."""
        return self._client.json(method, f"/v1/on-demand{path}", body).get("data")

    def webhook(self, url: str) -> None:
        """Creates a webhook for all events of the workspace."""
        self.cluster.command("webhook", "create", "--workspace", self.name, "--url", url)

    def create(self, url: str) -> str:
        """The id of a new media. Each has its own URL below `url`."""
        body = {"inputs": [{"type": "video", "url": f"{url}/{next(self._numbers)}"}], "accessPolicy": "public"}
        media = self.api("POST", "", body)["id"]
        self._media.append(media)
        return media

    def create_many(self, url: str, count: int) -> list[str]:
        """Creates many media, several at once."""
        return each(lambda _: self.create(url), range(count))

    def create_upload(self) -> dict:
        """`uploadId` and `url` of a new direct upload, whose media has the same id."""
        upload = self.api("POST", "/upload", {"corsOrigin": "*"})
        self._uploads.append(upload["uploadId"])
        return upload

    def add_track(self, media: str, url: str) -> str:
        """Adds a subtitle track to a media and returns its id."""
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
        started = time.monotonic()
        media = self.create(url)
        wait_until(lambda: self.is_ready(media))
        return time.monotonic() - started

    def upload_s(self, content: bytes) -> float:
        """Seconds from the request for an upload to the ready media of its file."""
        started = time.monotonic()
        upload = self.create_upload()
        send(upload["url"], self.cluster.nodes[0].port, content)
        wait_until(lambda: self.is_ready(upload["uploadId"]))
        return time.monotonic() - started

    def track_s(self, media: str, url: str) -> float:
        """Seconds from the request for a track to the available track."""
        started = time.monotonic()
        track = self.add_track(media, url)
        wait_until(lambda: self.is_available(media, track))
        return time.monotonic() - started

    def delete_all(self) -> None:
        """Cancels the uploads and deletes the media that were created here."""
        each(self._cancel, self._uploads)
        each(self._delete, self._media)
        self._media.clear()
        self._uploads.clear()

    def _cancel(self, upload: str) -> None:
        try:
            self.api("PUT", f"/upload/{upload}/cancel")
        except ClientError:  # it is complete: its media remains
            self._media.append(upload)

    def _delete(self, media: str) -> None:
        try:
            self.api("DELETE", f"/{media}")
        except ClientError as error:
            if " 404 " not in str(error):  # a response was lost
                raise


def each(work: collections.abc.Callable, items: collections.abc.Iterable) -> list:
    """The results of `work` for each item, several at once."""
    with concurrent.futures.ThreadPoolExecutor(CONCURRENCY) as threads:
        return list(threads.map(work, items))


def wait_until(condition: collections.abc.Callable[[], bool], timeout_s: float = HANG_TIMEOUT_S, every_s: float = POLL_INTERVAL_S) -> None:
    """Polls until the condition holds. Raises `TimeoutError`."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > timeout_s:
            raise TimeoutError(f"not within {timeout_s:.0f} s")
        time.sleep(every_s)
