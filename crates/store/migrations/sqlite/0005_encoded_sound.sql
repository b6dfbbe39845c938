-- Sound of which an encoded rendition is offered, beside the copy or in its place. Until now that was sound that is not copied.
ALTER TABLE track ADD COLUMN is_encoded INTEGER NOT NULL DEFAULT 0 CHECK (is_encoded IN (0, 1));
UPDATE track SET is_encoded = 1 WHERE kind = 'audio' AND not_copied_reason IS NOT NULL;
