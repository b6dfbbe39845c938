-- What sealed the secrets in a row: the first 11 characters of each name the key. So what an older key sealed is found at a start without
-- reading what there is.
CREATE INDEX content_key_seal ON content_key (substr(secret, 1, 11), playback_id);
CREATE INDEX kept_answer_seal ON kept_answer (substr(body, 1, 11), workspace_id, key_hash);

-- An id that a client chose is its workspace's own. The table is made anew, with its columns in the order that it has on SQLite.
ALTER TABLE signing_key RENAME TO signing_key_shared;
ALTER TABLE signing_key_shared RENAME CONSTRAINT signing_key_pkey TO signing_key_shared_pkey;
DROP INDEX signing_key_page;

CREATE TABLE signing_key (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    id TEXT COLLATE "C" NOT NULL,
    -- PEM text.
    public_key TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

INSERT INTO signing_key (workspace_id, id, public_key, created_at)
SELECT workspace_id, id, public_key, created_at FROM signing_key_shared;

DROP TABLE signing_key_shared;

CREATE INDEX signing_key_page ON signing_key (workspace_id, created_at, id);
