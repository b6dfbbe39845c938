-- What the picture of a media looks like from afar, and of which picture that is said: of which source, and at which moment. A picture near the middle has none.
ALTER TABLE media ADD COLUMN blur_hash TEXT COLLATE "C";
ALTER TABLE media ADD COLUMN blur_hash_source_id TEXT COLLATE "C";
ALTER TABLE media ADD COLUMN blur_hash_ms BIGINT;
