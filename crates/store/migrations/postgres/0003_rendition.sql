-- A rendition of which something is made: written before its first object. No reference to the media: its id follows from the source
-- and its name, and a source has no row of its own.
CREATE TABLE rendition (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    source_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    -- Of its objects, as far as they were counted: written down now and then.
    bytes BIGINT NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    segments BIGINT NOT NULL DEFAULT 0 CHECK (segments >= 0),
    -- When somebody last watched it; 0 is never.
    watched_at BIGINT NOT NULL DEFAULT 0 CHECK (watched_at >= 0),
    -- Since when nothing of it can be made.
    broken_at BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE (source_id, name)
);

-- What was not watched for the longest is removed first; what was watched lately is filled.
CREATE INDEX rendition_watched ON rendition (watched_at, id);
