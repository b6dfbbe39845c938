-- The tables of a new database, schema 26. IDs are UUIDs as text, times microseconds since 1970 UTC, flags 0 or 1,
-- JSON is text that only Rust reads. STRICT: without it SQLite stores a text in the column of a number.

CREATE TABLE schema_version (
    version INTEGER NOT NULL
) STRICT;

INSERT INTO schema_version (version) VALUES (26);

CREATE TABLE setting (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE organisation (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- The counters save counting rows for every page of a list.
CREATE TABLE workspace (
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL REFERENCES organisation (id),
    name TEXT NOT NULL,
    media_count INTEGER NOT NULL DEFAULT 0 CHECK (media_count >= 0),
    created_at INTEGER NOT NULL,
    upload_count INTEGER NOT NULL DEFAULT 0 CHECK (upload_count >= 0),
    -- Bytes of the stored responses of idempotency keys.
    kept_answer_bytes INTEGER NOT NULL DEFAULT 0 CHECK (kept_answer_bytes >= 0),
    playlist_count INTEGER NOT NULL DEFAULT 0 CHECK (playlist_count >= 0),
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
    -- When the state began; the checks below say which columns belong to which state.
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
    container TEXT CHECK (container IS NULL OR state = 'Ready'),
    -- Names of the encoded video renditions, largest first, separated by a space.
    rungs TEXT CHECK (rungs IS NULL OR state = 'Ready'),
    -- The title in lower case. Kinora writes it: SQL knows the lower case of ASCII alone.
    title_key TEXT,
    mp4_support TEXT NOT NULL DEFAULT 'none',
    -- The edit of the audio before the media is ready, as JSON.
    sound_edit TEXT,
    -- The time of the thumbnail, in milliseconds from the start; NULL: near the middle.
    thumbnail_ms INTEGER CHECK (thumbnail_ms >= 0),
    -- The BlurHash, and the source and time of the thumbnail that it describes.
    blur_hash TEXT,
    blur_hash_source_id TEXT,
    blur_hash_ms INTEGER,
    -- The time of the last event: the next one gets a later time.
    told_at INTEGER NOT NULL DEFAULT 0,
    -- Tracks of the source that cannot be played, as JSON; NULL where there are none.
    left_out TEXT,
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
CREATE INDEX media_state ON media (workspace_id, state, created_at, id);
CREATE INDEX media_creator ON media (workspace_id, creator_id, created_at, id) WHERE creator_id IS NOT NULL;
CREATE INDEX media_title ON media (workspace_id, title_key, created_at, id) WHERE title_key IS NOT NULL;
-- Smart playlists select by these two.
CREATE INDEX media_ready_created ON media (workspace_id, created_at, id) WHERE state = 'Ready';
CREATE INDEX media_ready_updated ON media (workspace_id, updated_at, created_at, id) WHERE state = 'Ready';
-- A source belongs to at most one media.
CREATE UNIQUE INDEX media_source ON media (source_id) WHERE source_id IS NOT NULL;

-- The entries of the metadata of each media, for filters.
CREATE TABLE media_metadata (
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version INTEGER NOT NULL,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    -- Of the media.
    created_at INTEGER NOT NULL,
    UNIQUE (media_id, key)
) STRICT;

CREATE INDEX media_metadata_key ON media_metadata (workspace_id, key, created_at, media_id);
CREATE INDEX media_metadata_entry ON media_metadata (workspace_id, key, value, created_at, media_id);

-- media_version: the save that wrote the row. Rows of an older save are no longer part of the media.
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
    -- Why players do not get the track as it is.
    not_copied_reason TEXT,
    not_copied_detail TEXT CHECK ((not_copied_reason IS NULL) = (not_copied_detail IS NULL)),
    -- Audio that is offered encoded, beside its copy or in its place.
    is_encoded INTEGER NOT NULL DEFAULT 0 CHECK (is_encoded IN (0, 1)),
    CHECK ((kind = 'video') = (width IS NOT NULL)),
    CHECK ((kind = 'video') = (height IS NOT NULL)),
    CHECK (kind = 'video' OR frame_rate_numerator IS NULL),
    CHECK ((frame_rate_numerator IS NULL) = (frame_rate_denominator IS NULL)),
    CHECK ((kind = 'audio') = (language_code IS NOT NULL)),
    CHECK ((kind = 'audio') = (language_name IS NOT NULL))
) STRICT;

CREATE INDEX track_media ON track (media_id, position);

-- Audio and subtitles that clients add to a media. A save of the media does not write these rows: only a change of
-- a track writes its row, in the same commit as that of the media.
CREATE TABLE added_track (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('audio', 'subtitle')),
    url TEXT NOT NULL,
    language_code TEXT NOT NULL,
    language_name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('preparing', 'available', 'failed')),
    -- The source that holds its bytes, also while they are fetched.
    source_id TEXT,
    failure_code TEXT,
    failure_message TEXT,
    CHECK ((state = 'failed') = (source_id IS NULL)),
    CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'failed') = (failure_message IS NOT NULL))
) STRICT;

CREATE INDEX added_track_media ON added_track (media_id, position);
-- A source belongs to at most one track.
CREATE UNIQUE INDEX added_track_source ON added_track (source_id) WHERE source_id IS NOT NULL;

CREATE TABLE playback_id (
    id TEXT NOT NULL PRIMARY KEY,
    -- NULL: it plays something other than a media.
    media_id TEXT REFERENCES media (id) ON DELETE CASCADE,
    media_version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    policy TEXT NOT NULL CHECK (policy IN ('public', 'private')),
    restrictions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- No larger rendition plays; NULL: only the limit of the media holds.
    resolution TEXT,
    -- Raised by each revocation of all playback sessions.
    generation INTEGER NOT NULL DEFAULT 0,
    encryption TEXT NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128'))
) STRICT;

CREATE INDEX playback_id_media ON playback_id (media_id, position);

-- The keys of encrypted playback IDs.
CREATE TABLE content_key (
    playback_id TEXT NOT NULL PRIMARY KEY REFERENCES playback_id (id) ON DELETE CASCADE,
    -- Sealed.
    secret TEXT NOT NULL
) STRICT;

-- The first 11 characters of a sealed value name the key that sealed it: `serve` finds values of an older key at its
-- start without a scan of the table.
CREATE INDEX content_key_seal ON content_key (substr(secret, 1, 11), playback_id);

-- Revoked playback tokens, by the `jti` that their signer chose.
CREATE TABLE revoked_token (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    jti TEXT NOT NULL,
    -- The row is pruned after the token expired; NULL: never.
    expires_at INTEGER,
    revoked_at INTEGER NOT NULL,
    UNIQUE (workspace_id, jti)
) STRICT;

CREATE INDEX revoked_token_expires ON revoked_token (expires_at) WHERE expires_at IS NOT NULL;

-- Clients sign playback tokens with the private half of a key; Kinora has the public half alone.
CREATE TABLE signing_key (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    id TEXT NOT NULL,
    -- PEM text.
    public_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT;

CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);

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

-- No reference to the media: an event outlives its subject.
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
    -- Counts the claims: it tells a lease from a later one of the same owner.
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
CREATE INDEX delivery_started ON delivery (first_started_at)
    WHERE state = 'pending' AND first_ended = 0 AND first_started_at IS NOT NULL;
CREATE INDEX delivery_leased ON delivery (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX delivery_finished ON delivery (finished_at) WHERE finished_at IS NOT NULL;
-- The second condition excludes statements that do not repeat it. While the table is new, the planner would choose
-- this index for them.
CREATE INDEX delivery_pending_old ON delivery (created_at) WHERE state = 'pending' AND created_at > 0;

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
    -- Admission is fair between workspaces. Empty: the server's own work.
    workspace_id TEXT NOT NULL DEFAULT '',
    -- The state of an earlier attempt that the next one resumes from, as JSON.
    progress TEXT,
    CHECK ((lease_owner IS NULL) = (leased_until IS NULL)),
    CHECK ((state = 'pending') = (finished_at IS NULL)),
    CHECK (state = 'pending' OR lease_owner IS NULL)
) STRICT;

CREATE INDEX job_due ON job (queue, workspace_id, priority, run_at, id) WHERE state = 'pending';
CREATE INDEX job_leased ON job (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX job_finished ON job (finished_at) WHERE finished_at IS NOT NULL;
-- Whether the same work is pending already. Payloads are a few IDs.
CREATE INDEX job_work ON job (queue, kind, payload) WHERE state = 'pending';

-- An encoded rendition, written before its first object. No reference to the media: a presentation has no row of its
-- own.
CREATE TABLE rendition (
    id TEXT NOT NULL PRIMARY KEY,
    presentation_id TEXT NOT NULL,
    name TEXT NOT NULL,
    -- Of its objects; updated now and then.
    bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    segments INTEGER NOT NULL DEFAULT 0 CHECK (segments >= 0),
    -- The last request of a viewer; 0: never.
    watched_at INTEGER NOT NULL DEFAULT 0 CHECK (watched_at >= 0),
    -- Since when no segment of it can be encoded.
    broken_at INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (presentation_id, name)
) STRICT;

-- Eviction starts with the longest unwatched; backfill reads the lately watched.
CREATE INDEX rendition_watched ON rendition (watched_at, id);

-- A direct upload. Its ID is that of the media which it becomes.
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
    -- When the state began; while it uploads: when bytes were last stored.
    state_at INTEGER,
    -- Bytes from the start, as last noted. The object store may have more.
    kept INTEGER NOT NULL CHECK (kept >= 0),
    failure_code TEXT,
    failure_message TEXT,
    -- The objects of the source still belong to the upload: no media has them, and they are not discarded.
    holds_source INTEGER NOT NULL CHECK (holds_source IN (0, 1)),
    -- A process that takes the upload over increments it; from then on only that process writes the row.
    lease_number INTEGER NOT NULL DEFAULT 0 CHECK (lease_number >= 0),
    lease_owner TEXT,
    -- In a bucket: the multipart upload that is open in the object store.
    multipart TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 0),
    mp4_support TEXT NOT NULL DEFAULT 'none',
    -- Added tracks, audio edit and access restrictions of the media to come, as JSON.
    tracks TEXT,
    sound_edit TEXT,
    restrictions TEXT,
    encryption TEXT NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128')),
    CHECK ((state = 'waiting') = (state_at IS NULL)),
    CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'failed') = (failure_message IS NOT NULL)),
    CHECK (state <> 'completed' OR length IS NOT NULL)
) STRICT;

CREATE INDEX upload_unused ON upload (workspace_id, created_at, id) WHERE state <> 'completed';
CREATE INDEX upload_created ON upload (created_at, id);

-- In a bucket: the parts that the object store has acknowledged, from the start and without a gap.
CREATE TABLE upload_part (
    upload_id TEXT NOT NULL REFERENCES upload (id) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number >= 0),
    len INTEGER NOT NULL CHECK (len > 0),
    part_id TEXT NOT NULL,
    UNIQUE (upload_id, number)
) STRICT;

-- Stored responses of requests with an idempotency key.
CREATE TABLE kept_answer (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    -- SHA-256 of the key: its text is the client's own.
    key_hash BLOB NOT NULL CHECK (length(key_hash) = 32),
    -- SHA-256 of the request and its principal.
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    status INTEGER NOT NULL,
    -- Sealed: some responses hold secrets that are stored nowhere else.
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (workspace_id, key_hash)
) STRICT;

CREATE INDEX kept_answer_created ON kept_answer (created_at);
CREATE INDEX kept_answer_seal ON kept_answer (substr(body, 1, 11), workspace_id, key_hash);

-- A manual playlist has items; a smart one selects media by dates.
CREATE TABLE playlist (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    name TEXT NOT NULL,
    reference_id TEXT NOT NULL,
    description TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('manual', 'smart')),
    -- Most media in it.
    item_max INTEGER NOT NULL CHECK (item_max > 0),
    play_order TEXT CHECK (play_order IN ('createdDate ASC', 'createdDate DESC')),
    -- Days, `2025-11-03`, both included; NULL: no limit on that side.
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
    -- Ascending, with gaps.
    position INTEGER NOT NULL,
    UNIQUE (playlist_id, media_id)
) STRICT;

CREATE INDEX playlist_item_media ON playlist_item (media_id);

-- Usage of each workspace on each day, in UTC. The first three are sums that processes add to.
CREATE TABLE usage_day (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    -- `2025-11-03`
    day TEXT NOT NULL,
    encoded_us INTEGER NOT NULL DEFAULT 0 CHECK (encoded_us >= 0),
    delivered_us INTEGER NOT NULL DEFAULT 0 CHECK (delivered_us >= 0),
    delivered_bytes INTEGER NOT NULL DEFAULT 0 CHECK (delivered_bytes >= 0),
    -- The last measurement of that day.
    stored_bytes INTEGER CHECK (stored_bytes >= 0),
    stored_at INTEGER,
    UNIQUE (workspace_id, day),
    CHECK ((stored_bytes IS NULL) = (stored_at IS NULL))
) STRICT;

-- The number of the last sums that each process has added: a commit whose answer was lost is not added twice.
CREATE TABLE usage_writer (
    id TEXT NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL CHECK (number > 0),
    written_at INTEGER NOT NULL
) STRICT;

CREATE INDEX usage_writer_written ON usage_writer (written_at);
