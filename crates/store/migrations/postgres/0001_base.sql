-- Ids are UUIDs as text, times microseconds since 1970 UTC, flags 0 or 1, JSON is text that only Rust reads.
-- The same tables as in migrations/sqlite/0001_base.sql. Numbers are BIGINT: one type to read. Texts compare byte by byte, as they
-- do in SQLite, whatever the database's language is.

CREATE TABLE schema_version (
    version BIGINT NOT NULL
);

INSERT INTO schema_version (version) VALUES (1);

CREATE TABLE setting (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE organisation (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE workspace (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL REFERENCES organisation (id),
    name TEXT COLLATE "C" NOT NULL,
    -- Counting rows when a page is asked for would take longer with every media.
    media_count BIGINT NOT NULL DEFAULT 0 CHECK (media_count >= 0),
    created_at BIGINT NOT NULL,
    UNIQUE (organisation_id, name)
);

CREATE TABLE access_token (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    permission TEXT COLLATE "C" NOT NULL CHECK (permission IN ('read-write', 'read-only')),
    secret_hash BYTEA NOT NULL CHECK (length(secret_hash) = 32),
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT
);

CREATE INDEX access_token_workspace ON access_token (workspace_id);

CREATE TABLE media (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    title TEXT COLLATE "C",
    creator_id TEXT COLLATE "C",
    metadata TEXT COLLATE "C",
    max_resolution TEXT COLLATE "C" NOT NULL,
    quality TEXT COLLATE "C" NOT NULL,
    source_access BIGINT NOT NULL CHECK (source_access IN (0, 1)),
    optimize_audio BIGINT NOT NULL CHECK (optimize_audio IN (0, 1)),
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('Created', 'Downloading', 'Ready', 'Failed')),
    -- When the state began; what belongs to which state is checked below.
    state_at BIGINT,
    source_id TEXT COLLATE "C",
    failure_code TEXT COLLATE "C",
    failure_message TEXT COLLATE "C",
    duration_us BIGINT CHECK (duration_us >= 0),
    source_resolution TEXT COLLATE "C",
    aspect_width BIGINT CHECK (aspect_width > 0),
    aspect_height BIGINT CHECK (aspect_height > 0),
    is_truncated BIGINT CHECK (is_truncated IN (0, 1)),
    does_not_decode BIGINT CHECK (does_not_decode IN (0, 1)),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 0),
    CHECK ((state = 'Created') = (state_at IS NULL)),
    CHECK ((state IN ('Downloading', 'Ready')) = (source_id IS NOT NULL)),
    CHECK ((state = 'Failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'Failed') = (failure_message IS NOT NULL)),
    CHECK ((state = 'Ready') = (duration_us IS NOT NULL)),
    CHECK ((state = 'Ready') = (is_truncated IS NOT NULL)),
    CHECK ((state = 'Ready') = (does_not_decode IS NOT NULL)),
    CHECK (state = 'Ready' OR (source_resolution IS NULL AND aspect_width IS NULL)),
    CHECK ((aspect_width IS NULL) = (aspect_height IS NULL))
);

CREATE INDEX media_page ON media (workspace_id, created_at, id);
-- Objects of a source belong to at most one media.
CREATE UNIQUE INDEX media_source ON media (source_id) WHERE source_id IS NOT NULL;

-- media_version: the save that wrote the row. What an older save wrote is no longer part of the media.

CREATE TABLE input (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    media_id TEXT COLLATE "C" NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    url TEXT COLLATE "C" NOT NULL
);

CREATE INDEX input_media ON input (media_id, position);

CREATE TABLE track (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    media_id TEXT COLLATE "C" NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('video', 'audio')),
    width BIGINT CHECK (width >= 0),
    height BIGINT CHECK (height >= 0),
    frame_rate_numerator BIGINT CHECK (frame_rate_numerator >= 0),
    frame_rate_denominator BIGINT CHECK (frame_rate_denominator > 0),
    language_code TEXT COLLATE "C",
    language_name TEXT COLLATE "C",
    CHECK ((kind = 'video') = (width IS NOT NULL)),
    CHECK ((kind = 'video') = (height IS NOT NULL)),
    CHECK (kind = 'video' OR frame_rate_numerator IS NULL),
    CHECK ((frame_rate_numerator IS NULL) = (frame_rate_denominator IS NULL)),
    CHECK ((kind = 'audio') = (language_code IS NOT NULL)),
    CHECK ((kind = 'audio') = (language_name IS NOT NULL))
);

CREATE INDEX track_media ON track (media_id, position);

CREATE TABLE playback_id (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    media_id TEXT COLLATE "C" NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    policy TEXT COLLATE "C" NOT NULL CHECK (policy IN ('public', 'private')),
    restrictions TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX playback_id_media ON playback_id (media_id, position);

CREATE TABLE webhook (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    url TEXT COLLATE "C" NOT NULL,
    -- Both secrets are sealed.
    secret TEXT COLLATE "C" NOT NULL,
    previous_secret TEXT COLLATE "C",
    previous_until BIGINT,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('enabled', 'disabled')),
    disabled_at BIGINT,
    disabled_reason TEXT COLLATE "C",
    failing_since BIGINT,
    created_at BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 0),
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CHECK ((state = 'disabled') = (disabled_at IS NOT NULL)),
    CHECK ((state = 'disabled') = (disabled_reason IS NOT NULL))
);

CREATE INDEX webhook_workspace ON webhook (workspace_id, created_at);
CREATE INDEX webhook_state ON webhook (state, id);

-- No reference to the media: an event outlives what it tells of.
CREATE TABLE event (
    -- Never given twice. Events of one subject get it in the order of their commits: each of them changes the row of the subject.
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    kind TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    facts TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX event_at ON event (at);

CREATE TABLE delivery (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    event_id TEXT COLLATE "C" NOT NULL REFERENCES event (id),
    webhook_id TEXT COLLATE "C" NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
    -- Both are the event's, for the order of first attempts.
    sequence BIGINT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'given_up')),
    due_at BIGINT NOT NULL,
    attempt_count BIGINT NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    first_started_at BIGINT,
    first_ended BIGINT NOT NULL DEFAULT 0 CHECK (first_ended IN (0, 1)),
    lease_owner TEXT COLLATE "C",
    leased_until BIGINT,
    -- Counts the claims, so that a lease is told apart from a later one of the same owner.
    claim_count BIGINT NOT NULL DEFAULT 0 CHECK (claim_count >= 0),
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    UNIQUE (event_id, webhook_id),
    CHECK ((lease_owner IS NULL) = (leased_until IS NULL)),
    CHECK ((state = 'pending') = (finished_at IS NULL)),
    CHECK (state = 'pending' OR lease_owner IS NULL)
);

CREATE INDEX delivery_due ON delivery (webhook_id, due_at, sequence) WHERE state = 'pending';
CREATE INDEX delivery_first ON delivery (webhook_id, subject, sequence) WHERE state = 'pending' AND first_ended = 0;
CREATE INDEX delivery_started ON delivery (first_started_at) WHERE state = 'pending' AND first_ended = 0 AND first_started_at IS NOT NULL;
CREATE INDEX delivery_leased ON delivery (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX delivery_pending_since ON delivery (webhook_id, created_at) WHERE state = 'pending';
CREATE INDEX delivery_finished ON delivery (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE attempt (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    delivery_id TEXT COLLATE "C" NOT NULL REFERENCES delivery (id) ON DELETE CASCADE,
    number BIGINT NOT NULL CHECK (number > 0),
    at BIGINT NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    UNIQUE (delivery_id, number)
);

CREATE TABLE job (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    queue TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    payload TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'done', 'failed')),
    run_at BIGINT NOT NULL,
    -- Counts the claims.
    attempt BIGINT NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    lease_owner TEXT COLLATE "C",
    leased_until BIGINT,
    note TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    CHECK ((lease_owner IS NULL) = (leased_until IS NULL)),
    CHECK ((state = 'pending') = (finished_at IS NULL)),
    CHECK (state = 'pending' OR lease_owner IS NULL)
);

CREATE INDEX job_due ON job (queue, priority, run_at, id) WHERE state = 'pending';
CREATE INDEX job_leased ON job (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX job_finished ON job (finished_at) WHERE finished_at IS NOT NULL;
