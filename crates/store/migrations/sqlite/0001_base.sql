-- Ids are UUIDs as text, times microseconds since 1970 UTC, flags 0 or 1, JSON is text that only Rust reads.
-- STRICT: without it SQLite keeps a text in a number's column.

CREATE TABLE schema_version (
    version INTEGER NOT NULL
) STRICT;

INSERT INTO schema_version (version) VALUES (1);

CREATE TABLE setting (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE organisation (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workspace (
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL REFERENCES organisation (id),
    name TEXT NOT NULL,
    -- Counting rows when a page is asked for would take longer with every media.
    media_count INTEGER NOT NULL DEFAULT 0 CHECK (media_count >= 0),
    created_at INTEGER NOT NULL,
    UNIQUE (organisation_id, name)
) STRICT;

CREATE TABLE access_token (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    permission TEXT NOT NULL CHECK (permission IN ('read-write', 'read-only')),
    secret_hash BLOB NOT NULL CHECK (length(secret_hash) = 32),
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE INDEX access_token_workspace ON access_token (workspace_id);

CREATE TABLE media (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    title TEXT,
    creator_id TEXT,
    metadata TEXT,
    max_resolution TEXT NOT NULL,
    quality TEXT NOT NULL,
    source_access INTEGER NOT NULL CHECK (source_access IN (0, 1)),
    optimize_audio INTEGER NOT NULL CHECK (optimize_audio IN (0, 1)),
    state TEXT NOT NULL CHECK (state IN ('Created', 'Downloading', 'Ready', 'Failed')),
    -- When the state began; what belongs to which state is checked below.
    state_at INTEGER,
    source_id TEXT,
    failure_code TEXT,
    failure_message TEXT,
    duration_us INTEGER CHECK (duration_us >= 0),
    source_resolution TEXT,
    aspect_width INTEGER CHECK (aspect_width > 0),
    aspect_height INTEGER CHECK (aspect_height > 0),
    is_truncated INTEGER CHECK (is_truncated IN (0, 1)),
    does_not_decode INTEGER CHECK (does_not_decode IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 0),
    CHECK ((state = 'Created') = (state_at IS NULL)),
    CHECK ((state IN ('Downloading', 'Ready')) = (source_id IS NOT NULL)),
    CHECK ((state = 'Failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'Failed') = (failure_message IS NOT NULL)),
    CHECK ((state = 'Ready') = (duration_us IS NOT NULL)),
    CHECK ((state = 'Ready') = (is_truncated IS NOT NULL)),
    CHECK ((state = 'Ready') = (does_not_decode IS NOT NULL)),
    CHECK (state = 'Ready' OR (source_resolution IS NULL AND aspect_width IS NULL)),
    CHECK ((aspect_width IS NULL) = (aspect_height IS NULL))
) STRICT;

CREATE INDEX media_page ON media (workspace_id, created_at, id);
-- Objects of a source belong to at most one media.
CREATE UNIQUE INDEX media_source ON media (source_id) WHERE source_id IS NOT NULL;

-- media_version: the save that wrote the row. What an older save wrote is no longer part of the media.

CREATE TABLE input (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    url TEXT NOT NULL
) STRICT;

CREATE INDEX input_media ON input (media_id, position);

CREATE TABLE track (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('video', 'audio')),
    width INTEGER CHECK (width >= 0),
    height INTEGER CHECK (height >= 0),
    frame_rate_numerator INTEGER CHECK (frame_rate_numerator >= 0),
    frame_rate_denominator INTEGER CHECK (frame_rate_denominator > 0),
    language_code TEXT,
    language_name TEXT,
    CHECK ((kind = 'video') = (width IS NOT NULL)),
    CHECK ((kind = 'video') = (height IS NOT NULL)),
    CHECK (kind = 'video' OR frame_rate_numerator IS NULL),
    CHECK ((frame_rate_numerator IS NULL) = (frame_rate_denominator IS NULL)),
    CHECK ((kind = 'audio') = (language_code IS NOT NULL)),
    CHECK ((kind = 'audio') = (language_name IS NOT NULL))
) STRICT;

CREATE INDEX track_media ON track (media_id, position);

CREATE TABLE playback_id (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    policy TEXT NOT NULL CHECK (policy IN ('public', 'private')),
    restrictions TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX playback_id_media ON playback_id (media_id, position);

CREATE TABLE webhook (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    url TEXT NOT NULL,
    -- Both secrets are sealed.
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_until INTEGER,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled')),
    disabled_at INTEGER,
    disabled_reason TEXT,
    failing_since INTEGER,
    created_at INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 0),
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CHECK ((state = 'disabled') = (disabled_at IS NOT NULL)),
    CHECK ((state = 'disabled') = (disabled_reason IS NOT NULL))
) STRICT;

CREATE INDEX webhook_workspace ON webhook (workspace_id, created_at);
CREATE INDEX webhook_state ON webhook (state, id);

-- No reference to the media: an event outlives what it tells of.
CREATE TABLE event (
    -- The order of the commits; never given twice.
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    facts TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX event_at ON event (at);

CREATE TABLE delivery (
    id TEXT NOT NULL PRIMARY KEY,
    event_id TEXT NOT NULL REFERENCES event (id),
    webhook_id TEXT NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
    -- Both are the event's, for the order of first attempts.
    sequence INTEGER NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'given_up')),
    due_at INTEGER NOT NULL,
    attempt_count INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    first_started_at INTEGER,
    first_ended INTEGER NOT NULL DEFAULT 0 CHECK (first_ended IN (0, 1)),
    lease_owner TEXT,
    leased_until INTEGER,
    -- Counts the claims, so that a lease is told apart from a later one of the same owner.
    claim_count INTEGER NOT NULL DEFAULT 0 CHECK (claim_count >= 0),
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    UNIQUE (event_id, webhook_id),
    CHECK ((lease_owner IS NULL) = (leased_until IS NULL)),
    CHECK ((state = 'pending') = (finished_at IS NULL)),
    CHECK (state = 'pending' OR lease_owner IS NULL)
) STRICT;

CREATE INDEX delivery_due ON delivery (webhook_id, due_at, sequence) WHERE state = 'pending';
CREATE INDEX delivery_first ON delivery (webhook_id, subject, sequence) WHERE state = 'pending' AND first_ended = 0;
CREATE INDEX delivery_started ON delivery (first_started_at) WHERE state = 'pending' AND first_ended = 0 AND first_started_at IS NOT NULL;
CREATE INDEX delivery_leased ON delivery (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX delivery_pending_since ON delivery (webhook_id, created_at) WHERE state = 'pending';
CREATE INDEX delivery_finished ON delivery (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE attempt (
    id TEXT NOT NULL PRIMARY KEY,
    delivery_id TEXT NOT NULL REFERENCES delivery (id) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number > 0),
    at INTEGER NOT NULL,
    address TEXT NOT NULL,
    outcome TEXT NOT NULL,
    UNIQUE (delivery_id, number)
) STRICT;

CREATE TABLE job (
    id TEXT NOT NULL PRIMARY KEY,
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'done', 'failed')),
    run_at INTEGER NOT NULL,
    -- Counts the claims.
    attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    lease_owner TEXT,
    leased_until INTEGER,
    note TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    CHECK ((lease_owner IS NULL) = (leased_until IS NULL)),
    CHECK ((state = 'pending') = (finished_at IS NULL)),
    CHECK (state = 'pending' OR lease_owner IS NULL)
) STRICT;

CREATE INDEX job_due ON job (queue, priority, run_at, id) WHERE state = 'pending';
CREATE INDEX job_leased ON job (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX job_finished ON job (finished_at) WHERE finished_at IS NOT NULL;
