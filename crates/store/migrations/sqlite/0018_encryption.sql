-- How what plays through it is encrypted on its way.
ALTER TABLE playback_id ADD COLUMN encryption TEXT NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128'));

-- The same of the playback ID that the media of an upload will have.
ALTER TABLE upload ADD COLUMN encryption TEXT NOT NULL DEFAULT 'none' CHECK (encryption IN ('none', 'aes-128'));

-- The keys of those that are.
CREATE TABLE content_key (
    playback_id TEXT NOT NULL PRIMARY KEY REFERENCES playback_id (id) ON DELETE CASCADE,
    -- Sealed.
    secret TEXT NOT NULL
) STRICT;
