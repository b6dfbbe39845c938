-- The edit of a timeline before its media is ready, as JSON.
ALTER TABLE media ADD COLUMN edit TEXT;
ALTER TABLE upload ADD COLUMN edit TEXT;
-- The media that a clip was cut from, and its source at that time. The media may be gone, so there is no reference.
ALTER TABLE media ADD COLUMN clip_of_id TEXT;
ALTER TABLE media ADD COLUMN clip_of_source_id TEXT CHECK ((clip_of_id IS NULL) = (clip_of_source_id IS NULL));
-- The source with the original of an edited media.
ALTER TABLE media ADD COLUMN original_id TEXT;
-- Where the ranges of its base play, as JSON.
ALTER TABLE media ADD COLUMN base_ranges TEXT;
-- The times of the track are those of the base, before the edit of the timeline.
ALTER TABLE added_track ADD COLUMN is_on_base INTEGER NOT NULL DEFAULT 0 CHECK (is_on_base IN (0, 1));

CREATE INDEX media_clips ON media (workspace_id, clip_of_id, created_at, id) WHERE clip_of_id IS NOT NULL;
CREATE INDEX media_original ON media (original_id) WHERE original_id IS NOT NULL;

-- The sources with bytes of an edited media. Their objects stay while a row is here.
CREATE TABLE source_use (
    media_id TEXT NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    source_id TEXT NOT NULL,
    PRIMARY KEY (media_id, source_id)
) STRICT;

CREATE INDEX source_use_source ON source_use (source_id);
