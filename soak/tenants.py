#!/usr/bin/env python3
"""Two workspaces on one cluster: load of the first one hardly delays the second one.

    make soak
    soak/run.sh tenants [--deployment sqlite|postgres] [--only TRIAL]...

The first workspace adds sources and subtitles that never respond, requests encodes, sends slow uploads, and
has webhooks that fail. The second one creates a media, adds subtitles, uploads a file, or waits for an event.
Each trial compares the times of the second workspace under this load and without it. It checks that the load
lasts to the end. Two trials ingest many files with large sample tables at once, and measure memory and disk
space.

Each trial runs on new processes, once with SQLite and a folder and once with two processes on PostgreSQL and
S3. Exit status 0 when no limit is exceeded.
"""

import argparse
import collections.abc
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time

from client import ClientError
from cluster import Cluster
from large import with_large_moov
from main import make_clip
from slow_uploads import SlowUploads, send
from tenant_servers import SilentServer, TenantServers, make_uncopyable
from usage import Peak, encoders, on_disk, wait_until_idle
from workspace import HANG_TIMEOUT_S, Workspace, each, wait_until

# Extra time of the second workspace under load: a busy worker polls the rows every 0.5 s (crates/jobs,
# `POLL_EVERY`). A request waits for at most two such polls, for its job and its event.
EXTRA_WAIT_MAX_S = 1.0
# The same for a source that must be encoded, informational: a running encoder of the first workspace is not
# interrupted, which takes some seconds on a shared core. Players time out after 10 s.
ENCODED_EXTRA_WAIT_MAX_S = 10.0
# Number of measurements; the longest counts.
TIMES_ALONE = 5
TIMES_UNDER_LOAD = 3

# Twice the download slots of a process (crates/jobs, `DOWNLOADS_MAX`), so that as many again are queued.
HANGING_SOURCES = 2000
# Minimum of concurrent downloads: half the slots of one process. Others timed out and wait for their next
# attempt.
HANGING_SOURCES_MIN = 512
# Many times the subtitle slots of both processes (crates/jobs, `worker_pools`). A media can have 100 tracks,
# so four media.
HANGING_TRACKS = 200
HANGING_TRACKS_MEDIA = 4
HANGING_TRACKS_MIN = 8
# More than the encoder queue holds (crates/engine, `WAITING_MAX`), each with about a second of work for one
# core.
ENCODES = 200
# Minimum that is not ready when the second workspace is measured: more than there are cores.
ENCODES_MIN = 16
SLOW_UPLOADS = 500
# More than the S3 part memory of two processes allows (crates/blob, `S3Limits::parts_memory`), 64
# parts each.
SLOW_UPLOADS_MIN = 256
SILENT_WEBHOOKS = 20
FAILING_WEBHOOKS = 20
# Media and their changes. Each change notifies all webhooks of the workspace: about 25,000 deliveries.
NOTIFIED_MEDIA = 50
CHANGES_OF_MEDIA = 10
SILENT_POSTS_MIN = 10

MIB = 1 << 20
# Concurrent transfers.
TRANSFERS = 32
MOOV_BYTES = 64 << 20
# After the tables of an upload: more than the checkpoint interval (crates/intake, `CHECKPOINT_EVERY_BYTES`).
TRAILING_BYTES = 72 << 20
# Limit of each process. The `moov`s together are 2 GiB. A process parses one at a time, and uses some MiB
# for each transfer.
EXTRA_MEMORY_BYTES_MAX = 300 << 20
# Other objects than sources and indexes, as a share of the sources: leaked checkpoints would double them.
OTHER_OBJECTS_SHARE_MAX = 0.1
# Files that are not objects: the database with its log, and the logs of the processes.
OTHER_FILES_BYTES_MAX = 64 << 20
# 2 GiB of tables are parsed one after the other.
TRANSFERS_TIMEOUT_S = 1800.0
# Both ends of the sockets of 2,000 sources, and other files.
FILES_MIN = 8192


@dataclasses.dataclass
class TenantContext:
    """The context of a trial."""

    cluster: Cluster
    servers: TenantServers
    silent_server: SilentServer
    clip: bytes
    folder: pathlib.Path
    created: list[Workspace] = dataclasses.field(default_factory=list)
    has_failed: bool = False

    def workspaces(self) -> tuple[Workspace, Workspace]:
        """Two new workspaces: one that causes load, and one that is measured."""
        busy, measured = (Workspace(self.cluster, f"{name} {len(self.created)}") for name in ("Busy", "Measured"))
        self.created += [busy, measured]
        return busy, measured

    def delete_media(self) -> None:
        """Deletes the media of all workspaces, so that the next trial starts idle."""
        for workspace in self.created:
            workspace.delete_all()

    def alone(self, measure: collections.abc.Callable[[], float]) -> float:
        """The longest of several measurements without load, after a warm-up."""
        measure()
        return max(measure() for _ in range(TIMES_ALONE))

    def under_load(
        self, what: str, measure: collections.abc.Callable[[], float], alone: float, load: "Load", extra_wait_s: float = EXTRA_WAIT_MAX_S
    ) -> None:
        """Measures under load, and reports whether the limit holds."""
        is_required, limit = extra_wait_s == EXTRA_WAIT_MAX_S, alone + extra_wait_s
        loads, measured = [load.now()], []
        while len(measured) < TIMES_UNDER_LOAD and loads[-1] >= load.minimum:
            try:
                measured.append(measure())
            except TimeoutError:
                measured.append(HANG_TIMEOUT_S)  # it hangs: once is enough
                break
            loads.append(load.now())
        under = f"under load of {loads[0]} {load.of}, {loads[-1]} at the end"
        if len(measured) < TIMES_UNDER_LOAD and max(measured, default=0.0) <= limit:
            self.report(False, f"{what}, {under}: the load is below its minimum of {load.minimum}", is_required)
            return
        self.limit(f"{what}, {under}, alone {alone:.2f} s", max(measured), limit, "s", is_required)

    def limit(self, what: str, measured: float, limit: float, unit: str, is_required: bool = True) -> None:
        text = f"{what}: {measured:.2f} {unit}, limit {limit:.2f}"
        self.report(measured <= limit, text if is_required else f"{text} (informational)", is_required)

    def report(self, holds: bool, text: str, is_required: bool = True) -> None:
        self.has_failed |= is_required and not holds
        print(f"  {'ok' if holds else 'EXCEEDED':8} {text}", flush=True)


@dataclasses.dataclass
class Load:
    """Load of the first workspace, and the minimum for a valid trial."""

    now: collections.abc.Callable[[], int]
    minimum: int
    of: str


def downloads(context: TenantContext) -> None:
    """Many files with large sample tables by URL at once."""
    owner, _ = context.workspaces()
    url = context.servers.share("large", with_large_moov(context.clip, MOOV_BYTES, 1 << 20))

    def ingest() -> list[str]:
        media = owner.create_many(url, TRANSFERS)
        wait_until(lambda: all(status in ("Ready", "Failed") for status in each(owner.status, media)), TRANSFERS_TIMEOUT_S, 1)
        return [one for one in media if owner.status(one) == "Ready"]

    transfers(context, owner, ingest)


def large_uploads(context: TenantContext) -> None:
    """The same files as direct uploads, long enough for checkpoints of their scanners."""
    owner, _ = context.workspaces()
    content = with_large_moov(context.clip, MOOV_BYTES, TRAILING_BYTES)

    def ingest() -> list[str]:
        uploads = [owner.create_upload() for _ in range(TRANSFERS)]
        ports = itertools.cycle(node.port for node in context.cluster.nodes)
        with concurrent.futures.ThreadPoolExecutor(TRANSFERS) as threads:
            sent = [threads.submit(send, upload["url"], port, content) for upload, port in zip(uploads, ports)]
        failures = [str(one.exception()) for one in sent if one.exception()]
        if failures:
            print(f"  {len(failures)} uploads failed: {failures[0]}", flush=True)
        broken = sum(one.result() for one in sent if not one.exception())
        print(f"  the server closed {broken} requests of the others; the client resumed", flush=True)
        complete = [upload["uploadId"] for upload, one in zip(uploads, sent, strict=True) if not one.exception()]
        wait_until(lambda: all(status in ("Ready", "Failed") for status in each(owner.status, complete)), TRANSFERS_TIMEOUT_S, 1)
        return [one for one in complete if owner.status(one) == "Ready"]

    transfers(context, owner, ingest)


def transfers(context: TenantContext, owner: Workspace, ingest: collections.abc.Callable[[], list[str]]) -> None:
    """Measures many large transfers at once; `ingest` returns the media that became ready."""
    owner.ready_s(f"{context.servers.base}/clip")
    wait_until_idle(context.cluster)
    before, started = context.cluster.bytes_by_kind(), time.monotonic()
    with Peak(context.cluster) as peak:
        ready = ingest()
    took = time.monotonic() - started
    wait_until_idle(context.cluster)
    added = context.cluster.bytes_by_kind() - before
    objects, sources, indexes = added.total(), added["source"], added["index"]
    on_disk_after = on_disk(context.cluster) - peak.on_disk_before
    if context.cluster.is_folder:
        on_disk_after -= objects
    print(
        f"  {TRANSFERS} transfers with tables of {MOOV_BYTES // MIB} MiB took {took:.0f} s. "
        f"Sources {sources // MIB} MiB, indexes {indexes // MIB} MiB, "
        f"other objects {(objects - sources - indexes) // MIB} MiB ({', '.join(sorted(set(added) - {'source', 'index'})) or 'none'}); at most {(peak.on_disk - peak.on_disk_before) // MIB} MiB on the disk of the processes",
        flush=True,
    )
    context.limit("transfers that are not ready", TRANSFERS - len(ready), 0, "media")
    if len(context.cluster.nodes) > 1:
        print(f"  the processes together took at most {(peak.resident - peak.resident_before) // MIB} MiB extra memory", flush=True)
    context.limit("extra memory of one process", peak.extra_of_one / MIB, EXTRA_MEMORY_BYTES_MAX / MIB, "MiB")
    context.limit("objects other than sources and indexes", (objects - sources - indexes) / MIB, sources * OTHER_OBJECTS_SHARE_MAX / MIB, "MiB")
    context.limit("files of the processes other than objects", on_disk_after / MIB, OTHER_FILES_BYTES_MAX / MIB, "MiB")


def hanging_sources(context: TenantContext) -> None:
    """Sources that never respond."""
    busy, measured = context.workspaces()
    measure = lambda: measured.ready_s(f"{context.servers.base}/clip")
    alone = context.alone(measure)
    busy.create_many(context.silent_server.base, HANGING_SOURCES)
    load = Load(context.silent_server.open_connections, HANGING_SOURCES_MIN, f"of {HANGING_SOURCES} sources that never respond")
    wait_until(lambda: load.now() >= load.minimum)
    context.under_load("ready from a URL", measure, alone, load)


def hanging_tracks(context: TenantContext) -> None:
    """Subtitles that never respond."""
    busy, measured = context.workspaces()
    clip = f"{context.servers.base}/clip"
    media, *many = [measured.create(clip), *busy.create_many(clip, HANGING_TRACKS_MEDIA)]
    wait_until(lambda: measured.is_ready(media) and all(busy.is_ready(one) for one in many))
    measure = lambda: measured.track_s(media, f"{context.servers.base}/subtitles")
    alone = context.alone(measure)
    each(lambda number: busy.add_track(many[number % len(many)], context.silent_server.base), range(HANGING_TRACKS))
    load = Load(context.silent_server.open_connections, HANGING_TRACKS_MIN, f"of {HANGING_TRACKS} tracks that never respond")
    wait_until(lambda: load.now() >= load.minimum)
    context.under_load("subtitles available", measure, alone, load)


def encodes(context: TenantContext) -> None:
    """Sources that must be encoded."""
    busy, measured = context.workspaces()
    slow = context.servers.share("slow", make_uncopyable(context.folder, "slow.mkv", 10, "1920x1080"))
    # These are remuxed first (crates/jobs, `ingest::remux`), in a separate process.
    stream = context.servers.share("stream", make_uncopyable(context.folder, "stream.ts", 10, "1920x1080"))
    short = context.servers.share("short", make_uncopyable(context.folder, "short.mkv", 2, "426x240"))
    short_stream = context.servers.share("short-stream", make_uncopyable(context.folder, "short.ts", 2, "426x240"))
    copied, encoded = (lambda: measured.ready_s(f"{context.servers.base}/clip")), (lambda: measured.ready_s(short))
    remuxed = lambda: measured.ready_s(short_stream)
    copied_alone, encoded_alone, remuxed_alone = context.alone(copied), context.alone(encoded), context.alone(remuxed)
    served = context.servers.served("slow", "stream")
    media = [*busy.create_many(slow, ENCODES // 2), *busy.create_many(stream, ENCODES // 2)]
    unsettled = set(media)

    def count_unsettled() -> int:
        for one in [one for one, status in zip(media, each(busy.status, media), strict=True) if status in ("Ready", "Failed")]:
            unsettled.discard(one)
        return len(unsettled)

    # Measures the wait for encoders, so all downloads must be complete.
    wait_until(lambda: context.servers.served("slow", "stream") >= served + ENCODES and encoders(context.cluster) > 0)
    load = Load(count_unsettled, ENCODES_MIN, f"of {ENCODES} sources that are encoded, half of them remuxed first")
    context.under_load("ready from a URL", copied, copied_alone, load)
    context.under_load("ready from a URL that must be encoded", encoded, encoded_alone, load, ENCODED_EXTRA_WAIT_MAX_S)
    context.under_load("ready from a URL that must be remuxed and encoded", remuxed, remuxed_alone, load, 2 * ENCODED_EXTRA_WAIT_MAX_S)


def slow_uploads(context: TenantContext) -> None:
    """Slow direct uploads that never end."""
    busy, measured = context.workspaces()
    by_url, by_upload = (lambda: measured.ready_s(f"{context.servers.base}/clip")), (lambda: measured.upload_s(context.clip))
    by_url_alone, by_upload_alone = context.alone(by_url), context.alone(by_upload)
    addresses = [upload["url"] for upload in each(lambda _: busy.create_upload(), range(SLOW_UPLOADS))]
    with SlowUploads(context.cluster, addresses, context.clip) as uploads:
        load = Load(uploads.open_connections, SLOW_UPLOADS_MIN, f"of {SLOW_UPLOADS} slow uploads")
        # Each lease starts at the first bytes and is renewed every 5 s (crates/intake, `RENEW_EVERY`): waits
        # for one renewal.
        time.sleep(6)
        context.under_load("ready from a URL", by_url, by_url_alone, load)
        context.under_load("ready from an upload", by_upload, by_upload_alone, load)


def failing_webhooks(context: TenantContext) -> None:
    """Webhooks that never respond, and webhooks that respond with 500."""
    busy, measured = context.workspaces()
    measured.webhook(f"{context.servers.base}/events")

    def measure() -> float:
        started = time.monotonic()
        media = measured.create(f"{context.servers.base}/clip")
        return context.servers.wait_event("/events", "video.media.ready", media, HANG_TIMEOUT_S) - started

    alone = context.alone(measure)
    for number in range(SILENT_WEBHOOKS):
        busy.webhook(f"{context.silent_server.base}/{number}")
    for number in range(FAILING_WEBHOOKS):
        busy.webhook(f"{context.servers.base}/failing/{number}")
    media = busy.create_many(f"{context.servers.base}/clip", NOTIFIED_MEDIA)
    wait_until(lambda: all(each(busy.is_ready, media)))
    each(
        lambda number: busy.api("PATCH", f"/{media[number % len(media)]}", {"title": f"Title {number}"}),
        range(NOTIFIED_MEDIA * CHANGES_OF_MEDIA),
    )
    wait_until(lambda: context.servers.posts("failing") > FAILING_WEBHOOKS)
    wait_until(lambda: context.silent_server.open_connections() >= SILENT_POSTS_MIN)
    load = Load(context.silent_server.open_connections, SILENT_POSTS_MIN, f"posts to {SILENT_WEBHOOKS} webhooks that never respond and {FAILING_WEBHOOKS} that fail")
    context.under_load("video.media.ready arrived", measure, alone, load)


# The first ones need an idle disk; the last one leaves pending deliveries.
TRIALS = {
    "downloads": downloads,
    "large-uploads": large_uploads,
    "hanging": hanging_sources,
    "tracks": hanging_tracks,
    "encodes": encodes,
    "uploads": slow_uploads,
    "webhooks": failing_webhooks,
}
DEPLOYMENTS = {"sqlite": Cluster.single_server, "postgres": Cluster.two_servers}


def run(context: TenantContext, trial: str) -> None:
    """One trial on new processes and an idle cluster."""
    load = os.getloadavg()[0]
    print(f"{context.cluster.name}: {trial} (load of the machine before: {load:.1f})", flush=True)
    with context.cluster:
        wait_until_idle(context.cluster)
        os.sync()  # unwritten gigabytes of the trial before would delay each commit
        try:
            TRIALS[trial](context)
        except (ClientError, OSError, RuntimeError) as error:
            context.report(False, f"{trial}: {error}")
        context.delete_media()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=TRIALS, metavar="TRIAL", help=f"one of {', '.join(TRIALS)}; repeatable")
    parser.add_argument("--deployment", action="append", choices=DEPLOYMENTS, help="where to run; default: both")
    arguments = parser.parse_args()
    allow_many_files()
    has_failed = False
    with tempfile.TemporaryDirectory(prefix="kinora-tenants-", dir=os.environ.get("KINORA_SOAK_FOLDER")) as name:
        folder = pathlib.Path(name)
        clip = make_clip(folder).read_bytes()
        servers, silent_server = TenantServers(), SilentServer()
        servers.share("clip", clip)
        for deployment in arguments.deployment or DEPLOYMENTS:
            cluster = DEPLOYMENTS[deployment](pathlib.Path(os.environ["KINORA"]).resolve(), folder / deployment)
            context = TenantContext(cluster, servers, silent_server, clip, folder)
            for trial in TRIALS:
                if trial in (arguments.only or TRIALS):
                    run(context, trial)
            if context.has_failed:
                copy_logs(cluster, deployment)
            has_failed |= context.has_failed
            cluster.remove()
    print("no limit is exceeded" if not has_failed else "a limit is exceeded")
    return 1 if has_failed else 0


def allow_many_files() -> None:
    """Raises the limit of open files to its maximum; the servers inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < FILES_MIN:
        raise SystemExit(f"{FILES_MIN} files must be open at once, and {most} may be")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def copy_logs(cluster: Cluster, deployment: str) -> None:
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"kinora-tenants-logs-{deployment}-"))
    for node in cluster.nodes:
        shutil.copy(node.log, folder)
    print(f"the logs of the processes are in {folder}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
