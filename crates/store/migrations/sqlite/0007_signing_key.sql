-- Keys that clients sign playback tokens with. The private half of a key is with its client alone.
CREATE TABLE signing_key (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    -- PEM text.
    public_key TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);
