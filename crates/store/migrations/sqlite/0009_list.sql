-- Lists that are filtered, and totals that nobody has to count.
ALTER TABLE workspace ADD COLUMN upload_count INTEGER NOT NULL DEFAULT 0 CHECK (upload_count >= 0);
UPDATE workspace SET upload_count =
    (SELECT COUNT(*) FROM upload WHERE upload.workspace_id = workspace.id AND upload.state <> 'completed');

-- The title in lower case. Written by Kinora, also for media that were there before: SQL knows the lower case of ASCII alone.
ALTER TABLE media ADD COLUMN title_key TEXT;

CREATE INDEX media_state ON media (workspace_id, state, created_at, id);
CREATE INDEX media_creator ON media (workspace_id, creator_id, created_at, id) WHERE creator_id IS NOT NULL;
CREATE INDEX media_title ON media (workspace_id, title_key, created_at, id) WHERE title_key IS NOT NULL;

-- The entries of each media's metadata once more, for those who look for one.
CREATE TABLE media_metadata (
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    media_version INTEGER NOT NULL,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    -- When the media was created.
    created_at INTEGER NOT NULL,
    UNIQUE (media_id, key)
) STRICT;

CREATE INDEX media_metadata_key ON media_metadata (workspace_id, key, created_at, media_id);
CREATE INDEX media_metadata_entry ON media_metadata (workspace_id, key, value, created_at, media_id);
