-- People of the dashboard.
CREATE TABLE person (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    -- NFC, lower case.
    email_key TEXT NOT NULL UNIQUE,
    -- Both are absent until the first link is used. The password is an Argon2id hash in the PHC string format.
    name TEXT,
    password TEXT,
    disabled_at INTEGER,
    -- JSON.
    settings TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER,
    version INTEGER NOT NULL
) STRICT;

CREATE INDEX person_with_password ON person (id) WHERE disabled_at IS NULL AND password IS NOT NULL;

CREATE TABLE membership (
    organisation_id TEXT NOT NULL REFERENCES organisation (id),
    person_id TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (organisation_id, person_id)
) STRICT;

CREATE INDEX membership_person ON membership (person_id);

-- Signed-in browsers. A session that was ended has no row.
CREATE TABLE session (
    id TEXT NOT NULL PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
    secret_hash BLOB NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
    -- The secret before the last rotation.
    previous_hash BLOB CHECK (length(previous_hash) = 32),
    previous_until INTEGER CHECK ((previous_hash IS NULL) = (previous_until IS NULL)),
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    confirmed_at INTEGER NOT NULL,
    rotated_at INTEGER NOT NULL,
    address TEXT NOT NULL,
    client TEXT NOT NULL
) STRICT;

CREATE INDEX session_previous ON session (previous_hash);
CREATE INDEX session_person ON session (person_id, seen_at, id);
CREATE INDEX session_seen ON session (seen_at);
CREATE INDEX session_end ON session (ends_at);

CREATE TABLE one_time_link (
    id TEXT NOT NULL PRIMARY KEY,
    secret_hash BLOB NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
    kind TEXT NOT NULL CHECK (kind IN ('setup', 'invitation', 'reset')),
    organisation_id TEXT NOT NULL REFERENCES organisation (id),
    -- An invitation has none: the person exists after its use.
    person_id TEXT REFERENCES person (id) ON DELETE CASCADE CHECK ((person_id IS NULL) = (kind = 'invitation')),
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
    -- Absent: the command line.
    made_by TEXT REFERENCES person (id) ON DELETE SET NULL,
    created_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT;

CREATE INDEX one_time_link_email ON one_time_link (email_key, kind);
CREATE INDEX one_time_link_person ON one_time_link (person_id);
CREATE INDEX one_time_link_made_by ON one_time_link (made_by);
CREATE INDEX one_time_link_end ON one_time_link (ends_at);

-- Names and ids of objects that may be gone: there are no references.
CREATE TABLE audit (
    -- The order of the commits; never given twice.
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    organisation_id TEXT NOT NULL,
    workspace_id TEXT,
    at INTEGER NOT NULL,
    -- Actor, object and details are JSON.
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    details TEXT NOT NULL,
    address TEXT,
    request_id TEXT
) STRICT;

CREATE INDEX audit_at ON audit (at);
