-- What each workspace used on each day, in UTC. The first three are sums that processes add to.
CREATE TABLE usage_day (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    -- `2025-11-03`
    day TEXT COLLATE "C" NOT NULL,
    encoded_us BIGINT NOT NULL DEFAULT 0 CHECK (encoded_us >= 0),
    delivered_us BIGINT NOT NULL DEFAULT 0 CHECK (delivered_us >= 0),
    delivered_bytes BIGINT NOT NULL DEFAULT 0 CHECK (delivered_bytes >= 0),
    -- As it was measured last on that day, and when.
    stored_bytes BIGINT CHECK (stored_bytes >= 0),
    stored_at BIGINT,
    UNIQUE (workspace_id, day),
    CHECK ((stored_bytes IS NULL) = (stored_at IS NULL))
);

-- Which of its sums each process has written: one whose commit it never heard of is not added twice.
CREATE TABLE usage_writer (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL CHECK (number > 0),
    written_at BIGINT NOT NULL
);

CREATE INDEX usage_writer_written ON usage_writer (written_at);
