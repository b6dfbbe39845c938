-- Direct uploads. The id is that of the media that an upload becomes.
CREATE TABLE upload (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    title TEXT COLLATE "C",
    creator_id TEXT COLLATE "C",
    metadata TEXT COLLATE "C",
    max_resolution TEXT COLLATE "C" NOT NULL,
    quality TEXT COLLATE "C" NOT NULL,
    source_access BIGINT NOT NULL CHECK (source_access IN (0, 1)),
    optimize_audio BIGINT NOT NULL CHECK (optimize_audio IN (0, 1)),
    policy TEXT COLLATE "C" NOT NULL CHECK (policy IN ('public', 'private')),
    cors_origin TEXT COLLATE "C" NOT NULL,
    timeout_s BIGINT NOT NULL CHECK (timeout_s > 0),
    size_max BIGINT CHECK (size_max > 0),
    source_id TEXT COLLATE "C" NOT NULL UNIQUE,
    length BIGINT CHECK (length > 0),
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'uploading', 'completed', 'cancelled', 'timedout', 'failed')),
    -- When the state began; of one that is uploading, when bytes were last kept.
    state_at BIGINT,
    -- Bytes from the start, when it was last written down. What lies in the store of objects may be more.
    kept BIGINT NOT NULL CHECK (kept >= 0),
    failure_code TEXT COLLATE "C",
    failure_message TEXT COLLATE "C",
    -- The objects of the source belong to the upload: nothing has come of them yet, and nobody gave them up.
    holds_source BIGINT NOT NULL CHECK (holds_source IN (0, 1)),
    -- Whoever takes the upload over counts this up, and is the only one who can write of it from then on.
    lease_number BIGINT NOT NULL DEFAULT 0 CHECK (lease_number >= 0),
    lease_owner TEXT COLLATE "C",
    -- In a bucket: the upload in parts that the store of objects has under way.
    multipart TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 0),
    CHECK ((state = 'waiting') = (state_at IS NULL)),
    CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'failed') = (failure_message IS NOT NULL)),
    CHECK (state <> 'completed' OR length IS NOT NULL)
);

CREATE INDEX upload_unused ON upload (workspace_id, created_at, id) WHERE state <> 'completed';
CREATE INDEX upload_created ON upload (created_at, id);

-- In a bucket: the parts that the store of objects has acknowledged, from the start and without a gap.
CREATE TABLE upload_part (
    upload_id TEXT COLLATE "C" NOT NULL REFERENCES upload (id) ON DELETE CASCADE,
    number BIGINT NOT NULL CHECK (number >= 0),
    len BIGINT NOT NULL CHECK (len > 0),
    part_id TEXT COLLATE "C" NOT NULL,
    UNIQUE (upload_id, number)
);
