-- Direct uploads. The id is that of the media that an upload becomes.
CREATE TABLE upload (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    title TEXT,
    creator_id TEXT,
    metadata TEXT,
    max_resolution TEXT NOT NULL,
    quality TEXT NOT NULL,
    source_access INTEGER NOT NULL CHECK (source_access IN (0, 1)),
    optimize_audio INTEGER NOT NULL CHECK (optimize_audio IN (0, 1)),
    policy TEXT NOT NULL CHECK (policy IN ('public', 'private')),
    cors_origin TEXT NOT NULL,
    timeout_s INTEGER NOT NULL CHECK (timeout_s > 0),
    size_max INTEGER CHECK (size_max > 0),
    source_id TEXT NOT NULL UNIQUE,
    length INTEGER CHECK (length > 0),
    state TEXT NOT NULL CHECK (state IN ('waiting', 'uploading', 'completed', 'cancelled', 'timedout', 'failed')),
    -- When the state began; of one that is uploading, when bytes were last kept.
    state_at INTEGER,
    -- Bytes from the start, when it was last written down. What lies in the store of objects may be more.
    kept INTEGER NOT NULL CHECK (kept >= 0),
    failure_code TEXT,
    failure_message TEXT,
    -- The objects of the source belong to the upload: nothing has come of them yet, and nobody gave them up.
    holds_source INTEGER NOT NULL CHECK (holds_source IN (0, 1)),
    -- Whoever takes the upload over counts this up, and is the only one who can write of it from then on.
    lease_number INTEGER NOT NULL DEFAULT 0 CHECK (lease_number >= 0),
    lease_owner TEXT,
    -- In a bucket: the upload in parts that the store of objects has under way.
    multipart TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 0),
    CHECK ((state = 'waiting') = (state_at IS NULL)),
    CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'failed') = (failure_message IS NOT NULL)),
    CHECK (state <> 'completed' OR length IS NOT NULL)
) STRICT;

CREATE INDEX upload_unused ON upload (workspace_id, created_at, id) WHERE state <> 'completed';
CREATE INDEX upload_created ON upload (created_at, id);

-- In a bucket: the parts that the store of objects has acknowledged, from the start and without a gap.
CREATE TABLE upload_part (
    upload_id TEXT NOT NULL REFERENCES upload (id) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number >= 0),
    len INTEGER NOT NULL CHECK (len > 0),
    part_id TEXT NOT NULL,
    UNIQUE (upload_id, number)
) STRICT;
