-- Keys that clients sign playback tokens with. The private half of a key is with its client alone.
CREATE TABLE signing_key (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    -- PEM text.
    public_key TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);
