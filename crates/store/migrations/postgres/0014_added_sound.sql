-- What is added to a media may be sound, too.
ALTER TABLE added_track DROP CONSTRAINT added_track_kind_check;
ALTER TABLE added_track ADD CONSTRAINT added_track_kind_check CHECK (kind IN ('audio', 'subtitle'));
