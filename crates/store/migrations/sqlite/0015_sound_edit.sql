-- What is done to the sound before the media is ready, as JSON.
ALTER TABLE media ADD COLUMN sound_edit TEXT;
ALTER TABLE upload ADD COLUMN sound_edit TEXT;
