-- Renditions belong to a presentation. Today its ID is that of a source.
ALTER TABLE rendition RENAME COLUMN source_id TO presentation_id;
ALTER TABLE rendition RENAME CONSTRAINT rendition_source_id_name_key TO rendition_presentation_id_name_key;

-- A playback ID may play something other than a media.
ALTER TABLE playback_id ALTER COLUMN media_id DROP NOT NULL;
