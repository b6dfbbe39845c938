-- Tracks that clients add to a media: subtitles from addresses of their own. Not stamped by each save of the media: only a change of
-- a track writes its row, in the same commit as the media's.
CREATE TABLE added_track (
    id TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('subtitle')),
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

CREATE INDEX added_track_media ON added_track (media_id, position);
-- Objects of a source belong to at most one track.
CREATE UNIQUE INDEX added_track_source ON added_track (source_id) WHERE source_id IS NOT NULL;

-- What the media of an upload will have beside its file, as JSON.
ALTER TABLE upload ADD COLUMN tracks TEXT;
