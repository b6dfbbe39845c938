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
CREATE UNIQUE INDEX media_source ON media (source_id) WHERE source_id IS NOT NULL;
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
CREATE TABLE event (
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
    sequence BIGINT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'given_up')),
    due_at BIGINT NOT NULL,
    attempt_count BIGINT NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    first_started_at BIGINT,
    first_ended BIGINT NOT NULL DEFAULT 0 CHECK (first_ended IN (0, 1)),
    lease_owner TEXT COLLATE "C",
    leased_until BIGINT,
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
CREATE INDEX job_work ON job (queue, kind, payload) WHERE state = 'pending';
CREATE TABLE rendition (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    source_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    segments BIGINT NOT NULL DEFAULT 0 CHECK (segments >= 0),
    watched_at BIGINT NOT NULL DEFAULT 0 CHECK (watched_at >= 0),
    broken_at BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE (source_id, name)
);
CREATE INDEX rendition_watched ON rendition (watched_at, id);
ALTER TABLE media ADD COLUMN container TEXT COLLATE "C" CHECK (container IS NULL OR state = 'Ready');
ALTER TABLE media ADD COLUMN rungs TEXT COLLATE "C" CHECK (rungs IS NULL OR state = 'Ready');
ALTER TABLE track ADD COLUMN not_copied_reason TEXT COLLATE "C";
ALTER TABLE track ADD COLUMN not_copied_detail TEXT COLLATE "C"
    CHECK ((not_copied_reason IS NULL) = (not_copied_detail IS NULL));
ALTER TABLE track ADD COLUMN is_encoded BIGINT NOT NULL DEFAULT 0 CHECK (is_encoded IN (0, 1));
UPDATE track SET is_encoded = 1 WHERE kind = 'audio' AND not_copied_reason IS NOT NULL;
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
    state_at BIGINT,
    kept BIGINT NOT NULL CHECK (kept >= 0),
    failure_code TEXT COLLATE "C",
    failure_message TEXT COLLATE "C",
    holds_source BIGINT NOT NULL CHECK (holds_source IN (0, 1)),
    lease_number BIGINT NOT NULL DEFAULT 0 CHECK (lease_number >= 0),
    lease_owner TEXT COLLATE "C",
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
CREATE TABLE upload_part (
    upload_id TEXT COLLATE "C" NOT NULL REFERENCES upload (id) ON DELETE CASCADE,
    number BIGINT NOT NULL CHECK (number >= 0),
    len BIGINT NOT NULL CHECK (len > 0),
    part_id TEXT COLLATE "C" NOT NULL,
    UNIQUE (upload_id, number)
);
CREATE TABLE signing_key (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    public_key TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);
ALTER TABLE playback_id ADD COLUMN resolution TEXT COLLATE "C";
ALTER TABLE workspace ADD COLUMN upload_count BIGINT NOT NULL DEFAULT 0 CHECK (upload_count >= 0);
UPDATE workspace SET upload_count =
    (SELECT COUNT(*) FROM upload WHERE upload.workspace_id = workspace.id AND upload.state <> 'completed');
ALTER TABLE media ADD COLUMN title_key TEXT COLLATE "C";
CREATE INDEX media_state ON media (workspace_id, state, created_at, id);
CREATE INDEX media_creator ON media (workspace_id, creator_id, created_at, id) WHERE creator_id IS NOT NULL;
CREATE INDEX media_title ON media (workspace_id, title_key, created_at, id) WHERE title_key IS NOT NULL;
CREATE TABLE media_metadata (
    media_id TEXT COLLATE "C" NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version BIGINT NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (media_id, key)
);
CREATE INDEX media_metadata_key ON media_metadata (workspace_id, key, created_at, media_id);
CREATE INDEX media_metadata_entry ON media_metadata (workspace_id, key, value, created_at, media_id);
CREATE TABLE kept_answer (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    key_hash BYTEA NOT NULL CHECK (length(key_hash) = 32),
    fingerprint BYTEA NOT NULL CHECK (length(fingerprint) = 32),
    status BIGINT NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (workspace_id, key_hash)
);
CREATE INDEX kept_answer_created ON kept_answer (created_at);
ALTER TABLE workspace ADD COLUMN kept_answer_bytes BIGINT NOT NULL DEFAULT 0 CHECK (kept_answer_bytes >= 0);
CREATE TABLE playlist (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    name TEXT COLLATE "C" NOT NULL,
    reference_id TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('manual', 'smart')),
    item_max BIGINT NOT NULL CHECK (item_max > 0),
    play_order TEXT COLLATE "C" CHECK (play_order IN ('createdDate ASC', 'createdDate DESC')),
    created_first TEXT COLLATE "C",
    created_last TEXT COLLATE "C",
    updated_first TEXT COLLATE "C",
    updated_last TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 0),
    UNIQUE (workspace_id, reference_id),
    CHECK ((kind = 'smart') = (play_order IS NOT NULL))
);
CREATE INDEX playlist_page ON playlist (workspace_id, created_at, id);
CREATE TABLE playlist_item (
    playlist_id TEXT COLLATE "C" NOT NULL REFERENCES playlist (id) ON DELETE CASCADE,
    media_id TEXT COLLATE "C" NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    UNIQUE (playlist_id, media_id)
);
CREATE INDEX playlist_item_media ON playlist_item (media_id);
ALTER TABLE workspace ADD COLUMN playlist_count BIGINT NOT NULL DEFAULT 0 CHECK (playlist_count >= 0);
CREATE INDEX media_ready_created ON media (workspace_id, created_at, id) WHERE state = 'Ready';
CREATE INDEX media_ready_updated ON media (workspace_id, updated_at, created_at, id) WHERE state = 'Ready';
ALTER TABLE media ADD COLUMN mp4_support TEXT COLLATE "C" NOT NULL DEFAULT 'none';
ALTER TABLE upload ADD COLUMN mp4_support TEXT COLLATE "C" NOT NULL DEFAULT 'none';
CREATE TABLE added_track (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    media_id TEXT COLLATE "C" NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('subtitle')),
    url TEXT COLLATE "C" NOT NULL,
    language_code TEXT COLLATE "C" NOT NULL,
    language_name TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('preparing', 'available', 'failed')),
    source_id TEXT COLLATE "C",
    failure_code TEXT COLLATE "C",
    failure_message TEXT COLLATE "C",
    CHECK ((state = 'failed') = (source_id IS NULL)),
    CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'failed') = (failure_message IS NOT NULL))
);
CREATE INDEX added_track_media ON added_track (media_id, position);
CREATE UNIQUE INDEX added_track_source ON added_track (source_id) WHERE source_id IS NOT NULL;
ALTER TABLE upload ADD COLUMN tracks TEXT COLLATE "C";
ALTER TABLE added_track DROP CONSTRAINT added_track_kind_check;
ALTER TABLE added_track ADD CONSTRAINT added_track_kind_check CHECK (kind IN ('audio', 'subtitle'));
ALTER TABLE media ADD COLUMN sound_edit TEXT COLLATE "C";
ALTER TABLE upload ADD COLUMN sound_edit TEXT COLLATE "C";
ALTER TABLE media ADD COLUMN thumbnail_ms BIGINT CHECK (thumbnail_ms >= 0);
ALTER TABLE playback_id ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE upload ADD COLUMN restrictions TEXT COLLATE "C";
CREATE TABLE revoked_token (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    jti TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT NOT NULL,
    UNIQUE (workspace_id, jti)
);
CREATE INDEX revoked_token_expires ON revoked_token (expires_at) WHERE expires_at IS NOT NULL;
ALTER TABLE playback_id ADD COLUMN encryption TEXT COLLATE "C" NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128'));
ALTER TABLE upload ADD COLUMN encryption TEXT COLLATE "C" NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128'));
CREATE TABLE content_key (
    playback_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES playback_id (id) ON DELETE CASCADE,
    secret TEXT COLLATE "C" NOT NULL
);
CREATE TABLE usage_day (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    day TEXT COLLATE "C" NOT NULL,
    encoded_us BIGINT NOT NULL DEFAULT 0 CHECK (encoded_us >= 0),
    delivered_us BIGINT NOT NULL DEFAULT 0 CHECK (delivered_us >= 0),
    delivered_bytes BIGINT NOT NULL DEFAULT 0 CHECK (delivered_bytes >= 0),
    stored_bytes BIGINT CHECK (stored_bytes >= 0),
    stored_at BIGINT,
    UNIQUE (workspace_id, day),
    CHECK ((stored_bytes IS NULL) = (stored_at IS NULL))
);
CREATE TABLE usage_writer (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL CHECK (number > 0),
    written_at BIGINT NOT NULL
);
CREATE INDEX usage_writer_written ON usage_writer (written_at);
CREATE INDEX content_key_seal ON content_key (substr(secret, 1, 11), playback_id);
CREATE INDEX kept_answer_seal ON kept_answer (substr(body, 1, 11), workspace_id, key_hash);
ALTER TABLE signing_key RENAME TO signing_key_shared;
ALTER TABLE signing_key_shared RENAME CONSTRAINT signing_key_pkey TO signing_key_shared_pkey;
DROP INDEX signing_key_page;
CREATE TABLE signing_key (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    id TEXT COLLATE "C" NOT NULL,
    public_key TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
INSERT INTO signing_key (workspace_id, id, public_key, created_at)
SELECT workspace_id, id, public_key, created_at FROM signing_key_shared;
DROP TABLE signing_key_shared;
CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);
ALTER TABLE media ADD COLUMN blur_hash TEXT COLLATE "C";
ALTER TABLE media ADD COLUMN blur_hash_source_id TEXT COLLATE "C";
ALTER TABLE media ADD COLUMN blur_hash_ms BIGINT;
ALTER TABLE media ADD COLUMN told_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN workspace_id TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE job SET workspace_id = coalesce(
        (SELECT m.workspace_id FROM media m WHERE m.id = substr(job.payload, 11, 36)),
        (SELECT u.workspace_id FROM upload u WHERE u.id = substr(job.payload, 11, 36)),
        '')
    WHERE state = 'pending' AND substr(payload, 1, 10) = '{"media":"';
ALTER TABLE job ADD COLUMN progress TEXT COLLATE "C";
DROP INDEX job_due;
CREATE INDEX job_due ON job (queue, workspace_id, priority, run_at, id) WHERE state = 'pending';
DROP INDEX delivery_pending_since;
CREATE INDEX delivery_pending_old ON delivery (created_at) WHERE state = 'pending' AND created_at > 0;
ALTER TABLE media ADD COLUMN left_out TEXT COLLATE "C";
UPDATE schema_version SET version = 25;
