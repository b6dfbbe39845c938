-- Renditions belong to a presentation. Today its ID is that of a source.
ALTER TABLE rendition RENAME COLUMN source_id TO presentation_id;

-- A playback ID may play something other than a media. SQLite cannot drop NOT NULL, so the table is made anew, and
-- with it the one that references it: dropping a table deletes the rows that reference its rows.
CREATE TABLE new_playback_id (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT REFERENCES media (id) ON DELETE CASCADE,
    media_version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    policy TEXT NOT NULL CHECK (policy IN ('public', 'private')),
    restrictions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    resolution TEXT,
    generation INTEGER NOT NULL DEFAULT 0,
    encryption TEXT NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128'))
) STRICT;

INSERT INTO new_playback_id
SELECT id, media_id, media_version, position, policy, restrictions, created_at, resolution, generation, encryption
FROM playback_id;

CREATE TABLE new_content_key (
    playback_id TEXT NOT NULL PRIMARY KEY REFERENCES new_playback_id (id) ON DELETE CASCADE,
    secret TEXT NOT NULL
) STRICT;

INSERT INTO new_content_key SELECT playback_id, secret FROM content_key;

DROP TABLE content_key;
DROP TABLE playback_id;
ALTER TABLE new_playback_id RENAME TO playback_id;
ALTER TABLE new_content_key RENAME TO content_key;

CREATE INDEX playback_id_media ON playback_id (media_id, position);
CREATE INDEX content_key_seal ON content_key (substr(secret, 1, 11), playback_id);
