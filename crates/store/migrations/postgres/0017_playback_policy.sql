-- Counts how often everything that was handed out for it was taken back.
ALTER TABLE playback_id ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;

-- Where and in what the media of an upload will be watched, as JSON.
ALTER TABLE upload ADD COLUMN restrictions TEXT COLLATE "C";

-- Playback tokens that are refused before they end, by the name that their signer gave them.
CREATE TABLE revoked_token (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    jti TEXT COLLATE "C" NOT NULL,
    -- From then on the token is refused for its own sake; without one it never leaves.
    expires_at BIGINT,
    revoked_at BIGINT NOT NULL,
    UNIQUE (workspace_id, jti)
);

CREATE INDEX revoked_token_expires ON revoked_token (expires_at) WHERE expires_at IS NOT NULL;
