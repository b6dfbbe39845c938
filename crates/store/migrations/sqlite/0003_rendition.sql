-- A rendition of which something is made: written before its first object. No reference to the media: its id follows from the source
-- and its name, and a source has no row of its own.
CREATE TABLE rendition (
    id TEXT NOT NULL PRIMARY KEY,
    source_id TEXT NOT NULL,
    name TEXT NOT NULL,
    -- Of its objects, as far as they were counted: written down now and then.
    bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    segments INTEGER NOT NULL DEFAULT 0 CHECK (segments >= 0),
    -- When somebody last watched it; 0 is never.
    watched_at INTEGER NOT NULL DEFAULT 0 CHECK (watched_at >= 0),
    -- Since when nothing of it can be made.
    broken_at INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (source_id, name)
) STRICT;

-- What was not watched for the longest is removed first; what was watched lately is filled.
CREATE INDEX rendition_watched ON rendition (watched_at, id);
