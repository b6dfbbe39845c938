-- What sealed the secrets in a row: the first 11 characters of each name the key. So what an older key sealed is found at a start without
-- reading what there is.
CREATE INDEX content_key_seal ON content_key (substr(secret, 1, 11), playback_id);
CREATE INDEX kept_answer_seal ON kept_answer (substr(body, 1, 11), workspace_id, key_hash);

-- An id that a client chose is its workspace's own. SQLite changes no key of a table that exists, so it is made anew.
CREATE TABLE signing_key_own (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    id TEXT NOT NULL,
    -- PEM text.
    public_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT;

INSERT INTO signing_key_own (workspace_id, id, public_key, created_at)
SELECT workspace_id, id, public_key, created_at FROM signing_key;

DROP TABLE signing_key;
ALTER TABLE signing_key_own RENAME TO signing_key;

CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);
