-- Nothing larger is played through it; without one the media's own bound holds alone.
ALTER TABLE playback_id ADD COLUMN resolution TEXT COLLATE "C";
