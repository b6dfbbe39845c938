-- What each workspace used on each day, in UTC. The first three are sums that processes add to.
CREATE TABLE usage_day (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    -- `2025-11-03`
    day TEXT NOT NULL,
    encoded_us INTEGER NOT NULL DEFAULT 0 CHECK (encoded_us >= 0),
    delivered_us INTEGER NOT NULL DEFAULT 0 CHECK (delivered_us >= 0),
    delivered_bytes INTEGER NOT NULL DEFAULT 0 CHECK (delivered_bytes >= 0),
    -- As it was measured last on that day, and when.
    stored_bytes INTEGER CHECK (stored_bytes >= 0),
    stored_at INTEGER,
    UNIQUE (workspace_id, day),
    CHECK ((stored_bytes IS NULL) = (stored_at IS NULL))
) STRICT;

-- Which of its sums each process has written: one whose commit it never heard of is not added twice.
CREATE TABLE usage_writer (
    id TEXT NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL CHECK (number > 0),
    written_at INTEGER NOT NULL
) STRICT;

CREATE INDEX usage_writer_written ON usage_writer (written_at);
