"""Pages of a list of a million media, against pages of a list of a thousand."""

import http.client
import pathlib
import re
from collections.abc import Callable, Sequence

import load
import machine
from bench import Bench
from kinora import Kinora
from report import Row, cost_against_baseline, figure
from seed_database import seed

FEW, MANY = 1_000, 1_000_000
LIMIT = 10
RECORDS_BY_NUMBER = 10_000
ROUNDS = 5
SECONDS = 2
WARM_UP_SECONDS = 1
RATIO_MAX = 2
FILTERS = {
    "creatorId, a hundredth of the list": "creatorId=creator%207",
    "metadata[project], a thousandth": "metadata%5Bproject%5D=7",
    "title, by its prefix": "title=CLIP%2099",
    "status, all of the list": "status=Ready",
    "creatorId and metadata[project]": "creatorId=creator%207&metadata%5Bproject%5D=7",
}


def measure(bench: Bench) -> list[Row]:
    """A server for each list, alternately; on one CPU, the load generator on the other."""
    folder = bench.folder / "lists"
    with (
        Kinora(bench, f"{folder.name}-few", cpu=machine.SERVER_CPU) as few,
        Kinora(bench, f"{folder.name}-many", cpu=machine.SERVER_CPU) as many,
    ):
        seed(few, FEW)
        seed(many, MANY)

        def compare(what: str, few_paths: Sequence[str], many_paths: Sequence[str]) -> Row:
            ours, theirs = alternate((many, few), (many_paths, few_paths), folder)
            return cost_against_baseline(f"{what}, of {MANY:,} media over {FEW:,}", ours, theirs, "ms", RATIO_MAX)

        rows = [
            compare("a page by cursor", by_cursor(few, FEW), by_cursor(many, MANY)),
            compare(
                f"pages by number up to record {RECORDS_BY_NUMBER:,}",
                by_number(range(1, FEW // LIMIT + 1)),
                by_number(range(1, RECORDS_BY_NUMBER // LIMIT + 1)),
            ),
            compare(
                f"the page by number at record {RECORDS_BY_NUMBER:,} (over record {FEW // 2:,})",
                by_number([FEW // 2 // LIMIT]),
                by_number([RECORDS_BY_NUMBER // LIMIT]),
            ),
        ]
        for name, query in FILTERS.items():
            (ours,) = alternate((many,), ([f"/v1/on-demand?limit={LIMIT}&{query}"],), folder)
            rows.append(figure(f"the first page of {MANY:,} with {name}", ours, "ms"))
        for record in (100_000, MANY // 2):
            (ours,) = alternate((many,), (by_number([record // LIMIT]),), folder)
            rows.append(figure(f"the page by number at record {record:,} of {MANY:,}", ours, "ms"))
    return rows


def alternate(
    servers: Sequence[Kinora], paths: Sequence[Sequence[str]], folder: pathlib.Path
) -> list[list[float]]:
    """Milliseconds per page of each server, measured alternately."""
    folder.mkdir(exist_ok=True)
    runs: list[Callable[[int], load.Load]] = []
    for number, (server, some) in enumerate(zip(servers, paths, strict=True)):
        file = folder / f"paths-{number}"
        file.write_text("".join(f"{path}\n" for path in some))
        headers = (f"Authorization: {server.authorization}",)
        runs.append(lambda seconds, base=server.base, file=file, headers=headers: load.run(base, file, seconds, headers))
    for run in runs:
        run(WARM_UP_SECONDS)
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for run, measured in zip(runs, times, strict=True):
            measured.append(1000 / run(SECONDS).per_second)
    return times


def by_number(numbers: Sequence[int]) -> list[str]:
    return [f"/v1/on-demand?limit={LIMIT}&offset={number}" for number in numbers]


def by_cursor(server: Kinora, count: int) -> list[str]:
    """Cursor pages spread over a list, from the links of the pages before them."""
    pages = count // LIMIT
    return [next_of(server, path) for path in by_number(range(1, pages, max(1, pages // 50)))]


def next_of(server: Kinora, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("GET", path, headers={"Authorization": server.authorization})
        response = connection.getresponse()
        response.read()
        links = response.headers["Link"]
    finally:
        connection.close()
    found = re.search(r"<http://[^/]+(/[^>]+)>; rel=\"next\"", links)
    if response.status != 200 or not found:
        raise RuntimeError(f"GET {path} returned {response.status} with the links {links!r}")
    return found[1]
