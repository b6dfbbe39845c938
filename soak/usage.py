"""Memory, disk space and CPU time of the processes of a cluster, from the kernel."""

import os
import pathlib
import subprocess
import threading
import time

from cluster import Cluster

POLL_INTERVAL_S = 0.05
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
BLOCK_BYTES = 512
# An idle process uses less of a core; its polls every half second take some.
IDLE_SHARE = 0.1
IDLE_TIMEOUT_S = 120.0


def resident(cluster: Cluster) -> list[int]:
    """Resident bytes of each process of the cluster, without encoders."""
    each = []
    for node in cluster.nodes:
        status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        each.append(int(line.split()[1]) * 1024)
    return each


def on_disk(cluster: Cluster) -> int:
    """Bytes on disk below the folder of the cluster: data, scratch, and open files without a name."""
    seen: dict[tuple[int, int], int] = {}
    top = cluster.folder.resolve()
    for folder, _, names in os.walk(top):
        for name in names:
            count_file(seen, os.path.join(folder, name))
    for node in cluster.nodes:
        opened = f"/proc/{node.process.pid}/fd"
        for number in os.listdir(opened):
            try:
                target = os.readlink(f"{opened}/{number}")
            except OSError:
                continue  # closed meanwhile
            if target.startswith(f"{top}/"):
                count_file(seen, f"{opened}/{number}")
    return sum(seen.values())


def count_file(seen: dict[tuple[int, int], int], path: str) -> None:
    """Counts a file once, also with several names."""
    try:
        found = os.stat(path)
    except OSError:
        return  # removed meanwhile
    seen[found.st_dev, found.st_ino] = found.st_blocks * BLOCK_BYTES


class Peak:
    """Peak memory and disk space of a cluster. Use it as a context manager."""

    def __init__(self, cluster: Cluster) -> None:
        self._site = cluster
        self._before = resident(cluster)
        self.resident_before, self.on_disk_before = sum(self._before), on_disk(cluster)
        self.resident, self.on_disk = self.resident_before, self.on_disk_before
        self.extra_of_one = 0
        """Largest growth of a single process in bytes."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll)

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._stop.wait(POLL_INTERVAL_S):
            now = resident(self._site)
            self.resident = max(self.resident, sum(now))
            self.extra_of_one = max(self.extra_of_one, *(after - before for before, after in zip(self._before, now, strict=True)))
            self.on_disk = max(self.on_disk, on_disk(self._site))


def encoders(cluster: Cluster) -> int:
    """Number of child processes of the cluster's processes."""
    parents = ",".join(str(node.process.pid) for node in cluster.nodes)
    run = subprocess.run(["pgrep", "--count", "--parent", parents], capture_output=True, text=True, check=False)
    return int(run.stdout)


def wait_until_idle(cluster: Cluster) -> None:
    """Waits up to two minutes until the processes are idle, to exclude work of an earlier trial."""
    deadline = time.monotonic() + IDLE_TIMEOUT_S
    used = cpu_s(cluster)
    while time.monotonic() < deadline:
        time.sleep(1)
        before, used = used, cpu_s(cluster)
        if used - before < IDLE_SHARE * len(cluster.nodes) and encoders(cluster) == 0:
            return
    print(f"  the processes are still busy after {IDLE_TIMEOUT_S:.0f} s", flush=True)


def cpu_s(cluster: Cluster) -> float:
    """CPU time of the processes so far."""
    total = 0
    for node in cluster.nodes:
        fields = pathlib.Path(f"/proc/{node.process.pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])  # proc(5): utime and stime, counted from the state
    return total / TICKS_A_SECOND
