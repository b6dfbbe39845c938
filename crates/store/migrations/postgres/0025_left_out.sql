-- Tracks of the source that cannot be played, as JSON; NULL where there are none.
ALTER TABLE media ADD COLUMN left_out TEXT COLLATE "C";
