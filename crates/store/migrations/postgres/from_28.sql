-- People of the dashboard.
CREATE TABLE person (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    email TEXT COLLATE "C" NOT NULL,
    -- NFC, lower case.
    email_key TEXT COLLATE "C" NOT NULL UNIQUE,
    -- Both are absent until the first link is used. The password is an Argon2id hash in the PHC string format.
    name TEXT COLLATE "C",
    password TEXT COLLATE "C",
    disabled_at BIGINT,
    -- JSON.
    settings TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT,
    version BIGINT NOT NULL
);

CREATE INDEX person_with_password ON person (id) WHERE disabled_at IS NULL AND password IS NOT NULL;

CREATE TABLE membership (
    organisation_id TEXT COLLATE "C" NOT NULL REFERENCES organisation (id),
    person_id TEXT COLLATE "C" NOT NULL REFERENCES person (id) ON DELETE CASCADE,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (organisation_id, person_id)
);

CREATE INDEX membership_person ON membership (person_id);

-- Signed-in browsers. A session that was ended has no row.
CREATE TABLE session (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    person_id TEXT COLLATE "C" NOT NULL REFERENCES person (id) ON DELETE CASCADE,
    secret_hash BYTEA NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
    -- The secret before the last rotation.
    previous_hash BYTEA CHECK (length(previous_hash) = 32),
    previous_until BIGINT CHECK ((previous_hash IS NULL) = (previous_until IS NULL)),
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    confirmed_at BIGINT NOT NULL,
    rotated_at BIGINT NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    client TEXT COLLATE "C" NOT NULL
);

CREATE INDEX session_previous ON session (previous_hash);
CREATE INDEX session_person ON session (person_id, seen_at, id);
CREATE INDEX session_seen ON session (seen_at);
CREATE INDEX session_end ON session (ends_at);

CREATE TABLE one_time_link (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    secret_hash BYTEA NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('setup', 'invitation', 'reset')),
    organisation_id TEXT COLLATE "C" NOT NULL REFERENCES organisation (id),
    -- An invitation has none: the person exists after its use.
    person_id TEXT COLLATE "C" REFERENCES person (id) ON DELETE CASCADE CHECK ((person_id IS NULL) = (kind = 'invitation')),
    email TEXT COLLATE "C" NOT NULL,
    email_key TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
    -- Absent: the command line.
    made_by TEXT COLLATE "C" REFERENCES person (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    used_at BIGINT
);

CREATE INDEX one_time_link_email ON one_time_link (email_key, kind);
CREATE INDEX one_time_link_person ON one_time_link (person_id);
CREATE INDEX one_time_link_made_by ON one_time_link (made_by);
CREATE INDEX one_time_link_end ON one_time_link (ends_at);

-- Names and ids of objects that may be gone: there are no references.
CREATE TABLE audit (
    -- Never given twice.
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    organisation_id TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C",
    at BIGINT NOT NULL,
    -- Actor, object and details are JSON.
    actor TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    object TEXT COLLATE "C" NOT NULL,
    details TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C",
    request_id TEXT COLLATE "C"
);

CREATE INDEX audit_at ON audit (at);
