-- The watermark of a media, as JSON.
ALTER TABLE media ADD COLUMN watermark TEXT COLLATE "C";
ALTER TABLE upload ADD COLUMN watermark TEXT COLLATE "C";
-- The measured loudness of its audio, as JSON; empty until it is measured.
ALTER TABLE media ADD COLUMN loudness TEXT COLLATE "C";
-- The loudness that audio is levelled to, in whole LUFS.
ALTER TABLE workspace ADD COLUMN loudness_target BIGINT NOT NULL DEFAULT -16 CHECK (loudness_target BETWEEN -24 AND -14);
-- The stored subtitles of the origin that the track of a clip is cut from, until that is done.
ALTER TABLE added_track ADD COLUMN cut_from_id TEXT COLLATE "C";
