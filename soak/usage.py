"""Memory, disk space and processor time of the processes of a site, as the kernel counts them."""

import os
import pathlib
import subprocess
import threading
import time

from site_of_servers import Site

LOOK_EVERY_S = 0.05
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
BLOCK_BYTES = 512
# A process that waits for nobody uses less of a core; what is looked at each half second takes some.
IDLE_SHARE = 0.1
IDLE_WITHIN_S = 120.0


def resident(site: Site) -> list[int]:
    """Bytes of memory of each process of the site, without those of its encoders."""
    each = []
    for node in site.nodes:
        status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        each.append(int(line.split()[1]) * 1024)
    return each


def on_disk(site: Site) -> int:
    """Bytes on the disk below the folder of the site: data, scratch, and files that have no name any more but are open."""
    seen: dict[tuple[int, int], int] = {}
    top = site.folder.resolve()
    for folder, _, names in os.walk(top):
        for name in names:
            note(seen, os.path.join(folder, name))
    for node in site.nodes:
        opened = f"/proc/{node.process.pid}/fd"
        for number in os.listdir(opened):
            try:
                target = os.readlink(f"{opened}/{number}")
            except OSError:
                continue  # closed meanwhile
            if target.startswith(f"{top}/"):
                note(seen, f"{opened}/{number}")
    return sum(seen.values())


def note(seen: dict[tuple[int, int], int], path: str) -> None:
    """Counts a file once, however many names it has."""
    try:
        found = os.stat(path)
    except OSError:
        return  # removed meanwhile
    seen[found.st_dev, found.st_ino] = found.st_blocks * BLOCK_BYTES


class Peak:
    """The most memory and disk space that a site takes for a while. Use it as a context manager."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._before = resident(site)
        self.resident_before, self.on_disk_before = sum(self._before), on_disk(site)
        self.resident, self.on_disk = self.resident_before, self.on_disk_before
        self.more_of_one = 0
        """The most memory that a single process took more than before."""
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ends.wait(LOOK_EVERY_S):
            now = resident(self._site)
            self.resident = max(self.resident, sum(now))
            self.more_of_one = max(self.more_of_one, *(after - before for before, after in zip(self._before, now, strict=True)))
            self.on_disk = max(self.on_disk, on_disk(self._site))


def encoders(site: Site) -> int:
    """Child processes of the site's processes."""
    parents = ",".join(str(node.process.pid) for node in site.nodes)
    run = subprocess.run(["pgrep", "--count", "--parent", parents], capture_output=True, text=True, check=False)
    return int(run.stdout)


def wait_until_idle(site: Site) -> None:
    """Waits until the processes have nothing left to do, two minutes at most: what an earlier trial left is not measured."""
    until = time.monotonic() + IDLE_WITHIN_S
    used = processor_s(site)
    while time.monotonic() < until:
        time.sleep(1)
        before, used = used, processor_s(site)
        if used - before < IDLE_SHARE * len(site.nodes) and encoders(site) == 0:
            return
    print(f"  the processes are still busy after {IDLE_WITHIN_S:.0f} s", flush=True)


def processor_s(site: Site) -> float:
    """Processor time of the processes so far."""
    total = 0
    for node in site.nodes:
        fields = pathlib.Path(f"/proc/{node.process.pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])  # proc(5): utime and stime, counted from the state
    return total / TICKS_A_SECOND
