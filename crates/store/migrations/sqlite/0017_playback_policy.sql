-- Counts how often everything that was handed out for it was taken back.
ALTER TABLE playback_id ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- Where and in what the media of an upload will be watched, as JSON.
ALTER TABLE upload ADD COLUMN restrictions TEXT;

-- Playback tokens that are refused before they end, by the name that their signer gave them.
CREATE TABLE revoked_token (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    jti TEXT NOT NULL,
    -- From then on the token is refused for its own sake; without one it never leaves.
    expires_at INTEGER,
    revoked_at INTEGER NOT NULL,
    UNIQUE (workspace_id, jti)
) STRICT;

CREATE INDEX revoked_token_expires ON revoked_token (expires_at) WHERE expires_at IS NOT NULL;
