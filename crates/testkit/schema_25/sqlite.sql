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
CREATE UNIQUE INDEX media_source ON media (source_id) WHERE source_id IS NOT NULL;
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
CREATE TABLE event (
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
    sequence INTEGER NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'given_up')),
    due_at INTEGER NOT NULL,
    attempt_count INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    first_started_at INTEGER,
    first_ended INTEGER NOT NULL DEFAULT 0 CHECK (first_ended IN (0, 1)),
    lease_owner TEXT,
    leased_until INTEGER,
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
CREATE INDEX job_work ON job (queue, kind, payload) WHERE state = 'pending';
CREATE TABLE rendition (
    id TEXT NOT NULL PRIMARY KEY,
    source_id TEXT NOT NULL,
    name TEXT NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    segments INTEGER NOT NULL DEFAULT 0 CHECK (segments >= 0),
    watched_at INTEGER NOT NULL DEFAULT 0 CHECK (watched_at >= 0),
    broken_at INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (source_id, name)
) STRICT;
CREATE INDEX rendition_watched ON rendition (watched_at, id);
ALTER TABLE media ADD COLUMN container TEXT CHECK (container IS NULL OR state = 'Ready');
ALTER TABLE media ADD COLUMN rungs TEXT CHECK (rungs IS NULL OR state = 'Ready');
ALTER TABLE track ADD COLUMN not_copied_reason TEXT;
ALTER TABLE track ADD COLUMN not_copied_detail TEXT
    CHECK ((not_copied_reason IS NULL) = (not_copied_detail IS NULL));
ALTER TABLE track ADD COLUMN is_encoded INTEGER NOT NULL DEFAULT 0 CHECK (is_encoded IN (0, 1));
UPDATE track SET is_encoded = 1 WHERE kind = 'audio' AND not_copied_reason IS NOT NULL;
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
    state_at INTEGER,
    kept INTEGER NOT NULL CHECK (kept >= 0),
    failure_code TEXT,
    failure_message TEXT,
    holds_source INTEGER NOT NULL CHECK (holds_source IN (0, 1)),
    lease_number INTEGER NOT NULL DEFAULT 0 CHECK (lease_number >= 0),
    lease_owner TEXT,
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
CREATE TABLE upload_part (
    upload_id TEXT NOT NULL REFERENCES upload (id) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number >= 0),
    len INTEGER NOT NULL CHECK (len > 0),
    part_id TEXT NOT NULL,
    UNIQUE (upload_id, number)
) STRICT;
CREATE TABLE signing_key (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    public_key TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);
ALTER TABLE playback_id ADD COLUMN resolution TEXT;
ALTER TABLE workspace ADD COLUMN upload_count INTEGER NOT NULL DEFAULT 0 CHECK (upload_count >= 0);
UPDATE workspace SET upload_count =
    (SELECT COUNT(*) FROM upload WHERE upload.workspace_id = workspace.id AND upload.state <> 'completed');
ALTER TABLE media ADD COLUMN title_key TEXT;
CREATE INDEX media_state ON media (workspace_id, state, created_at, id);
CREATE INDEX media_creator ON media (workspace_id, creator_id, created_at, id) WHERE creator_id IS NOT NULL;
CREATE INDEX media_title ON media (workspace_id, title_key, created_at, id) WHERE title_key IS NOT NULL;
CREATE TABLE media_metadata (
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version INTEGER NOT NULL,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (media_id, key)
) STRICT;
CREATE INDEX media_metadata_key ON media_metadata (workspace_id, key, created_at, media_id);
CREATE INDEX media_metadata_entry ON media_metadata (workspace_id, key, value, created_at, media_id);
CREATE TABLE kept_answer (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    key_hash BLOB NOT NULL CHECK (length(key_hash) = 32),
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (workspace_id, key_hash)
) STRICT;
CREATE INDEX kept_answer_created ON kept_answer (created_at);
ALTER TABLE workspace ADD COLUMN kept_answer_bytes INTEGER NOT NULL DEFAULT 0 CHECK (kept_answer_bytes >= 0);
CREATE TABLE playlist (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    name TEXT NOT NULL,
    reference_id TEXT NOT NULL,
    description TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('manual', 'smart')),
    item_max INTEGER NOT NULL CHECK (item_max > 0),
    play_order TEXT CHECK (play_order IN ('createdDate ASC', 'createdDate DESC')),
    created_first TEXT,
    created_last TEXT,
    updated_first TEXT,
    updated_last TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 0),
    UNIQUE (workspace_id, reference_id),
    CHECK ((kind = 'smart') = (play_order IS NOT NULL))
) STRICT;
CREATE INDEX playlist_page ON playlist (workspace_id, created_at, id);
CREATE TABLE playlist_item (
    playlist_id TEXT NOT NULL REFERENCES playlist (id) ON DELETE CASCADE,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    UNIQUE (playlist_id, media_id)
) STRICT;
CREATE INDEX playlist_item_media ON playlist_item (media_id);
ALTER TABLE workspace ADD COLUMN playlist_count INTEGER NOT NULL DEFAULT 0 CHECK (playlist_count >= 0);
CREATE INDEX media_ready_created ON media (workspace_id, created_at, id) WHERE state = 'Ready';
CREATE INDEX media_ready_updated ON media (workspace_id, updated_at, created_at, id) WHERE state = 'Ready';
ALTER TABLE media ADD COLUMN mp4_support TEXT NOT NULL DEFAULT 'none';
ALTER TABLE upload ADD COLUMN mp4_support TEXT NOT NULL DEFAULT 'none';
CREATE TABLE added_track (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('subtitle')),
    url TEXT NOT NULL,
    language_code TEXT NOT NULL,
    language_name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('preparing', 'available', 'failed')),
    source_id TEXT,
    failure_code TEXT,
    failure_message TEXT,
    CHECK ((state = 'failed') = (source_id IS NULL)),
    CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'failed') = (failure_message IS NOT NULL))
) STRICT;
CREATE INDEX added_track_media ON added_track (media_id, position);
CREATE UNIQUE INDEX added_track_source ON added_track (source_id) WHERE source_id IS NOT NULL;
ALTER TABLE upload ADD COLUMN tracks TEXT;
CREATE TABLE added_track_wider (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('audio', 'subtitle')),
    url TEXT NOT NULL,
    language_code TEXT NOT NULL,
    language_name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('preparing', 'available', 'failed')),
    source_id TEXT,
    failure_code TEXT,
    failure_message TEXT,
    CHECK ((state = 'failed') = (source_id IS NULL)),
    CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'failed') = (failure_message IS NOT NULL))
) STRICT;
INSERT INTO added_track_wider
SELECT id, media_id, position, kind, url, language_code, language_name, state, source_id, failure_code, failure_message
FROM added_track;
DROP TABLE added_track;
ALTER TABLE added_track_wider RENAME TO added_track;
CREATE INDEX added_track_media ON added_track (media_id, position);
CREATE UNIQUE INDEX added_track_source ON added_track (source_id) WHERE source_id IS NOT NULL;
ALTER TABLE media ADD COLUMN sound_edit TEXT;
ALTER TABLE upload ADD COLUMN sound_edit TEXT;
ALTER TABLE media ADD COLUMN thumbnail_ms INTEGER CHECK (thumbnail_ms >= 0);
ALTER TABLE playback_id ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE upload ADD COLUMN restrictions TEXT;
CREATE TABLE revoked_token (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    jti TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER NOT NULL,
    UNIQUE (workspace_id, jti)
) STRICT;
CREATE INDEX revoked_token_expires ON revoked_token (expires_at) WHERE expires_at IS NOT NULL;
ALTER TABLE playback_id ADD COLUMN encryption TEXT NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128'));
ALTER TABLE upload ADD COLUMN encryption TEXT NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128'));
CREATE TABLE content_key (
    playback_id TEXT NOT NULL PRIMARY KEY REFERENCES playback_id (id) ON DELETE CASCADE,
    secret TEXT NOT NULL
) STRICT;
CREATE TABLE usage_day (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    day TEXT NOT NULL,
    encoded_us INTEGER NOT NULL DEFAULT 0 CHECK (encoded_us >= 0),
    delivered_us INTEGER NOT NULL DEFAULT 0 CHECK (delivered_us >= 0),
    delivered_bytes INTEGER NOT NULL DEFAULT 0 CHECK (delivered_bytes >= 0),
    stored_bytes INTEGER CHECK (stored_bytes >= 0),
    stored_at INTEGER,
    UNIQUE (workspace_id, day),
    CHECK ((stored_bytes IS NULL) = (stored_at IS NULL))
) STRICT;
CREATE TABLE usage_writer (
    id TEXT NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL CHECK (number > 0),
    written_at INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_writer_written ON usage_writer (written_at);
CREATE INDEX content_key_seal ON content_key (substr(secret, 1, 11), playback_id);
CREATE INDEX kept_answer_seal ON kept_answer (substr(body, 1, 11), workspace_id, key_hash);
CREATE TABLE signing_key_own (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    id TEXT NOT NULL,
    public_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT;
INSERT INTO signing_key_own (workspace_id, id, public_key, created_at)
SELECT workspace_id, id, public_key, created_at FROM signing_key;
DROP TABLE signing_key;
ALTER TABLE signing_key_own RENAME TO signing_key;
CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);
ALTER TABLE media ADD COLUMN blur_hash TEXT;
ALTER TABLE media ADD COLUMN blur_hash_source_id TEXT;
ALTER TABLE media ADD COLUMN blur_hash_ms INTEGER;
ALTER TABLE media ADD COLUMN told_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN workspace_id TEXT NOT NULL DEFAULT '';
UPDATE job SET workspace_id = coalesce(
        (SELECT m.workspace_id FROM media m WHERE m.id = substr(job.payload, 11, 36)),
        (SELECT u.workspace_id FROM upload u WHERE u.id = substr(job.payload, 11, 36)),
        '')
    WHERE state = 'pending' AND substr(payload, 1, 10) = '{"media":"';
ALTER TABLE job ADD COLUMN progress TEXT;
DROP INDEX job_due;
CREATE INDEX job_due ON job (queue, workspace_id, priority, run_at, id) WHERE state = 'pending';
DROP INDEX delivery_pending_since;
CREATE INDEX delivery_pending_old ON delivery (created_at) WHERE state = 'pending' AND created_at > 0;
ALTER TABLE media ADD COLUMN left_out TEXT;
UPDATE schema_version SET version = 25;
