-- What is added to a media may be sound, too. SQLite changes no check of a table that exists, so it is made anew.
CREATE TABLE added_track_wider (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('audio', 'subtitle')),
    url TEXT NOT NULL,
    language_code TEXT NOT NULL,
    language_name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('preparing', 'available', 'failed')),
    -- Where it lies, or will.
    source_id TEXT,
    failure_code TEXT,
    failure_message TEXT,
    CHECK ((state = 'failed') = (source_id IS NULL)),
    CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((state = 'failed') = (failure_message IS NOT NULL))
) STRICT;

INSERT INTO added_track_wider
SELECT id, media_id, position, kind, url, language_code, language_name, state, source_id, failure_code, failure_message
FROM added_track;

DROP TABLE added_track;
ALTER TABLE added_track_wider RENAME TO added_track;

CREATE INDEX added_track_media ON added_track (media_id, position);
-- Objects of a source belong to at most one track.
CREATE UNIQUE INDEX added_track_source ON added_track (source_id) WHERE source_id IS NOT NULL;
