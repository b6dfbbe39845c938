"""The dashboard: its mount of the API, sign-ins at once, and how soon its pages can be used."""

import concurrent.futures
import http.client
import json
import pathlib
import subprocess
from collections.abc import Callable

import cpu_time
import load
import machine
from bench import Bench
from deployments import OneMachine
from kinora import Kinora
from report import Row, at_most, cost_against_baseline
from seed_database import seed

ROUNDS = 11
SECONDS = 2
WARM_UP_SECONDS = 1
MOUNT_RATIO_MAX = 1.05
MEDIA = 10_000
PAGE = 48
"""Media on one page of the library."""
SIGN_INS = 20
SIGN_IN_ROUNDS = 5
SIGN_IN_MEMORY_MAX_MIB = 200
PAGE_ROUNDS = 7
SIGN_IN_USABLE_MAX_MS, LIBRARY_USABLE_MAX_MS = 1500, 1000
PEOPLE = 4
"""An account takes five sign-ins at once; further ones wait for their results."""
PASSWORD = "quiet harbour lantern seven"
SCRIPT = pathlib.Path(__file__).parent.parent / "web" / "e2e" / "page-usable.mjs"


def measure(bench: Bench) -> list[Row]:
    """A library of 10,000 media. All clients are on the second CPU."""
    folder = bench.folder / "dashboard"
    with Kinora(bench, folder.name, cpu=machine.SERVER_CPU) as kinora:
        seed(kinora, MEDIA)
        cookie = set_up(kinora)
        workspace = workspace_of(kinora, cookie)
        rows = mount(kinora, cookie, workspace, folder)
        if isinstance(bench.deployment, OneMachine):
            rows += pages(kinora, cookie, workspace)
    return [*rows, *sign_ins(bench)]


def mount(kinora: Kinora, cookie: str, workspace: str, folder: pathlib.Path) -> list[Row]:
    """CPU time of the server per answer at the mount and at `/v1`, alternately."""
    prefix = f"/dashboard/api/workspaces/{workspace}"
    media = json.loads(kinora.get("/v1/on-demand?limit=1"))["data"][0]["id"]
    rows = []
    for what, path in {f"a list of {PAGE} media": f"/on-demand?limit={PAGE}", "one media": f"/on-demand/{media}"}.items():
        ways = {
            "mount": runner(kinora, folder / "mount.txt", prefix + path, f"Cookie: {cookie}"),
            "v1": runner(kinora, folder / "v1.txt", f"/v1{path}", f"Authorization: {kinora.authorization}"),
        }
        cpu_us: dict[str, list[float]] = {way: [] for way in ways}
        for run in ways.values():
            run(WARM_UP_SECONDS)
        for number in range(ROUNDS):
            for way in sorted(ways, reverse=number % 2 == 1):
                cpu_us[way].append(cpu_per_answer_us(kinora, ways[way]))
        rows.append(
            cost_against_baseline(
                f"CPU time of {what} at the dashboard, over /v1", cpu_us["mount"], cpu_us["v1"], "us", MOUNT_RATIO_MAX
            )
        )
    return rows


def cpu_per_answer_us(kinora: Kinora, run: Callable[[int], load.Load]) -> float:
    before_s = cpu_time.of_tree(kinora.process.pid)
    requests = run(SECONDS).requests
    return (cpu_time.of_tree(kinora.process.pid) - before_s) * 1e6 / requests


def runner(kinora: Kinora, file: pathlib.Path, path: str, header: str) -> Callable[[int], load.Load]:
    file.write_text(f"{path}\n")
    return lambda seconds: load.run(kinora.base, file, seconds, (header,))


def pages(kinora: Kinora, cookie: str, workspace: str) -> list[Row]:
    """Pages in a new Chromium profile each, at 10 Mb/s, 40 ms, and a CPU that is four times slower.

    Chromium has both CPUs: it slows its pages down with a thread of its own, which needs the second one.
    """
    targets = {
        "sign-in": ("/dashboard/sign-in", "", SIGN_IN_USABLE_MAX_MS),
        f"library of {MEDIA:,} media": (f"/dashboard/w/{workspace}/library", cookie, LIBRARY_USABLE_MAX_MS),
    }
    rows = []
    for what, (path, value, most_ms) in targets.items():
        command = ["node", SCRIPT, kinora.base + path, "--cookie", value, "--rounds", str(PAGE_ROUNDS)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows.append(at_most(f"{what}: address → usable in Chromium", json.loads(output), "ms", most_ms))
    return rows


def sign_ins(bench: Bench) -> list[Row]:
    """Peak memory of a new server while 20 people sign in at once."""
    peaks = []
    for number in range(SIGN_IN_ROUNDS):
        with Kinora(bench, f"sign-ins-{number}") as kinora:
            for person in range(PEOPLE):
                set_up(kinora, person)
            with concurrent.futures.ThreadPoolExecutor(SIGN_INS) as clients:
                answers = list(clients.map(lambda number: sign_in(kinora, number % PEOPLE), range(SIGN_INS)))
            if not {201, 503}.issuperset(answers) or 201 not in answers:
                raise RuntimeError(f"sign-ins returned {answers}")
            peaks.append(kinora.memory_kib("VmHWM") / 1024)
    return [at_most(f"peak memory, {SIGN_INS} sign-ins at once", peaks, "MiB", SIGN_IN_MEMORY_MAX_MIB)]


def sign_in(kinora: Kinora, person: int) -> int:
    status, _, _ = post(kinora, "/session", {"email": email_of(person), "password": PASSWORD})
    return status


def email_of(person: int) -> str:
    return f"bench{person}@northlight.example"


def set_up(kinora: Kinora, person: int = 0) -> str:
    """Creates an administrator and returns the cookie of a session."""
    made = kinora.command("user", "create", "--email", email_of(person), "--role", "administrator")
    secret = made["link"]["url"].partition("#")[2]
    status, headers, body = post(kinora, "/links/use", {"secret": secret, "name": "Bench", "password": PASSWORD})
    if status != 201:
        raise RuntimeError(f"the setup link returned {status}: {body}")
    return headers["Set-Cookie"].partition(";")[0]


def workspace_of(kinora: Kinora, cookie: str) -> str:
    """The workspace with the media."""
    _, _, body = request(kinora, "GET", "/workspaces", None, {"Cookie": cookie})
    return next(workspace["id"] for workspace in body["data"] if workspace["name"] == "Development")


def post(kinora: Kinora, path: str, body: dict) -> tuple[int, http.client.HTTPMessage, dict]:
    headers = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    return request(kinora, "POST", path, json.dumps(body), headers)


def request(
    kinora: Kinora, method: str, path: str, body: str | None, headers: dict[str, str]
) -> tuple[int, http.client.HTTPMessage, dict]:
    """Status, headers and JSON of a request below `/dashboard/api`."""
    connection = http.client.HTTPConnection("127.0.0.1", kinora.port, timeout=60)
    try:
        connection.request(method, f"/dashboard/api{path}", body, headers)
        response = connection.getresponse()
        return response.status, response.headers, json.loads(response.read())
    finally:
        connection.close()
