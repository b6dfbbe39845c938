-- Answers to requests with an idempotency key, for those who ask again.
CREATE TABLE kept_answer (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    -- SHA-256 of the key: what clients write into it is theirs.
    key_hash BYTEA NOT NULL CHECK (length(key_hash) = 32),
    -- SHA-256 of what was asked, and by whom.
    fingerprint BYTEA NOT NULL CHECK (length(fingerprint) = 32),
    status BIGINT NOT NULL,
    -- Sealed: some answers hold secrets that lie nowhere else.
    body TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (workspace_id, key_hash)
);

CREATE INDEX kept_answer_created ON kept_answer (created_at);

-- Bytes of the bodies that are kept of a workspace.
ALTER TABLE workspace ADD COLUMN kept_answer_bytes BIGINT NOT NULL DEFAULT 0 CHECK (kept_answer_bytes >= 0);
