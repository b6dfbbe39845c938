"""Inserts media into the database of a server by SQL: a million through the API takes an hour.

    python3 seed_database.py FILE COUNT    into the workspace Development of this SQLite database
"""

import pathlib
import sqlite3
import subprocess
import sys

from kinora import Kinora

# Kinora's ids are ordered by time; these by number. The last group distinguishes rows of one media.
IDS = {
    "sqlite": "printf('%08x-0000-7000-8000-%012x', {n}, {kind})",
    "postgres": "lpad(to_hex({n}), 8, '0') || '-0000-7000-8000-' || lpad(to_hex({kind}), 12, '0')",
}
NUMBERS = {
    "sqlite": "(WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < {count}) SELECT n FROM up) AS number",
    "postgres": "generate_series(CAST(1 AS bigint), {count}) AS number (n)",
}
# One media per second since 2024, spread evenly over 100 creators and 1,000 projects.
STATEMENTS = (
    """INSERT INTO media (id, workspace_id, title, title_key, creator_id, metadata, max_resolution, quality, source_access, optimize_audio,
        state, state_at, source_id, duration_us, source_resolution, aspect_width, aspect_height, is_truncated, does_not_decode,
        container, rungs, created_at, updated_at, version)
       SELECT {media}, '{workspace}', 'Clip ' || n, 'clip ' || n, 'creator ' || (n % 100), '{{"project":"' || (n % 1000) || '"}}', '1080p',
        'standard', 0, 0, 'Ready', 1704067200000000 + n * 1000000, {source}, 60000000, '1080p', 16, 9, 0, 0, 'mp4', '720p 480p 360p 240p',
        1704067200000000 + n * 1000000, 1704067200000000 + n * 1000000, 1 FROM {numbers}""",
    """INSERT INTO media_metadata (media_id, media_version, workspace_id, key, value, created_at)
       SELECT {media}, 1, '{workspace}', 'project', CAST(n % 1000 AS TEXT), 1704067200000000 + n * 1000000 FROM {numbers}""",
    """INSERT INTO input (id, media_id, media_version, position, url)
       SELECT {input}, {media}, 1, 0, 'https://media.example/' || n || '.mp4' FROM {numbers}""",
    """INSERT INTO playback_id (id, media_id, media_version, position, policy, restrictions, created_at)
       SELECT {playback}, {media}, 1, 0, 'public',
        '{{"domains":{{"default":"allow","allow":[],"deny":[]}},"user_agents":{{"default":"allow","allow":[],"deny":[]}}}}',
        1704067200000000 + n * 1000000 FROM {numbers}""",
    """INSERT INTO track (id, media_id, media_version, position, kind, width, height, frame_rate_numerator, frame_rate_denominator)
       SELECT {video}, {media}, 1, 0, 'video', 1920, 1080, 30, 1 FROM {numbers}""",
    """INSERT INTO track (id, media_id, media_version, position, kind, language_code, language_name)
       SELECT {audio}, {media}, 1, 1, 'audio', 'en', 'English' FROM {numbers}""",
    "UPDATE workspace SET media_count = {count} WHERE id = '{workspace}'",
)
KINDS = ("media", "source", "input", "playback", "video", "audio")
WORKSPACE = "SELECT id FROM workspace WHERE name = 'Development'"


def seed(kinora: Kinora, count: int) -> None:
    """Inserts ready media into the workspace of the server's token. PostgreSQL runs `VACUUM ANALYZE`."""
    if url := kinora.environment.get("KINORA_DATABASE_URL"):
        psql = ["psql", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1", url]
        found = subprocess.run([*psql, "--command", WORKSPACE], check=True, capture_output=True, text=True)
        script = ";\n".join(statements("postgres", found.stdout.strip(), count))
        subprocess.run([*psql, "--single-transaction"], check=True, input=script, text=True)
        subprocess.run([*psql, "--command", "VACUUM ANALYZE"], check=True)
    else:
        seed_sqlite(kinora.folder / "data" / "kinora.db", count)


def seed_sqlite(path: pathlib.Path, count: int) -> None:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    (workspace,) = connection.execute(WORKSPACE).fetchone()
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements("sqlite", workspace, count):
        connection.execute(statement)
    connection.execute("COMMIT")
    connection.close()


def statements(engine: str, workspace: str, count: int) -> list[str]:
    ids = {kind: IDS[engine].format(n="n", kind=number) for number, kind in enumerate(KINDS)}
    numbers = NUMBERS[engine].format(count=count)
    return [text.format(workspace=workspace, count=count, numbers=numbers, **ids) for text in STATEMENTS]


if __name__ == "__main__":
    seed_sqlite(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
