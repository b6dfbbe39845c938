#!/usr/bin/env python3
"""Two workspaces on one site: whatever the first one does, the second one is served nearly as soon as alone.

    make soak
    soak/run.sh tenants [--place sqlite|postgres] [--only TRIAL]...

The first workspace asks for sources and subtitles that never answer, for encodes, sends slow uploads, and has webhooks that fail; the
second one creates a media, adds subtitles, uploads a file, or waits for an event. Each trial compares how long that takes with how long
it takes alone, and checks that the first workspace was still busy at the end. Two trials bring in many files with large tables at
once, and measure memory and disk space.

Each trial runs on new processes, once with SQLite and a folder and once with two processes on PostgreSQL and S3. Exit status 0 when every
limit held.
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
from large import with_large_moov
from loads import SlowUploads, send
from main import make_clip
from peers_of_tenants import Peers, Silent, make_uncopyable
from site_of_servers import Site
from usage import Peak, encoders, on_disk, wait_until_idle
from workspace import GIVES_UP_S, Workspace, each, until

# How much longer the second workspace may wait than alone: a worker that is busy looks at the rows each 0.5 s
# (crates/jobs, `POLL_EVERY`), and a request meets two such waits at most, that of its job and that of its event.
LATER_S = 1.0
# The same for a source that must be encoded, informational: an encoder that runs is not interrupted, so it waits for one of the first
# workspace, which takes some seconds on a core that others use too. A player gives up after so long.
ENCODED_LATER_S = 10.0
# Measured as often; the longest counts.
TIMES_ALONE = 5
TIMES_BESIDE = 3

# Twice the places of a process (crates/jobs, `DOWNLOADS`), so that as many again wait behind them.
HANGING_SOURCES = 2000
# Of them so many must be asked for at any moment: half the places of one process. Others were given up and wait for their next attempt.
HANGING_SOURCES_MIN = 512
# Many times the places of both processes (crates/jobs, `TRACKS`): tracks of four media, for one can have a hundred.
HANGING_TRACKS = 200
HANGING_TRACKS_MEDIA = 4
HANGING_TRACKS_MIN = 8
# More than may wait for an encoder at once (crates/engine, `WAITING_MAX`), each with about a second of work for one core.
ENCODES = 200
# So many are not ready when the second workspace is served: more than there are cores.
ENCODES_MIN = 16
SLOW_UPLOADS = 500
# More than two processes have memory for at once in a bucket (crates/blob, `S3Limits::parts_memory`: 64 parts each).
SLOW_UPLOADS_MIN = 256
SILENT_WEBHOOKS = 20
REFUSING_WEBHOOKS = 20
# Media and their changes, of each of which all webhooks of the workspace are notified: some 25,000 deliveries.
NOTIFIED_MEDIA = 50
CHANGES_OF_MEDIA = 10
SILENT_POSTS_MIN = 10

MIB = 1 << 20
# All at once.
TRANSFERS = 32
MOOV_BYTES = 64 << 20
# Behind the tables of an upload: it is longer than what a folder stores the state after (crates/intake, `CHECKPOINT_EVERY_BYTES`), twice.
BEHIND_BYTES = 72 << 20
# Limit of each process. The `moov`s together are 2 GiB. A process parses one at a time, and holds some MiB for
# each transfer.
MORE_MEMORY_BYTES = 300 << 20
# Objects beside sources and indexes, as a share of the sources: stored states that stay behind would double them.
BESIDE_SOURCES_SHARE = 0.1
# Files that are no objects: the database with its log, the logs of the processes.
BESIDE_OBJECTS_BYTES = 64 << 20
# 2 GiB of tables are read one after the other.
TRANSFERS_WITHIN_S = 1800.0
# Sockets of 2,000 sources, with the other end of each in this process, and what else is open.
FILES_MIN = 8192


@dataclasses.dataclass
class Ground:
    """What a trial works with."""

    site: Site
    peers: Peers
    silent: Silent
    clip: bytes
    folder: pathlib.Path
    made: list[Workspace] = dataclasses.field(default_factory=list)
    is_broken: bool = False

    def workspaces(self) -> tuple[Workspace, Workspace]:
        """Two new ones: the one that burdens the site, and the one that is measured."""
        loud, quiet = (Workspace(self.site, f"{name} {len(self.made)}") for name in ("Loud", "Quiet"))
        self.made += [loud, quiet]
        return loud, quiet

    def clean_up(self) -> None:
        """Deletes the media of all workspaces, so that the next trial finds nothing to do."""
        for workspace in self.made:
            workspace.delete_all()

    def alone(self, measure: collections.abc.Callable[[], float]) -> float:
        """The longest of several measurements; one before them warms the processes up."""
        measure()
        return max(measure() for _ in range(TIMES_ALONE))

    def beside(
        self, what: str, measure: collections.abc.Callable[[], float], alone: float, load: "Load", later_s: float = LATER_S
    ) -> None:
        """Measures while the load is there, and says whether the limit held."""
        is_promised, limit = later_s == LATER_S, alone + later_s
        present, measured = [load.now()], []
        while len(measured) < TIMES_BESIDE and present[-1] >= load.least:
            try:
                measured.append(measure())
            except TimeoutError:
                measured.append(GIVES_UP_S)  # it hangs: once is enough
                break
            present.append(load.now())
        beside = f"beside {present[0]} {load.of}, {present[-1]} at the end"
        if len(measured) < TIMES_BESIDE and max(measured, default=0.0) <= limit:
            self.say(False, f"{what}, {beside}: this is not the load that was to be measured, {load.least} at least", is_promised)
            return
        self.limit(f"{what}, {beside}, alone {alone:.2f} s", max(measured), limit, "s", is_promised)

    def limit(self, what: str, measured: float, limit: float, unit: str, is_promised: bool = True) -> None:
        text = f"{what}: {measured:.2f} {unit}, limit {limit:.2f}"
        self.say(measured <= limit, text if is_promised else f"{text} (informational)", is_promised)

    def say(self, holds: bool, text: str, is_promised: bool = True) -> None:
        self.is_broken |= is_promised and not holds
        print(f"  {'holds' if holds else 'BROKEN':6} {text}", flush=True)


@dataclasses.dataclass
class Load:
    """How busy the first workspace keeps the site, and how busy at least for a trial to mean something."""

    now: collections.abc.Callable[[], int]
    least: int
    of: str


def downloads(ground: Ground) -> None:
    """Files with large tables by URL, all at once."""
    owner, _ = ground.workspaces()
    url = ground.peers.share("large", with_large_moov(ground.clip, MOOV_BYTES, 1 << 20))

    def bring_in() -> list[str]:
        media = owner.create_many(url, TRANSFERS)
        until(lambda: all(status in ("Ready", "Failed") for status in each(owner.status, media)), TRANSFERS_WITHIN_S, 1)
        return [one for one in media if owner.status(one) == "Ready"]

    transfers(ground, owner, bring_in)


def large_uploads(ground: Ground) -> None:
    """The same files as direct uploads, long enough that the state of their scanners is stored meanwhile."""
    owner, _ = ground.workspaces()
    content = with_large_moov(ground.clip, MOOV_BYTES, BEHIND_BYTES)

    def bring_in() -> list[str]:
        uploads = [owner.create_upload() for _ in range(TRANSFERS)]
        ports = itertools.cycle(node.port for node in ground.site.nodes)
        with concurrent.futures.ThreadPoolExecutor(TRANSFERS) as threads:
            sent = [threads.submit(send, upload["url"], port, content) for upload, port in zip(uploads, ports)]
        failures = [str(one.exception()) for one in sent if one.exception()]
        if failures:
            print(f"  {len(failures)} uploads were given up: {failures[0]}", flush=True)
        broken = sum(one.result() for one in sent if not one.exception())
        print(f"  {broken} requests of the others were broken off by the server, which the client went on from", flush=True)
        whole = [upload["uploadId"] for upload, one in zip(uploads, sent, strict=True) if not one.exception()]
        until(lambda: all(status in ("Ready", "Failed") for status in each(owner.status, whole)), TRANSFERS_WITHIN_S, 1)
        return [one for one in whole if owner.status(one) == "Ready"]

    transfers(ground, owner, bring_in)


def transfers(ground: Ground, owner: Workspace, bring_in: collections.abc.Callable[[], list[str]]) -> None:
    """Measures what many large transfers at once take; `bring_in` answers the media that became ready."""
    owner.ready_s(f"{ground.peers.base}/clip")
    wait_until_idle(ground.site)
    before, begun = ground.site.bytes_of_kinds(), time.monotonic()
    with Peak(ground.site) as peak:
        ready = bring_in()
    took = time.monotonic() - begun
    wait_until_idle(ground.site)
    kept = ground.site.bytes_of_kinds() - before
    objects, sources, indexes = kept.total(), kept["source"], kept["index"]
    on_disk_after = on_disk(ground.site) - peak.on_disk_before
    if ground.site.is_folder:
        on_disk_after -= objects
    print(
        f"  {TRANSFERS} transfers with tables of {MOOV_BYTES // MIB} MiB took {took:.0f} s. "
        f"Sources {sources // MIB} MiB, indexes {indexes // MIB} MiB, "
        f"other objects {(objects - sources - indexes) // MIB} MiB ({', '.join(sorted(set(kept) - {'source', 'index'})) or 'none'}); at most {(peak.on_disk - peak.on_disk_before) // MIB} MiB on the disk of the processes",
        flush=True,
    )
    ground.limit("transfers that are not ready", TRANSFERS - len(ready), 0, "media")
    if len(ground.site.nodes) > 1:
        print(f"  the processes together took at most {(peak.resident - peak.resident_before) // MIB} MiB more memory", flush=True)
    ground.limit("more memory of one process than before", peak.more_of_one / MIB, MORE_MEMORY_BYTES / MIB, "MiB")
    ground.limit("objects beside sources and indexes", (objects - sources - indexes) / MIB, sources * BESIDE_SOURCES_SHARE / MIB, "MiB")
    ground.limit("files of the processes beside objects", on_disk_after / MIB, BESIDE_OBJECTS_BYTES / MIB, "MiB")


def hanging_sources(ground: Ground) -> None:
    """Sources that never answer."""
    loud, quiet = ground.workspaces()
    measure = lambda: quiet.ready_s(f"{ground.peers.base}/clip")
    alone = ground.alone(measure)
    loud.create_many(ground.silent.base, HANGING_SOURCES)
    load = Load(ground.silent.open, HANGING_SOURCES_MIN, f"of {HANGING_SOURCES} sources that never answer")
    until(lambda: load.now() >= load.least)
    ground.beside("ready from a URL", measure, alone, load)


def hanging_tracks(ground: Ground) -> None:
    """Subtitles that never answer."""
    loud, quiet = ground.workspaces()
    clip = f"{ground.peers.base}/clip"
    media, *many = [quiet.create(clip), *loud.create_many(clip, HANGING_TRACKS_MEDIA)]
    until(lambda: quiet.is_ready(media) and all(loud.is_ready(one) for one in many))
    measure = lambda: quiet.track_s(media, f"{ground.peers.base}/subtitles")
    alone = ground.alone(measure)
    each(lambda number: loud.add_track(many[number % len(many)], ground.silent.base), range(HANGING_TRACKS))
    load = Load(ground.silent.open, HANGING_TRACKS_MIN, f"of {HANGING_TRACKS} tracks that never answer")
    until(lambda: load.now() >= load.least)
    ground.beside("subtitles available", measure, alone, load)


def encodes(ground: Ground) -> None:
    """Sources that must be encoded."""
    loud, quiet = ground.workspaces()
    slow = ground.peers.share("slow", make_uncopyable(ground.folder, "slow.mkv", 10, "1920x1080"))
    # These are repacked first (crates/jobs, `normalise`), which takes a process of its own.
    stream = ground.peers.share("stream", make_uncopyable(ground.folder, "stream.ts", 10, "1920x1080"))
    short = ground.peers.share("short", make_uncopyable(ground.folder, "short.mkv", 2, "426x240"))
    short_stream = ground.peers.share("short-stream", make_uncopyable(ground.folder, "short.ts", 2, "426x240"))
    copied, encoded = (lambda: quiet.ready_s(f"{ground.peers.base}/clip")), (lambda: quiet.ready_s(short))
    repacked = lambda: quiet.ready_s(short_stream)
    copied_alone, encoded_alone, repacked_alone = ground.alone(copied), ground.alone(encoded), ground.alone(repacked)
    served = ground.peers.served("slow", "stream")
    media = [*loud.create_many(slow, ENCODES // 2), *loud.create_many(stream, ENCODES // 2)]
    left = set(media)

    def unsettled() -> int:
        for one in [one for one, status in zip(media, each(loud.status, media), strict=True) if status in ("Ready", "Failed")]:
            left.discard(one)
        return len(left)

    # What is measured is the wait for encoders: all sources have come by then.
    until(lambda: ground.peers.served("slow", "stream") >= served + ENCODES and encoders(ground.site) > 0)
    load = Load(unsettled, ENCODES_MIN, f"of {ENCODES} sources that are encoded, half of them repacked first")
    ground.beside("ready from a URL", copied, copied_alone, load)
    ground.beside("ready from a URL that must be encoded", encoded, encoded_alone, load, ENCODED_LATER_S)
    ground.beside("ready from a URL that must be repacked and encoded", repacked, repacked_alone, load, 2 * ENCODED_LATER_S)


def slow_uploads(ground: Ground) -> None:
    """Direct uploads that take for ever."""
    loud, quiet = ground.workspaces()
    by_url, by_upload = (lambda: quiet.ready_s(f"{ground.peers.base}/clip")), (lambda: quiet.upload_s(ground.clip))
    by_url_alone, by_upload_alone = ground.alone(by_url), ground.alone(by_upload)
    addresses = [upload["url"] for upload in each(lambda _: loud.create_upload(), range(SLOW_UPLOADS))]
    with SlowUploads(ground.site, addresses, ground.clip) as uploads:
        load = Load(uploads.open, SLOW_UPLOADS_MIN, f"of {SLOW_UPLOADS} slow uploads")
        # Each is noted at its first bytes, then every 5 s (crates/intake, `RENEW_EVERY`): one round of that is over.
        time.sleep(6)
        ground.beside("ready from a URL", by_url, by_url_alone, load)
        ground.beside("ready from an upload", by_upload, by_upload_alone, load)


def failing_webhooks(ground: Ground) -> None:
    """Webhooks that never answer, and webhooks that answer 500."""
    loud, quiet = ground.workspaces()
    quiet.webhook(f"{ground.peers.base}/events")

    def measure() -> float:
        begun = time.monotonic()
        media = quiet.create(f"{ground.peers.base}/clip")
        return ground.peers.wait_event("/events", "video.media.ready", media, GIVES_UP_S) - begun

    alone = ground.alone(measure)
    for number in range(SILENT_WEBHOOKS):
        loud.webhook(f"{ground.silent.base}/{number}")
    for number in range(REFUSING_WEBHOOKS):
        loud.webhook(f"{ground.peers.base}/refusing/{number}")
    media = loud.create_many(f"{ground.peers.base}/clip", NOTIFIED_MEDIA)
    until(lambda: all(each(loud.is_ready, media)))
    each(
        lambda number: loud.api("PATCH", f"/{media[number % len(media)]}", {"title": f"Title {number}"}),
        range(NOTIFIED_MEDIA * CHANGES_OF_MEDIA),
    )
    until(lambda: ground.peers.posts("refusing") > REFUSING_WEBHOOKS)
    until(lambda: ground.silent.open() >= SILENT_POSTS_MIN)
    load = Load(ground.silent.open, SILENT_POSTS_MIN, f"posts to {SILENT_WEBHOOKS} webhooks that never answer and {REFUSING_WEBHOOKS} that refuse")
    ground.beside("video.media.ready arrived", measure, alone, load)


# The first ones on a disk that nothing was done with, the last one leaves deliveries behind.
TRIALS = {
    "downloads": downloads,
    "large-uploads": large_uploads,
    "hanging": hanging_sources,
    "tracks": hanging_tracks,
    "encodes": encodes,
    "uploads": slow_uploads,
    "webhooks": failing_webhooks,
}
PLACES = {"sqlite": Site.of_one, "postgres": Site.of_two}


def run(ground: Ground, trial: str) -> None:
    """One trial on new processes, which find the site idle."""
    load = os.getloadavg()[0]
    print(f"{ground.site.name}: {trial} (load of the machine before: {load:.1f})", flush=True)
    with ground.site:
        wait_until_idle(ground.site)
        os.sync()  # gigabytes of the trial before hold up each commit while they are written
        try:
            TRIALS[trial](ground)
        except (ClientError, OSError, RuntimeError) as error:
            ground.say(False, f"{trial}: {error}")
        ground.clean_up()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=TRIALS, metavar="TRIAL", help=f"one of {', '.join(TRIALS)}; may be given again")
    parser.add_argument("--place", action="append", choices=PLACES, help="where to run, both by default")
    asked = parser.parse_args()
    allow_many_files()
    is_broken = False
    with tempfile.TemporaryDirectory(prefix="kinora-tenants-", dir=os.environ.get("KINORA_SOAK_FOLDER")) as name:
        folder = pathlib.Path(name)
        clip = make_clip(folder).read_bytes()
        peers, silent = Peers(), Silent()
        peers.share("clip", clip)
        for place in asked.place or PLACES:
            site = PLACES[place](pathlib.Path(os.environ["KINORA"]).resolve(), folder / place)
            ground = Ground(site, peers, silent, clip, folder)
            for trial in TRIALS:
                if trial in (asked.only or TRIALS):
                    run(ground, trial)
            if ground.is_broken:
                keep_logs(site, place)
            is_broken |= ground.is_broken
            site.remove()
    print("every limit held" if not is_broken else "a limit was broken")
    return 1 if is_broken else 0


def allow_many_files() -> None:
    """As many open files as this user may have, for the servers too, which inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < FILES_MIN:
        raise SystemExit(f"{FILES_MIN} files must be open at once, and {most} may be")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def keep_logs(site: Site, place: str) -> None:
    kept = pathlib.Path(tempfile.mkdtemp(prefix=f"kinora-tenants-logs-{place}-"))
    for node in site.nodes:
        shutil.copy(node.log, kept)
    print(f"the logs of the processes are in {kept}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
