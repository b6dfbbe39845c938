-- The events of a media, newest first. One workspace may have a million events of others.
CREATE INDEX event_subject ON event (subject, sequence);
